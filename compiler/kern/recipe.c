#include "kern/recipe.h"
#include "kern/plan.h"

Recipe recipe_new(Compiler *c, const Kern *kern) {
  return (Recipe){ .step = { .c = c }, .kern = kern };
}

// Takes the outcome of a step over.
static void apply(Recipe *r, const Kern *next, const char *line) {
  if (!next) {
    r->failed = true;
    return;
  }
  r->kern = next;
  vec_push(&r->lines, line);
  if (r->step.c->check_ir) kern_check(r->step.c, next);
}

void recipe_split(Recipe *r, Name axis, int64_t by, SplitRest rest) {
  static const char *const words[] = { [SPLIT_SHORT] = " short",
                                       [SPLIT_BOUND] = "",
                                       [SPLIT_PEEL] = " peel",
                                       [SPLIT_OVERLAP] = " overlap" };
  if (r->failed) return;
  apply(r, step_split(&r->step, r->kern, axis, by, rest),
        text_format("split %s by %lld%s", axis, (long long)by, words[rest]));
}

void recipe_split_into(Recipe *r, Name axis, int64_t pieces) {
  if (r->failed) return;
  apply(r, step_split_into(&r->step, r->kern, axis, pieces),
        text_format("split %s into %lld", axis, (long long)pieces));
}

void recipe_swap(Recipe *r, Name outer, Name inner) {
  if (r->failed) return;
  apply(r, step_swap(&r->step, r->kern, outer),
        text_format("permute %s %s", inner, outer));
}

void recipe_bind(Recipe *r, Name axis, AxisBind bind) {
  static const char *const words[] = { "seq", "grid", "item", "lane", "reg" };
  if (r->failed) return;
  apply(r,
        (r->unchecked ? step_bind_unchecked : step_bind)(&r->step, r->kern, axis, bind),
        text_format("bind %s to %s", axis, words[bind]));
}

void recipe_check(Recipe *r) {
  if (!r->failed) r->failed = !step_check_lockstep(&r->step, r->kern);
}

void recipe_unswitch(Recipe *r, Name axis) {
  if (r->failed) return;
  apply(r, step_unswitch(&r->step, r->kern, axis), text_format("unswitch %s", axis));
}

void recipe_interior(Recipe *r, bool twice) {
  if (r->failed) return;
  apply(r, step_interior(&r->step, r->kern, twice), twice ? "interior move" : "interior");
}

Name recipe_outer(const Recipe *r, Name axis) {
  Name last = NULL;
  for (int i = 0;; i++) {
    Name name = name_of(r->step.c->names, text_format("%s%d", axis, i));
    if (!kern_has_axis(r->kern, name)) return last;
    last = name;
  }
}

static void print_kernel(Text *t, const KernPlan *plan) {
  text_newline(t);
  text_printf(t, "// %s", loc_text(plan->kern->loc));
  for (int i = 0; i < plan->recipe_count; i++) {
    text_newline(t);
    text_printf(t, "// %s", plan->recipe[i]);
  }
  kern_print(t, plan->kern);
}

static void print_lets(Text *t, const KernBlock *lets) {
  for (int i = 0; i < lets->count; i++) {
    text_newline(t);
    text_add(t, "let ");
    core_print_atom(t, atom_var(lets->stms[i].binders[0]));
    text_add(t, " = ");
    term_print(t, lets->stms[i].u.term);
  }
}

void kern_print_plan(Text *t, const KernPlan *plan) {
  for (; plan; plan = plan->otherwise) {
    if (plan->lets) print_lets(t, plan->lets);
    if (plan->condition) {
      text_newline(t);
      text_add(t, "if ");
      term_print(t, plan->condition);
    }
    if (plan->kern) print_kernel(t, plan);
    for (int i = 0; i < plan->part_count; i++)
      kern_print_plan(t, plan->parts[i]);
    text_newline(t);
    if (plan->otherwise) text_add(t, "else");
  }
}
