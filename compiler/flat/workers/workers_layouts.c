// What must lie alike has weights of its own:
//
//   let (start, count, workers, ..) = split n if Par(..) >= main.workers_0
//   let ys' = segmap1 <j < count> {..}   let ys = gather n from start:count ys'
//   let s' = segred1 <j < count> {.. ys[start + j] ..}
//     =>  let (start, count, workers, ..) = split n if Par(..) >= main.workers_0 in main.layout_1
//         let (start', count', ..) = split n by workers, as main.workers_0 in main.layout_2
//         let ys' = segmap1 <j < count> {..}
//         let ys = gather n from start:count ys' in main.layout_1
//         let s' = segred1 <j < count'> {.. ys[start' + j] ..}
//
// Needs: Flat with all exchanges in their places.   Keeps: everything else.   Why: how the rows of
// a nest are best shared between devices depends on the nest.
//
// A layout is a class of what is computed from the first row of a block, from how many there are
// or from what lies in blocks, together with what is computed of that.  Arrays that all workers
// have are in none.  So no block goes from one layout to another, but by a fetch or a delivery,
// which tell what each worker has.  What callers hand in and get goes by the program's weights; so
// does all of an entry point with a single layout.
#include "base/map.h"
#include "flat/workers/workers.h"

typedef struct RowLayout {
  struct RowLayout *of;  // the same; NULL: this one stands for its class
  Name name;             // NULL: not known yet, or the program's
} RowLayout;

// A split of the code, and the same rows in each layout that asks for them.
typedef struct RowsOf {
  const Stm *stm;
  Vec(RowLayout *) asked;
  RowLayout *all;  // not NULL: of what asks for it, while that is looked at
  bool one;        // all who ask are in one layout
  Map *likewise;   // RowLayout -> const Var **: results
} RowsOf;

// What a statement, or a variable's type, takes from a split.
typedef struct Asked {
  RowsOf *rows;
  RowLayout *layout;
} Asked;

typedef Vec(Asked) AskedVec;

typedef struct LayoutSearch {
  Compiler *c;
  const Entry *entry;
  Map *rows;       // Var: the first row, the number or the most of a split -> RowsOf
  Map *of;         // Var -> RowLayout
  Map *asked;      // Var, the first that a statement binds, or any -> AskedVec
  Map *exchanges;  // Var -> RowLayout of the blocks that are exchanged
  Map *several;    // Var, a split's number of workers; or a bool: are there several?
  Vec(RowsOf *) splits;
  RowLayout callers;
  bool more;     // something was found
  Subst *subst;  // results of splits, and variables that got another type
  int named;
} LayoutSearch;

// ---- classes

static RowLayout *stands_for(RowLayout *l) {
  while (l->of)
    l = l->of;
  return l;
}

// The class of both, either of which may be NULL.
static RowLayout *join_layouts(LayoutSearch *s, RowLayout *a, RowLayout *b) {
  if (!a || !b) return a ? a : b;
  a = stands_for(a);
  b = stands_for(b);
  if (a == b) return a;
  s->more = true;
  if (a == &s->callers) {
    b->of = a;
    return a;
  }
  a->of = b;
  return b;
}

static void mark_layout(LayoutSearch *s, const Var *var, RowLayout *layout) {
  if (!layout) return;
  RowLayout *known = map_get(s->of, var);
  if (known) {
    join_layouts(s, known, layout);
    return;
  }
  s->more = true;
  map_put(s->of, var, layout);
}

// ---- who asks for rows

static AskedVec *asked_at(LayoutSearch *s, const Var *key) {
  AskedVec *asked = map_get(s->asked, key);
  if (asked) return asked;
  asked = new (AskedVec);
  map_put(s->asked, key, asked);
  return asked;
}

