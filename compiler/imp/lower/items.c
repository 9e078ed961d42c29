// Which work-item of a kernel without barriers works on which positions of its space.
//
//   GPU: an item per position             if gid < n { at gid }
//   CPU: an item, a group of its own,     for l < run { at gid * run + l }
//        per run of neighbouring positions
//
// PoCL compiles the loop over a run better than its own loop over the items of a group: two to six
// times as fast for flat maps, since indices need no division per point and vectors no masks; and
// runs let the points of an item share its scratch memory.  (docs/opencl.md, "Maps and layouts":
// chunks, never strides.)
#include "imp/lower/lower.h"

// Items per work-group that the grid size names: spare ones even out work of different length.
enum { ITEMS_PER_GROUP = 4 };

static const ImpExp *named(ImpBuilder *b, const char *name, const ImpExp *value) {
  return value->kind == IMP_CONST || value->kind == IMP_VAR ? value
                                                            : imp_let(b, name, value);
}

static ImpBuilder builder_of(const KernelCode *kernel) {
  return (ImpBuilder){ .c = kernel->b.c, .loc = kernel->b.loc };
}

static const ImpExp *most_items(const Items *s) {
  Lower *lower = s->host->lower;
  const ImpExp *grid = tuning_param(lower, "map_groups", "grid_size", -1, -1);
  if (s->owner)
    grid = tuning_param_following(lower, text_format("%s.groups", s->owner), grid);
  return imp_max(imp_i64(1), imp_mul(grid, imp_i64(ITEMS_PER_GROUP)));
}

// How many positions an item is worth, if one is not.
static const ImpExp *least_run(const Items *s) {
  if (!s->owner || s->least <= 1) return imp_i64(s->least);
  const char *name = text_format("%s.run", s->owner);
  return tuning_param(s->host->lower, name, "chunk", s->least, s->least);
}

// How many positions each item gets.
static void choose_run(Items *s) {
  const ImpExp *wanted = imp_ceil_div(s->count, most_items(s));
  s->run = imp_let(s->host->b, "run", imp_max(least_run(s), wanted));
}

static void begin(Items *s, Code *host, KernelCode *kernel, const ImpExp *count) {
  *s =
      (Items){ .host = host, .kernel = kernel, .count = named(host->b, "points", count) };
  kernel->one_point = imp_is_i64(s->count, 1);
  s->inner = builder_of(kernel);
  s->walk = s->inner;
}

// The first position of the item and how many it has.
static const ImpExp *first_of_run(Items *s) {
  ImpBuilder *b = &s->kernel->b;
  const ImpExp *first = named(b, "first", imp_mul(imp_item(ITEM_GLOBAL_ID), s->run));
  s->length = named(b, "length", imp_min(s->run, imp_sub(s->count, first)));
  return first;
}

const ImpExp *items_open(Items *s, Code *host, KernelCode *kernel, const ImpExp *count) {
  begin(s, host, kernel, count);
  s->position = named(&kernel->b, "gid", imp_item(ITEM_GLOBAL_ID));
  kernel->code.b = &s->inner;
  return s->position;
}

void items_open_space(Items *s, Code *host, KernelCode *kernel, const SegDim *dims,
                      int count) {
  const ImpExp *at = items_open(s, host, kernel, space_size(dims, count));
  bind_space(&kernel->code, dims, count, at);
}

// The run of an item, of a space of one dimension.
static void open_run(Items *s, const SegDim *dims, int count) {
  KernelCode *kernel = s->kernel;
  const ImpExp *first = first_of_run(s);
  s->index = code_index(&kernel->code, "l");
  const ImpExp *at = named(&s->inner, "at", imp_add(first, imp_var(s->index)));
  kernel->code.b = &s->inner;
  bind_space(&kernel->code, dims, count, at);
}

// The run of an item row by row: `column` and `row` are where it stands, `left` is what remains.
static void open_rows(Items *s, const SegDim *dims, int count) {
  KernelCode *kernel = s->kernel;
  const ImpExp *first = first_of_run(s), *width = imp_atom(dims[count - 1].width);
  s->row = imp_declare(&kernel->b, "row", imp_quot(first, width));
  s->column = imp_declare(&kernel->b, "column", imp_rem(first, width));
  s->left = imp_declare(&kernel->b, "left", s->length);
  kernel->code.b = &s->walk;
  const ImpExp *rest = imp_sub(width, imp_var(s->column));
  s->length = imp_let(&s->walk, "length", imp_min(imp_var(s->left), rest));
  bind_space(&kernel->code, dims, count - 1, imp_var(s->row));
  s->index = code_index(&kernel->code, "l");
  kernel->code.b = &s->inner;
  code_bind_scalar(&kernel->code, dims[count - 1].index,
                   imp_add(imp_var(s->column), imp_var(s->index)));
}

