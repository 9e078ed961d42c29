#include "kern/recipes/recipe.h"
#include "kern/plan.h"
#include <string.h>

Recipe recipe_new(Compiler *c, const Kern *kern, Map *known) {
  return (Recipe){ .step = { .c = c }, .kern = kern, .known = known };
}

// ---- what is known of steps

typedef struct StepOutcome {
  Step step;
  const Kern *next;  // NULL: refused
} StepOutcome;

// By the line of the step: what it made of the kernel.
static Map *outcomes_of(const Recipe *r) {
  Map *outcomes = map_get(r->known, r->kern);
  if (outcomes) return outcomes;
  outcomes = map_new(NULL);
  map_put(r->known, r->kern, outcomes);
  return outcomes;
}

static Name key_of(const Recipe *r, const char *line) {
  NameTable *names = r->step.c->names;
  return name_of(names, r->unchecked ? text_format("%s unchecked", line) : line);
}

static const StepOutcome *recall(Recipe *r, const char *line) {
  const StepOutcome *known = r->known ? map_get(outcomes_of(r), key_of(r, line)) : NULL;
  if (known) r->step = known->step;
  return known;
}

static const Kern *remember(const Recipe *r, const char *line, const Kern *next) {
  if (!r->known) return next;
  map_put(outcomes_of(r), key_of(r, line),
          new_node(StepOutcome, .step = r->step, .next = next));
  return next;
}

const char *recipe_refusal(const Recipe *r) {
  return text_format("`%s`: %s", r->refused, r->step.refusal);
}

static void refused(Recipe *r, const char *line) {
  r->failed = true;
  r->refused = line;
}

// Takes the outcome of a step over.
static void apply(Recipe *r, const Kern *next, const char *line) {
  if (!next) {
    refused(r, line);
    return;
  }
  r->kern = next;
  vec_push(&r->lines, line);
  if (r->step.c->check_ir) kern_check(r->step.c, next);
}

// ---- conditions

static bool demands(const Term *condition, const Term *what) {
  if (term_same(condition, what)) return true;
  return condition->kind == TERM_OP && condition->u.op.op == OP_LAND &&
         (demands(condition->u.op.args[0], what) ||
          demands(condition->u.op.args[1], what));
}

// As reading a recipe line by line makes it: one after the other.
static void add_demand(Recipe *r, const Term *what) {
  if (r->condition && what->kind == TERM_OP && what->u.op.op == OP_LAND) {
    add_demand(r, what->u.op.args[0]);
    add_demand(r, what->u.op.args[1]);
    return;
  }
  if (!r->condition || !demands(r->condition, what))
    r->condition = r->condition ? term_and(r->condition, what) : what;
}

// Is that some width is not less than all wide ones are?
static bool is_wide_anyway(const Kern *kern, const Term *what) {
  if (!kern->wide || what->kind != TERM_OP || what->u.op.op != OP_LE) return false;
  const Term *least = what->u.op.args[0], *width = what->u.op.args[1];
  return least->kind == TERM_CONST && least->type == PRIM_I64 &&
         least->u.constant.u.i <= KERN_WIDE && width->kind == TERM_VAR &&
         map_has(kern->wide, width->u.var);
}

// The host is to see this of the axis' width; false, and `never` or `unknown`, if that cannot be.
static bool require(Recipe *r, const Term *what, const char *never, const char *unknown) {
  if (term_is_bool(what, true) || is_wide_anyway(r->kern, what)) return true;
  if (term_is_bool(what, false))
    step_refuse(&r->step, "%s", never);
  else if (!kern_host_knows(r->kern, what))
    step_refuse(&r->step, "%s", unknown);
  else {
    add_demand(r, what);
    return true;
  }
  return false;
}

static bool require_points(Recipe *r, Name name, int64_t least) {
  const KernStm *stm = step_axis(&r->step, r->kern, name);
  long long n = least;
  return stm && require(r, term_at_most(term_i64(least), stm->u.axis->width),
                        text_format("%s has less than %lld points", name, n),
                        text_format("%s must have %lld points, and how many it has is "
                                    "found inside",
                                    name, n));
}