static RowLayout *ask(LayoutSearch *s, RowsOf *rows, const Var *key) {
  AskedVec *asked = asked_at(s, key);
  RowLayout *layout = NULL;
  vec_each (const Asked *, a, asked)
    if (a->rows == rows) layout = a->layout;
  if (!layout) {
    layout = new (RowLayout);
    vec_push(asked, ((Asked){ rows, layout }));
    vec_push(&rows->asked, layout);
  }
  return rows->all ? join_layouts(s, layout, rows->all) : layout;
}

// The layout of what the statement that binds `key` reads there; NULL: all workers have it.
static RowLayout *layout_of(LayoutSearch *s, const Var *var, const Var *key) {
  RowsOf *rows = map_get(s->rows, var);
  return rows ? ask(s, rows, key) : map_get(s->of, var);
}

static RowLayout *layout_of_vars(LayoutSearch *s, const VarVec *vars, const Var *key) {
  RowLayout *out = NULL;
  vec_each (const Var *const *, var, vars)
    out = join_layouts(s, out, layout_of(s, *var, key));
  return out;
}

static RowLayout *layout_of_atoms(LayoutSearch *s, const Atom *atoms, int count,
                                  const Var *key) {
  RowLayout *out = NULL;
  for (int i = 0; i < count; i++)
    if (atoms[i].kind == ATOM_VAR)
      out = join_layouts(s, out, layout_of(s, atoms[i].u.var, key));
  return out;
}

// By the rows that its type has.
static void mark_type(LayoutSearch *s, const Var *var) {
  mark_layout(s, var, layout_of_atoms(s, var->type.dims, var->type.rank, var));
}

// Of what a body returns, or a loop begins with.
static RowLayout *layout_of_result(LayoutSearch *s, Atom a) {
  RowsOf *rows = a.kind == ATOM_VAR ? map_get(s->rows, a.u.var) : NULL;
  if (rows) rows->one = true;
  return a.kind == ATOM_VAR ? map_get(s->of, a.u.var) : NULL;
}

// ---- statements

static void find_in(LayoutSearch *s, const Body *body);

static void find_split(LayoutSearch *s, const Stm *stm) {
  VarVec free = core_free_exp(stm->exp);
  layout_of_vars(s, &free, stm->binders[0]);
  if (map_has(s->rows, stm->binders[SPLIT_COUNT])) return;
  RowsOf *rows = new_node(RowsOf, .stm = stm, .likewise = map_new(NULL));
  map_put(s->rows, stm->binders[SPLIT_START], rows);
  map_put(s->rows, stm->binders[SPLIT_COUNT], rows);
  map_put(s->rows, stm->binders[SPLIT_MOST], rows);
  map_put(s->several, stm->binders[SPLIT_WORKERS], rows);
  vec_push(&s->splits, rows);
}

// Exchanges in which workers tell what they have have two sides: the rows that are there, and
// those that are wanted, or points.
static void find_exchange(LayoutSearch *s, const Stm *stm) {
  const Exp *e = stm->exp;
  const Var *to = stm->binders[0];
  RowLayout *from = NULL;
  if (e->kind == EXP_FETCH) {
    const Atom has[] = { e->u.fetch.start, e->u.fetch.count, e->u.fetch.total,
                         e->u.fetch.block };
    const Atom wants[] = { e->u.fetch.first, e->u.fetch.rows };
    from = layout_of_atoms(s, has, 4, to);
    mark_layout(s, to, layout_of_atoms(s, wants, 2, to));
    mark_type(s, to);
  } else if (e->kind == EXP_DELIVER) {
    const Atom has[] = { e->u.deliver.start, e->u.deliver.count, e->u.deliver.total,
                         e->u.deliver.block };
    from = layout_of_atoms(s, has, 4, to);
    mark_layout(s, to, from);
  } else {
    VarVec free = core_free_exp(e);
    from = layout_of_vars(s, &free, to);
    if (e->kind == EXP_BORDER) mark_layout(s, to, from);
  }
  if (from) map_put(s->exchanges, to, from);
}

