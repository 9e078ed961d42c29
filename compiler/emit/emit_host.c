// Host code of an entry point for one profile:
//
//   static int entry_main_cpu(struct rt_context *ctx, struct entry_main_args *args,
//                             struct rt_value *results)
//
// Scalars are C variables.  A block-holding reference is a slot (`struct rt_mem *`), NULL at first
// and released at `cleanup`; slots are declared before the inner braces, scalars within, so that no
// jump passes an initialisation (C++).
#include "base/quote.h"
#include "emit/emit.h"
#include <string.h>

static void host_block(CodeText *c, const ImpBlock *block);

const char *entry_arg_name(const Entry *entry, int param) {
  return text_format("%s_%d", c_local_name(entry->params[param]->name), param);
}

void emit_entry_args(Emit *e, Text *t, const Entry *entry) {
  text_printf(t, "\n// The leaves of the parameters of %s, sizes first.\n",
              quote_comment(entry->name));
  text_printf(t, "struct entry_%s_args {", emit_entry_name(e, entry));
  for (int i = 0; i < entry->param_count; i++) {
    const Var *param = entry->params[i];
    const char *type = param->type.rank ? "struct rt_mem *"
                                        : text_format("%s ", c_type(param->type.elem));
    text_printf(t, "\n  %s%s;", type, entry_arg_name(entry, i));
  }
  if (!entry->param_count) text_add(t, "\n  char nothing;");
  text_add(t, "\n};\n");
}

// ---- statements

static void try(CodeText *c, const char *call) {
  c_line(c, "if ((err = %s)) goto %s;", call, c->on_error);
}

static const char *bytes_of(CodeText *c, PrimType elem, const ImpExp *count) {
  const ImpExp *size = imp_i64(prim_size_bytes(elem));
  return c_saturating(c, imp_mul(count, size));
}

static void host_alloc_stm(CodeText *c, const ImpStm *stm) {
  const Mem *mem = stm->u.alloc.mem;
  try(c, text_format("rt_mem_alloc_at(ctx, &%s, %s, %d)", c_mem(c, mem),
                     bytes_of(c, mem->elem, stm->u.alloc.count),
                     emit_place(c->e, stm->loc)));
}

static void host_check(CodeText *c, const ImpStm *stm) {
  int count = emit_check_values(stm);
  c_line(c, "if (!(%s)) {", c_exp(c, stm->u.check.condition));
  c_open(c);
  Text *values = text_new();
  for (int i = 0; i < count; i++)
    text_printf(values, "%s(int64_t)(%s)", i ? ", " : "",
                c_exp(c, stm->u.check.values[i]));
  if (count) c_line(c, "const int64_t values[] = { %s };", text_str(values));
  c_line(c, "err = rt_fail(ctx, %d, %s);", emit_check(c->e, stm),
         count ? "values" : "NULL");
  c_line(c, "goto %s;", c->on_error);
  c_close(c);
}

static void host_for(CodeText *c, const ImpStm *stm) {
  const char *i = c_var(c, stm->u.loop.var);
  c_line(c, "for (int64_t %s = 0; %s < %s; %s++) {", i, i, c_bound(c, stm->u.loop.bound),
         i);
  host_block(c, &stm->u.loop.body);
  c_line(c, "}");
}

static void host_branches(CodeText *c, const char *condition, const ImpBlock *then_body,
                          const ImpBlock *else_body) {
  c_line(c, "if (%s) {", condition);
  host_block(c, then_body);
  if (else_body->count) {
    c_line(c, "} else {");
    host_block(c, else_body);
  }
  c_line(c, "}");
}

// ---- guards

// The references that a guard's branches change.  Those in `taken` may lose their block to code
// that overwrites it; `taken` reaches back through what is shared.
typedef struct Changes {
  Map *inner;  // declared in the branches
  Map *changed, *taken;
  bool again;
} Changes;

static void note_taken(Changes *s, const Mem *mem) {
  if (map_has(s->taken, mem)) return;
  map_put(s->taken, mem, mem);
  s->again = true;
}

