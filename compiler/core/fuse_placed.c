// scatter n (\i -> (a * i + b, f i)) (iota n) into replicate m x
//   =>  map m (\j -> if 0 <= i < n && (j - b) % a == 0 then f i else x) (iota m)
//       where i = (j - b) / a
// .. into what such a scatter has made   likewise
//
// where f is scalar code, and a a small number that is not 0.  If the place is one of several sums,
// by conditions on i, each of them is asked for its own i.
//
// Needs: Core; binders unique; maps within the scatters that read them.  Keeps: both.  Why: the
// array would be filled first, and stored to out of order, element by element; what reads the
// result may fuse with it.
//
// Wraps: a * i does not, as nobody waits for 2^60 elements, so that a number that equals it modulo
// 2^64 is it.  Where b is divided, it is made of constants and sizes.
#include "core/fuse.h"

enum {
  MOST_STATEMENTS = 64,
  MOST_PIECES = 4,
  MOST_CONDITIONS = 2,
  MOST_ATOMS = 4,
  MOST_STRIDE = 4,
  MOST_FACTOR = 1 << 20,
  MOST_CHAIN = 4,
  MOST_DEEP = 3
};

// factor * i + constant + sum of by[k] * at[k]
typedef struct PlaceSum {
  int64_t factor, constant;
  Atom at[MOST_ATOMS];
  int64_t by[MOST_ATOMS];
  int count;
} PlaceSum;

// A place, where the conditions have these outcomes.
typedef struct PlacePiece {
  PlaceSum place;
  Atom conditions[MOST_CONDITIONS];
  bool outcomes[MOST_CONDITIONS];
  int condition_count;
} PlacePiece;

typedef struct Placed {
  const Graph *g;
  const Stm *stm;    // of the scatter
  const Map *chain;  // Var -> int *: how many scatters have become maps to make it
  Map *made;         // Var -> const Stm *: within the function
  Map *counters;     // Var -> const Exp *: parameters, the iotas that they go through
  PlacePiece pieces[MOST_PIECES];
  int piece_count;
} Placed;

// ---- what the function computes

// It cannot fail: for elements that are stored nowhere it does not run any more.
static bool is_safe_code(Placed *p, const Body *body, int *budget) {
  for (int i = 0; i < body->stm_count; i++) {
    const Stm *stm = &body->stms[i];
    bool branch = stm->exp->kind == EXP_IF;
    bool plain = exp_is_scalar(stm->exp) || exp_is_view(stm->exp);
    if (--*budget < 0 || exp_may_fail(stm->exp) || (!branch && !plain)) return false;
    for (int k = 0; k < stm->binder_count; k++) {
      if (stm->binders[k]->type.rank) return false;
      map_put(p->made, stm->binders[k], stm);
    }
    if (branch && !(is_safe_code(p, stm->exp->u.cond.then_body, budget) &&
                    is_safe_code(p, stm->exp->u.cond.else_body, budget)))
      return false;
  }
  return true;
}

static bool is_small_factor(int64_t n) { return n <= MOST_FACTOR && n >= -MOST_FACTOR; }

static bool add_atom(PlaceSum *place, Atom a, int64_t by) {
  if (a.kind == ATOM_CONST) {
    if (!is_small_factor(a.u.constant.u.i)) return false;
    place->constant += by * a.u.constant.u.i;
    return true;
  }
  int k = 0;
  while (k < place->count && !atom_equal(place->at[k], a))
    k++;
  if (k == MOST_ATOMS) return false;
  if (k == place->count) {
    place->at[place->count++] = a;
    place->by[k] = 0;
  }
  place->by[k] += by;
  return true;
}

static bool add_counter(PlaceSum *place, const Exp *iota, int64_t by) {
  Atom step = iota->u.iota.step;
  if (step.kind != ATOM_CONST || !is_small_factor(step.u.constant.u.i)) return false;
  place->factor += by * step.u.constant.u.i;
  return add_atom(place, iota->u.iota.start, by);
}

