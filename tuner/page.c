// The page of --report: one HTML file that needs nothing else.
#include "tuner/page.h"
#include "base/quote.h"
#include "tuner/choose.h"
#include "tuner/page_range.h"
#include "tuner/settings.h"
#include "tuner/verify.h"
#include <math.h>
#include <string.h>

static const char style[] =
    ":root{color-scheme:light "
    "dark;--ink:#1c2430;--soft:#5b6675;--line:#d5dbe3;--paper:#fbfcfd;"
    "--good:#0a7d4f;--bar:#3b6fb6;--other:#b9c4d3;--bad:#b23b3b}"
    "@media(prefers-color-scheme:dark){:root{--ink:#e5eaf1;--soft:#98a4b5;--line:#333d4b;"
    "--paper:#12171e;--good:#4cc38a;--bar:#6fa0e8;--other:#465263;--bad:#e88080}}"
    "body{font:15px/1.5 system-ui,sans-serif;color:var(--ink);background:var(--paper);"
    "max-width:70rem;margin:2rem auto;padding:0 1.2rem}"
    "h1{font-size:1.5rem;margin:0}h2{font-size:1.1rem;margin:2.2rem 0 .6rem}"
    "p.about{color:var(--soft);margin:.2rem 0 0}.scroll{overflow-x:auto}"
    "table{border-collapse:collapse;font-variant-numeric:tabular-nums}"
    "th,td{padding:.25rem .8rem;text-align:right;border-bottom:1px solid var(--line);"
    "white-space:nowrap}th{color:var(--soft);font-weight:500}"
    "th:first-child,td:first-child{text-align:left}td.won{color:var(--good);font-weight:"
    "600}"
    ".words{text-align:left;white-space:normal}td.no{color:var(--soft)}code{font:13px/"
    "1.4 ui-monospace,monospace}"
    ".guard td:first-child{font-weight:600}.guard "
    ".note{font-weight:400}.note{color:var(--soft)}.bad{color:var(--bad)}"
    "svg{max-width:100%;height:auto}svg text{fill:var(--soft);font:12px "
    "system-ui,sans-serif}"
    "svg .bar{fill:var(--bar)}svg .other{fill:var(--other)}svg .grid{stroke:var(--line)}"
    "svg .line{fill:none;stroke-width:2}svg .band{opacity:.15}"
    "svg .line.near{stroke:var(--bar)}svg .band.near,svg .dot.near{fill:var(--bar)}"
    "svg .line.fastest{stroke:var(--good)}svg .band.fastest,svg "
    ".dot.fastest{fill:var(--good)}svg .dot.wrong{fill:var(--bad)}";

enum { MOST_COLUMNS = 24, MOST_POINTS = 8 };

// ---- the tree

typedef struct Page {
  const Tuning *t;
  Text *out;
  const SolveFate *fates;
  int columns;  // data sets shown
} Page;

// What the data set spends behind the branch when it is forced; and whether it goes there.
typedef struct PageCell {
  double us;
  bool seen, chosen;
} PageCell;

static PageCell cell_of(const Page *p, int guard, int branch, int dataset) {
  PageCell cell = { 0 };
  for (int i = 0; i < p->t->choice.problem.group_count; i++) {
    const SolveGroup *g = &p->t->choice.problem.groups[i];
    if (g->guard != guard || g->dataset != dataset) continue;
    cell.seen = true;
    cell.us += g->cost[branch];
    cell.chosen |= p->fates[i].reached && p->fates[i].branch == branch;
  }
  return cell;
}

static void version_cells(const Page *p, int guard, int branch) {
  for (int d = 0; d < p->columns; d++) {
    PageCell cell = cell_of(p, guard, branch, d);
    text_printf(p->out, "<td%s>%s</td>", cell.chosen ? " class=won" : " class=no",
                cell.seen ? tuning_time(cell.us) : "");
  }
}

static void open_row(const Page *p, int depth, const char *class) {
  text_printf(p->out, "<tr%s><td style=\"padding-left:%.1frem\">", class,
              0.4 + 1.5 * depth);
}

static void draw(const Page *p, const Tree *tree, int depth, int guard, int branch);