void items_open_runs(Items *s, Code *host, KernelCode *kernel, const SegDim *dims,
                     int count) {
  Items given = *s;
  begin(s, host, kernel, space_size(dims, count));
  s->least = given.least;
  s->independent = given.independent;
  s->scalar = given.scalar;
  s->owner = given.owner;
  choose_run(s);
  if (count <= 1)
    open_run(s, dims, count);
  else
    open_rows(s, dims, count);
}

static bool has_loops_or_arrays(const ImpBlock *block) {
  vec_each (const ImpStm **, stm, block) {
    ImpStmKind kind = (*stm)->kind;
    if (kind == IMP_FOR || kind == IMP_WHILE || kind == IMP_LOCAL || kind == IMP_ATOMIC ||
        kind == IMP_LOCKED || kind == IMP_CALL)
      return true;
    const ImpBlock *inner[2];
    int count = imp_blocks(*stm, inner);
    for (int i = 0; i < count; i++)
      if (has_loops_or_arrays(inner[i])) return true;
  }
  return false;
}

// row += 1, from its beginning
static void next_row(Items *s) {
  imp_assign(&s->walk, s->left, imp_sub(imp_var(s->left), s->length));
  imp_assign(&s->walk, s->row, imp_add(imp_var(s->row), imp_i64(1)));
  imp_assign(&s->walk, s->column, imp_i64(0));
  ImpStm walk = { .kind = IMP_WHILE,
                  .u.loop_while = { imp_less(imp_i64(0), imp_var(s->left)),
                                    s->walk.block } };
  imp_add_stm(&s->kernel->b, walk);
}

static void close_runs(Items *s, const char *name) {
  KernelCode *kernel = s->kernel;
  bool independent =
      s->independent && !kernel->may_fail && !has_loops_or_arrays(&s->inner.block);
  ImpStm loop = { .kind = IMP_FOR,
                  .u.loop = { .var = s->index,
                              .bound = s->length,
                              .body = s->inner.block,
                              .independent = independent && !s->scalar,
                              .scalar = s->scalar } };
  imp_add_stm(s->row ? &s->walk : &kernel->b, loop);
  if (s->row) next_row(s);
  const ImpExp *groups = imp_ceil_div(s->count, s->run);
  kernel_end(s->host, kernel,
             (Launch){ .name = name, .groups = groups, .group_size = imp_i64(1) });
}

void items_close(Items *s, const char *name) {
  KernelCode *kernel = s->kernel;
  kernel->code.b = &kernel->b;
  if (s->run) {
    close_runs(s, name);
    return;
  }
  move_checks_to_host(s->host, kernel, &s->inner.block, s->count);
  imp_if(&kernel->b, imp_less(s->position, s->count), s->inner.block);
  Launch launch = { .name = name, .items = s->count, .own = s->own };
  if (s->group_size) {
    launch.items = NULL;
    launch.groups = imp_ceil_div(s->count, s->group_size);
    launch.group_size = s->group_size;
  }
  kernel_end(s->host, kernel, launch);
}

// ---- spaces

const ImpExp *space_size(const SegDim *dims, int count) {
  const ImpExp *size = imp_i64(1);
  for (int i = 0; i < count; i++)
    size = imp_mul(size, imp_atom(dims[i].width));
  return size;
}

const ImpExp *space_is_empty(const SegDim *dims, int count) {
  const ImpExp *empty = NULL;
  for (int i = 0; i < count; i++) {
    const ImpExp *none = imp_op2(OP_LE, imp_atom(dims[i].width), imp_i64(0));
    empty = empty ? imp_op2(OP_LOR, empty, none) : none;
  }
  return empty;
}

void bind_space(Code *k, const SegDim *dims, int count, const ImpExp *flat) {
  const ImpExp *rest = flat;
  for (int i = count - 1; i >= 0; i--) {
    const ImpExp *width = imp_atom(dims[i].width);
    code_bind_scalar(k, dims[i].index, i == 0 ? rest : imp_rem(rest, width));
    if (i > 0) rest = imp_let(k->b, "rest", imp_quot(rest, width));
  }
}
