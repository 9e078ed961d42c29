// What workers exchange, in words: what moves, and who reads it.
//
// Needs: Flat, divided.   Why: --explain-copies.
#include "flat/versions.h"
#include "flat/workers/workers.h"
#include <string.h>

typedef struct MoveTeller {
  const Entry *entry;
  SizeNames *names;
  Map *counts;  // Var: the rows of a block
  MoveNotes *notes;
} MoveTeller;

// Around statements: what their results are; are they a round of a loop on the host; and when do
// they run, "" if always?
typedef struct MoveScope {
  const char *results;
  bool round;
  const char *when;
} MoveScope;

enum { LONGEST_SOURCE = 40 };

static const char *source_text(Loc loc) {
  const char *source = version_source_text(loc, LONGEST_SOURCE);
  return *source ? text_format("`%s`", source) : "the program";
}

// The name that the user gave it, or what makes it.
static const char *array_text(const MoveTeller *w, const Var *array) {
  bool param = array->loc.start == w->entry->loc.start;
  return param || version_is_users(array) ? text_format("`%s`", array->name)
                                          : source_text(array->loc);
}

static const char *place_text(Loc loc) {
  LineCol at = loc.file ? loc_line_col(loc) : (LineCol){ 0 };
  return text_format("%s at %d:%d", source_text(loc), at.line, at.col);
}

static const char *rows_text(const MoveTeller *w, CoreType type) {
  Text *t = text_new();
  for (int i = 0; i < type.rank; i++)
    text_printf(t, "[%s]", version_size_name(w->names, type.dims[i]));
  text_add(t, prim_type_name(type.elem));
  return text_str(t);
}

// Notes it once: several versions exchange the same.
static void add_note(MoveTeller *w, Loc loc, const MoveScope *around, const char *text) {
  const char *often = around->round ? ", in each round" : "";
  MoveNote note = { loc, text_format("%s%s", text, often), around->when };
  vec_each (MoveNote *, known, w->notes) {
    if (known->loc.start != loc.start || strcmp(known->text, note.text) != 0) continue;
    known->when = "";
    return;
  }
  vec_push(w->notes, note);
}

// ---- who reads it

static bool is_count(const MoveTeller *w, Atom width) {
  return width.kind == ATOM_VAR && map_has(w->counts, width.u.var);
}

static bool is_among(const VarVec *vars, const Var *var) {
  for (int i = 0; i < vars->count; i++)
    if (vars->at[i] == var) return true;
  return false;
}

// Which result of some of the bodies it is, the first if of none.
static int result_of(const BodyVec *bodies, const Var *var) {
  for (int k = 0; k < bodies->count; k++)
    for (int i = 0; i < bodies->at[k]->result_count; i++)
      if (atom_equal(bodies->at[k]->results[i], atom_var(var))) return i;
  return 0;
}

static const char *reader_in(const MoveTeller *w, const Body *body, int first,
                             const Var *var, const char *results);

// What the statement, which mentions it, does with it.
static const char *reader_text(const MoveTeller *w, const Body *body, int at,
                               const Var *var, const char *results) {
  const Stm *stm = &body->stms[at];
  const Exp *exp = stm->exp;
  const char *place = place_text(stm->loc);
  if (exp->kind == EXP_SEG && is_count(w, exp->u.seg->dims[0].width))
    return text_format("%s reads more than its own rows", place);
  if (exp->kind == EXP_SEG) return text_format("every worker does all of %s", place);
  BodyVec bodies = exp_bodies(exp);
  const char *within = NULL, *passed_on = "passed on";
  const char *inner = exp->kind == EXP_LOOP ? "the next round begins with it" : passed_on;
  for (int i = 0; i < bodies.count && (!within || within == passed_on); i++)
    within = reader_in(w, bodies.at[i], 0, var, inner);
  if (within == passed_on)
    return reader_in(w, body, at + 1, stm->binders[result_of(&bodies, var)], results);
  if (within) return within;
  const Var *view = stm->binder_count == 1 ? stm->binders[0] : NULL;
  bool is_view = exp->kind == EXP_ATOM || exp->kind == EXP_REARRANGE ||
                 exp->kind == EXP_ASSERT || exp->kind == EXP_INDEX;
  if (is_view && view && view->type.rank)
    within = reader_in(w, body, at + 1, view, results);
  return within ? within : text_format("%s reads it", place);
}

static const char *reader_in(const MoveTeller *w, const Body *body, int first,
                             const Var *var, const char *results) {
  for (int i = first; i < body->stm_count; i++) {
    VarVec used = core_free_exp(body->stms[i].exp);
    if (is_among(&used, var)) return reader_text(w, body, i, var, results);
  }
  for (int i = 0; i < body->result_count; i++)
    if (body->results[i].kind == ATOM_VAR && body->results[i].u.var == var)
      return results;
  return NULL;
}

