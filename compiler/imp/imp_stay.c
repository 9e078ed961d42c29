// v = read m[0]; w = f(v); launch k (.., w, ..)
//   =>  launch k (.., m, ..)     where k begins with  v = m[0]; w = f(v)
//
// for scalars that a kernel makes and only kernels need.  Why: a read waits for the device, whose
// threads then sleep and are woken again; a sum that a map is divided by need not come to the host.
#include "base/map.h"
#include "imp/imp.h"
#include <limits.h>

typedef struct Stay {
  Compiler *c;
  const ImpEntry *entry;
  Map *assigned;  // Var: not the same everywhere
  Map *defs;      // Var -> ImpStm: its declaration with a value
  Map *reads;     // Var -> ImpStm: what is read, if its memory stays as it is
  Map *needed;    // Var: by the host
  Map *launches;  // Kernel -> int: how often it stands there
  Map *replaced;  // Kernel -> Kernel
  Map *mentions;  // Mem -> MentionVec, in order
  int stm;        // the number of the statement at hand
  bool changed;
} Stay;

// ---- memory

static bool arr_in(const ImpParam *params, int count, const Mem *mem) {
  for (int i = 0; i < count; i++)
    if (params[i].is_array && params[i].arr.mem == mem) return true;
  return false;
}

typedef enum MentionKind {
  MADE,
  LAUNCHED,
  READ,
  RELEASED,
  SHARED,
  OTHERWISE,
  MENTION_KINDS
} MentionKind;

// Statements have numbers, those within one behind its own.
typedef struct Mention {
  int stm;
  MentionKind kind;
} Mention;
typedef Vec(Mention) MentionVec;

static void mention(Stay *s, const Mem *mem, MentionKind kind) {
  MentionVec *all = map_get(s->mentions, mem);
  if (!all) map_put(s->mentions, mem, all = new (MentionVec));
  vec_push(all, (Mention){ s->stm, kind });
}

static void mention_in_stm(Stay *s, const ImpStm *stm) {
  if (stm->kind == IMP_DECLARE_MEM) mention(s, stm->u.mem.mem, MADE);
  if (stm->kind == IMP_ALLOC) mention(s, stm->u.alloc.mem, MADE);
  if (stm->kind == IMP_RELEASE) mention(s, stm->u.mem.mem, RELEASED);
  if (stm->kind == IMP_READ) mention(s, stm->u.read.mem, READ);
  if (stm->kind == IMP_TABLE) mention(s, stm->u.table.mem, OTHERWISE);
  if (stm->kind == IMP_ONCE) mention(s, stm->u.once.mem, OTHERWISE);
  if (stm->kind == IMP_AWAIT) mention(s, stm->u.mem.mem, OTHERWISE);
  if (stm->kind == IMP_GATHER) {
    mention(s, stm->u.gather.to, OTHERWISE);
    mention(s, stm->u.gather.from, OTHERWISE);
    mention(s, stm->u.gather.positions, OTHERWISE);
    mention(s, stm->u.gather.values, OTHERWISE);
  }
  if (stm->kind == IMP_UNIQUE) {
    mention(s, stm->u.share.to, OTHERWISE);
    mention(s, stm->u.share.from, OTHERWISE);
  }
  if (stm->kind == IMP_SHARE) {
    mention(s, stm->u.share.to, MADE);
    mention(s, stm->u.share.from, SHARED);
  }
  for (int i = 0; stm->kind == IMP_GUARD && i < stm->u.guard.result_count; i++)
    if (stm->u.guard.results[i].is_array)
      mention(s, stm->u.guard.results[i].arr.mem, OTHERWISE);
  for (int i = 0; stm->kind == IMP_LAUNCH && i < stm->u.launch.arg_count; i++)
    if (stm->u.launch.args[i].is_mem) mention(s, stm->u.launch.args[i].mem, LAUNCHED);
}

static void find_mentions(Stay *s, const ImpBlock *block) {
  for (int i = 0; i < block->count; i++) {
    mention_in_stm(s, block->at[i]);
    s->stm++;
    const ImpBlock *inner[2];
    int count = imp_blocks(block->at[i], inner);
    for (int k = 0; k < count; k++)
      find_mentions(s, inner[k]);
  }
}

