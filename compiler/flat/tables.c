// [[a, b], [c, d]]  =>  reshape [2][2] [a, b, c, d]
//
// for the literals that the host makes.
//
// Needs, keeps: Flat.
// Why: each literal of the host is memory and a launch of its own, and one more puts the rows
// together; of constants alone, all of it is a table that is written once (IMP_TABLE).
#include "base/map.h"
#include "core/passes.h"
#include "flat/flat.h"

// More elements than this are written out only if no row stands twice in the literal: else literals
// of literals could double from one to the next.
enum { MOST_REPEATED = 1024 };
// Of a literal with elements that are not constants: they are arguments of one kernel.
enum { MOST_COMPUTED = 64 };

typedef struct Tables {
  Compiler *c;
  Map *literals;  // Var -> Exp: a literal of scalars that it is, row by row
} Tables;

static bool is_constant_atom(Atom a) { return a.kind == ATOM_CONST; }

static bool rows_are_distinct(const Exp *literal) {
  Map *seen = map_new(NULL);
  for (int i = 0; i < literal->u.array.count; i++) {
    const Var *row = literal->u.array.atoms[i].u.var;
    if (map_has(seen, row)) return false;
    map_put(seen, row, row);
  }
  return true;
}

static const Exp *literal_of(const Tables *t, Atom row) {
  return row.kind == ATOM_VAR ? map_get(t->literals, row.u.var) : NULL;
}

// The elements of all rows, one after the other; NULL: they stay as they are.
static const Exp *written_out(const Tables *t, const Exp *literal) {
  int count = literal->u.array.count;
  const Exp *first = count ? literal_of(t, literal->u.array.atoms[0]) : NULL;
  if (!first || first->u.array.count > INT32_MAX / count) return NULL;
  int length = first->u.array.count, total = count * length;
  if (total > MOST_REPEATED && !rows_are_distinct(literal)) return NULL;
  Atom *all = new_array(Atom, total + 1);
  for (int i = 0; i < count; i++) {
    const Exp *row = literal_of(t, literal->u.array.atoms[i]);
    if (!row || row->u.array.count != length) return NULL;
    for (int k = 0; k < length; k++)
      all[i * length + k] = row->u.array.atoms[k];
  }
  const Exp *out = exp_array(all, total, type_scalar(first->u.array.row.elem));
  return total <= MOST_COMPUTED || exp_is_table(out) ? out : NULL;
}

static bool has_constant_shape(CoreType type) {
  for (int d = 0; d < type.rank; d++)
    if (!is_constant_atom(type.dims[d])) return false;
  return true;
}

static void add_literal(Tables *t, Builder *b, const Stm *stm) {
  const Exp *exp = stm->exp;
  const Var *binder = stm->binders[0];
  const Exp *all = exp->u.array.row.rank ? written_out(t, exp) : exp;
  if (all && has_constant_shape(binder->type)) map_put(t->literals, binder, all);
  if (!all || all == exp || !has_constant_shape(binder->type)) {
    core_add_stm(b, *stm);
    return;
  }
  b->loc = stm->loc;
  b->attrs = stm->attrs;
  Stm reshaped = *stm;
  reshaped.exp =
      exp_reshape(binder->type.dims, binder->type.rank, core_let(b, binder->name, all));
  core_add_stm(b, reshaped);
}

static const Body *tables_in_body(CoreMapper *m, const Body *body) {
  Tables *t = m->state;
  Builder b = builder_new(t->c, (Loc){ 0 });
  for (int i = 0; i < body->stm_count; i++) {
    Stm stm = body->stms[i];
    ExpKind kind = stm.exp->kind;
    if (kind == EXP_ARRAY) {
      add_literal(t, &b, &stm);
      continue;
    }
    if (kind == EXP_IF || kind == EXP_LOOP || kind == EXP_GUARD)
      stm.exp = core_map_exp(m, stm.exp);
    core_add_stm(&b, stm);
  }
  return core_body(&b, body->results, body->result_count);
}

const Core *flat_tables(Compiler *c, const Core *flat) {
  Core *out = mem_copy(flat, sizeof *flat);
  const Entry **entries = new_array(const Entry *, flat->entry_count + 1);
  for (int i = 0; i < flat->entry_count; i++) {
    Tables t = { c, map_new(NULL) };
    CoreMapper m = { .body = tables_in_body, .state = &t };
    Entry *entry = mem_copy(flat->entries[i], sizeof *entry);
    entry->body = tables_in_body(&m, entry->body);
    entries[i] = entry;
  }
  out->entries = entries;
  return out;
}
