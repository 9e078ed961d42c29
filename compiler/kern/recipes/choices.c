// The recipes between which parameters choose, for the version tree.
#include "kern/plan.h"
#include <string.h>

// Without the conditions.
static const char *steps_text(const KernPlan *plan) {
  Text *t = text_new();
  for (int i = 0; i < plan->recipe_count; i++)
    if (strncmp(plan->recipe[i], "where ", 6) != 0)
      text_printf(t, "%s%s", text_length(t) ? "; " : "", plan->recipe[i]);
  return text_length(t) ? text_str(t) : "as it is";
}

// Plans in the order of the parameter's values: what the schedule offers besides names its value
// and stands before what it prefers; what the user offers stands in order.
static KernChoice offered_by(const KernPlan *plan, Name name) {
  int count = plan->recipes, value = 1;
  const char **ways = new_array(const char *, count);
  for (const KernPlan *p = plan; p && value <= count; p = p->otherwise) {
    int at = p->choice ? p->choice : value;
    if (!ways[at - 1]) ways[at - 1] = steps_text(p);
    value += p->by_choice;
  }
  return (KernChoice){ text_format("%s.recipe", name), ways, count };
}

void kern_plan_choices(const KernPlan *plan, KernChoices *out) {
  Name name = NULL;
  for (; plan; plan = plan->otherwise) {
    if (plan->name) name = plan->name;
    if (plan->recipes) vec_push(out, offered_by(plan, name));
    for (int i = 0; i < plan->part_count; i++)
      kern_plan_choices(plan->parts[i], out);
  }
}