// How often statements mention a block of memory, by kind.
typedef struct MemMentions {
  int of[MENTION_KINDS];
} MemMentions;

static MemMentions mentions_between(const Stay *s, const Mem *mem, int first, int end) {
  MemMentions out = { { 0 } };
  const MentionVec *all = map_get(s->mentions, mem);
  for (int i = 0; all && i < all->count; i++)
    out.of[all->at[i].kind] += first <= all->at[i].stm && all->at[i].stm < end;
  return out;
}

static MemMentions mentions_of(const Stay *s, const Mem *mem) {
  return mentions_between(s, mem, 0, INT_MAX);
}

static bool is_outside(const Stay *s, const Mem *mem) {
  return arr_in(s->entry->results, s->entry->result_count, mem) ||
         arr_in(s->entry->params, s->entry->entry->param_count, mem);
}

enum { MANY_NAMES = 4 };  // of one block of memory, each for the one before

typedef struct Quiet {
  const Stay *s;
  const ImpBlock *block;
  int position;
  int first,
      stm;  // the numbers of the block's first statement, and of that at the position
} Quiet;

static bool is_quiet(const Quiet *q, const Mem *mem, int depth);

// Are the names that the memory gets in these statements quiet as well?
static bool names_are_quiet(const Quiet *q, const ImpBlock *block, int count,
                            const Mem *mem, int depth) {
  for (int i = 0; i < count; i++) {
    const ImpStm *stm = block->at[i];
    const ImpBlock *inner[2];
    int inner_count = imp_blocks(stm, inner);
    bool shares = stm->kind == IMP_SHARE && stm->u.share.from == mem;
    if (shares && !is_quiet(q, stm->u.share.to, depth + 1)) return false;
    for (int k = 0; k < inner_count; k++)
      if (!names_are_quiet(q, inner[k], inner[k]->count, mem, depth)) return false;
  }
  return true;
}

// From the position on, is nothing done to the memory but reads and releases, under this name and
// those that it is given?
static bool is_quiet(const Quiet *q, const Mem *mem, int depth) {
  MemMentions all = mentions_of(q->s, mem),
              before = mentions_between(q->s, mem, q->first, q->stm);
  return depth < MANY_NAMES && !is_outside(q->s, mem) && all.of[OTHERWISE] == 0 &&
         all.of[LAUNCHED] == before.of[LAUNCHED] && all.of[SHARED] == before.of[SHARED] &&
         (!all.of[SHARED] || names_are_quiet(q, q->block, q->position, mem, depth));
}

// Is the memory made and written by what stands before the read in its block, and only released
// after it?
static bool is_settled(const Quiet *q) {
  const Mem *mem = q->block->at[q->position]->u.read.mem;
  MemMentions all = mentions_of(q->s, mem),
              before = mentions_between(q->s, mem, q->first, q->stm);
  int released = 0;
  for (int i = 0; i < q->block->count; i++)
    released += q->block->at[i]->kind == IMP_RELEASE && q->block->at[i]->u.mem.mem == mem;
  return all.of[MADE] == 2 && before.of[MADE] == 2 && before.of[RELEASED] == 0 &&
         all.of[READ] == 1 && all.of[RELEASED] == released && is_quiet(q, mem, 0);
}

// Is the variable declared in this block, so that nothing outside of it has the value?
static bool is_declared(const ImpBlock *block, int position, const Var *var) {
  for (int i = 0; i < position; i++)
    if (block->at[i]->kind == IMP_DECLARE && block->at[i]->u.declare.var == var)
      return true;
  return false;
}

// ---- what the host needs

static void need(void *state, const ImpExp *e) {
  Stay *s = state;
  if (e->kind == IMP_VAR && !map_has(s->needed, e->u.var)) {
    map_put(s->needed, e->u.var, s);
    s->changed = true;
  }
  const ImpExp *operands[3];
  int count = imp_operands(e, operands);
  for (int i = 0; i < count; i++)
    need(s, operands[i]);
}

// Has the expression the same value wherever it is computed?
static bool is_fixed(const Stay *s, const ImpExp *e) {
  if (e->kind == IMP_VAR) return !map_has(s->assigned, e->u.var);
  const ImpExp *operands[3];
  int count = imp_operands(e, operands);
  for (int i = 0; i < count; i++)
    if (!is_fixed(s, operands[i])) return false;
  return e->kind != IMP_TUNING && e->kind != IMP_LOAD;
}