static void note_change(Changes *s, const ImpStm *stm) {
  const Mem *to = stm->u.share.to, *from = stm->u.share.from;
  if (stm->kind == IMP_DECLARE_MEM) map_put(s->inner, stm->u.mem.mem, stm->u.mem.mem);
  if (stm->kind == IMP_ALLOC) map_put(s->changed, stm->u.alloc.mem, stm->u.alloc.mem);
  if (stm->kind == IMP_TABLE) map_put(s->changed, stm->u.table.mem, stm->u.table.mem);
  if (stm->kind == IMP_RELEASE) map_put(s->changed, stm->u.mem.mem, stm->u.mem.mem);
  if (stm->kind == IMP_GATHER) map_put(s->changed, stm->u.gather.to, stm->u.gather.to);
  if (stm->kind != IMP_SHARE && stm->kind != IMP_UNIQUE) return;
  map_put(s->changed, to, to);
  if (stm->kind == IMP_UNIQUE) {
    map_put(s->changed, from, from);
    note_taken(s, from);
  }
  if (map_has(s->taken, to)) note_taken(s, from);
}

static void note_changes(Changes *s, const ImpBlock *block) {
  vec_each (const ImpStm **, stm, block) {
    note_change(s, *stm);
    const ImpBlock *inner[2];
    int count = imp_blocks(*stm, inner);
    for (int i = 0; i < count; i++)
      note_changes(s, inner[i]);
  }
}

typedef struct SlotList {
  const Changes *changes;
  MemVec *slots;
  bool taken;  // which ones to list
} SlotList;

static void list_slot(void *state, const void *key, void *value) {
  SlotList *s = state;
  const Mem *mem = key;
  (void)value;
  if (map_has(s->changes->inner, mem) || map_has(s->changes->taken, mem) != s->taken)
    return;
  vec_push(s->slots, mem);
}

MemVec emit_guard_slots(const ImpStm *stm, int *taken) {
  Changes changes = { map_new(NULL), map_new(NULL), map_new(NULL), true };
  while (changes.again) {
    changes.again = false;
    note_changes(&changes, &stm->u.guard.then_body);
    note_changes(&changes, &stm->u.guard.else_body);
  }
  MemVec slots = { 0 };
  SlotList list = { &changes, &slots, true };
  map_each(changes.changed, list_slot, &list);
  *taken = slots.count;
  list.taken = false;
  map_each(changes.changed, list_slot, &list);
  return slots;
}

// Begins the race; what the branches change is listed, what they may overwrite first.
static void race_begin(CodeText *c, const ImpStm *stm, int index) {
  int taken = 0;
  MemVec slots = emit_guard_slots(stm, &taken);
  Text *list = text_new();
  vec_each (const Mem **, mem, &slots)
    text_printf(list, "%s&%s", mem == slots.at ? "" : ", ", c_mem(c, *mem));
  if (slots.count) c_line(c, "struct rt_mem **const slots[] = { %s };", text_str(list));
  c_line(
      c,
      "struct rt_replay *race = rt_replay_begin(ctx, %d, par, local_bytes, %s, %d, %d);",
      index, slots.count ? "slots" : "NULL", taken, slots.count);
}

// { elem, count, mem, scalar } of each result that is there, but for blocks that lie between rows
// of others (imp/lower/rooms.c).
static const char *outcomes_text(CodeText *c, const ImpStm *stm, int *count) {
  Text *t = text_new();
  *count = 0;
  for (int i = 0; i < stm->u.guard.result_count; i++) {
    const ImpParam *r = &stm->u.guard.results[i];
    if (r->is_array ? !arr_begins(&r->arr) : !map_has(c->live, r->var)) continue;
    PrimType elem = r->is_array ? r->arr.elem : r->var->type.elem;
    text_printf(t, "%s{ %s, ", (*count)++ ? ", " : "", emit_elem_name(elem));
    if (r->is_array)
      text_printf(t, "%s, %s, NULL }", c_saturating(c, arr_count(&r->arr)),
                  c_mem(c, r->arr.mem));
    else
      text_printf(t, "1, NULL, &%s }", c_var(c, r->var));
  }
  return text_str(t);
}

