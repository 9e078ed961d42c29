// Kernels by the recipes that the user gives for them.
#include "kern/recipes/recipe_book.h"
#include <string.h>

// ---- one way

static void see_axis_name(KernVisitor *v, const KernStm *stm) {
  if (stm->kind != KERN_AXIS) return;
  Text *t = v->state;
  text_printf(t, "%s%s", text_length(t) ? ", " : "", stm->u.axis->name);
}

static const char *axes_of(const Kern *kern) {
  Text *t = text_new();
  KernVisitor v = { .stm = see_axis_name, .state = t };
  kern_visit_block(&v, kern->body);
  return text_length(t) ? text_str(t) : "none";
}

// Does the kernel, as it is by now, have the axes that the step names?
static bool axes_exist(const Recipe *r, const RecipeStep *step) {
  Compiler *c = r->step.c;
  for (int i = 0; i < step->axis_count; i++) {
    if (kern_has_axis(r->kern, step->axes[i])) continue;
    error(c, step->axis_locs[i], "there is no axis %s", step->axes[i]);
    hint(c, "at this point the axes are %s", axes_of(r->kern));
    return false;
  }
  return true;
}

// Are they in that order now?
static bool are_in_order(const Kern *kern, const RecipeStep *step) {
  for (int i = 0; i + 1 < step->axis_count; i++)
    if (!step_is_inside(kern, step->axes[i], step->axes[i + 1])) return false;
  return true;
}

static void take_step(Recipe *r, const RecipeStep *step) {
  switch (step->verb) {
  case VERB_SPLIT: recipe_split(r, step->axes[0], step->number, step->rest); return;
  case VERB_SPLIT_INTO: recipe_split_into(r, step->axes[0], step->number); return;
  case VERB_PERMUTE: recipe_permute(r, step->axes, step->axis_count); return;
  case VERB_SWEEP: recipe_sweep(r, step->axes[0], step->number); return;
  case VERB_COLLECT: recipe_collect(r, step->axes[0], step->number); return;
  case VERB_BIND:
    for (int i = 0; i < step->axis_count; i++)
      recipe_bind(r, step->axes[i], step->bind);
    return;
  case VERB_UNSWITCH: recipe_unswitch(r, step->axes[0]); return;
  case VERB_UNROLL: recipe_unroll(r, step->axes[0]); return;
  case VERB_STAGE: recipe_stage(r, step->axes[0]); return;
  case VERB_CUT: recipe_cut(r, step->axes[0]); return;
  case VERB_ALIGN: recipe_align(r, step->axes[0]); return;
  case VERB_INTERIOR: recipe_interior(r, step->move); return;
  case VERB_SPREAD: recipe_spread(r); return;
  case VERB_WHERE:
    (step->fills   ? recipe_where_filled
     : step->fewer ? recipe_where_fewer
                   : recipe_where)(r, step->axes[0], step->number);
    return;
  }
}

static const char *step_text(const RecipeStep *step) {
  Loc loc = step->loc;
  return text_format("%.*s", (int)(loc.end - loc.start), loc.file->text + loc.start);
}

static void report_refusal(const Recipe *r, const RecipeStep *step) {
  error(r->step.c, step->loc, "`%s` does not apply: %s", step_text(step),
        r->step.refusal);
}

// Lanes, registers and the grid may have to wait for steps to come: what is wrong at the end is
// the fault of the step that made it so.
static bool works(const Recipe *r) {
  Recipe copy = *r;
  recipe_check(&copy);
  return !copy.failed;
}

// The kernel after the steps; false after an error.
static bool take_way(Recipe *r, const RecipeWay *way) {
  const RecipeStep *culprit = NULL;
  vec_each (const RecipeStep *, step, &way->steps) {
    if (!axes_exist(r, step)) return false;
    take_step(r, step);
    if (!r->failed && step->verb == VERB_PERMUTE && !are_in_order(r->kern, step)) {
      r->failed = true;
      r->step.refusal = "the axes are not one directly in the other";
    }
    if (r->failed) {
      report_refusal(r, step);
      return false;
    }
    if (works(r))
      culprit = NULL;
    else if (!culprit)
      culprit = step;
  }
  if (!culprit) return true;
  recipe_check(r);
  report_refusal(r, culprit);
  return false;
}

// ---- kernels

static bool is_part_of(Loc inner, Loc outer) {
  return inner.file == outer.file && inner.start >= outer.start && inner.end <= outer.end;
}

// Does a recipe with the kernel's name, or that of a smaller expression around it, go before?
static bool goes_before(const BookEntry *a, const BookEntry *b) {
  return a->kernel || (!b->kernel && is_part_of(a->exp, b->exp));
}

static BookEntry *find_entry(const RecipeBook *book, Name name, const Kern *kern) {
  BookEntry *found = NULL;
  vec_each (BookEntry *, entry, &book->entries) {
    bool suits =
        entry->kernel ? entry->kernel == name : is_part_of(kern->loc, entry->exp);
    if (!suits) continue;
    BookEntry *other = found && goes_before(found, entry) ? entry : found;
    found = other == entry ? found : entry;
    if (other) other->used = true;
  }
  return found;
}