static void draw_guard(const Page *p, const Tree *tree, int depth) {
  open_row(p, depth, " class=guard");
  const Decision *decisions = p->t->choice.decisions;
  bool by_sizes = decisions && decision_conditions(&decisions[tree->guard]);
  text_printf(p->out, "%s: <code>%s", quote_html(tree->name), quote_html(tree->par));
  text_printf(
      p->out, "</code> %s",
      quote_html(by_sizes ? "by sizes (see below)" : settings_choice(p->t, tree->guard)));
  if (tree->line) text_printf(p->out, " <span class=note>line %d</span>", tree->line);
  text_add(p->out, "</td>");
  for (int d = 0; d < p->columns; d++) {
    const char *par = "";
    for (int i = 0; i < p->t->choice.problem.group_count; i++) {
      const SolveGroup *g = &p->t->choice.problem.groups[i];
      if (g->guard == tree->guard && g->dataset == d)
        par = text_format("%lld", (long long)g->par);
    }
    text_printf(p->out, "<td class=no><code>%s</code></td>", par);
  }
  text_add(p->out, "</tr>\n");
  for (int b = 0; b < 2; b++)
    draw(p, tree->children[b], depth + 1, tree->guard, b);
}

static void draw_version(const Page *p, const Tree *tree, int depth, int guard,
                         int branch) {
  open_row(p, depth, "");
  text_printf(p->out, "%s <code>%s</code>", quote_html(tree->name),
              quote_html(tree->code));
  const char *failure =
      guard < 0 ? NULL : p->t->seen->versions[2 * guard + branch].failure;
  if (failure) text_printf(p->out, " <span class=bad>%s</span>", quote_html(failure));
  text_add(p->out, "</td>");
  if (guard >= 0) version_cells(p, guard, branch);
  text_add(p->out, "</tr>\n");
}

// `guard` is the guard whose branch the node is, or -1 for a part of something larger.
static void draw(const Page *p, const Tree *tree, int depth, int guard, int branch) {
  if (tree->kind == TREE_GUARD) {
    draw_guard(p, tree, depth);
    return;
  }
  if (tree->kind == TREE_KERNEL) {
    if (guard >= 0) draw_version(p, tree, depth, guard, branch);
    return;
  }
  open_row(p, depth, "");
  text_printf(p->out, "<span class=note>%s</span></td>",
              tree->kind == TREE_LOOP ? "loop" : "in turn");
  if (guard >= 0) version_cells(p, guard, branch);
  text_add(p->out, "</tr>\n");
  for (int i = 0; i < tree->child_count; i++)
    draw(p, tree->children[i], depth + 1, -1, 0);
}

static void tree_section(const Page *p) {
  text_add(p->out, "<h2>Versions</h2><p class=note>Time behind each branch when it is "
                   "forced; what the "
                   "chosen thresholds run is green. Rows of guards show Par.</p>"
                   "<div class=scroll><table><tr><th></th>");
  for (int d = 0; d < p->columns; d++)
    text_printf(p->out, "<th>%s</th>", quote_html(p->t->seen->data[d].name));
  text_add(p->out, "</tr>\n");
  draw(p, p->t->tree->root, 0, -1, 0);
  text_add(p->out, "</table></div>\n");
}

// ---- reasons, times

static void reasons_section(const Page *p) {
  text_add(p->out, "<h2>Settings</h2><div class=scroll><table><tr><th>name</th><th "
                   "class=words>taken</th><th class=words>why</th></tr>\n");
  for (int g = 0; g < p->t->tree->guard_count; g++) {
    text_printf(p->out,
                "<tr><td><code>%s</code></td><td class=words>%s</td><td "
                "class=words>%s</td></tr>\n",
                quote_html(p->t->tree->guards[g].node->name),
                quote_html(settings_choice(p->t, g)),
                quote_html(settings_reason(p->t, g)));
  }
  text_add(p->out, "</table></div>\n");
  const char *conflicts = settings_conflicts(p->t);
  if (*conflicts)
    text_printf(p->out, "<h2>Conflicts</h2><pre>%s</pre>\n", quote_html(conflicts));
}

static const char *time_cell(const Samples *s) {
  if (s->count == 0) return "<td class=no>-</td>";
  double middle = samples_typical(s);
  return text_format("<td>%s <span class=note>&plusmn;%.1f %%</span></td>",
                     tuning_time(middle), 196 * samples_error(s) / fmax(middle, 1e-9));
}