static void race_end(CodeText *c, const ImpStm *stm) {
  int count = 0;
  const char *outcomes = outcomes_text(c, stm, &count);
  c_line(c, "if (race && rt_replay_stop(ctx, race, &err)) {");
  c_open(c);
  if (count) {
    c_line(c, "const struct rt_outcome outcomes[] = { %s };", outcomes);
    c_line(c, "rt_replay_compare(ctx, race, outcomes, %d, %s);", count,
           c_saturating(c, stm->u.guard.roundings));
  }
  c_close(c);
}

// What the workers exchange in the branches all of them must: they decide together.
static bool is_decided_together(const CodeText *c, const ImpStm *stm) {
  return c->e->options.mixed && (imp_exchanges(&stm->u.guard.then_body) ||
                                 imp_exchanges(&stm->u.guard.else_body));
}

static void guard_of_all(CodeText *c, const ImpStm *stm, int index) {
  c_line(c, "bool taken = false;");
  try(c, text_format("rt_workers_guard(ctx, %d, par, local_bytes, step, &taken)", index));
  host_branches(c, "taken", &stm->u.guard.then_body, &stm->u.guard.else_body);
}

static void guard_branches(CodeText *c, const ImpStm *stm, int index) {
  const char *condition = text_format("rt_guard(ctx, %d, par, local_bytes, step)", index);
  host_branches(c, condition, &stm->u.guard.then_body, &stm->u.guard.else_body);
}

// See replay.h for what this is; libraries are not measured.
static void guard_with_race(CodeText *c, const ImpStm *stm, int index) {
  const char *outer = c->on_error, *label = text_format("raced_%d", c->next++);
  race_begin(c, stm, index);
  c_line(c, "do {");
  text_indent(c->t, 2);
  c->on_error = label;
  guard_branches(c, stm, index);
  c->on_error = outer;
  text_indent(c->t, -2);
  c_line(c, "%s:", label);
  text_indent(c->t, 2);
  race_end(c, stm);
  text_indent(c->t, -2);
  c_line(c, "} while (race && rt_replay_next(ctx, race, &err));");
  c_line(c, "if (err) goto %s;", outer);
}

static void host_guard(CodeText *c, const ImpStm *stm) {
  int index = emit_guard_index(c->e, stm->u.guard.guard->name);
  c_line(c, "{  // %s", quote_comment(stm->u.guard.guard->name));
  c_open(c);
  c_line(c, "const int64_t par = %s;", c_saturating(c, stm->u.guard.par));
  c_line(c, "const int64_t local_bytes = %s;", c_saturating(c, stm->u.guard.local_bytes));
  c_line(c, "const int64_t step = %s;",
         stm->u.guard.step ? c_saturating(c, stm->u.guard.step) : "0");
  if (is_decided_together(c, stm))
    guard_of_all(c, stm, index);
  else if (c->e->options.library)
    guard_branches(c, stm, index);
  else
    guard_with_race(c, stm, index);
  c_close(c);
}

static void host_read_stm(CodeText *c, const ImpStm *stm) {
  const Mem *mem = stm->u.read.mem;
  const ImpExp *size = imp_i64(prim_size_bytes(mem->elem));
  const char *offset = c_size(c, imp_mul(stm->u.read.index, size));
  try(c, text_format("rt_read(ctx, %s, %s, %d, &%s)", c_mem(c, mem), offset,
                     prim_size_bytes(mem->elem), c_var(c, stm->u.read.var)));
}

// ---- several workers (runtime/workers.h)