static const Exp *iota_of(const Placed *p, Atom array) {
  const Node *made = graph_producer(p->g, array);
  const Exp *iota = made ? made->stm.exp : NULL;
  return iota && iota->kind == EXP_IOTA && iota->u.iota.type == PRIM_I64 ? iota : NULL;
}

static bool add_sum(const Placed *p, PlaceSum *place, Atom a, int64_t by);

static bool add_element(const Placed *p, PlaceSum *place, const Exp *e, int64_t by) {
  const Exp *iota = iota_of(p, e->u.index.array);
  if (!iota || iota->u.iota.step.kind != ATOM_CONST) return false;
  int64_t step = iota->u.iota.step.u.constant.u.i;
  return is_small_factor(step) && add_atom(place, iota->u.iota.start, by) &&
         add_sum(p, place, e->u.index.dims[0].start, by * step);
}

static bool add_operation(const Placed *p, PlaceSum *place, const Exp *e, int64_t by) {
  const Atom *args = e->u.op.args;
  PrimOp op = e->u.op.op;
  if (op == OP_ADD || op == OP_SUB)
    return add_sum(p, place, args[0], by) &&
           add_sum(p, place, args[1], op == OP_ADD ? by : -by);
  if (op != OP_MUL) return false;
  int constant = args[0].kind == ATOM_CONST ? 0 : 1;
  if (args[constant].kind != ATOM_CONST) return false;
  int64_t times = args[constant].u.constant.u.i;
  return is_small_factor(times) && add_sum(p, place, args[1 - constant], by * times);
}

// Adds by * a.
static bool add_sum(const Placed *p, PlaceSum *place, Atom a, int64_t by) {
  if (!is_small_factor(by)) return false;
  if (a.kind == ATOM_CONST) return add_atom(place, a, by);
  const Exp *iota = map_get(p->counters, a.u.var);
  const Stm *made = map_get(p->made, a.u.var);
  if (iota) return add_counter(place, iota, by);
  if (!made) return add_atom(place, a, by);
  const Exp *e = made->exp;
  if (e->kind == EXP_ATOM) return add_sum(p, place, e->u.atom.atom, by);
  if (e->kind == EXP_INDEX) return add_element(p, place, e, by);
  return e->kind == EXP_OP && e->u.op.type == PRIM_I64 && add_operation(p, place, e, by);
}

// ---- pieces

static const Body *branch_of(const Exp *e, bool then_branch) {
  return then_branch ? e->u.cond.then_body : e->u.cond.else_body;
}

static bool has_dimension(CoreType type, Atom a) {
  for (int i = 0; i < type.rank; i++)
    if (atom_equal(type.dims[i], a)) return true;
  return false;
}

// Of the scatter, or of an array that was there before the body.
static bool is_length(const Placed *p, Atom a) {
  if (atom_equal(a, p->stm->exp->u.scatter.width) ||
      has_dimension(p->stm->binders[0]->type, a))
    return true;
  for (int i = 0; i < p->g->count; i++) {
    const Node *node = p->g->order[i];
    for (int k = 0; k < node->free.count; k++)
      if (has_dimension(node->free.at[k]->type, a) &&
          !graph_producer(p->g, atom_var(node->free.at[k])))
        return true;
  }
  return false;
}

// Is it far from the greatest numbers: a size, or a part or a small multiple of one?
static bool is_moderate(const Placed *p, Atom a, int deep) {
  if (a.kind == ATOM_CONST) return is_small_factor(a.u.constant.u.i);
  const Node *node = graph_producer(p->g, a);
  const Exp *e = node ? node->stm.exp : NULL;
  if (is_length(p, a)) return true;
  if (!e || e->kind != EXP_OP || deep == MOST_DEEP) return false;
  const Atom *args = e->u.op.args;
  PrimOp op = e->u.op.op;
  bool divides = op == OP_DIV || op == OP_QUOT || op == OP_MOD || op == OP_REM;
  bool times = op == OP_MUL && (args[0].kind == ATOM_CONST || args[1].kind == ATOM_CONST);
  if (!divides && !times && op != OP_ADD && op != OP_SUB) return false;
  return is_moderate(p, args[0], deep + 1) && is_moderate(p, args[1], deep + 1);
}

