// The tuning file (docs/tuning.md), and the reasons that stand in it and on the page.
#include "tuner/settings.h"
#include "base/file.h"
#include "base/quote.h"
#include "tuner/choose.h"
#include "tuner/sizes.h"
#include "tuner/verify.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { LOSS_PERCENT = 2, MOST_LOSSES = 8 };

// The objective if the guard had this threshold, all others being as they are.
static double objective_with(const Tuning *t, int guard, int64_t threshold) {
  size_t count = (size_t)t->tree->guard_count;
  Choice changed = t->choice;
  int64_t *thresholds = mem_copy(changed.thresholds, count * sizeof *thresholds);
  thresholds[guard] = threshold;
  changed.thresholds = thresholds;
  if (changed.decisions) {
    Decision *decisions = mem_copy(changed.decisions, count * sizeof *decisions);
    decisions[guard] = decision_plain(threshold);
    changed.decisions = decisions;
  }
  return solve_objective(&changed.problem, choice_times(&changed), changed.alone);
}

static bool any_stays(const Tuning *t) {
  for (int d = 0; d < t->seen->dataset_count; d++)
    if (t->seen->states[d].stays) return true;
  return false;
}

// "+3.1 %" of the objective as it is, if the guard had this threshold.
static const char *change_with(const Tuning *t, int guard, int64_t threshold) {
  double now =
      solve_objective(&t->choice.problem, choice_times(&t->choice), t->choice.alone);
  double ratio = objective_with(t, guard, threshold) / now;
  if (isinf(ratio) || isnan(ratio)) return any_stays(t) ? "not measured" : "unusable";
  return text_format("%+.1f %%", 100 * (ratio - 1));
}

static const char *bounds_text(int64_t low, int64_t high) {
  if (high == SOLVE_NEVER && low < 0) return "not used here";
  if (high == SOLVE_NEVER)
    return text_format("not up to %lld, the largest seen", (long long)low);
  if (low < 0) return text_format("from %lld on, the smallest seen", (long long)high);
  return text_format("from %lld on, not up to %lld", (long long)high, (long long)low);
}

// Is there something to write into the file?  Guards that no run met keep their defaults, and so do
// those that go by work again, or were met only where there was no time to measure.
static bool is_decided(const Tuning *t, int guard) {
  if (t->choice.thresholds[guard] < 0) return false;
  bool failed =
      t->seen->versions[2 * guard].failure || t->seen->versions[2 * guard + 1].failure;
  return failed ||
         (t->choice.best.cuts[guard].seen && evidence_is_measured(t->seen, guard));
}

const char *settings_choice(const Tuning *t, int guard) {
  Decision plain = decision_plain(t->choice.thresholds[guard]);
  return decision_text(t->choice.decisions ? &t->choice.decisions[guard] : &plain,
                       &t->choice.sizes);
}

const char *settings_reason(const Tuning *t, int guard) {
  const Tree *node = t->tree->guards[guard].node;
  const SolveCut *cut = &t->choice.best.cuts[guard];
  for (int b = 0; b < 2; b++)
    if (t->seen->versions[2 * guard + b].failure)
      return text_format("%s: %s: %s", node->par,
                         b ? "its second version fails" : "the version fails",
                         t->seen->versions[2 * guard + b].failure);
  if (t->checks.kept_before)
    return text_format("%s: as before (%s)", node->par,
                       t->checks.blind ? "not everything was measured"
                                       : "the new value did not hold in whole runs");
  if (!cut->seen) return text_format("%s: never decided in these runs", node->par);
  const char *taken =
      t->choice.decisions
          ? "by sizes"
          : text_format("taken %s%s", bounds_text(cut->low, cut->high),
                        cut->reached ? "" : " (not reached by the chosen versions)");
  return text_format("%s: %s; always: %s, never: %s", node->par, taken,
                     change_with(t, guard, 0), change_with(t, guard, SOLVE_NEVER));
}

// ---- conflicts

// The outermost guard where the choice departs from the data set's own best.
static const TreeGuard *first_difference(const Tuning *t, int dataset) {
  SolveResult own = solve_alone(&t->choice.problem, dataset);
  const SolveFate *a = choice_fates(&t->choice);
  const SolveFate *b =
      solve_fates(&t->choice.problem, solve_thresholds(&t->choice.problem, &own));
  for (int i = 0; i < t->choice.problem.group_count; i++)
    if (t->choice.problem.groups[i].dataset == dataset && a[i].reached && b[i].reached &&
        a[i].branch != b[i].branch)
      return &t->tree->guards[t->choice.problem.groups[i].guard];
  return NULL;
}