static void host_split(CodeText *c, const ImpStm *stm) {
  static const char *const members[] = { "start", "count", "workers", "rank", "most" };
  c_line(c, "{  // %s", quote_comment(stm->u.split.guard->name));
  c_open(c);
  const Guard *guard = stm->u.split.guard;
  int layout = emit_layout_index(c->e, stm->u.split.layout);
  if (stm->u.split.workers) {
    c_line(c, "const struct rt_block block = rt_workers_likewise(ctx, %s, %d, %s);",
           c_exp(c, stm->u.split.workers), layout, c_exp(c, stm->u.split.width));
  } else {
    c_line(c, "const struct rt_moved moved = { %s, %d, %d };",
           c_saturating(c, stm->u.split.moved), guard->exchanges, guard->segs);
    c_line(c, "struct rt_block block;");
    try(c, text_format("rt_workers_split(ctx, %d, %s, &moved, %d, %s, &block)",
                       emit_guard_index(c->e, guard->name),
                       c_saturating(c, stm->u.split.par), layout,
                       c_exp(c, stm->u.split.width)));
  }
  for (int i = 0; i < SPLIT_RESULTS; i++)
    if (map_has(c->live, stm->u.split.vars[i]))
      c_line(c, "%s = block.%s;", c_var(c, stm->u.split.vars[i]), members[i]);
  c_close(c);
}

static void host_gather(CodeText *c, const ImpStm *stm) {
  const Mem *to = stm->u.gather.to, *from = stm->u.gather.from;
  c_line(c, "{");
  c_open(c);
  if (!from)
    c_line(c, "const %s value = %s;", c_type(to->elem), c_exp(c, stm->u.gather.value));
  bool border = stm->u.gather.before != NULL;
  c_line(c,
         "const struct rt_gathered gathered = { %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, "
         "%s, %d };",
         c_size(c, stm->u.gather.workers), c_size(c, stm->u.gather.total),
         c_size(c, stm->u.gather.start), c_size(c, stm->u.gather.count),
         bytes_of(c, to->elem, stm->u.gather.row),
         border ? c_size(c, stm->u.gather.before) : "0",
         border ? c_size(c, stm->u.gather.after) : "0",
         stm->u.gather.each ? "true" : "false", stm->u.gather.ring ? "true" : "false",
         stm->u.gather.room ? "true" : "false",
         stm->u.gather.room ? c_size(c, stm->u.gather.room) : "0",
         emit_layout_index(c->e, stm->u.gather.layout));
  if (stm->u.gather.columns) {
    c_line(c, "const struct rt_columns columns = { %s, %s, %s, %s, %s };",
           c_size(c, stm->u.gather.outer), c_size(c, stm->u.gather.columns),
           bytes_of(c, to->elem, stm->u.gather.unit), c_size(c, stm->u.gather.first),
           c_size(c, stm->u.gather.rows));
    try(c, text_format("rt_workers_columns(ctx, &%s, %s, &gathered, &columns)",
                       c_mem(c, to), c_mem(c, from)));
  } else if (stm->u.gather.first)
    try(c, text_format("rt_workers_fetch(ctx, &%s, %s, &gathered, %s, %s)", c_mem(c, to),
                       c_mem(c, from), c_size(c, stm->u.gather.first),
                       c_size(c, stm->u.gather.rows)));
  else if (stm->u.gather.points)
    try(c, text_format("rt_workers_deliver(ctx, &%s, %s, &gathered, %s, %s, %s, %s)",
                       c_mem(c, to), c_mem(c, from), c_mem(c, stm->u.gather.positions),
                       c_mem(c, stm->u.gather.values), c_size(c, stm->u.gather.points),
                       bytes_of(c, to->elem, stm->u.gather.unit)));
  else if (border)
    try(c, text_format("rt_workers_border(ctx, &%s, %s, &gathered, %s)", c_mem(c, to),
                       c_mem(c, from),
                       stm->u.gather.later ? c_exp(c, stm->u.gather.later) : "false"));
  else if (from)
    try(c, text_format("rt_workers_gather(ctx, &%s, %s, &gathered)", c_mem(c, to),
                       c_mem(c, from)));
  else
    try(c, text_format("rt_workers_gather_value(ctx, &%s, &value, &gathered)",
                       c_mem(c, to)));
  c_close(c);
}