static bool can_divide(const Placed *p, const PlaceSum *place) {
  bool divides = place->factor > 1 || place->factor < -1;
  for (int i = 0; i < place->count && divides; i++)
    if (!is_moderate(p, place->at[i], 0)) return false;
  return true;
}

static bool find_pieces(Placed *p, Atom place, PlacePiece piece);

static bool find_branches(Placed *p, const Stm *stm, Atom place, PlacePiece piece) {
  int which = 0, at = piece.condition_count;
  while (stm->binders[which] != place.u.var)
    which++;
  if (at == MOST_CONDITIONS) return false;
  piece.conditions[at] = stm->exp->u.cond.condition;
  piece.condition_count++;
  for (int outcome = 1; outcome >= 0; outcome--) {
    piece.outcomes[at] = outcome;
    if (!find_pieces(p, branch_of(stm->exp, outcome)->results[which], piece))
      return false;
  }
  return true;
}

static bool find_pieces(Placed *p, Atom place, PlacePiece piece) {
  const Stm *made = place.kind == ATOM_VAR ? map_get(p->made, place.u.var) : NULL;
  if (made && made->exp->kind == EXP_IF) return find_branches(p, made, place, piece);
  if (p->piece_count == MOST_PIECES || !add_sum(p, &piece.place, place, 1)) return false;
  int64_t factor = piece.place.factor;
  if (!factor || factor > MOST_STRIDE || factor < -MOST_STRIDE ||
      !can_divide(p, &piece.place))
    return false;
  p->pieces[p->piece_count++] = piece;
  return true;
}

// Does the condition depend on the counters alone? It is asked before elements are read.
static bool is_askable(const Placed *p, Atom a) {
  if (a.kind == ATOM_CONST || map_has(p->counters, a.u.var)) return true;
  const Stm *made = map_get(p->made, a.u.var);
  const Lambda *fn = &p->stm->exp->u.scatter.fn;
  for (int i = 0; i < fn->param_count; i++)
    if (fn->params[i] == a.u.var) return false;
  if (!made) return true;
  if (made->exp->kind == EXP_ATOM) return is_askable(p, made->exp->u.atom.atom);
  if (made->exp->kind != EXP_OP) return false;
  for (int i = 0; i < op_arity(made->exp->u.op.op); i++)
    if (!is_askable(p, made->exp->u.op.args[i])) return false;
  return true;
}

static bool are_askable(const Placed *p) {
  for (int i = 0; i < p->piece_count; i++)
    for (int k = 0; k < p->pieces[i].condition_count; k++)
      if (!is_askable(p, p->pieces[i].conditions[k])) return false;
  return true;
}

// ---- which scatters

static int chain_of(const Placed *p, Atom dest) {
  const int *length = dest.kind == ATOM_VAR ? map_get(p->chain, dest.u.var) : NULL;
  return length ? *length : 0;
}

// Is it filled with one number, or made by such a scatter for this one alone?
static bool is_fresh(const Placed *p, Atom dest) {
  const Node *node = graph_producer(p->g, dest);
  int length = chain_of(p, dest);
  if (length) return length < MOST_CHAIN && graph_uses(p->g, dest.u.var) == 1;
  return node && node->stm.exp->kind == EXP_REPLICATE;
}

static void find_counters(Placed *p) {
  const Exp *e = p->stm->exp;
  for (int i = 0; i < e->u.scatter.array_count; i++) {
    const Exp *iota = iota_of(p, e->u.scatter.arrays[i]);
    if (iota) map_put(p->counters, e->u.scatter.fn.params[i], iota);
  }
}