static int launch_count(const Stay *s, const Kernel *kernel) {
  const int *count = map_get(s->launches, kernel);
  return count ? *count : 0;
}

// The only launch of the kernel, with variables for arguments that it knows by the same names?
static bool can_change(const Stay *s, const ImpStm *launch) {
  const Kernel *kernel = launch->u.launch.kernel;
  for (int i = 0; i < kernel->param_count; i++) {
    const ImpExp *value = launch->u.launch.args[i].value;
    if (kernel->params[i].is_mem) continue;
    if (value->kind != IMP_VAR || value->u.var != kernel->params[i].var) return false;
  }
  return launch_count(s, kernel) == 1;
}

// What a launch's own sizes are made of, and arguments that the kernel cannot compute.
static void need_of_launch(Stay *s, const ImpStm *stm) {
  ImpStm sizes = *stm;
  bool changes = can_change(s, stm);
  sizes.u.launch.arg_count = 0;
  imp_each_exp(&sizes, need, s);
  for (int i = 0; i < stm->u.launch.arg_count; i++) {
    const ImpExp *value = stm->u.launch.args[i].value;
    if (value && (!changes || !is_fixed(s, value))) need(s, value);
  }
}

static void need_in_block(Stay *s, const ImpBlock *block);

static void need_of_stm(Stay *s, const ImpStm *stm) {
  const ImpBlock *inner[2];
  int count = imp_blocks(stm, inner);
  for (int i = count - 1; i >= 0; i--)
    need_in_block(s, inner[i]);
  if (stm->kind == IMP_LAUNCH) {
    need_of_launch(s, stm);
    return;
  }
  bool declares = stm->kind == IMP_DECLARE && stm->u.declare.value;
  const Var *var = stm->u.declare.var;
  bool may_move = declares && !map_has(s->needed, var) && !map_has(s->assigned, var) &&
                  is_fixed(s, stm->u.declare.value);
  if (!may_move) imp_each_exp(stm, need, s);
}

static void need_in_block(Stay *s, const ImpBlock *block) {
  for (int i = block->count - 1; i >= 0; i--)
    need_of_stm(s, block->at[i]);
}

static void find_needed(Stay *s) {
  const ImpEntry *entry = s->entry;
  for (int i = 0; i < entry->result_count; i++) {
    if (!entry->results[i].is_array) need(s, entry->scalar_results[i]);
    for (int k = 0; entry->results[i].is_array && k < entry->results[i].arr.rank; k++)
      need(s, entry->results[i].arr.shape[k]);
  }
  for (s->changed = true; s->changed;) {
    s->changed = false;
    need_in_block(s, &entry->body);
  }
}

// ---- what is there

static void settle_read(Stay *s, const ImpBlock *block, int position, int first) {
  const ImpStm *stm = block->at[position];
  const Var *var = stm->u.read.var;
  bool settled = stm->u.read.index->kind == IMP_CONST && !map_has(s->reads, var) &&
                 is_declared(block, position, var) &&
                 is_settled(&(Quiet){ s, block, position, first, s->stm });
  map_put(settled ? s->reads : s->assigned, var, stm);
  if (!settled) need(s, imp_var(var));
}

static void see_stm(Stay *s, const ImpBlock *block, int position, int first) {
  const ImpStm *stm = block->at[position];
  if (stm->kind == IMP_ASSIGN) map_put(s->assigned, stm->u.assign.var, s);
  for (int i = 0; stm->kind == IMP_CALL && i < stm->u.call.var_count; i++)
    map_put(s->assigned, stm->u.call.vars[i], s);
  for (int i = 0; stm->kind == IMP_SPLIT && i < SPLIT_RESULTS; i++)
    map_put(s->assigned, stm->u.split.vars[i], s);
  if (stm->kind == IMP_DECLARE && stm->u.declare.value)
    map_put(s->defs, stm->u.declare.var, stm);
  if (stm->kind == IMP_READ) settle_read(s, block, position, first);
}

