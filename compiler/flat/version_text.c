// How the version tree calls sizes and kernels.
#include "base/map.h"
#include "flat/versions.h"
#include <ctype.h>
#include <string.h>

// ---- sizes

struct SizeNames {
  Map *defs;   // Var -> Exp that binds it
  Map *texts;  // Var -> text
  Map *taken;  // name -> how many variables have it (as a list cell)
};

static void note_definitions(CoreVisitor *v, const Body *body) {
  for (int i = 0; i < body->stm_count; i++) {
    const Stm *stm = &body->stms[i];
    if (stm->binder_count == 1) map_put(v->state, stm->binders[0], stm->exp);
    if (stm->exp->kind != EXP_SPLIT) continue;
    map_put(v->state, stm->binders[1], stm->exp);  // how many
    map_put(v->state, stm->binders[4], stm->exp);  // of the largest block
  }
  core_visit_body(v, body);
}

bool version_is_users(const Var *var) {
  const SourceFile *file = var->loc.file;
  size_t length = strlen(var->name);
  if (!file || file->built_in || var->loc.start + length > file->length) return false;
  const char *at = file->text + var->loc.start;
  if (strncmp(at, var->name, length) != 0) return false;
  // `i64.i32 x` makes a variable that is called after its function.
  return !isalnum((unsigned char)at[length]) && !strchr("_'.", at[length]);
}

// The name, with a number if another variable has it.
static const char *own_name(SizeNames *names, const Var *var) {
  int *count = map_get(names->taken, var->name);
  if (!count) {
    count = new (int);
    map_put(names->taken, var->name, count);
  }
  return ++*count == 1 ? var->name : text_format("%s'%d", var->name, *count);
}

SizeNames *size_names_new(const Entry *entry) {
  SizeNames *names = new_node(SizeNames, .defs = map_new(NULL), .texts = map_new(NULL),
                              .taken = map_new(NULL));
  CoreVisitor v = { .body = note_definitions, .state = names->defs };
  note_definitions(&v, entry->body);
  for (int i = 0; i < entry->param_count;
       i++)  // first of all: they keep their plain names
    map_put(names->texts, entry->params[i], own_name(names, entry->params[i]));
  return names;
}

// Of a computation that is written out: a longer one has a name of its own.
enum { LONGEST = 80 };

// How the size is computed; NULL if a name says it better.
static const char *definition_text(SizeNames *names, const Exp *def) {
  if (def->kind == EXP_CONVERT) return version_size_name(names, def->u.convert.atom);
  if (def->kind == EXP_ATOM) return version_size_name(names, def->u.atom.atom);
  if (def->kind == EXP_ASSERT && def->u.assert.atom_count == 1)
    return version_size_name(names, def->u.assert.atoms[0]);
  if (def->kind == EXP_SPLIT)  // the rows of a worker
    return text_format("%s/p", version_size_name(names, def->u.split.width));
  if (def->kind != EXP_OP || op_arity(def->u.op.op) != 2) return NULL;
  const char *spelling = op_spelling(def->u.op.op);
  if (isalpha((unsigned char)spelling[0])) return NULL;
  const char *a = version_size_name(names, def->u.op.args[0]),
             *b = version_size_name(names, def->u.op.args[1]);
  if (strlen(a) + strlen(b) > LONGEST) return NULL;
  return text_format(def->u.op.op == OP_MUL ? "%s%s%s" : "(%s %s %s)", a, spelling, b);
}

const char *version_size_name(SizeNames *names, Atom size) {
  if (size.kind == ATOM_CONST) {
    Text *t = text_new();
    core_print_size(t, size);
    return text_str(t);
  }
  const Var *var = size.u.var;
  const char *text = map_get(names->texts, var);
  if (text) return text;
  const Exp *def = map_get(names->defs, var);
  if (def && !version_is_users(var)) text = definition_text(names, def);
  if (!text) text = own_name(names, var);
  map_put(names->texts, var, text);
  return text;
}

const char *version_size_text(SizeNames *names, const SizeExp *exp) {
  if (exp->kind == SIZE_EXP_ATOM) return version_size_name(names, exp->atom);
  const char *a = version_size_text(names, exp->a), *b = version_size_text(names, exp->b);
  if (exp->kind == SIZE_EXP_MAX) return text_format("max(%s, %s)", a, b);
  if (exp->kind == SIZE_EXP_ADD) return text_format("%s + %s", a, b);
  bool parens_a = exp->a->kind == SIZE_EXP_ADD, parens_b = exp->b->kind == SIZE_EXP_ADD;
  return text_format("%s%s%s*%s%s%s", parens_a ? "(" : "", a, parens_a ? ")" : "",
                     parens_b ? "(" : "", b, parens_b ? ")" : "");
}