static bool has_places(Placed *p) {
  const Exp *e = p->stm->exp;
  if (e->kind != EXP_SCATTER || e->u.scatter.dest_count != 1 || p->stm->attrs)
    return false;
  const ScatterDest *dest = e->u.scatter.dests;
  const Body *body = e->u.scatter.fn.body;
  int budget = MOST_STATEMENTS;
  if (p->stm->binders[0]->type.rank != 1 || dest->covered || dest->inside ||
      dest->ascending || !is_fresh(p, dest->dest) || !is_safe_code(p, body, &budget))
    return false;
  find_counters(p);
  return find_pieces(p, body->results[0], (PlacePiece){ 0 }) && are_askable(p);
}

// ---- the map

static Atom times(Builder *b, Atom a, int64_t by) {
  return by == 1 ? a : core_let(b, "times", exp_op2(OP_MUL, a, atom_i64(by)));
}

static Atom both(Builder *b, Atom x, Atom y) {
  return core_let(b, "here", exp_op2(OP_LAND, x, y));
}

// Adds what all elements have in common: sign * (the sum of those terms that `factor` divides, if
// they are to be `divided`, or else of those that it does not divide).
static Atom add_terms(Builder *b, Atom to, const PlaceSum *place, int64_t factor,
                      bool divided) {
  for (int k = 0; k < place->count; k++) {
    if ((place->by[k] % factor == 0) != divided || !place->by[k]) continue;
    int64_t by = divided ? place->by[k] / factor : place->by[k];
    Atom part = times(b, place->at[k], by < 0 ? -by : by);
    to = core_let(b, "from", exp_op2(by < 0 ? OP_ADD : OP_SUB, to, part));
  }
  return to;
}

static int64_t floor_div(int64_t a, int64_t b) { return a / b - (a % b < 0); }

// The element that goes to j, and whether there may be one; *divides: j may lie between two.
static Atom element_at(Builder *b, const PlaceSum *place, Atom j, Atom *divides) {
  int64_t factor = place->factor < 0 ? -place->factor : place->factor;
  int64_t whole = floor_div(place->constant, factor);
  int64_t rest = place->constant - whole * factor;
  Atom from = add_terms(b, j, place, factor, false);
  if (rest) from = core_let(b, "from", exp_op2(OP_SUB, from, atom_i64(rest)));
  *divides = atom_bool(true);
  if (factor > 1) {
    Atom left = core_let(b, "left", exp_op2(OP_MOD, from, atom_i64(factor)));
    *divides = core_let(b, "hit", exp_op2(OP_EQ, left, atom_i64(0)));
    from = core_let(b, "i", exp_op2(OP_DIV, from, atom_i64(factor)));
  }
  from = add_terms(b, from, place, factor, true);
  if (whole) from = core_let(b, "i", exp_op2(OP_SUB, from, atom_i64(whole)));
  return place->factor > 0 ? from : core_let(b, "i", exp_op2(OP_SUB, atom_i64(0), from));
}

static Subst *at_element(const Placed *p, Builder *b, Atom i, bool reads) {
  const Exp *e = p->stm->exp;
  Subst *s = subst_new();
  for (int k = 0; k < e->u.scatter.array_count; k++) {
    const Var *param = e->u.scatter.fn.params[k];
    const Exp *iota = map_get(p->counters, param);
    if (iota) {
      Atom step = iota->u.iota.step, start = iota->u.iota.start;
      Atom x = times(b, i, step.u.constant.u.i);
      bool plain = start.kind == ATOM_CONST && !start.u.constant.u.i;
      subst_put(s, param, plain ? x : core_let(b, "x", exp_op2(OP_ADD, x, start)));
    } else if (reads)
      subst_put(s, param,
                core_let(b, "x", exp_index(e->u.scatter.arrays[k], &i, 1, false)));
  }
  return s;
}

// What the condition is for that element.
static Atom asked(const Placed *p, Builder *b, Atom a, Subst *s) {
  const Stm *made = a.kind == ATOM_VAR ? map_get(p->made, a.u.var) : NULL;
  if (!made) return subst_atom(s, a);
  const Exp *e = made->exp;
  if (e->kind == EXP_ATOM) return asked(p, b, e->u.atom.atom, s);
  Exp *op = mem_copy(e, sizeof *e);
  for (int i = 0; i < op_arity(e->u.op.op); i++)
    op->u.op.args[i] = asked(p, b, e->u.op.args[i], s);
  return core_let(b, "asked", op);
}