static void see_code(Stay *s, const ImpBlock *block) {
  int first = s->stm;
  for (int i = 0; i < block->count; i++) {
    see_stm(s, block, i, first);
    s->stm++;
    const ImpBlock *inner[2];
    int count = imp_blocks(block->at[i], inner);
    for (int k = 0; k < count; k++)
      see_code(s, inner[k]);
  }
}

// ---- moving

static bool stays(const Stay *s, const Var *var) {
  return map_has(s->reads, var) && !map_has(s->needed, var);
}

// Is it made from what stays on the device?
static bool is_from_device(const Stay *s, const ImpExp *e) {
  if (e->kind == IMP_VAR) {
    const ImpStm *def = map_get(s->defs, e->u.var);
    if (stays(s, e->u.var)) return true;
    return def && !map_has(s->needed, e->u.var) &&
           is_from_device(s, def->u.declare.value);
  }
  const ImpExp *operands[3];
  int count = imp_operands(e, operands);
  for (int i = 0; i < count; i++)
    if (is_from_device(s, operands[i])) return true;
  return false;
}

// A kernel that gets other parameters.
typedef struct Moving {
  Stay *s;
  Map *bound;  // Var: parameters, and what the prologue has declared
  ImpBlock prologue;
  Vec(KernelParam) params;
  Vec(KernelArg) args;
  Loc loc;
} Moving;

static void add_declaration(Moving *m, const Var *var, const ImpExp *value) {
  if (map_has(m->bound, var)) return;
  map_put(m->bound, var, m);
  vec_push(&m->prologue, new_node(ImpStm, .kind = IMP_DECLARE, .loc = m->loc,
                                  .u.declare = { var, value, 0 }));
}

static void add_param(Moving *m, KernelParam param, KernelArg arg) {
  vec_push(&m->params, param);
  vec_push(&m->args, arg);
  if (!param.is_mem) map_put(m->bound, param.var, m);
}

static void provide(Moving *m, const ImpExp *e);

static void provide_var(Moving *m, const Var *var) {
  const ImpStm *read = map_get(m->s->reads, var), *def = map_get(m->s->defs, var);
  if (map_has(m->bound, var)) return;
  if (stays(m->s, var)) {
    const Mem *host = read->u.read.mem;
    const Mem *mem = mem_new(m->s->c, host->name, MEM_GLOBAL, host->elem);
    add_param(m, (KernelParam){ .is_mem = true, .mem = mem },
              (KernelArg){ .is_mem = true, .mem = host, .loads = true });
    add_declaration(m, var, imp_load(mem, read->u.read.index));
    return;
  }
  if (def && is_from_device(m->s, imp_var(var))) {
    provide(m, def->u.declare.value);
    add_declaration(m, var, def->u.declare.value);
    return;
  }
  add_param(m, (KernelParam){ .var = var }, (KernelArg){ .value = imp_var(var) });
}

static void provide(Moving *m, const ImpExp *e) {
  if (e->kind == IMP_VAR) provide_var(m, e->u.var);
  const ImpExp *operands[3];
  int count = imp_operands(e, operands);
  for (int i = 0; i < count; i++)
    provide(m, operands[i]);
}

static bool moves_arg(const Stay *s, const KernelArg *arg) {
  return arg->value && is_from_device(s, arg->value);
}

static bool has_moving_arg(const Stay *s, const ImpStm *launch) {
  for (int i = 0; i < launch->u.launch.arg_count; i++)
    if (moves_arg(s, &launch->u.launch.args[i])) return true;
  return false;
}

static void move_args(Moving *m, const ImpStm *stm) {
  const Kernel *kernel = stm->u.launch.kernel;
  for (int i = 0; i < kernel->param_count; i++)
    if (!moves_arg(m->s, &stm->u.launch.args[i]))
      add_param(m, kernel->params[i], stm->u.launch.args[i]);
  for (int i = 0; i < kernel->param_count; i++) {
    const ImpExp *value = stm->u.launch.args[i].value;
    if (!moves_arg(m->s, &stm->u.launch.args[i])) continue;
    provide(m, value);
    add_declaration(m, kernel->params[i].var, value);
  }
}