// ---- launches

typedef struct LaunchText {
  const ImpStm *stm;
  KernelArrays own, locals;
} LaunchText;

// The kernel's parameters, then the numbers of elements of its scratch arrays.
static const char *launch_args(CodeText *c, const LaunchText *launch) {
  Text *t = text_new();
  const ImpStm *stm = launch->stm;
  for (int i = 0; i < stm->u.launch.arg_count; i++) {
    const KernelArg *arg = &stm->u.launch.args[i];
    if (i) text_add(t, ", ");
    if (arg->is_mem && stm->u.launch.kernel->uses_arena)
      text_printf(t, "rt_arg_used(%s, %s, %s)", c_mem(c, arg->mem),
                  arg->loads ? "true" : "false", arg->changes ? "true" : "false");
    else if (arg->is_mem)
      text_printf(t, "rt_arg_mem(%s)", c_mem(c, arg->mem));
    else
      text_printf(t, "rt_arg_%s(%s)", prim_type_name(arg->value->type),
                  c_exp(c, arg->value));
  }
  for (int i = 0; i < launch->own.count; i++)
    text_printf(t, "%srt_arg_i64(%s)", i || stm->u.launch.arg_count ? ", " : "",
                c_saturating(c, launch->own.at[i].count));
  return text_str(t);
}

static void launch_arrays(CodeText *c, const LaunchText *launch) {
  Text *own = text_new(), *locals = text_new();
  for (int i = 0; i < launch->own.count; i++) {
    const Scratch *s = &launch->own.at[i];
    text_printf(own, "%s{ %s, %d, false }", i ? ", " : "", c_saturating(c, s->count),
                prim_size_bytes(s->mem->elem));
  }
  for (int i = 0; i < launch->locals.count; i++) {
    const Scratch *s = &launch->locals.at[i];
    text_printf(locals, "%s%s", i ? ", " : "", bytes_of(c, s->mem->elem, s->count));
  }
  if (launch->own.count)
    c_line(c, "const struct rt_scratch scratch[] = { %s };", text_str(own));
  if (launch->locals.count)
    c_line(c, "const int64_t local_bytes[] = { %s };", text_str(locals));
}

static void host_launch(CodeText *c, const ImpStm *stm) {
  const Kernel *kernel = stm->u.launch.kernel;
  LaunchText launch = { stm, imp_kernel_arrays(kernel, MEM_SCRATCH),
                        imp_kernel_arrays(kernel, MEM_LOCAL) };
  const int *number = map_get(c->e->kernels, kernel);
  int count = stm->u.launch.arg_count + launch.own.count;
  const ImpExp *groups = stm->u.launch.groups, *group_size = stm->u.launch.group_size;
  c_line(c, "{  // %s", quote_comment(kernel->name));
  c_open(c);
  if (count) c_line(c, "const struct rt_arg values[] = { %s };", launch_args(c, &launch));
  launch_arrays(c, &launch);
  c_line(c, "const struct rt_launch launch = { %s, %s, %s, %s, %d, %s, %d, %s, %d };",
         stm->u.launch.items ? c_size(c, stm->u.launch.items) : "0",
         groups ? c_size(c, groups) : "-1", group_size ? c_size(c, group_size) : "0",
         count ? "values" : "NULL", count, launch.own.count ? "scratch" : "NULL",
         launch.own.count, launch.locals.count ? "local_bytes" : "NULL",
         launch.locals.count);
  try(c, text_format("rt_launch(ctx, %d, &launch)", number ? *number : -1));
  c_close(c);
}

// ---- the walk

static void host_scalar(CodeText *c, const ImpStm *stm) {
  if (stm->kind == IMP_DECLARE && map_has(c->live, stm->u.declare.var))
    emit_declare(c, stm);
  if (stm->kind == IMP_ASSIGN && map_has(c->live, stm->u.assign.var))
    c_line(c, "%s = %s;", c_var(c, stm->u.assign.var), c_exp(c, stm->u.assign.value));
}