static Atom gets_element(const Placed *p, Builder *b, const PlacePiece *piece, Atom i,
                         Atom divides) {
  Atom least = core_let(b, "least", exp_op2(OP_LE, atom_i64(0), i));
  Atom most = core_let(b, "most", exp_op2(OP_LT, i, p->stm->exp->u.scatter.width));
  Atom here = both(b, least, most);
  if (divides.kind == ATOM_VAR) here = both(b, divides, here);
  Subst *s = at_element(p, b, i, false);
  for (int k = 0; k < piece->condition_count; k++) {
    Atom x = asked(p, b, piece->conditions[k], s);
    if (!piece->outcomes[k]) x = core_let(b, "not", exp_op1(OP_NOT, x));
    here = both(b, here, x);
  }
  return here;
}

// What j is given by the piece or those behind it, else `otherwise`.
static Atom placed_at(const Placed *p, Builder *b, int which, Atom j, Atom otherwise) {
  if (which == p->piece_count) return otherwise;
  const PlacePiece *piece = &p->pieces[which];
  Atom divides;
  Atom i = element_at(b, &piece->place, j, &divides);
  Atom here = gets_element(p, b, piece, i, divides);
  Builder then_b = builder_new(b->c, b->loc), else_b = builder_new(b->c, b->loc);
  const Body *body = core_rename_body(b->c, at_element(p, &then_b, i, true),
                                      p->stm->exp->u.scatter.fn.body);
  core_add_body(&then_b, body);
  Atom x = body->results[1];
  Atom y = placed_at(p, &else_b, which + 1, j, otherwise);
  return core_let(b, "x",
                  exp_if(here, core_body(&then_b, &x, 1), core_body(&else_b, &y, 1)));
}

static const Exp *placed_map(const Placed *p, Builder *b) {
  const Var *binder = p->stm->binders[0];
  Atom width = binder->type.dims[0], dest = p->stm->exp->u.scatter.dests->dest;
  const Var *params[2] = {
    var_new(b->c, name_of(b->c->names, "j"), type_scalar(PRIM_I64), b->loc),
    var_new(b->c, name_of(b->c->names, "x"), type_row(binder->type), b->loc),
  };
  Builder inner = builder_new(b->c, b->loc);
  bool reads = chain_of(p, dest) > 0;
  const Node *filled = graph_producer(p->g, dest);
  Atom otherwise = reads ? atom_var(params[1]) : filled->stm.exp->u.replicate.value;
  Atom x = placed_at(p, &inner, 0, atom_var(params[0]), otherwise);
  Atom arrays[2] = { core_let(b, "places", exp_iota(width, atom_i64(0), atom_i64(1))),
                     dest };
  return exp_map(width, lambda_new(params, 1 + reads, core_body(&inner, &x, 1)), arrays,
                 1 + reads);
}

// ---- bodies

static void note_chain(Placed *p, Map *chain) {
  int length = chain_of(p, p->stm->exp->u.scatter.dests->dest) + 1;
  map_put(chain, p->stm->binders[0], mem_copy(&length, sizeof length));
}

const Body *fuse_placed(Compiler *c, const Body *body) {
  Graph *g = graph_new(c, body);
  Map *chain = map_new(NULL);
  Builder b = builder_new(c, (Loc){ 0 });
  for (int i = 0; i < body->stm_count; i++) {
    Stm stm = body->stms[i];
    Placed p = { .g = g,
                 .stm = &body->stms[i],
                 .chain = chain,
                 .made = map_new(NULL),
                 .counters = map_new(NULL) };
    b.loc = stm.loc;
    if (has_places(&p)) {
      stm.exp = placed_map(&p, &b);
      note_chain(&p, chain);
    }
    core_add_stm(&b, stm);
  }
  return core_body(&b, body->results, body->result_count);
}