typedef struct Loss {
  int dataset;
  double share;
} Loss;

static int compare_losses(const void *a, const void *b) {
  double x = ((const Loss *)a)->share, y = ((const Loss *)b)->share;
  return (x < y) - (x > y);
}

// The data sets that lose against their own best, the worst first.
static Loss *losses(const Tuning *t, int *count) {
  const double *times = choice_times(&t->choice);
  Loss *list = new_array(Loss, t->choice.problem.dataset_count + 1);
  *count = 0;
  for (int d = 0; d < t->choice.problem.dataset_count; d++) {
    double share = times[d] / t->choice.alone[d] - 1;
    if (share * 100 > LOSS_PERCENT) list[(*count)++] = (Loss){ d, share };
  }
  qsort(list, (size_t)*count, sizeof *list, compare_losses);
  return list;
}

const char *settings_conflicts(const Tuning *t) {
  Text *text = text_new();
  int count = 0;
  const Loss *list = losses(t, &count);
  for (int i = 0; i < count && i < MOST_LOSSES; i++) {
    const TreeGuard *guard = first_difference(t, list[i].dataset);
    text_printf(text, "%s: %+.0f %% against its own best",
                t->seen->data[list[i].dataset].name, 100 * list[i].share);
    if (guard)
      text_printf(text, ", not separable on %s (%s)", guard->node->par,
                  guard->node->name);
    text_add(text, "\n");
  }
  if (count > MOST_LOSSES) text_printf(text, "and %d more\n", count - MOST_LOSSES);
  return text_str(text);
}

// ---- texts

static const char *objective_name(SolveObjective objective) {
  switch (objective) {
  case SOLVE_SUM: return "sum";
  case SOLVE_GEOMEAN: return "geomean";
  case SOLVE_MAX_REGRET: return "max-regret";
  }
  return "sum";
}

static const char *today(void) {
  char text[64];
  time_t now = time(NULL);
  struct tm parts;
  gmtime_r(&now, &parts);
  strftime(text, sizeof text, "%Y-%m-%d %H:%M UTC", &parts);
  return text_format("%s", text);
}

static void add_comments(Text *text, const char *lines) {
  for (const char *at = lines; *at;) {
    int length = (int)strcspn(at, "\n");
    if (length) text_printf(text, "--   %.*s\n", length, at);
    at += length + (at[length] == '\n');
  }
}

const char *settings_failures(const Tuning *t) {
  Text *text = text_new();
  int count = 0;
  for (int d = 0; d < t->seen->dataset_count; d++)
    if (t->seen->states[d].failure && count++ < MOST_LOSSES)
      text_printf(text, "%s%s: %s", count > 1 ? "\n" : "", t->seen->data[d].name,
                  t->seen->states[d].failure);
  if (count > MOST_LOSSES) text_printf(text, "\nand %d more", count - MOST_LOSSES);
  return text_str(text);
}

const char *settings_left_out(const Tuning *t) {
  if (!t->left_out) return NULL;
  const char *what = t->options->range_count ? "point" : "data set";
  return text_format("%d of %d %ss left out, on which the program fails whatever the "
                     "version",
                     t->left_out, t->seen->dataset_count, what);
}

// ---- what other entry points have in the file that is there

static bool is_blank(const char *line) {
  return line[strspn(line, " \t\r")] == '\n' || line[strspn(line, " \t\r")] == '\0';
}

// Is it for one kind of code, as "main.top_0@gpu=64", which nobody has measured?
static bool is_of_code(const char *line, size_t name) {
  while (name > 0 && (line[name - 1] == ' ' || line[name - 1] == '\t'))
    name--;
  return name > 4 && (strncmp(line + name - 4, "@cpu", 4) == 0 ||
                      strncmp(line + name - 4, "@gpu", 4) == 0);
}

// Is it a setting whose name begins with another entry point, or is it of no entry point?
static bool is_of_other(const Tuning *t, const char *line) {
  const char *entry = t->options->entry;
  size_t length = strlen(entry), name = strcspn(line, "=@\n");
  bool comment = line[0] == '-' && line[1] == '-';
  if (comment || line[strcspn(line, "=\n")] != '=' || !memchr(line, '.', name))
    return false;
  if (is_of_code(line, strcspn(line, "=\n"))) return true;
  return strncmp(line, entry, length) != 0 || line[length] != '.';
}