void host_stm(CodeText *c, const ImpStm *stm) {
  const char *to = NULL, *from = NULL;
  if (stm->kind == IMP_SHARE || stm->kind == IMP_UNIQUE) {
    to = c_mem(c, stm->u.share.to);
    from = c_mem(c, stm->u.share.from);
  }
  switch (stm->kind) {
  case IMP_DECLARE:
  case IMP_ASSIGN: host_scalar(c, stm); return;
  case IMP_FOR: host_for(c, stm); return;
  case IMP_WHILE:
    c_line(c, "while (%s) {", c_exp(c, stm->u.loop_while.condition));
    host_block(c, &stm->u.loop_while.body);
    c_line(c, "}");
    return;
  case IMP_IF:
    host_branches(c, c_exp(c, stm->u.cond.condition), &stm->u.cond.then_body,
                  &stm->u.cond.else_body);
    return;
  case IMP_CALL: emit_call(c, stm); return;
  case IMP_CHECK: host_check(c, stm); return;
  case IMP_COMMENT: c_line(c, "// %s", quote_comment(stm->u.comment.text)); return;
  case IMP_DECLARE_MEM: return;  // a slot of the function
  case IMP_ALLOC: host_alloc_stm(c, stm); return;
  case IMP_SHARE: c_line(c, "rt_mem_share(ctx, &%s, %s);", to, from); return;
  case IMP_UNIQUE: try(c, text_format("rt_mem_unique(ctx, &%s, &%s)", to, from)); return;
  case IMP_RELEASE:
    c_line(c, "rt_mem_release(ctx, &%s);", c_mem(c, stm->u.mem.mem));
    return;
  case IMP_LAUNCH: host_launch(c, stm); return;
  case IMP_TABLE:
    try(c, text_format("rt_table(ctx, &%s, %d)", c_mem(c, stm->u.table.mem),
                       emit_table(c, stm)));
    return;
  case IMP_READ: host_read_stm(c, stm); return;
  case IMP_GUARD: host_guard(c, stm); return;
  case IMP_SPLIT: host_split(c, stm); return;
  case IMP_GATHER: host_gather(c, stm); return;
  case IMP_AWAIT: try(c, "rt_workers_await(ctx)"); return;
  case IMP_ONCE:
    c_line(c, "if (!%s) {", c_mem(c, stm->u.once.mem));
    host_block(c, &stm->u.once.body);
    c_line(c, "}");
    return;
  case IMP_STORE:
  case IMP_PREFETCH:
  case IMP_ATOMIC:
  case IMP_LOCKED:
  case IMP_BARRIER:
  case IMP_LOCAL: bug(c->e->c, stm->loc, "kernel statement on the host");
  }
}

static void host_block(CodeText *c, const ImpBlock *block) {
  text_indent(c->t, 2);
  vec_each (const ImpStm **, stm, block)
    host_stm(c, *stm);
  text_indent(c->t, -2);
}

// ---- an entry point

static void find_slots(const ImpBlock *block, MemVec *out) {
  vec_each (const ImpStm **, stm, block) {
    if ((*stm)->kind == IMP_DECLARE_MEM) vec_push(out, (*stm)->u.mem.mem);
    const ImpBlock *inner[2];
    int count = imp_blocks(*stm, inner);
    for (int i = 0; i < count; i++)
      find_slots(inner[i], out);
  }
}

// What the results need to be alive: scalars that the caller gets, and sizes.
Map *emit_entry_live(const ImpEntry *entry) {
  Vec(const ImpExp *) extra = { 0 };
  for (int i = entry->entry->size_result_count; i < entry->result_count; i++) {
    if (!entry->results[i].is_array) vec_push(&extra, entry->scalar_results[i]);
    for (int d = 0; entry->results[i].is_array && d < entry->results[i].arr.rank; d++)
      vec_push(&extra, entry->results[i].arr.shape[d]);
  }
  Map *live = imp_live(&entry->body, extra.at, extra.count);
  emit_keep_called(live, &entry->body);
  return live;
}

