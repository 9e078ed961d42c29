// The state of flattening, and the rules G0..G9 with what they share.
#pragma once
#include "flat/flat.h"
#include "flat/nest.h"

typedef struct Flatten {
  Compiler *c;
  FlattenOptions options;
  const Entry *entry;
  int guard_count;  // guards made for this entry: numbers their names
  int version_count;
  Map *guard_names;  // names of guards that are taken
  bool warned;       // that max_versions was reached
  Map *defs;         // Var -> the Stm that binds it, for what has been walked
  Map *uses;         // Var -> int *: how often the entry's body as it came in reads it
} Flatten;

// Sigma |-level e  =>  e': a statement in a context.
typedef struct Goal {
  const Nest *nest;  // Sigma; NULL: empty
  Map *
      local;  // what else differs from point to point: binders of the body that is walked
  int level;
  const Stm *stm;  // e, with its binders and attributes
  Builder
      *b;  // where e' goes: outside of Sigma; NULL: nothing is built (goal_is_question)
} Goal;

// Stores in `out` an atom per binder of the statement: the binder's values over the whole
// context, one array rank per level.  False if the rule does not apply; nothing is built then.
// Asked a question, it only tells whether it applies.
typedef bool (*Rule)(Flatten *fl, const Goal *goal, Atom *out);

// The first rule that applies; false if none does (the statement is then sequential code).
bool rule_apply(Flatten *fl, const Goal *goal, Atom *out);

// Sigma |-level body: the results over the whole context (distribute.c: rule G6).
void flatten_body(Flatten *fl, const Nest *nest, int level, const Body *body, Builder *b,
                  Atom *out);

// Likewise for the body of an interchanged loop, whose `uniform` results are wanted as scalars.
void flatten_mixed_body(Flatten *fl, const Nest *nest, int level, const Body *body,
                        const bool *uniform, Builder *b, Atom *out);

// The same as a body of its own, for a branch.
const Body *flatten_branch(Flatten *fl, const Nest *nest, int level, const Body *body);

// ---- questions the rules ask (goal.c)

// Is only asked whether the goal can be reached?  Rules answer after their side conditions.
bool goal_is_question(const Goal *goal);

// Can the statement be distributed over the context (rule G6)?  Its sizes are regular, and one of
// the rules applies.
bool goal_distributes(Flatten *fl, const Goal *goal);
// Is there parallelism in the body that seg-ops over the context could use?
bool goal_body_exploitable(Flatten *fl, const Goal *goal, const Body *body);

// Is it bound by the context or local, so different from point to point?
bool goal_varies(const Goal *goal, Atom a);
// Does a dimension of the type vary?
bool goal_type_varies(const Goal *goal, CoreType type);
// Does an operator, or its neutral element, refer to something that varies?
bool goal_operators_vary(const Goal *goal, const RedOp *ops, int count);
// One scalar without effects, the same at every point of the context: computed outside of it.
bool goal_is_uniform(const Goal *goal, const Stm *stm);

// The goal as a question about what stands within its statement, whose binders goal_bind adds.
Goal goal_inside(const Goal *goal);
// The variable differs from point to point from here on.
void goal_bind(Goal *goal, const Var *var);

// Are all operands of all operators scalars, and is nothing parallel inside?
bool flat_operators_on_scalars(const Soac *soac);

// Is there a seg-op of this level, at any depth?
bool flat_body_has_seg(const Body *body, int level);

// Do two bodies differ in the names of binders only?
bool same_code(const Body *a, const Body *b);

// A body as text, with the binders numbered in order of occurrence (same_code.c).
const char *same_code_text(const Body *body);

// ---- sizes of e_middle (par.c)

// The largest width product of level-0 seg-ops in a body whose widths are known outside of it
// (not in `bound`), or of `so_far` (NULL: none yet).
const SizeExp *par_inner(const Body *body, const Map *bound, const SizeExp *so_far);

// Local memory of a level-1 body: every array that its level-0 seg-ops produce, added to `sum`
// (NULL: 0).  False if a size is not known outside of the kernel: such a version cannot be
// launched.
bool par_local_bytes(const Body *body, const Map *bound, const SizeExp **sum);
// Does a group's code make an array whose size only the kernel knows?  Nothing holds it there.
bool par_makes_varying(const Body *body, const Map *bound);

// ---- the rules for operations that the paper omits (array_rules.c)

bool rule_scatter(Flatten *fl, const Goal *goal, Atom *out);
bool rule_hist(Flatten *fl, const Goal *goal, Atom *out);
// iota, replicate, concat, rotate, copy
bool rule_array_operation(Flatten *fl, const Goal *goal, Atom *out);
bool rule_update(Flatten *fl, const Goal *goal, Atom *out);

// Was the statement marked #[sequential]?
bool flatten_is_sequential(const Stm *stm);

// Adds a seg-op over Sigma, like `like`, and stores its results.
void flatten_emit_seg(Flatten *fl, const Goal *goal, const Nest *nest, const SegOp *like,
              const Body *body, Atom *out);