static bool require_fewer(Recipe *r, Name name, int64_t than) {
  const KernStm *stm = step_axis(&r->step, r->kern, name);
  return stm && require(r, term_less(stm->u.axis->width, term_i64(than)),
                        text_format("%s has %lld points at least", name, (long long)than),
                        text_format("how many points %s has is found inside", name));
}

// ---- steps

const char *recipe_rest_word(SplitRest rest) {
  static const char *const words[] = {
    [SPLIT_SHORT] = "short", [SPLIT_BOUND] = "bound",     [SPLIT_PEEL] = "peel",
    [SPLIT_CHAIN] = "chain", [SPLIT_OVERLAP] = "overlap", [SPLIT_RUN] = "run",
    [SPLIT_CLAMP] = "clamp", [SPLIT_FOLLOW] = "follow",
  };
  return words[rest];
}

const char *recipe_bind_word(AxisBind bind) {
  static const char *const words[] = { [BIND_SEQ] = "seq",
                                       [BIND_GRID] = "grid",
                                       [BIND_ITEM] = "item",
                                       [BIND_LANE] = "lane",
                                       [BIND_REG] = "reg" };
  return words[bind];
}

// Steps that depend on an axis alone, or on a number as well.
typedef const Kern *StepOf(Step *s, const Kern *kern, Name axis);
typedef const Kern *StepBy(Step *s, const Kern *kern, Name axis, int64_t by);

static void take(Recipe *r, StepOf *step, Name axis, const char *line) {
  if (r->failed) return;
  const StepOutcome *known = recall(r, line);
  apply(r, known ? known->next : remember(r, line, step(&r->step, r->kern, axis)), line);
}

static void take_by(Recipe *r, StepBy *step, Name axis, int64_t by, const char *line) {
  if (r->failed) return;
  const StepOutcome *known = recall(r, line);
  apply(r, known ? known->next : remember(r, line, step(&r->step, r->kern, axis, by)),
        line);
}

void recipe_split(Recipe *r, Name axis, int64_t by, SplitRest rest) {
  if (r->failed) return;
  const char *line =
      text_format("split %s by %lld %s", axis, (long long)by, recipe_rest_word(rest));
  const StepOutcome *known = recall(r, line);
  const Kern *next =
      known ? known->next
            : remember(r, line, step_split(&r->step, r->kern, axis, by, rest));
  bool is_full = rest == SPLIT_OVERLAP || rest == SPLIT_FOLLOW;
  if (next && is_full && !require_points(r, axis, by)) next = NULL;
  apply(r, next, line);
}

void recipe_split_into(Recipe *r, Name axis, int64_t pieces) {
  take_by(r, step_split_into, axis, pieces,
          text_format("split %s into %lld", axis, (long long)pieces));
}

void recipe_swap(Recipe *r, Name outer, Name inner) {
  take(r, step_swap, outer, text_format("permute %s %s", inner, outer));
}

// Neighbours in the wrong order change places until none is left.
void recipe_permute(Recipe *r, const Name *axes, int count) {
  for (bool changed = true; changed && !r->failed;) {
    changed = false;
    for (int outer = 1; outer < count && !changed; outer++)
      for (int inner = 0; inner < outer && !changed; inner++) {
        if (!step_is_inside(r->kern, axes[outer], axes[inner])) continue;
        recipe_swap(r, axes[outer], axes[inner]);
        changed = true;
      }
  }
}

void recipe_sweep(Recipe *r, Name axis, int64_t by) {
  take_by(r, step_sweep, axis, by, text_format("sweep %s by %lld", axis, (long long)by));
}

void recipe_collect(Recipe *r, Name axis, int64_t by) {
  take_by(r, step_collect, axis, by,
          text_format("collect %s by %lld", axis, (long long)by));
}