// Does it ask whether there are several workers?  What a single one has, all have.
static bool asks_for_several(const LayoutSearch *s, const Exp *exp) {
  return exp->kind == EXP_IF && exp->u.cond.condition.kind == ATOM_VAR &&
         map_has(s->several, exp->u.cond.condition.u.var);
}

static void find_branches(LayoutSearch *s, const Stm *stm, RowLayout *around) {
  BodyVec bodies = exp_bodies(stm->exp);
  bool several = asks_for_several(s, stm->exp);
  for (int k = 0; k < bodies.count; k++) {
    find_in(s, bodies.at[k]);
    for (int i = 0; i < stm->binder_count; i++) {
      RowLayout *layout = layout_of_result(s, bodies.at[k]->results[i]);
      if (k == 0 || !several || map_has(s->of, stm->binders[i]))
        mark_layout(s, stm->binders[i], layout);
    }
  }
  for (int i = 0; i < stm->binder_count; i++) {
    mark_type(s, stm->binders[i]);
    mark_layout(s, stm->binders[i], around);
  }
}

typedef struct Direct {
  const LayoutSearch *s;
  VarVec rows;
} Direct;

static void find_direct(CoreVisitor *v, Atom a) {
  Direct *d = v->state;
  if (a.kind == ATOM_VAR && map_has(d->s->rows, a.u.var)) vec_push(&d->rows, a.u.var);
}

// The results of splits that the expression itself mentions.
static VarVec rows_in(const LayoutSearch *s, const Exp *exp) {
  Direct d = { .s = s };
  CoreVisitor v = { .atom = find_direct, .state = &d };
  core_visit_exp(&v, exp);
  return d.rows;
}

// What the guard decides between lies alike.
static void find_guard(LayoutSearch *s, const Stm *stm) {
  VarVec asked = rows_in(s, stm->exp);
  RowLayout **outer = new_array(RowLayout *, asked.count + 1);
  for (int i = 0; i < asked.count; i++) {
    RowsOf *rows = map_get(s->rows, asked.at[i]);
    outer[i] = rows->all;
    rows->all = ask(s, rows, stm->binders[0]);
  }
  find_branches(s, stm, NULL);
  for (int i = asked.count - 1; i >= 0; i--)
    ((RowsOf *)map_get(s->rows, asked.at[i]))->all = outer[i];
}

static void find_loop(LayoutSearch *s, const Stm *stm) {
  const Exp *loop = stm->exp;
  for (int i = 0; i < loop->u.loop.param_count; i++) {
    const Var *param = loop->u.loop.params[i];
    mark_type(s, param);
    mark_layout(s, param, layout_of_result(s, loop->u.loop.inits[i]));
  }
  find_in(s, loop->u.loop.body);
  for (int i = 0; i < stm->binder_count; i++) {
    const Var *param = loop->u.loop.params[i];
    mark_layout(s, param, layout_of_result(s, loop->u.loop.body->results[i]));
    mark_type(s, stm->binders[i]);
    mark_layout(s, param, map_get(s->of, stm->binders[i]));
    mark_layout(s, stm->binders[i], map_get(s->of, param));
  }
}

// An expression that is in one layout as a whole, or in none.
static void find_plain(LayoutSearch *s, const Stm *stm) {
  VarVec free = core_free_stm(stm);
  RowLayout *layout = layout_of_vars(s, &free, stm->binders[0]);
  for (int i = 0; i < stm->binder_count; i++)
    mark_layout(s, stm->binders[i], layout);
  const Exp *e = stm->exp;
  const Atom *args = e->u.op.args;
  if (e->kind == EXP_OP && e->u.op.op == OP_LT && atom_is_i64(args[0], 1) &&
      args[1].kind == ATOM_VAR && map_has(s->several, args[1].u.var))
    map_put(s->several, stm->binders[0], s);
}

static bool is_of_parts(const Exp *exp) {
  return exp->kind == EXP_IF || exp->kind == EXP_GUARD || exp->kind == EXP_LOOP;
}