// ---- kernels

typedef struct Item {
  const char *text;
  int count;
} Item;
typedef Vec(Item) ItemVec;

static void add_item(ItemVec *items, const char *text) {
  for (int i = 0; i < items->count; i++)
    if (strcmp(items->at[i].text, text) == 0) {
      items->at[i].count++;
      return;
    }
  vec_push(items, (Item){ text, 1 });
}

static const char *joined(const ItemVec *items) {
  Text *t = text_new();
  for (int i = 0; i < items->count; i++) {
    if (i) text_add(t, ", ");
    if (items->at[i].count > 1) text_printf(t, "%d ", items->at[i].count);
    text_add(t, items->at[i].text);
  }
  return text_str(t);
}

// Sequential operators, at any depth.
typedef struct Soacs {
  int count;
  const char *word;
} Soacs;

static void note_soacs(CoreVisitor *v, const Body *body) {
  Soacs *soacs = v->state;
  for (int i = 0; i < body->stm_count; i++) {
    if (!exp_is_soac(body->stms[i].exp)) continue;
    soacs->count++;
    soacs->word = exp_word(body->stms[i].exp);
  }
  core_visit_body(v, body);
}

static void add_items(SizeNames *names, const Body *body, ItemVec *items);

static const char *seg_suffix(SizeNames *names, const SegOp *seg) {
  ItemVec items = { 0 };
  add_items(names, seg->body, &items);
  if (items.count) return text_format(" (%s)", joined(&items));
  Soacs soacs = { 0 };
  CoreVisitor v = { .body = note_soacs, .state = &soacs };
  note_soacs(&v, seg->body);
  if (soacs.count == 1) return text_format(" %s", soacs.word);
  return soacs.count ? " (all sequential)" : "";
}

static const char *seg_text(SizeNames *names, const SegOp *seg) {
  static const char *const kinds[] = {
    [SEG_MAP] = "segmap",   [SEG_RED] = "segred",         [SEG_SCAN] = "segscan",
    [SEG_HIST] = "seghist", [SEG_SCATTER] = "segscatter",
  };
  Text *t = text_new();
  text_printf(t, "%s%d<", kinds[seg->kind], seg->level);
  for (int i = 0; i < seg->dim_count; i++)
    text_printf(t, "%s%s", i ? "," : "", version_size_name(names, seg->dims[i].width));
  text_printf(t, ">%s", seg_suffix(names, seg));
  return text_str(t);
}

static void add_items(SizeNames *names, const Body *body, ItemVec *items) {
  for (int i = 0; i < body->stm_count; i++) {
    const Exp *exp = body->stms[i].exp;
    if (exp->kind == EXP_SEG) add_item(items, seg_text(names, exp->u.seg));
    if (exp->kind == EXP_GATHER) add_item(items, "gather");
    if (exp->kind == EXP_BORDER) add_item(items, "border");
    if (exp->kind == EXP_FETCH) add_item(items, "fetch");
    if (exp->kind == EXP_DELIVER) add_item(items, "deliver");
    if (exp_is_parallel(exp)) continue;
    ItemVec nested = { 0 };
    BodyVec bodies = exp_bodies(exp);
    vec_each (const Body **, inner, &bodies)
      add_items(names, *inner, &nested);
    bool loop = exp->kind == EXP_LOOP && nested.count;
    if (loop) add_item(items, text_format("loop (%s)", joined(&nested)));
    for (int k = 0; k < nested.count && !loop; k++)
      add_item(items, nested.at[k].text);
  }
}

const char *version_code_text(SizeNames *names, const Body *body) {
  ItemVec items = { 0 };
  add_items(names, body, &items);
  return items.count ? joined(&items) : "no kernels";
}

const char *version_source_text(Loc loc, int max) {
  Text *t = text_new();
  if (!loc.file) return "";
  int length = 0;
  bool space = false;
  for (uint32_t i = loc.start; i < loc.end && i < loc.file->length && length < max; i++) {
    char ch = loc.file->text[i];
    bool blank = isspace((unsigned char)ch);
    if (blank && space) continue;
    space = blank;
    text_add_bytes(t, blank ? " " : &ch, 1);
    length++;
  }
  if (length == max) text_add(t, "...");
  return text_str(t);
}
