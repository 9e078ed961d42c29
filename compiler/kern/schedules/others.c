// Other recipes than the one that the cost model prefers, behind a parameter of the kernel:
//
//   main.segmap.recipe = 1     what the cost model prefers
//                        2..   the next best by its reckoning; where they cannot be taken, 1
//
// Only programs that are made for tuning have them all (RecipeBook.others); others have the first,
// or the one that a tuning file names.
#include "kern/recipes/recipe_book.h"
#include "kern/schedules/schedule.h"
#include <string.h>

static bool same_lines(const RecipeLines *a, const char *const *lines, int count) {
  if (a->count != count) return false;
  for (int i = 0; i < count; i++)
    if (strcmp(a->at[i], lines[i]) != 0) return false;
  return true;
}

static bool is_listed(const Candidates *list, const Candidate *cand) {
  vec_each (const Candidate *, other, list)
    if (same_lines(&cand->recipe.lines, other->recipe.lines.at,
                   other->recipe.lines.count))
      return true;
  return false;
}

// The cheapest that is not listed yet, and not much worse than the best; or NULL.
static const Candidate *next_best(const Candidates *all, const Candidates *listed,
                                  const KernPlan *chosen) {
  static const double far_behind = 3;
  const Candidate *best = NULL;
  double least = all->at[0].cost;
  vec_each (const Candidate *, cand, all) {
    if (cand->cost < least) least = cand->cost;
    bool taken = is_listed(listed, cand) ||
                 same_lines(&cand->recipe.lines, chosen->recipe, chosen->recipe_count);
    if (!taken && (!best || cand->cost < best->cost)) best = cand;
  }
  return best && best->cost <= far_behind * least ? best : NULL;
}

static Candidates others_of(const Candidates *all, const KernPlan *chosen) {
  Candidates out = { 0 };
  for (const Candidate *cand;
       out.count < MOST_OTHERS && (cand = next_best(all, &out, chosen));)
    vec_push(&out, *cand);
  return out;
}

// The recipe in front of the plan, if `asked` (NULL: always).
static const KernPlan *in_front(const Candidate *cand, const Term *asked,
                                const KernPlan *plan) {
  KernPlan out = schedule_plan_of(cand);
  if (asked) out.condition = out.condition ? term_and(asked, out.condition) : asked;
  if (out.condition) out.otherwise = plan;
  return mem_copy(&out, sizeof out);
}

static const KernPlan *all_of_them(const Candidates *others, Name param,
                                   const KernPlan *chosen) {
  const KernPlan *plan = chosen;
  for (int i = others->count - 1; i >= 0; i--) {
    int number = i + 2;
    const Term *asked = term_op2(OP_EQ, term_tuning(param), term_i64(number));
    KernPlan *front = mem_copy(in_front(&others->at[i], asked, plan), sizeof *front);
    front->choice = number;
    plan = front;
  }
  if (plan == chosen) return chosen;
  KernPlan *first = mem_copy(plan, sizeof *plan);
  first->recipes = others->count + 1;
  return first;
}

const KernPlan *schedule_with_others(const Schedule *s, const Candidates *all,
                                     const KernPlan *chosen) {
  if (!s->book) return chosen;
  Name param = name_of(s->c->names, text_format("%s.recipe", s->name));
  int64_t value = book_choice(s->book, param);
  if (!s->book->others && value <= 1) return chosen;
  Candidates others = others_of(all, chosen);
  if (s->book->others) return all_of_them(&others, param, chosen);
  if (value <= others.count + 1) return in_front(&others.at[value - 2], NULL, chosen);
  error(s->c, (Loc){ 0 }, "the tuning file sets %s to %lld; it has %d recipes", param,
        (long long)value, others.count + 1);
  return chosen;
}
