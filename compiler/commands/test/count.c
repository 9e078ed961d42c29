#include "commands/test/count.h"
#include <string.h>

static const char *const kind_names[] = {
  [EXP_ATOM] = "atom",           [EXP_OP] = "op",
  [EXP_CONVERT] = "convert",     [EXP_BITS] = "bits",
  [EXP_INDEX] = "index",         [EXP_UPDATE] = "update",
  [EXP_IOTA] = "iota",           [EXP_REPLICATE] = "replicate",
  [EXP_REARRANGE] = "rearrange", [EXP_RESHAPE] = "reshape",
  [EXP_CONCAT] = "concat",       [EXP_ROTATE] = "rotate",
  [EXP_COPY] = "copy",           [EXP_ARRAY] = "array",
  [EXP_ASSERT] = "assert",       [EXP_IF] = "if",
  [EXP_LOOP] = "loop",           [EXP_CALL] = "call",
  [EXP_CHOOSE] = "choose",       [EXP_MAP] = "map",
  [EXP_REDOMAP] = "redomap",     [EXP_SCANOMAP] = "scanomap",
  [EXP_SCATTER] = "scatter",     [EXP_HIST] = "hist",
  [EXP_FILTER] = "filter",       [EXP_SEG] = "seg",
  [EXP_GUARD] = "guards",
};

static const char *const seg_names[] = {
  [SEG_MAP] = "segmap",   [SEG_RED] = "segred",         [SEG_SCAN] = "segscan",
  [SEG_HIST] = "seghist", [SEG_SCATTER] = "segscatter",
};
enum { KIND_COUNT = sizeof kind_names / sizeof *kind_names };
enum { SEG_COUNT = sizeof seg_names / sizeof *seg_names };

typedef struct Counter {
  const char *node;
  int count;
} Counter;

// segmap1 is the name of the seg-op at its level, segmap that at any level.
static bool names_seg(const char *node, const SegOp *seg) {
  const char *name = seg_names[seg->kind];
  return strcmp(node, name) == 0 ||
         strcmp(node, text_format("%s%d", name, seg->level)) == 0;
}

static bool names(const char *node, const Exp *exp) {
  if (exp->kind == EXP_SEG && names_seg(node, exp->u.seg)) return true;
  return strcmp(node, kind_names[exp->kind]) == 0;
}

static void count_body(CoreVisitor *v, const Body *body) {
  Counter *counter = v->state;
  for (int i = 0; i < body->stm_count; i++)
    counter->count += names(counter->node, body->stms[i].exp);
  core_visit_body(v, body);
}

static bool is_known(const char *node) {
  for (int i = 0; i < KIND_COUNT; i++)
    if (strcmp(node, kind_names[i]) == 0) return true;
  for (int i = 0; i < SEG_COUNT; i++) {
    size_t length = strlen(seg_names[i]);
    if (strncmp(node, seg_names[i], length) == 0 && strlen(node + length) <= 1)
      return true;
  }
  return false;
}

int test_count_nodes(const Core *core, const char *node) {
  if (!is_known(node)) return -1;
  Counter counter = { .node = node };
  CoreVisitor v = { .body = count_body, .state = &counter };
  for (int i = 0; i < core->function_count; i++)
    count_body(&v, core->functions[i]->body);
  for (int i = 0; i < core->entry_count; i++)
    count_body(&v, core->entries[i]->body);
  return counter.count;
}
