// Measurements as a page of HTML that needs nothing else.
#include "base/quote.h"
#include "commands/bench/bench.h"
#include "commands/html.h"
#include <math.h>
#include <stdlib.h>

typedef struct BenchPage {
  Text *t;
  const BenchVec *results;
  const BenchHistory *history;
} BenchPage;

static const BenchResult *before_of(const BenchPage *p, const BenchResult *r) {
  const BenchHistory *h = p->history;
  return h->count && !r->error ? bench_find(&h->at[h->count - 1].results, r) : NULL;
}

static const char *name_of_result(const BenchResult *r) {
  return text_format("<code>%s</code> %s", quote_html(r->program),
                     quote_html(r->dataset));
}

// ---- the table

// Of the columns "GB/s" and "Memory", those are left out of which nothing is known.
static bool has_rates(const BenchPage *p) {
  vec_each (const BenchResult *, r, p->results)
    if (!r->error && r->moved > 0) return true;
  return false;
}

static bool has_peaks(const BenchPage *p) {
  vec_each (const BenchResult *, r, p->results)
    if (!r->error && r->peak) return true;
  return false;
}

static void add_column_head(Text *t, const char *style, const char *text) {
  text_printf(t,
              "<th scope=\"col\" class=\"%s\"><button type=\"button\">%s</button></th>",
              style, text);
}

static void add_table_head(const BenchPage *p) {
  Text *t = p->t;
  text_add(t, "<div class=\"scroll\"><table class=\"sortable times\"><thead><tr>");
  add_column_head(t, "left", "Program");
  add_column_head(t, "left", "Data set");
  add_column_head(t, "", "Median");
  add_column_head(t, "detail-column", "90&nbsp;% of runs");
  text_add(t, "<th class=\"spread-column\"></th>");
  add_column_head(t, "detail-column", "Runs");
  if (has_rates(p)) add_column_head(t, "", "GB/s");
  if (has_peaks(p)) add_column_head(t, "", "Memory");
  if (p->history->count)
    add_column_head(t, "",
                    text_format("Speedup since %s",
                                quote_html(p->history->at[p->history->count - 1].name)));
  text_add(t, "</tr></thead><tbody>\n");
}

static void add_number_cell(Text *t, double value, const char *text) {
  text_printf(t, "<td data-v=\"%.6g\">%s</td>", value, text);
}

// Where the runs lie between 0 and the longest of them.
static void add_spread(Text *t, const TimeVec *times) {
  double most = fmax(bench_quantile(times, 1), 1), low = bench_quantile(times, 0.05),
         high = bench_quantile(times, 0.95);
  text_printf(t,
              "<td class=\"spread-column\"><span class=\"spread\"><i "
              "style=\"left:%.1f%%;width:%.1f%%\"></i>"
              "<b style=\"left:%.1f%%\"></b></span></td>",
              100 * low / most, 100 * (high - low) / most,
              fmin(99, 100 * bench_median(times) / most));
}

static const char *ratio_style(BenchInterval ratio) {
  return ratio.low > 1 ? "good" : ratio.high < 1 ? "bad" : "note";
}

static void add_ratio_cell(const BenchPage *p, const BenchResult *r) {
  const BenchResult *before = before_of(p, r);
  if (!p->history->count) return;
  if (!before) {
    text_add(p->t, "<td data-v=\"0\" class=\"note\">new</td>");
    return;
  }
  BenchInterval ratio = bench_ratio(&before->times, &r->times);
  text_printf(
      p->t,
      "<td data-v=\"%.4f\" class=\"%s\">%.2f&times; <small>(%.2f to %.2f)</small></td>",
      ratio.middle, ratio_style(ratio), ratio.middle, ratio.low, ratio.high);
}