// The references that are parameters; the function takes them over.
static void take_params(CodeText *c, const ImpEntry *entry, MemVec *slots) {
  for (int i = 0; i < entry->entry->param_count; i++) {
    if (!entry->params[i].is_array) continue;
    const Mem *mem = entry->params[i].arr.mem;
    c_line(c, "struct rt_mem *%s = args->%s;", c_mem(c, mem),
           entry_arg_name(entry->entry, i));
    vec_push(slots, mem);
  }
}

static void scalar_params(CodeText *c, const ImpEntry *entry) {
  for (int i = 0; i < entry->entry->param_count; i++) {
    const Var *var = entry->params[i].var;
    if (entry->params[i].is_array || !map_has(c->live, var)) continue;
    c_line(c, "%s %s = args->%s;", c_type(var->type.elem), c_var(c, var),
           entry_arg_name(entry->entry, i));
  }
}

static const char *const elem_names[PRIM_COUNT] = {
  [PRIM_I8] = "RT_I8",   [PRIM_I16] = "RT_I16", [PRIM_I32] = "RT_I32",
  [PRIM_I64] = "RT_I64", [PRIM_U8] = "RT_U8",   [PRIM_U16] = "RT_U16",
  [PRIM_U32] = "RT_U32", [PRIM_U64] = "RT_U64", [PRIM_F16] = "RT_F16",
  [PRIM_F32] = "RT_F32", [PRIM_F64] = "RT_F64", [PRIM_BOOL] = "RT_BOOL",
};

const char *emit_elem_name(PrimType type) { return elem_names[type]; }

const char *emit_value_member(PrimType type) {
  return type == PRIM_BOOL ? "boolean" : prim_type_name(type);
}

static void array_result(CodeText *c, const Arr *arr, int position) {
  Text *shape = text_new();
  for (int d = 0; d < arr->rank; d++)
    text_printf(shape, "%s%s", d ? ", " : "", c_size(c, arr->shape[d]));
  c_line(c, "{");
  c_open(c);
  c_line(c, "const int64_t shape[] = { %s };", text_str(shape));
  try(c, text_format("rt_array_of_mem(ctx, &results[%d].u.array, %s, %d, shape, %s)",
                     position, elem_names[arr->elem], arr->rank, c_mem(c, arr->mem)));
  c_close(c);
}

static void entry_results(CodeText *c, const ImpEntry *entry) {
  int sizes = entry->entry->size_result_count;
  for (int i = sizes; i < entry->result_count; i++) {
    if (entry->results[i].is_array) {
      array_result(c, &entry->results[i].arr, i - sizes);
      continue;
    }
    const ImpExp *value = entry->scalar_results[i];
    c_line(c, "results[%d].u.%s = %s;", i - sizes, emit_value_member(value->type),
           c_exp(c, value));
  }
}

int emit_count_stms(const ImpBlock *block, ImpStmKind kind) {
  int found = 0;
  vec_each (const ImpStm **, stm, block) {
    const ImpBlock *inner[2];
    int count = imp_blocks(*stm, inner);
    found += (*stm)->kind == kind;
    for (int i = 0; i < count; i++)
      found += emit_count_stms(inner[i], kind);
  }
  return found;
}

// As statements; as a table, in which loops that only compute are functions; as one of very many
// launches, for which the C compiler takes so long that loops may read arrays there, too.
typedef enum HostForm { HOST_STATEMENTS, HOST_TABLE, HOST_LONG_TABLE } HostForm;

static bool suits(const ImpStm *loop, const ImpBlock *body, HostForm form) {
  if (emit_count_stms(body, IMP_LAUNCH)) return true;
  if (form == HOST_LONG_TABLE && emit_count_stms(body, IMP_READ)) return true;
  return form != HOST_STATEMENTS && emit_only_computes(loop);
}

