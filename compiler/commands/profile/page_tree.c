// The version tree of a profile's page: a row for each guard, version, loop and condition.
#include "base/quote.h"
#include "commands/profile/profile.h"
#include <inttypes.h>
#include <string.h>

enum { MOST_SOURCE = 60 };

// A region to draw.
typedef struct TreeSpot {
  const Region *region;
  int depth;
  bool ran;
  const TraceCost *cost;  // of the branch that it is, or NULL
  double fastest;         // of all alternatives to it, in nanoseconds; 0: unknown
} TreeSpot;

typedef struct TreePage {
  Text *t;
  const Trace *trace;
} TreePage;

// ---- costs

static const TraceCost *cost_of(const Trace *trace, Name guard, bool first) {
  vec_each (TraceCost *, cost, &trace->costs)
    if (cost->guard == guard && cost->first == first) return cost;
  return NULL;
}

static double least_cost(const Trace *trace, const Region *guard);

// Of all races within, each won by its best.
static double inner_cost(const Trace *trace, const Region *region) {
  if (region->kind == REGION_GUARD) return least_cost(trace, region);
  double sum = 0;
  for (int i = 0; i < region->part_count; i++)
    sum += inner_cost(trace, region->parts[i]);
  return sum;
}

// What the branch takes with the best choices behind it; 0: unknown.
static double branch_cost(const Trace *trace, const Region *guard, bool first) {
  const Region *branch = guard->parts[first ? 0 : 1];
  if (branch->kind == REGION_GUARD) return least_cost(trace, branch);
  const TraceCost *own = cost_of(trace, guard->guard->name, first);
  return own && !own->is_bound ? own->ns + inner_cost(trace, branch) : 0;
}

static double least_cost(const Trace *trace, const Region *guard) {
  double yes = branch_cost(trace, guard, true), no = branch_cost(trace, guard, false);
  if (yes <= 0 || no <= 0) return yes > no ? yes : no;
  return yes < no ? yes : no;
}

// What the kernels of a version took in a run of this profile.
static double time_of_version(const Trace *trace, int version) {
  const char *name = text_format("V%d", version);
  int64_t sum = 0;
  vec_each (TraceKernel *, k, &trace->kernels)
    if (k->version && strcmp(k->version, name) == 0) sum += k->runs.total;
  return (double)sum / trace->calls.count;
}

// ---- rows

static void open_spot(const TreePage *p, const TreeSpot *s) {
  text_printf(p->t, "<tr class=\"%s\"><td style=\"padding-left:%.1frem\">",
              s->ran ? "ran" : "idle", 0.7 + 1.3 * s->depth);
}

static void cost_cells(const TreePage *p, const TreeSpot *s) {
  if (!p->trace->costs.count) return;
  double ns = s->cost ? s->cost->ns + inner_cost(p->trace, s->region) : 0;
  if (ns <= 0) {
    text_add(p->t, "<td></td><td></td>");
    return;
  }
  bool best = !s->cost->is_bound && ns <= s->fastest;
  text_printf(p->t, "<td%s>%s%s</td>", best ? " class=\"best\"" : "",
              s->cost->is_bound ? "&gt; " : "", trace_time(ns));
  if (s->fastest > 0)
    text_printf(p->t, "<td%s>%.2f</td>", best ? " class=\"best\"" : "", ns / s->fastest);
  else
    text_add(p->t, "<td></td>");
}

static void close_spot(const TreePage *p, const TreeSpot *s, const char *par,
                       const char *time) {
  text_printf(p->t, "</td><td class=\"left\">%s</td><td>%s</td>", par, time);
  cost_cells(p, s);
  text_add(p->t, "</tr>\n");
}

// "4096 &lt; 32768, 12 times"
static const char *par_text(const Trace *trace, const Guard *guard) {
  Text *t = text_new();
  for (int i = 0; i < trace->guards.count; i++) {
    const GuardEvent *e = &trace->guards.at[i];
    if (e->guard != guard->name) continue;
    bool reached = e->par >= e->threshold;
    const char *threshold =
        e->threshold == INT64_MAX ? "&infin;" : text_format("%" PRId64, e->threshold);
    text_printf(t, "%s%" PRId64 " %s %s", text_length(t) ? "<br>" : "", e->par,
                reached ? "&ge;" : "&lt;", threshold);
    if (reached && !e->first) text_add(t, ", forced or does not fit");
    if (!reached && e->first) text_add(t, ", forced");
    if (e->count > 1) text_printf(t, ", %" PRId64 " times", e->count);
  }
  return text_str(t);
}

static bool was_taken(const Trace *trace, const Guard *guard, bool first) {
  for (int i = 0; i < trace->guards.count; i++)
    if (trace->guards.at[i].guard == guard->name && trace->guards.at[i].first == first)
      return true;
  return false;
}