void recipe_bind(Recipe *r, Name axis, AxisBind bind) {
  if (r->failed) return;
  const char *line = text_format("bind %s to %s", axis, recipe_bind_word(bind));
  const StepOutcome *known = recall(r, line);
  const Kern *next = known ? known->next
                           : remember(r, line,
                                      (r->unchecked ? step_bind_unchecked : step_bind)(
                                          &r->step, r->kern, axis, bind));
  // Checks around the axis are then made at its points: there must be some.
  bool checks = next && bind == BIND_GRID && step_checks_beside(r->kern, axis);
  if (checks && !require_points(r, axis, 1)) next = NULL;
  apply(r, next, line);
}

void recipe_check(Recipe *r) {
  if (r->failed) return;
  bool works =
      step_check_lockstep(&r->step, r->kern) && step_check_grid(&r->step, r->kern);
  if (!works) refused(r, r->lines.count ? r->lines.at[r->lines.count - 1] : "");
}

void recipe_unswitch(Recipe *r, Name axis) {
  take(r, step_unswitch, axis, text_format("unswitch %s", axis));
}

void recipe_unroll(Recipe *r, Name axis) {
  take(r, step_unroll, axis, text_format("unroll %s", axis));
}

void recipe_cut(Recipe *r, Name axis) {
  take(r, step_cut, axis, text_format("cut %s", axis));
}

void recipe_align(Recipe *r, Name axis) {
  take(r, step_align, axis, text_format("align %s", axis));
}

void recipe_stage(Recipe *r, Name axis) {
  take(r, step_stage, axis, text_format("stage %s", axis));
}

// Rows without room for a block between their borders are for others.
void recipe_interior(Recipe *r, bool twice) {
  if (r->failed) return;
  const char *line = twice ? "interior move" : "interior";
  const StepOutcome *known = recall(r, line);
  apply(r,
        known ? known->next : remember(r, line, step_interior(&r->step, r->kern, twice)),
        line);
  const Term *fits = r->failed ? NULL : r->step.fits;
  if (!fits || !r->condition || term_is_bool(fits, true)) return;
  r->moves = true;
  r->by_loops = r->step.by_loops;
  if (kern_host_knows(r->kern, fits)) add_demand(r, fits);
}

void recipe_where(Recipe *r, Name axis, int64_t least) {
  if (r->failed) return;
  apply(r, require_points(r, axis, least) ? r->kern : NULL,
        text_format("where %s >= %lld", axis, (long long)least));
}

void recipe_where_fewer(Recipe *r, Name axis, int64_t than) {
  if (r->failed) return;
  apply(r, require_fewer(r, axis, than) ? r->kern : NULL,
        text_format("where %s < %lld", axis, (long long)than));
}

void recipe_where_filled(Recipe *r, Name axis, int64_t by) {
  enum { BLOCKS = 4 };
  if (r->failed) return;
  const KernStm *stm = step_axis(&r->step, r->kern, axis);
  const Term *width = stm ? stm->u.axis->width : term_i64(0),
             *many = term_at_most(term_i64(BLOCKS * by), width),
             *over = term_op2(OP_REM, width, term_i64(by)),
             *fills = term_or(many, term_op2(OP_EQ, over, term_i64(0)));
  const char *never = text_format("blocks of %lld do not fill %s", (long long)by, axis),
             *unknown = text_format("how many points %s has is found inside", axis);
  apply(r, stm && require(r, fills, never, unknown) ? r->kern : NULL,
        text_format("where %s fills %lld", axis, (long long)by));
}

void recipe_spread(Recipe *r) {
  if (r->failed) return;
  const char *never = "rows that lanes store to lie a multiple of 4096 bytes apart";
  bool holds = require(r, step_rows_spread(r->kern), never, never);
  apply(r, holds ? r->kern : NULL, "spread");
}