static void add_row(const BenchPage *p, const BenchResult *r) {
  Text *t = p->t;
  double median = bench_median(&r->times);
  text_printf(t, "<tr><td><code>%s</code></td><td class=\"left\">%s</td>",
              quote_html(r->program), quote_html(r->dataset));
  add_number_cell(t, median, bench_time_text(median));
  text_printf(t, "<td class=\"detail-column\" data-v=\"%.6g\">%s to %s</td>",
              bench_quantile(&r->times, 0.05),
              bench_time_text(bench_quantile(&r->times, 0.05)),
              bench_time_text(bench_quantile(&r->times, 0.95)));
  add_spread(t, &r->times);
  text_printf(t, "<td class=\"detail-column\" data-v=\"%d\">%d</td>", r->times.count,
              r->times.count);
  double rate = r->moved > 0 && median > 0 ? r->moved / median / 1e3 : 0;
  if (has_rates(p)) add_number_cell(t, rate, rate > 0 ? text_format("%.1f", rate) : "");
  double peak = r->peak ? atof(r->peak) : 0;
  if (has_peaks(p))
    add_number_cell(t, peak, r->peak ? text_format("%.1f MiB", peak / 1048576) : "");
  add_ratio_cell(p, r);
  text_add(t, "</tr>\n");
}

static const char *times_html(BenchPage p) {
  p.t = text_new();
  add_table_head(&p);
  vec_each (const BenchResult *, r, p.results)
    if (!r->error) add_row(&p, r);
  text_add(p.t, "</tbody></table></div>\n");
  return text_str(p.t);
}

// ---- ratios, on a logarithmic axis that is the same on both sides of 1

// The axis ends at this ratio and its inverse.
static double axis_end(const BenchPage *p) {
  double end = 1.25;
  vec_each (const BenchResult *, r, p->results) {
    const BenchResult *before = before_of(p, r);
    if (!before) continue;
    BenchInterval ratio = bench_ratio(&before->times, &r->times);
    end = fmax(end, fmax(ratio.high, 1 / fmax(ratio.low, 1e-3)));
  }
  return fmin(end * 1.05, 1000);
}

static double place_of(double ratio, double end) {
  double place = 50 + 50 * log(fmax(ratio, 1e-6)) / log(end);
  return fmin(100, fmax(0, place));
}

static void add_ratio(const BenchPage *p, const BenchResult *r, double end) {
  const BenchResult *before = before_of(p, r);
  if (!before) return;
  BenchInterval ratio = bench_ratio(&before->times, &r->times);
  double low = place_of(ratio.low, end), high = place_of(ratio.high, end);
  text_printf(
      p->t,
      "<div class=\"name\">%s</div><div class=\"axis %s\" title=\"%.2f&times;, from "
      "%.2f to %.2f\"><span class=\"one\" style=\"left:50%%\"></span>"
      "<i style=\"left:%.1f%%;width:%.1f%%\"></i><b style=\"left:%.1f%%\"></b></div>\n",
      name_of_result(r), ratio_style(ratio), ratio.middle, ratio.low, ratio.high, low,
      high - low, place_of(ratio.middle, end));
}

static void add_scale(Text *t, double end) {
  text_add(t, "<div></div><div class=\"axis scale\">");
  const double marks[] = { 1 / sqrt(end), 1, sqrt(end) };
  for (int i = 0; i < 3; i++)
    text_printf(t, "<span class=\"label\" style=\"left:%.1f%%\">%.2f&times;</span>",
                place_of(marks[i], end), marks[i]);
  text_add(t, "</div>\n");
}

static const char *ratios_html(BenchPage p) {
  if (!p.history->count) return "";
  p.t = text_new();
  double end = axis_end(&p);
  text_printf(
      p.t,
      "<section>\n<h2>Against %s</h2>\n<p class=\"note\">How many times as fast it "
      "is; to the right is faster. The bars hold 95 of 100 samples of these runs: "
      "what does not cross the line is a difference between them. Other days, and "
      "other processes on the machine, are not in it.</p>\n<div class=\"ratios\">\n",
      quote_html(p.history->at[p.history->count - 1].name));
  vec_each (const BenchResult *, r, p.results)
    add_ratio(&p, r, end);
  add_scale(p.t, end);
  text_add(p.t, "</div>\n</section>\n");
  return text_str(p.t);
}

// ---- the course of time

typedef struct CoursePoint {
  const char *name;
  const TimeVec *times;
} CoursePoint;
typedef Vec(CoursePoint) CoursePoints;