// The launch, of a kernel that computes the arguments that move.
static const ImpStm *moved_launch(Stay *s, const ImpStm *stm) {
  Moving m = { .s = s, .bound = map_new(NULL), .loc = stm->loc };
  move_args(&m, stm);
  const Kernel *kernel = stm->u.launch.kernel;
  Kernel *with = mem_copy(kernel, sizeof *kernel);
  vec_each (const ImpStm **, each, &kernel->body)
    vec_push(&m.prologue, *each);
  with->body = m.prologue;
  with->params = m.params.at;
  with->param_count = m.params.count;
  map_put(s->replaced, kernel, with);
  ImpStm *out = mem_copy(stm, sizeof *stm);
  out->u.launch.args = m.args.at;
  out->u.launch.arg_count = m.args.count;
  return out;
}

// Is it computed where it is needed?
static bool goes(const Stay *s, const ImpStm *stm) {
  if (stm->kind == IMP_READ) return stays(s, stm->u.read.var);
  if (stm->kind != IMP_DECLARE) return false;
  return is_from_device(s, imp_var(stm->u.declare.var));
}

static ImpBlock without_reads(void *state, const ImpBlock *block);

static const ImpStm *moved_stm(Stay *s, const ImpStm *stm) {
  if (stm->kind == IMP_LAUNCH) return has_moving_arg(s, stm) ? moved_launch(s, stm) : stm;
  return imp_map_blocks(stm, without_reads, s);
}

// Memory that was read is released at the end of the block.
static ImpBlock without_reads(void *state, const ImpBlock *block) {
  Stay *s = state;
  ImpBlock out = { 0 };
  Map *kept = map_new(NULL);
  Vec(const ImpStm *) releases = { 0 };
  for (int i = 0; i < block->count; i++) {
    const ImpStm *stm = block->at[i];
    bool goes_away = goes(s, stm);
    if (goes_away && stm->kind == IMP_READ) map_put(kept, stm->u.read.mem, stm);
    bool later = stm->kind == IMP_RELEASE && map_has(kept, stm->u.mem.mem);
    if (later) vec_push(&releases, stm);
    if (!goes_away && !later) vec_push(&out, moved_stm(s, stm));
  }
  vec_each (const ImpStm **, stm, &releases)
    vec_push(&out, *stm);
  return out;
}

static bool some_stay(const Stay *s, const ImpBlock *block) {
  for (int i = 0; i < block->count; i++) {
    const ImpBlock *inner[2];
    int count = imp_blocks(block->at[i], inner);
    if (block->at[i]->kind == IMP_READ && stays(s, block->at[i]->u.read.var)) return true;
    for (int k = 0; k < count; k++)
      if (some_stay(s, inner[k])) return true;
  }
  return false;
}

static const ImpEntry *with_scalars_staying(Compiler *c, const ImpEntry *entry,
                                            Map *launches, Map *replaced) {
  Stay s = { .c = c,
             .entry = entry,
             .assigned = map_new(NULL),
             .defs = map_new(NULL),
             .reads = map_new(NULL),
             .needed = map_new(NULL),
             .launches = launches,
             .replaced = replaced,
             .mentions = map_new(NULL) };
  find_mentions(&s, &entry->body);
  s.stm = 0;
  see_code(&s, &entry->body);
  find_needed(&s);
  if (!some_stay(&s, &entry->body)) return entry;
  ImpEntry *out = mem_copy(entry, sizeof *entry);
  out->body = without_reads(&s, &entry->body);
  return out;
}

static void count_launches(Map *launches, const ImpBlock *block) {
  for (int i = 0; i < block->count; i++) {
    const ImpStm *stm = block->at[i];
    const ImpBlock *inner[2];
    int count = imp_blocks(stm, inner);
    for (int k = 0; k < count; k++)
      count_launches(launches, inner[k]);
    if (stm->kind != IMP_LAUNCH) continue;
    const int *before = map_get(launches, stm->u.launch.kernel);
    int now = before ? *before + 1 : 1;
    map_put(launches, stm->u.launch.kernel, mem_copy(&now, sizeof now));
  }
}

void imp_keep_scalars(Compiler *c, ImpProgram *program) {
  Map *launches = map_new(NULL), *replaced = map_new(NULL);
  for (int i = 0; i < program->entry_count; i++)
    count_launches(launches, &program->entries[i]->body);
  for (int i = 0; i < program->entry_count; i++)
    program->entries[i] =
        with_scalars_staying(c, program->entries[i], launches, replaced);
  imp_replace_kernels(program, replaced);
}