// ---- surgery the rules share (interchange.c)

// Sigma, <params in arrays>: a map pushed.  Elements of iotas are positions, not reads of memory.
const Nest *flatten_push(Flatten *fl, const Nest *outer, const Soac *map);

// segmap^level Sigma {body} and the like; with the empty context and a scalar or otherwise
// sequential body, a space of one point.
void flatten_emit_segmap(Flatten *fl, const Nest *nest, int level, const Body *body, Builder *b,
                 Atom *out);

// The values of an atom over the whole context: the array it is read from, or a segmap.
Atom flatten_expand(Flatten *fl, const Nest *nest, int level, Atom a, Builder *b);

// A guard with a name of its own.
const Guard *flatten_guard(Flatten *fl, GuardKind kind, const Stm *stm, const SizeExp *par);

// The surgery of G4: map (reduce op d) (transpose z1) ..., likewise with scan, whose result is
// transposed back; `inner` is the map that the operator is, `neutral` the d's.
const Body *flatten_interchange_reduce(Flatten *fl, const Stm *stm, const Soac *inner,
                               const Atom *neutral);
// The surgery of G9: map f xs, then reduce with the same operators over its results.
const Body *flatten_decompose(Flatten *fl, const Stm *stm);

// A loop on the host (or in a work-group, at level 0): its body flattened in the empty context.
void flatten_host_loop(Flatten *fl, const Goal *goal, Atom *out);
// The most operations that a statement of the loop gives the device, in the middle of the loop, in
// terms of sizes outside of it; what they are made of is added to `b`.  NULL if it is not known.
const SizeExp *flat_round_work(Builder *b, const Exp *loop);
// The most operations of a seg-op with this outer width among the statements from `first` on, in
// terms of what is known before them; what it is made of is added to `b`.
const SizeExp *flat_width_work(Builder *b, const Body *body, int first, Atom width);
// The most operations of a seg-op within this one, at all of its points.  NULL if it has none.
const SizeExp *flat_step_work(Builder *b, const Exp *exp);

// ---- what only a loop reads of what was filled for it (loop_starts.c)

// What fills arrays for the loop, and the loop: for one item, not renamed.
const Body *flatten_loop_with_starts(Flatten *fl, const Stm *loop);
// The same for the host: adds what fills them to `b`, and returns `loop`, the goal's with its body
// flattened, in terms of that; renamed.
const Exp *flatten_starts_on_host(Flatten *fl, const Goal *goal, const Exp *loop,
                                  Builder *b);
// What the goal's loop begins with, in terms of that.
void flatten_inits_on_host(Flatten *fl, const Goal *goal, Builder *b, Atom *inits);

// ---- loops that find out the sizes of their results (shorter_loop.c)

// Is there a size among the loop's results that its arrays have?
bool flatten_finds_sizes(const Stm *loop);
// Do those sizes look as if they were at most those before the loop?  Also if there are none.
bool flatten_gets_shorter(const Stm *loop);
// For each size that the loop finds how many elements there is room for, one per result.
Atom *flatten_rooms(Builder *b, const Stm *loop);
// The loop for one item, as long as its rounds are short: found sizes, and arrays with room that
// begin with what it made, or as much of that as fits in.  Not renamed.
const Body *flatten_loop_in_room(Flatten *fl, const Stm *loop, const Atom *rooms);
// `out`: what that item has made; becomes the results of the goal's loop, with which the host goes
// on, or which it runs once more if there was no room.
void flatten_out_of_room(Flatten *fl, const Goal *goal, Builder *b, const Atom *rooms,
                         Atom *out);

// The surgery of G7.
void flatten_interchange_loop(Flatten *fl, const Goal *goal, Atom *out);
// The surgery of G8: a branch under the context, with the innermost map put back around it.
const Body *flatten_put_back(Flatten *fl, const Goal *goal, const Body *branch);
// Adds an expression whose results are those of the goal's statement over the context.
void flatten_emit_branches(const Goal *goal, const Exp *exp, Atom *out);

// Can nothing that fails at a point of the context (of so many levels) get lost in e_flat, made of
// the body, because rows are empty?  What tells is added to `b` (empty_rows.c).
Atom flatten_rows_have_points(Builder *b, const Body *body, const Body *flat, int depth);

// A filter as map, scan and scatter (filter.c).
const Body *flatten_filter(Flatten *fl, const Stm *stm);
// A filter of rows as one of their places, and a map of those (filter_rows.c); NULL for others.
const Body *flatten_row_filter(Flatten *fl, const Stm *stm);

// The context with the statement's value in it, if G5 applies; else NULL.
const Nest *rule_g5(Flatten *fl, const Goal *goal);

// Tells --trace-rules that the rule fired for the statement.
void flatten_trace(Flatten *fl, const char *rule, const Stm *stm);

// A body that is one statement, with its binders as results.
const Body *flatten_body_of_stm(const Stm *stm);