static CoursePoints course_of(const BenchPage *p, const BenchResult *r) {
  CoursePoints points = { 0 };
  vec_each (const BenchEarlier *, earlier, p->history) {
    const BenchResult *old = bench_find(&earlier->results, r);
    if (old) vec_push(&points, (CoursePoint){ earlier->name, &old->times });
  }
  vec_push(&points, (CoursePoint){ "now", &r->times });
  return points;
}

static double longest_of(const CoursePoints *points) {
  double most = 1e-3;
  vec_each (const CoursePoint *, point, points)
    most = fmax(most, bench_quantile(point->times, 0.95));
  return most;
}

// A drawing 100 high, as wide as it likes; 0 is at its foot.
static void draw_course(Text *t, const CoursePoints *points) {
  double most = longest_of(points) * 1.05, step = 100.0 / points->count;
  Text *line = text_new();
  text_add(
      t, "<svg viewBox=\"0 0 100 100\" preserveAspectRatio=\"none\" role=\"img\" "
         "aria-label=\"medians, and between which times nine tenths of the runs lie\">");
  for (int i = 0; i < points->count; i++) {
    const TimeVec *times = points->at[i].times;
    double x = step * (i + 0.5);
    text_printf(t, "<line x1=\"%.2f\" x2=\"%.2f\" y1=\"%.2f\" y2=\"%.2f\"></line>", x, x,
                100 - 100 * bench_quantile(times, 0.05) / most,
                99.5 - 100 * bench_quantile(times, 0.95) / most);
    text_printf(line, "%s%.2f,%.2f", i ? " " : "", x,
                100 - 100 * bench_median(times) / most);
  }
  text_printf(t, "<polyline points=\"%s\"></polyline></svg>", text_str(line));
}

static void add_course(const BenchPage *p, const BenchResult *r) {
  CoursePoints points = course_of(p, r);
  if (points.count < 2) return;
  text_printf(p->t, "<figure><figcaption>%s</figcaption>", name_of_result(r));
  draw_course(p->t, &points);
  text_add(p->t, "<ol>");
  vec_each (const CoursePoint *, point, &points)
    text_printf(p->t, "<li>%s: %s</li>", quote_html(point->name),
                bench_time_text(bench_median(point->times)));
  text_add(p->t, "</ol></figure>\n");
}

static const char *courses_html(BenchPage p) {
  if (!p.history->count) return "";
  p.t = text_new();
  text_add(
      p.t,
      "<section>\n<h2>Runs so far</h2>\n<p class=\"note\">Medians, oldest first; the "
      "strokes hold nine tenths of the runs. Each plot begins at 0.</p>\n"
      "<div class=\"courses\">\n");
  vec_each (const BenchResult *, r, p.results)
    if (!r->error) add_course(&p, r);
  text_add(p.t, "</div>\n</section>\n");
  return text_str(p.t);
}

// ---- the page

static const char *failures_html(BenchPage p) {
  p.t = text_new();
  vec_each (const BenchResult *, r, p.results)
    if (r->error)
      text_printf(p.t, "<p>%s</p><pre class=\"bad\">%s</pre>\n", name_of_result(r),
                  quote_html(r->error));
  if (!text_length(p.t)) return "";
  return text_format("<section>\n<h2>Failed</h2>\n%s</section>\n", text_str(p.t));
}

static const char *about_html(const BenchVec *results) {
  int runs = 0, failed = 0;
  vec_each (const BenchResult *, r, results) {
    runs += r->times.count;
    failed += r->error != NULL;
  }
  return text_format("%d data set%s, %d run%s%s", results->count,
                     results->count == 1 ? "" : "s", runs, runs == 1 ? "" : "s",
                     failed ? text_format(", %d failed", failed) : "");
}

void bench_write_page(Text *t, const BenchVec *results, const BenchHistory *history) {
  BenchPage p = { NULL, results, history };
  const HtmlPart parts[] = {
    { "title", "Measurements" },    { "about", about_html(results) },
    { "times", times_html(p) },     { "ratios", ratios_html(p) },
    { "courses", courses_html(p) }, { "failures", failures_html(p) },
  };
  html_fill(t, "bench.html", parts, sizeof parts / sizeof *parts);
}