static void find_stm(LayoutSearch *s, const Stm *stm) {
  const Exp *exp = stm->exp;
  VarVec rows = { 0 };
  if (exp->kind == EXP_IF || exp->kind == EXP_LOOP) rows = rows_in(s, exp);
  vec_each (const Var **, var, &rows)
    ((RowsOf *)map_get(s->rows, *var))->one = true;
  if (exp->kind == EXP_SPLIT)
    find_split(s, stm);
  else if (exp_is_exchange(exp))
    find_exchange(s, stm);
  else if (exp->kind == EXP_IF)
    find_branches(s, stm, layout_of_result(s, exp->u.cond.condition));
  else if (exp->kind == EXP_GUARD)
    find_guard(s, stm);
  else if (exp->kind == EXP_LOOP)
    find_loop(s, stm);
  else
    find_plain(s, stm);
}

// What the body of the entry point asks for.
static const Var *key_of_results(const LayoutSearch *s) { return s->entry->params[0]; }

static void find_in(LayoutSearch *s, const Body *body) {
  for (int i = 0; i < body->stm_count; i++)
    find_stm(s, &body->stms[i]);
}

// Blocks that callers get, and how many rows they have.
static void find_returned(LayoutSearch *s) {
  const Body *body = s->entry->body;
  RowLayout *layout =
      layout_of_atoms(s, body->results, body->result_count, key_of_results(s));
  if (layout) join_layouts(s, layout, &s->callers);
}

static void find_all(LayoutSearch *s) {
  do {
    s->more = false;
    find_in(s, s->entry->body);
    find_returned(s);
    vec_each (RowsOf **, rows, &s->splits) {
      RowLayout *one = NULL;
      for (int i = 0; (*rows)->one && i < (*rows)->asked.count; i++)
        one = join_layouts(s, one, (*rows)->asked.at[i]);
    }
  } while (s->more);
}

// ---- a split for each

static Name name_of_layout(LayoutSearch *s, RowLayout *layout) {
  if (layout != &s->callers && !layout->name)
    layout->name =
        name_of(s->c->names, text_format("%s.layout_%d", s->entry->name, ++s->named));
  return layout->name;
}

// The split itself in the first layout that asks for it, and the same rows in the others.
static void add_splits(LayoutSearch *s, Builder *b, const Stm *stm) {
  RowsOf *rows = map_get(s->rows, stm->binders[SPLIT_COUNT]);
  Stm own = *stm;
  const Exp *exp = core_subst_exp(s->c, s->subst, stm->exp);
  Atom workers = atom_i64(0);
  for (int i = 0; i < rows->asked.count; i++) {
    RowLayout *layout = stands_for(rows->asked.at[i]);
    if (map_has(rows->likewise, layout)) continue;
    own.exp = exp_split_likewise(exp, workers, name_of_layout(s, layout));
    map_put(rows->likewise, layout, own.binders);
    core_add_stm(b, own);
    workers = atom_var(stm->binders[SPLIT_WORKERS]);
    own.binders = mem_copy(stm->binders, sizeof *stm->binders * SPLIT_RESULTS);
    for (int k = 0; k < SPLIT_RESULTS; k++)
      own.binders[k] = var_like(s->c, stm->binders[k]);
  }
  if (!rows->asked.count) core_add_stm(b, *stm);
}

// From here on results of splits are those in the layouts for which `key` asks.
static void take_rows_of(LayoutSearch *s, const Var *key) {
  const AskedVec *asked = map_get(s->asked, key);
  static const int taken[] = { SPLIT_START, SPLIT_COUNT, SPLIT_MOST };
  for (int i = 0; asked && i < asked->count; i++) {
    RowsOf *rows = asked->at[i].rows;
    const Var **to = map_get(rows->likewise, stands_for(asked->at[i].layout));
    for (int k = 0; k < 3; k++)
      subst_put(s->subst, rows->stm->binders[taken[k]], atom_var(to[taken[k]]));
  }
}