// Paragraphs, of comments and the settings that they are about, of other entry points.
static const char *settings_of_others(const Tuning *t) {
  size_t length;
  Text *kept = text_new(), *paragraph = text_new();
  const char *path = file_target(t->options->out_path);  // nothing is read from pipes
  const char *at = path ? text_read_lines(path, &length) : NULL;
  bool other = false;
  while (at && *at) {
    size_t end = strcspn(at, "\n");
    bool blank = is_blank(at);
    if (blank || is_of_other(t, at) || (at[0] == '-' && at[1] == '-'))
      text_printf(paragraph, "%.*s%s", blank ? 0 : (int)end, at, blank ? "" : "\n");
    other |= is_of_other(t, at);
    at += end + (at[end] == '\n');
    if (!blank && *at) continue;
    if (other) text_printf(kept, "\n%s", text_str(paragraph));
    paragraph = text_new();
    other = false;
  }
  return text_str(kept);
}

const char *settings_text(const Tuning *t) {
  Text *text = text_new();
  text_printf(text, "-- Settings for %s, entry point %s, chosen by flc tune.\n",
              quote_line(t->options->program), quote_line(t->options->entry));
  text_printf(text, "-- program-hash: %s\n-- device: %s\n-- objective: %s\n-- date: %s\n",
              t->options->hash, quote_line(t->device),
              objective_name(t->options->objective), today());
  if (t->m->interrupted) text_add(text, "-- interrupted: not everything was measured\n");
  if (t->missing)
    text_printf(text, "-- incomplete: %d covering runs were not made\n", t->missing);
  if (t->left_out) {
    text_printf(text, "-- %s:\n", settings_left_out(t));
    add_comments(text, settings_failures(t));
  }
  const char *conflicts = settings_conflicts(t);
  if (*conflicts) text_add(text, "-- conflicts:\n");
  add_comments(text, conflicts);
  for (int g = 0; g < t->tree->guard_count; g++) {
    const char *name = t->tree->guards[g].node->name;
    Decision plain = decision_plain(t->choice.thresholds[g]);
    const Decision *decision = t->choice.decisions ? &t->choice.decisions[g] : &plain;
    if (is_decided(t, g)) {
      text_printf(text, "\n-- %s\n", quote_line(settings_reason(t, g)));
      decision_lines(text, name, decision, &t->choice.sizes);
    } else {
      text_printf(text, "\n-- %s: left at its default; %s\n", name,
                  quote_line(settings_reason(t, g)));
    }
  }
  vec_each (const SizeParam *, p, &t->sizing.params)
    if (sizes_is_changed(p))
      text_printf(text, "\n-- %s: %s\n%s=%lld\n", p->kind, p->reason, p->name,
                  (long long)p->value);
  text_add(text, settings_of_others(t));
  return text_str(text);
}

static void summarise_dataset(const Tuning *t, Text *text, int d, double predicted) {
  const Verified *v = &t->checks.verified[d];
  text_printf(text, "  %-24s", t->seen->data[d].name);
  if (t->seen->states[d].failure) {
    text_printf(text, " left out: %s\n", t->seen->states[d].failure);
    return;
  }
  // Its only run compiled the kernels.
  if (t->seen->states[d].stays)
    text_add(text, " not measured: its versions are those of the default");
  else
    text_printf(text, " predicted %s", tuning_time(predicted));
  if (v->tuned.count)
    text_printf(text, ", tuned %s", tuning_time(samples_typical(&v->tuned)));
  if (v->tuned.count && v->before.count) {
    double ratio = samples_typical(&v->before) / samples_typical(&v->tuned);
    bool same = verify_same_versions(t, d);
    text_printf(text, ", default %s (%s)%s", tuning_time(samples_typical(&v->before)),
                same ? "the same versions" : text_format("%.2fx", ratio),
                !same && ratio < 0.98 ? "  slower than the default here" : "");
  }
  text_add(text, "\n");
}