static void place_note(const TreePage *p, Loc loc) {
  if (!loc.file) return;
  text_printf(p->t, " <span class=\"note\">(line %d: <code>%s</code>)</span>",
              loc_line_col(loc).line, quote_html(version_source_text(loc, MOST_SOURCE)));
}

static void draw_spot(const TreePage *p, TreeSpot s);

static void draw_guard_rows(const TreePage *p, const TreeSpot *s) {
  const Guard *guard = s->region->guard;
  const Trace *trace = p->trace;
  open_spot(p, s);
  text_printf(p->t, "<b>%s</b>: <code>%s &ge; t</code>", quote_html(guard->name),
              quote_html(version_size_text(trace->tree.sizes, guard->par)));
  if (guard->local_bytes) text_add(p->t, " and it fits");
  place_note(p, s->region->loc);
  TreeSpot row = *s;
  row.cost = NULL;
  close_spot(p, &row, par_text(trace, guard), "");
  for (int i = 0; i < 2; i++) {
    TreeSpot branch = { .region = s->region->parts[i],
                        .depth = s->depth + 1,
                        .ran = s->ran && was_taken(trace, guard, i == 0),
                        .cost = cost_of(trace, guard->name, i == 0),
                        .fastest = s->fastest };
    draw_spot(p, branch);
  }
}

static void draw_leaf(const TreePage *p, const TreeSpot *s) {
  const Region *leaf = s->region;
  open_spot(p, s);
  if (leaf->version >= 0) text_printf(p->t, "<b>V%d</b> ", leaf->version);
  text_printf(p->t, "<code>%s</code>", quote_html(leaf->code));
  bool runs = s->ran && leaf->version >= 0;
  double ns = runs ? time_of_version(p->trace, leaf->version) : 0;
  close_spot(p, s, runs ? "runs" : "", ns > 0 ? trace_time(ns) : "");
}

static void draw_parts(const TreePage *p, const TreeSpot *s) {
  static const char *const words[] = {
    [REGION_LEAF] = "", [REGION_SEQ] = "in turn", [REGION_LOOP] = "loop",
    [REGION_IF] = "if", [REGION_GUARD] = "",
  };
  open_spot(p, s);
  text_printf(p->t, "<span class=\"note\">%s</span>", words[s->region->kind]);
  if (s->region->kind != REGION_SEQ) place_note(p, s->region->loc);
  close_spot(p, s, "", "");
  for (int i = 0; i < s->region->part_count; i++)
    draw_spot(p, (TreeSpot){ .region = s->region->parts[i],
                             .depth = s->depth + 1,
                             .ran = s->ran });
}

static void draw_spot(const TreePage *p, TreeSpot s) {
  switch (s.region->kind) {
  case REGION_LEAF: draw_leaf(p, &s); return;
  case REGION_GUARD:
    if (s.fastest <= 0) s.fastest = least_cost(p->trace, s.region);
    draw_guard_rows(p, &s);
    return;
  case REGION_SEQ:
  case REGION_LOOP:
  case REGION_IF: draw_parts(p, &s); return;
  }
}

static void note_log(const TreePage *p) {
  const Trace *trace = p->trace;
  if (trace->costs.count)
    text_printf(p->t,
                "<p class=\"note\">What other versions cost is from <code>%s</code>: the "
                "time of a run on the same data.</p>\n",
                quote_html(trace->tunelog));
  else if (trace->tunelog)
    text_printf(p->t,
                "<p class=\"note\"><code>%s</code> holds no times for these data on this "
                "device.</p>\n",
                quote_html(trace->tunelog));
  else if (trace->tree.guard_count)
    text_add(p->t, "<p class=\"note\">There is no tuning log; <code>flc tune</code> "
                   "would tell what other versions cost.</p>\n");
}

const char *trace_tree_html(const Trace *trace) {
  TreePage p = { text_new(), trace };
  text_printf(p.t,
              "<p>%d version%s, %d guard%s; a guard takes its first branch if <i>Par</i> "
              "reaches the threshold <i>t</i>. What ran is marked.</p>\n",
              trace->tree.version_count, trace->tree.version_count == 1 ? "" : "s",
              trace->tree.guard_count, trace->tree.guard_count == 1 ? "" : "s");
  note_log(&p);
  text_add(p.t, "<div class=\"scroll\"><table class=\"tree\"><thead><tr><th></th>"
                "<th class=\"left\">Par, t</th><th>kernels here</th>");
  if (trace->costs.count) text_add(p.t, "<th>in the log</th><th>to the fastest</th>");
  text_add(p.t, "</tr></thead>\n<tbody>\n");
  draw_spot(&p, (TreeSpot){ .region = trace->tree.root, .ran = true });
  text_add(p.t, "</tbody></table></div>\n");
  return text_str(p.t);
}