// ---- what moves

static const char *gather_text(const MoveTeller *w, const Stm *stm, const char *reader) {
  const char *what = array_text(w, stm->binders[0]);
  if (atom_equal(stm->exp->u.gather.total, stm->exp->u.gather.workers))
    return text_format("workers exchange what each has of %s, and combine it", what);
  return text_format("every worker gets all of %s, %s: %s", what,
                     rows_text(w, stm->binders[0]->type), reader);
}

static const char *border_text(const MoveTeller *w, const Stm *stm, const char *reader) {
  const Exp *exp = stm->exp;
  return text_format(
      "neighbours exchange rows of %s, %s before and %s behind each block: %s",
      array_text(w, exp->u.border.block.u.var),
      version_size_name(w->names, exp->u.border.before),
      version_size_name(w->names, exp->u.border.after), reader);
}

static const char *fetch_text(const MoveTeller *w, const Stm *stm, const char *reader) {
  const Exp *exp = stm->exp;
  if (exp->u.fetch.dim)
    return text_format("workers exchange rows of %s for columns: %s",
                       array_text(w, exp->u.fetch.block.u.var), reader);
  bool all = atom_equal(exp->u.fetch.rows, exp->u.fetch.total);
  return text_format("workers fetch %s of %s from each other: %s",
                     all ? "all rows" : "rows", array_text(w, exp->u.fetch.block.u.var),
                     reader);
}

// The exchange of the statement; NULL if it is none.
static const char *move_text(const MoveTeller *w, const Stm *stm, const char *reader) {
  ExpKind kind = stm->exp->kind;
  if (kind == EXP_GATHER) return gather_text(w, stm, reader);
  if (kind == EXP_BORDER) return border_text(w, stm, reader);
  if (kind == EXP_FETCH) return fetch_text(w, stm, reader);
  if (kind == EXP_DELIVER)
    return text_format("workers send values for %s to those that have the rows",
                       source_text(stm->loc));
  return NULL;
}

// Why a seg-op of the grid is not divided; NULL if it is, or hardly does anything.
static const char *whole_text(const MoveTeller *w, const Stm *stm) {
  const SegOp *seg = stm->exp->u.seg;
  Atom width = seg->dims[0].width;
  bool copies = seg->body->stm_count == 0;
  if (copies || is_count(w, width) || atom_is_i64(width, 1)) return NULL;
  const char *place = source_text(stm->loc);
  if (seg->kind == SEG_SCATTER)
    return text_format("every worker goes through all points of %s, and writes its rows",
                       place);
  const char *why = !spread_can(seg) ? "it has few rows, or an operator on arrays"
                    : spread_costs_little(seg)
                        ? "its results take longer to gather than to compute"
                        : "what it reads is not worth dividing";
  return text_format("every worker does all of %s: %s", place, why);
}

// ---- bodies

static void explain(MoveTeller *w, const Body *body, const MoveScope *around);

static void explain_stm(MoveTeller *w, const Body *body, int at,
                        const MoveScope *around) {
  const Stm *stm = &body->stms[at];
  const Exp *exp = stm->exp;
  if (exp->kind == EXP_SPLIT) map_put(w->counts, stm->binders[1], exp);
  const char *text = exp->kind == EXP_SEG ? whole_text(w, stm) : NULL;
  if (!text && stm->binder_count) {
    const char *reader = reader_in(w, body, at + 1, stm->binders[0], around->results);
    text = move_text(w, stm, reader ? reader : "nothing reads it");
  }
  if (text) add_note(w, stm->loc, around, text);
  if (exp_is_parallel(exp)) return;
  MoveScope inner = *around;
  if (exp->kind == EXP_LOOP) {
    inner.results = "the next round begins with it";
    inner.round = true;
  }
  BodyVec bodies = exp_bodies(exp);
  for (int i = 0; i < bodies.count; i++) {
    if (exp->kind == EXP_IF && exp->u.cond.else_body->stm_count)
      inner.when = ", in one of two cases";
    if (exp->kind == EXP_GUARD)
      inner.when = text_format(", %s %s", i ? "unless" : "if", exp->u.guard.guard->name);
    explain(w, bodies.at[i], &inner);
  }
}

static void explain(MoveTeller *w, const Body *body, const MoveScope *around) {
  for (int i = 0; i < body->stm_count; i++)
    explain_stm(w, body, i, around);
}

MoveNotes flat_explain_moves(const Core *flat) {
  MoveNotes notes = { 0 };
  for (int i = 0; i < flat->entry_count; i++) {
    const Entry *entry = flat->entries[i];
    MoveTeller w = { entry, size_names_new(entry), map_new(NULL), &notes };
    MoveScope around = { text_format("it is a result of `%s`", entry->name), false, "" };
    explain(&w, entry->body, &around);
  }
  return notes;
}