static void summarise_precision(Text *text, const Precision *p) {
  Interval strict = tuning_interval(p->fastest, p->points),
           near = tuning_interval(p->near, p->points);
  text_printf(text,
              "  held-out points: %d; fastest version picked: %.1f %% (%.1f to %.1f %%); "
              "within 2 %%: "
              "%.1f %% (%.1f to %.1f %%); mean regret %.2f %% +- %.2f %%\n",
              p->points, 100.0 * p->fastest / p->points, 100 * strict.low,
              100 * strict.high, 100.0 * p->near / p->points, 100 * near.low,
              100 * near.high, 100 * p->regret, 196 * p->regret_error);
}

// "1 run", "3 runs"
static const char *number_of(int count, const char *what) {
  return text_format("%d %s%s", count, what, count == 1 ? "" : "s");
}

static void summarise_ranges(Text *text, const Tuning *t) {
  const Precision *last =
      t->sampling.curve.count
          ? &t->sampling.curve.at[t->sampling.curve.count - 1].precision
          : NULL;
  text_printf(text, "  %s measured in %s\n", number_of(t->sampling.holdout_from, "point"),
              number_of(t->sampling.cells, "cell"));
  if (t->left_out) text_printf(text, "%s\n", settings_failures(t));
  if (!last || !last->points) return;
  summarise_precision(text, last);
  if (t->sampling.before_precision.points) {
    const Precision *before = &t->sampling.before_precision;
    text_printf(text,
                "  ... of the program's own thresholds: %.1f %%; within 2 %%: %.1f %%; "
                "mean regret %.1f %%\n",
                100.0 * before->fastest / before->points,
                100.0 * before->near / before->points, 100 * before->regret);
  }
  text_printf(text,
              "  on %d of them noise leaves open which of several versions is fastest\n",
              last->even);
  int wrong = 0;
  vec_each (const Trial *, trial, &t->sampling.trials)
    wrong += trial->disagrees;
  if (wrong)
    text_printf(text,
                "  the tuned program decided otherwise than predicted on %d of them\n",
                wrong);
}

const char *settings_summary(const Tuning *t) {
  Text *text = text_new();
  const double *predicted = choice_times(&t->choice);
  text_printf(text, "%s: %s, %s %s all versions of a data set\n", t->options->program,
              number_of(t->tree->guard_count, "guard"), number_of(t->runs, "run"),
              t->runs == 1 ? "covers" : "cover");
  for (int d = 0; d < t->choice.problem.dataset_count && !t->options->range_count; d++)
    summarise_dataset(t, text, d, predicted[d]);
  if (t->options->range_count) summarise_ranges(text, t);
  int undecided = 0;
  for (int g = 0; g < t->tree->guard_count; g++) {
    undecided += !is_decided(t, g) && t->choice.thresholds[g] >= 0;
    if (!is_decided(t, g)) continue;
    text_printf(text, "  %s %s  %s\n", t->tree->guards[g].node->name,
                settings_choice(t, g), settings_reason(t, g));
  }
  vec_each (const SizeParam *, p, &t->sizing.params)
    if (sizes_is_changed(p))
      text_printf(text, "  %s %lld  %s\n", p->name, (long long)p->value, p->reason);
  if (undecided)
    text_printf(text, "  %s not met, with the default as before\n",
                number_of(undecided, "guard"));
  const char *conflicts = settings_conflicts(t);
  if (*conflicts) text_printf(text, "conflicts:\n%s", conflicts);
  if (t->checks.kept_before && !t->checks.blind)
    text_add(text, "the default thresholds were kept: they were faster in whole runs\n");
  if (!t->choice.best.exact)
    text_add(text, "the search was cut short: a better choice may exist\n");
  if (t->missing)
    text_printf(text,
                "the time ended before all versions were seen (%s missing): raise "
                "--budget\n",
                number_of(t->missing, "run"));
  text_add(text, text_str(t->m->report));
  if (t->checks.mistrusted)
    text_add(text,
             "whole runs contradicted replay: versions were forced in whole runs\n");
  text_printf(text, "%s in %.1f s", number_of(t->m->executions, "program run"),
              t->seconds);
  if (t->sizing.runs) text_printf(text, ", %d of them for sizes", t->sizing.runs);
  if (t->checks.runs) text_printf(text, ", %d of them to verify", t->checks.runs);
  if (t->m->replayed) text_printf(text, ", %d more from the log", t->m->replayed);
  text_printf(text, "%s\n", t->m->interrupted ? "; interrupted" : "");
  return text_str(text);
}