Recipe recipe_copy(const Recipe *r) {
  Recipe out = *r;
  out.lines = (RecipeLines){ 0 };
  vec_each (const char **, line, &r->lines)
    vec_push(&out.lines, *line);
  return out;
}

Recipe recipe_then(const Recipe *first, const Recipe *r) {
  Recipe out = *r;
  out.condition = first->condition;
  if (r->condition) add_demand(&out, r->condition);
  out.lines = recipe_copy(first).lines;
  vec_each (const char **, line, &r->lines)
    vec_push(&out.lines, *line);
  return out;
}

Name recipe_outer(const Recipe *r, Name axis) {
  Name last = NULL;
  for (int i = 0;; i++) {
    Name name = name_of(r->step.c->names, text_format("%s%d", axis, i));
    if (!kern_has_axis(r->kern, name)) return last;
    last = name;
  }
}

// ---- printing

// So that a printed recipe can be read again.
static void add_comment(Text *t, const char *text) {
  while (*text) {
    size_t length = strcspn(text, "\n");
    text_newline(t);
    text_printf(t, "-- %.*s", (int)length, text);
    text += length + (text[length] == '\n');
  }
}

static void print_nest(Text *t, const KernPlan *plan, Name name) {
  Text *nest = text_new();
  if (name && plan->many_points) text_printf(nest, "shared out by %s.groups\n", name);
  if (plan->condition) {
    text_add(nest, "if ");
    term_print(nest, plan->condition);
  }
  kern_print(nest, plan->kern);
  if (plan->narrow) {
    text_add(nest, "\nif ");
    term_print(nest, plan->small);
    kern_print(nest, plan->narrow);
  }
  const char *text = text_str(nest);
  add_comment(t, *text == '\n' ? text + 1 : text);
}

// `name`: NULL if its name has been printed.
static void print_recipe(Text *t, const KernPlan *plan, Name name, bool by_choice) {
  text_newline(t);
  if (name)
    text_printf(t, "kernel %s  -- %s", name, loc_text(plan->kern->loc));
  else
    text_add(t, by_choice ? "or" : "otherwise");
  text_indent(t, 2);
  for (int i = 0; i < plan->recipe_count; i++) {
    text_newline(t);
    text_add(t, plan->recipe[i]);
  }
  print_nest(t, plan, name);
  text_indent(t, -2);
}

// What the schedule offers to the tuner.
static void print_choice(Text *t, const KernPlan *plan, Name name) {
  text_newline(t);
  text_printf(t, "-- by %s.recipe=%d:", name, plan->choice);
  for (int i = 0; i < plan->recipe_count; i++) {
    text_newline(t);
    text_printf(t, "--   %s", plan->recipe[i]);
  }
}

// -- let x = term
static void print_lets(Text *t, const KernBlock *lets) {
  for (int i = 0; i < lets->count; i++) {
    text_newline(t);
    text_add(t, "-- let ");
    core_print_atom(t, atom_var(lets->stms[i].binders[0]));
    text_add(t, " = ");
    term_print(t, lets->stms[i].u.term);
  }
}

static void print_parts(Text *t, const KernPlan *plan) {
  if (plan->condition) {
    text_newline(t);
    text_add(t, "-- if ");
    term_print(t, plan->condition);
  }
  for (int i = 0; i < plan->part_count; i++)
    kern_print_plan(t, plan->parts[i]);
  if (!plan->otherwise) return;
  text_newline(t);
  text_add(t, "-- else");
}

void kern_print_plan(Text *t, const KernPlan *plan) {
  Name name = NULL;
  for (bool by_choice = false; plan; plan = plan->otherwise) {
    if (plan->lets) print_lets(t, plan->lets);
    if (plan->name) name = plan->name;
    if (plan->choice)
      print_choice(t, plan, name);
    else if (plan->kern)
      print_recipe(t, plan, name, by_choice);
    else
      print_parts(t, plan);
    if (!plan->choice) name = NULL;
    by_choice = plan->by_choice;
  }
  text_newline(t);
}