static const Var *with_type(LayoutSearch *s, const Var *var) {
  CoreType type = subst_type(s->subst, var->type);
  if (type.dims == var->type.dims) return var;
  const Var *copy = var_new(s->c, var->name, type, var->loc);
  subst_put(s->subst, var, atom_var(copy));
  return copy;
}

static const Var *layout_binder(CoreMapper *m, const Var *var) {
  LayoutSearch *s = m->state;
  take_rows_of(s, var);
  return with_type(s, var);
}

static Atom layout_atom(CoreMapper *m, Atom a) {
  LayoutSearch *s = m->state;
  return subst_atom(s->subst, a);
}

static void name_exchange(LayoutSearch *s, Exp *exp, const Var *to) {
  RowLayout *layout = map_get(s->exchanges, to);
  Name name = layout ? name_of_layout(s, stands_for(layout)) : NULL;
  if (exp->kind == EXP_GATHER && !atom_equal(exp->u.gather.total, exp->u.gather.workers))
    exp->u.gather.layout = name;
  if (exp->kind == EXP_BORDER) exp->u.border.layout = name;
  if (exp->kind == EXP_DELIVER) exp->u.deliver.layout = name;
}

static void layout_stm(CoreMapper *m, Builder *b, const Stm *stm) {
  LayoutSearch *s = m->state;
  Stm out = *stm;
  take_rows_of(s, stm->binders[0]);
  if (stm->exp->kind == EXP_SPLIT) {
    add_splits(s, b, stm);
    return;
  }
  bool parts = is_of_parts(stm->exp);
  Exp *exp = mem_copy(parts ? core_map_exp(m, stm->exp)
                            : core_subst_exp(s->c, s->subst, stm->exp),
                      sizeof *exp);
  name_exchange(s, exp, stm->binders[0]);
  out.exp = exp;
  out.binders = mem_copy(stm->binders, sizeof *stm->binders * (size_t)stm->binder_count);
  for (int i = 0; i < stm->binder_count; i++)
    out.binders[i] =
        parts ? layout_binder(m, stm->binders[i]) : with_type(s, stm->binders[i]);
  core_add_stm(b, out);
}

static const Body *layout_body(CoreMapper *m, const Body *body) {
  LayoutSearch *s = m->state;
  Builder b = builder_new(s->c, (Loc){ 0 });
  for (int i = 0; i < body->stm_count; i++)
    layout_stm(m, &b, &body->stms[i]);
  if (body == s->entry->body) take_rows_of(s, key_of_results(s));
  Atom *results = new_array(Atom, body->result_count);
  for (int i = 0; i < body->result_count; i++)
    results[i] = layout_atom(m, body->results[i]);
  return core_body(&b, results, body->result_count);
}

// Is there more than one?
static bool are_several(LayoutSearch *s) {
  const RowLayout *first = NULL;
  vec_each (RowsOf **, rows, &s->splits)
    vec_each (RowLayout **, layout, &(*rows)->asked) {
      const RowLayout *each = stands_for(*layout);
      if (first && each != first) return true;
      first = each;
    }
  return false;
}

const Body *spread_layouts(Compiler *c, const Entry *entry, bool callers) {
  LayoutSearch s = { .c = c,
                     .entry = entry,
                     .rows = map_new(NULL),
                     .of = map_new(NULL),
                     .asked = map_new(NULL),
                     .exchanges = map_new(NULL),
                     .several = map_new(NULL),
                     .subst = subst_new() };
  for (int i = entry->size_count; callers && i < entry->param_count; i++)
    if (entry->blocks[i]) mark_layout(&s, entry->params[i], &s.callers);
  if (!entry->param_count) return entry->body;
  find_all(&s);
  if (!are_several(&s)) return entry->body;
  CoreMapper m = {
    .atom = layout_atom, .body = layout_body, .binder = layout_binder, .state = &s
  };
  return layout_body(&m, entry->body);
}