static void times_section(const Page *p) {
  const double *predicted = choice_times(&p->t->choice);
  text_add(p->out,
           "<h2>Predicted and verified</h2><div class=scroll><table><tr><th>data set</th>"
           "<th>predicted</th><th>tuned</th><th>default</th><th>speed-up</th><th>own "
           "best</th></tr>\n");
  for (int d = 0; d < p->columns; d++) {
    const Verified *v = &p->t->checks.verified[d];
    double ratio = samples_typical(&v->before) / samples_typical(&v->tuned);
    bool measured = !p->t->seen->states[d].stays;
    text_printf(p->out, "<tr><td>%s</td><td>%s</td>%s%s<td>%s</td><td>%s</td></tr>\n",
                quote_html(p->t->seen->data[d].name),
                measured ? tuning_time(predicted[d]) : "-", time_cell(&v->tuned),
                time_cell(&v->before),
                verify_same_versions(p->t, d) ? "same versions"
                : isfinite(ratio)             ? text_format("%.2f", ratio)
                                              : "-",
                measured ? tuning_time(p->t->choice.alone[d]) : "-");
  }
  text_add(p->out, "</table></div>\n");
}

// Bars of tuned / default time per data set.
static void bars_section(const Page *p) {
  int height = 22 * p->columns + 10;
  text_printf(
      p->out,
      "<svg viewBox=\"0 0 720 %d\" width=720 role=img aria-label=\"tuned time as a share "
      "of the default time\">\n",
      height);
  for (int d = 0; d < p->columns; d++) {
    const Verified *v = &p->t->checks.verified[d];
    double share = samples_typical(&v->tuned) / samples_typical(&v->before);
    if (!isfinite(share)) continue;
    double width = 340 * fmin(share, 1.2);
    int y = 22 * d + 4;
    text_printf(p->out,
                "<text x=190 y=%d text-anchor=end>%s</text><rect class=other x=200 y=%d "
                "width=340 height=14 "
                "/><rect class=bar x=200 y=%d width=%.1f height=14 /><text x=%.1f "
                "y=%d>%.0f %% of the "
                "default</text>\n",
                y + 12, quote_html(p->t->seen->data[d].name), y, y, width,
                fmax(width, 340) + 208, y + 12, 100 * share);
  }
  text_add(p->out, "</svg>\n");
}

// ---- the whole

static void header(const Page *p) {
  const Tuning *t = p->t;
  text_printf(p->out,
              "<!doctype html><html lang=en><meta charset=utf-8><meta name=viewport "
              "content=\"width=device-width\"><title>Tuning of "
              "%s</title><style>%s</style>\n<body><h1>%s</h1>"
              "<p class=about>entry point %s on %s; %d runs in %.1f s",
              quote_html(t->options->program), style, quote_html(t->options->program),
              quote_html(t->options->entry), quote_html(t->device), t->m->executions,
              t->seconds);
  if (t->m->replayed) text_printf(p->out, ", %d more from the log", t->m->replayed);
  text_printf(p->out, "; %d runs cover all versions of a data set</p>\n", t->runs);
  if (t->left_out)
    text_printf(p->out, "<p class=bad>%s:</p><pre class=bad>%s</pre>\n",
                quote_html(settings_left_out(t)), quote_html(settings_failures(t)));
  if (t->checks.kept_before)
    text_add(p->out, "<p class=bad>The default thresholds were kept: they were faster in "
                     "whole runs.</p>\n");
  if (text_length(t->m->report))
    text_printf(p->out, "<pre class=bad>%s</pre>\n", quote_html(text_str(t->m->report)));
}

const char *page_text(const Tuning *t) {
  Page page = { .t = t, .out = text_new(), .fates = choice_fates(&t->choice) };
  int most = t->options->range_count ? MOST_POINTS : MOST_COLUMNS;
  page.columns =
      t->choice.problem.dataset_count < most ? t->choice.problem.dataset_count : most;
  header(&page);
  tree_section(&page);
  reasons_section(&page);
  if (!t->options->range_count) {
    times_section(&page);
    bars_section(&page);
  } else {
    page_ranges(page.out, t);
  }
  text_add(page.out, "</body></html>\n");
  return text_str(page.out);
}