// Is there a loop without launches whose own time counts in this form?
static bool has_own_loop(const ImpBlock *block, HostForm form) {
  vec_each (const ImpStm **, stm, block) {
    const ImpBlock *inner[2];
    int count = imp_blocks(*stm, inner);
    bool loop = (*stm)->kind == IMP_FOR || (*stm)->kind == IMP_WHILE;
    if (loop && !suits(*stm, inner[0], form)) return true;
    for (int i = 0; i < count; i++)
      if (has_own_loop(inner[i], form)) return true;
  }
  return false;
}

// Does the function launch so many kernels that its own time is nothing against theirs?
static bool only_launches(const ImpBlock *body, int least, HostForm form) {
  enum { VERY_MANY = 100 };
  int launches = emit_count_stms(body, IMP_LAUNCH);
  if (form == HOST_TABLE && launches >= VERY_MANY) form = HOST_LONG_TABLE;
  return launches >= least && !has_own_loop(body, form);
}

// Of an entry point whose statements take the C compiler long.
enum { LONG_LAUNCHES = 24 };

static void statements_entry(Emit *e, Text *t, const ImpEntry *entry, Profile profile) {
  CodeText c = code_text_new(e, t);
  c.live = emit_entry_live(entry);
  c.on_error = "cleanup";
  const char *name = emit_entry_name(e, entry->entry);
  c_line(&c,
         "%sstatic int entry_%s_%s(struct rt_context *ctx, struct entry_%s_args *args, "
         "struct rt_value *results) {",
         only_launches(&entry->body, LONG_LAUNCHES, HOST_STATEMENTS) ? "RT_LAUNCHES "
                                                                     : "",
         name, profile_traits[profile].name, name);
  c_open(&c);
  c_line(&c, "int err = RT_OK;");
  c_line(&c, "(void)args;");
  if (!entry->entry->result_count) c_line(&c, "(void)results;");
  MemVec slots = { 0 };
  take_params(&c, entry, &slots);
  int params = slots.count;
  find_slots(&entry->body, &slots);
  for (int i = params; i < slots.count; i++)
    c_line(&c, "struct rt_mem *%s = NULL;", c_mem(&c, slots.at[i]));
  try(&c, text_format("rt_entry_begin(ctx, %s)", c_string(entry->entry->name)));
  c_line(&c, "{");
  text_indent(t, 2);
  scalar_params(&c, entry);
  text_indent(t, -2);
  host_block(&c, &entry->body);
  text_indent(t, 2);
  entry_results(&c, entry);
  c_close(&c);
  text_indent(t, -2);
  c_line(&c, "cleanup:");
  text_indent(t, 2);
  vec_each (const Mem **, slot, &slots)
    c_line(&c, "rt_mem_release(ctx, &%s);", c_mem(&c, *slot));
  c_line(&c, "return rt_entry_end(ctx, err);");
  c_close(&c);
  text_newline(t);
}

// Statements take the C compiler a millisecond for each launch, a table takes each call up to
// 0.2 us more for each launch that it makes: a tenth of small ones.  Tests call little, and compile
// much.
static int least_of_tables(const Emit *e) {
  enum { MANY_KERNELS = 50, MOST_KERNELS = 400, SOME_LAUNCHES = 4 };
  int kernels = e->programs[0]->kernel_count + e->programs[1]->kernel_count;
  if (kernels >= MOST_KERNELS) return 1;
  bool many = kernels >= MANY_KERNELS || e->options.little_use;
  return many ? SOME_LAUNCHES : LONG_LAUNCHES;
}

void emit_host_entry(Emit *e, Text *t, const ImpEntry *entry, Profile profile) {
  bool one = e->options.workers == WORKERS_ONE;
  if (one && only_launches(&entry->body, least_of_tables(e), HOST_TABLE))
    emit_script(e, t, entry, profile_traits[profile].name);
  else
    statements_entry(e, t, entry, profile);
}
