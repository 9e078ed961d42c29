// Why a kernel has the recipe that it has: what was weighed, and what was left out.
#include "kern/cost/kern_cost.h"
#include "kern/kern_ask.h"
#include "kern/plan.h"

static const char *condition_text(const Term *condition) {
  Text *t = text_new();
  term_print(t, condition);
  return text_str(t);
}

// Is it the first choice (1), that of what the first leaves (2), ..; 0: it is not used.
static int rank_of(const KernPlan *plan, const KernTry *attempt) {
  for (int rank = 1; plan; plan = plan->otherwise, rank++)
    if ((plan->tried ? plan->tried : plan->kern) == attempt->kern) return rank;
  return 0;
}

static void explain_try(Text *t, const KernPlan *plan, const KernTry *attempt,
                        double least) {
  int rank = rank_of(plan, attempt);
  text_newline(t);
  text_printf(t, "%9.2e %4.0f %%  %s", attempt->cycles, 100 * least / attempt->cycles,
              attempt->what);
  if (rank) text_printf(t, "  <- choice %d", rank);
  if (attempt->condition)
    text_printf(t, "%s %s", rank ? ", where" : "  (where",
                condition_text(attempt->condition));
  if (attempt->condition && !rank) text_add(t, ")");
}

static void explain_notes(Text *t, const KernWhy *why) {
  for (int i = 0; i < why->note_count; i++) {
    if (i == 0) {
      text_newline(t);
      text_add(t, "left out:");
    }
    text_newline(t);
    text_printf(t, "  %s: %s", why->notes[i].what, why->notes[i].why);
  }
}

static void explain_choice(Text *t, const KernPlan *plan) {
  const KernWhy *why = plan->why;
  CostGuess guess = { .naive = why->naive,
                      .points = why->points,
                      .trips = why->trips,
                      .length = why->length,
                      .in_place = kern_updates_in_place(why->naive->body) };
  KernCount count = kern_count(why->naive, &guess);
  text_newline(t);
  text_printf(t, "if dimensions of the grid have %g points, ", why->points);
  if (why->length) text_printf(t, "chunks %d, ", CHUNK_TRIPS);
  text_printf(t, "other loops %g:", why->trips);
  text_newline(t);
  text_printf(t, "%.2e operations, %.2e bytes read, %.2e written, %.2e in arrays",
              count.operations, count.read, count.written, count.arrays);
  text_newline(t);
  text_add(t, "cycles, and of these what full vectors of the operations take:");
  for (int i = 0; i < why->try_count; i++)
    explain_try(t, plan, &why->tries[i], count.least);
  explain_notes(t, why);
}

static void explain_kernel(Text *t, const KernPlan *plan) {
  text_newline(t);
  text_printf(t, "%s: %s", plan->name, loc_text(plan->kern->loc));
  text_indent(t, 2);
  if (plan->why) {
    kern_print(t, plan->why->naive);
    explain_choice(t, plan);
  } else {
    text_newline(t);
    text_add(t, "nothing to choose: a recipe of the user, or all that there is for GPUs");
  }
  text_indent(t, -2);
  text_newline(t);
}

void kern_explain_plan(Text *t, const KernPlan *plan) {
  for (; plan; plan = plan->otherwise) {
    if (plan->kern && plan->name) explain_kernel(t, plan);
    for (int i = 0; i < plan->part_count; i++)
      kern_explain_plan(t, plan->parts[i]);
  }
}