static KernPlan plan_of_recipe(const Recipe *r) {
  return (KernPlan){ .kern = r->kern,
                     .recipe = r->lines.at,
                     .recipe_count = r->lines.count,
                     .condition = r->condition };
}

// A kernel and the recipe for it.
typedef struct BookKernel {
  Compiler *c;
  const BookEntry *entry;
  Name name;
  const Kern *kern;
} BookKernel;

// How many times `or` stands before way number `end`.
static int choices_before(const BookEntry *entry, int end) {
  int count = 0;
  for (int i = 0; i < end && i < entry->ways.count; i++)
    count += entry->ways.at[i].by_choice;
  return count;
}

// If an `or` follows the way, now or later: that the parameter does not ask for what is behind it.
static const Term *choice_of(const BookKernel *k, int way) {
  int before = choices_before(k->entry, way + 1),
      all = choices_before(k->entry, k->entry->ways.count);
  if (before == all) return NULL;
  Name parameter = name_of(k->c->names, text_format("%s.recipe", k->name));
  return term_at_most(term_tuning(parameter), term_i64(before + 1));
}

// The ways from number `first` on; behind the last the kernel as it is.
static const KernPlan *plan_of_ways(const BookKernel *k, int first) {
  Compiler *c = k->c;
  const BookEntry *entry = k->entry;
  Recipe r = recipe_new(c, k->kern, NULL);
  r.unchecked = true;
  if (first < entry->ways.count && !take_way(&r, &entry->ways.at[first])) return NULL;
  KernPlan plan = plan_of_recipe(&r);
  const Term *choice = choice_of(k, first);
  if (choice) plan.condition = plan.condition ? term_and(choice, plan.condition) : choice;
  plan.by_choice = first + 1 < entry->ways.count && entry->ways.at[first + 1].by_choice;
  if (first == 0 && choice) plan.recipes = choices_before(entry, entry->ways.count) + 1;
  if (plan.condition) {
    plan.otherwise = plan_of_ways(k, first + 1);
    if (!plan.otherwise) return NULL;
  } else if (first + 1 < entry->ways.count) {
    error(c, entry->ways.at[first + 1].loc,
          "this is never reached: what stands before it has no condition");
    hint(c, "conditions come from `where`, `overlap` and `or`");
    return NULL;
  }
  return mem_copy(&plan, sizeof plan);
}

// The recipe of an expression is for those of its kernels that it suits.
static const KernPlan *plan_if_it_suits(const BookKernel *k, BookEntry *entry) {
  Compiler *c = k->c;
  DiagSaved *before = diag_save(c);
  const KernPlan *plan = plan_of_ways(k, 0);
  if (plan)
    entry->used = true;
  else if (!entry->complaint)
    entry->complaint = diag_save(c);
  diag_restore(c, before);
  return plan;
}

int64_t book_choice(const RecipeBook *book, Name param) {
  for (int i = 0; i < book->choices.count; i++)
    if (strcmp(book->choices.at[i].param, param) == 0) return book->choices.at[i].value;
  return 0;
}

bool book_mentions(const RecipeBook *book, Name kernel) {
  if (!book) return false;
  if (book->others || book->choices.count) return true;
  vec_each (const BookEntry *, entry, &book->entries)
    if (!entry->kernel || entry->kernel == kernel) return true;
  return false;
}

const KernPlan *book_plan(Compiler *c, RecipeBook *book, Name kernel, const Kern *kern) {
  if (!book) return NULL;
  vec_push(&book->kernels, kernel);
  BookEntry *entry = find_entry(book, kernel, kern);
  if (!entry) return NULL;
  BookKernel k = { c, entry, kernel, kern };
  if (!entry->kernel) return plan_if_it_suits(&k, entry);
  entry->used = true;
  return plan_of_ways(&k, 0);
}

static const char *kernel_list(const RecipeBook *book) {
  Text *t = text_new();
  for (int i = 0; i < book->kernels.count && i < 12; i++)
    text_printf(t, "%s%s", i ? ", " : "", book->kernels.at[i]);
  if (book->kernels.count > 12) text_add(t, ", ..");
  return text_str(t);
}

static void report_unused(Compiler *c, const BookEntry *entry) {
  if (entry->complaint)
    diag_add(c, entry->complaint);
  else
    error(c, entry->loc, "no kernel comes from this expression");
}

void book_finish(Compiler *c, const RecipeBook *book) {
  vec_each (const BookEntry *, entry, &book->entries) {
    if (entry->used) continue;
    if (!entry->kernel) {
      report_unused(c, entry);
      continue;
    }
    error(c, entry->loc, "the program has no kernel %s", entry->kernel);
    Name close = diag_closest(entry->kernel, book->kernels.at, book->kernels.count);
    if (close)
      hint(c, "did you mean %s?", close);
    else if (book->kernels.count)
      hint(c, "its kernels are %s", kernel_list(book));
    else
      hint(c, "it has none at all");
  }
}
