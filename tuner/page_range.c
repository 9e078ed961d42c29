#include "tuner/page_range.h"
#include "base/quote.h"
#include <math.h>

// Charts: the plot is a box in a drawing of WIDTH x HEIGHT.
enum { WIDTH = 720, HEIGHT = 300, LEFT = 70, RIGHT = 690, TOP = 20, BOTTOM = 240 };
enum { LABEL_WIDTH = 44 };

// A scale: values onto pixels, by logarithm.
typedef struct PlotAxis {
  double low, high;
  int from, to;
} PlotAxis;

static double place_log(const PlotAxis *a, double value) {
  double span = fmax(log(a->high / a->low), 1e-9);
  return a->from + (a->to - a->from) * log(fmax(value, a->low) / a->low) / span;
}

static double place(const PlotAxis *a, double value) {
  return a->from + (a->to - a->from) * (value - a->low) / fmax(a->high - a->low, 1e-9);
}

static void open_chart(Text *out, const char *label) {
  text_printf(out, "<svg viewBox=\"0 0 %d %d\" width=%d role=img aria-label=\"%s\">\n",
              WIDTH, HEIGHT, WIDTH, label);
}

// Titles of the axes; y's is written upwards.
static void close_chart(Text *out, const char *x, const char *y) {
  text_printf(out,
              "<text x=%d y=%d text-anchor=middle>%s</text>"
              "<text transform=\"translate(16 %d) rotate(-90)\" "
              "text-anchor=middle>%s</text></svg>\n",
              (LEFT + RIGHT) / 2, HEIGHT - 10, x, (TOP + BOTTOM) / 2, y);
}

static void grid_line(Text *out, double y, const char *label) {
  text_printf(out,
              "<line class=grid x1=%d x2=%d y1=%.1f y2=%.1f /><text x=%d y=%.1f "
              "text-anchor=end>%s</text>\n",
              LEFT, RIGHT, y, y, LEFT - 8, y + 4, label);
}

// ---- by the number of points

static PlotAxis points_axis(const Tuning *t) {
  double first = t->sampling.curve.at[0].points,
         last = t->sampling.curve.at[t->sampling.curve.count - 1].points;
  return (PlotAxis){ fmax(1, first), fmax(first + 1, last), LEFT + 20, RIGHT - 20 };
}

// The numbers of points, as far as there is room: from the last one backwards.
static void point_labels(Text *out, const Tuning *t, const PlotAxis *x) {
  double free_to = WIDTH;
  for (int i = t->sampling.curve.count - 1; i >= 0; i--) {
    double at = place_log(x, t->sampling.curve.at[i].points);
    if (at + LABEL_WIDTH / 2 > free_to) continue;
    text_printf(out, "<text x=%.1f y=%d text-anchor=middle>%d</text>\n", at, BOTTOM + 20,
                t->sampling.curve.at[i].points);
    free_to = at - LABEL_WIDTH / 2;
  }
}

typedef struct RangeValue {
  double middle, low, high;
} RangeValue;

static RangeValue share_value(int hits, int all) {
  Interval interval = tuning_interval(hits, all);
  return (RangeValue){ all ? 100.0 * hits / all : 0, 100 * interval.low,
                       100 * interval.high };
}

static RangeValue fastest_of(const Precision *r) {
  return share_value(r->fastest, r->points);
}
static RangeValue near_of(const Precision *r) { return share_value(r->near, r->points); }
static RangeValue precision_loss(const Precision *r) {
  double loss = 100 * r->regret, error = 196 * r->regret_error;
  return (RangeValue){ loss, fmax(0, loss - error), loss + error };
}

typedef struct Line {
  const char *class, *name;
  RangeValue (*value)(const Precision *r);
} Line;

// The intervals as a band, then the line with its points.
static void draw_line(Text *out, const Tuning *t, const PlotAxis *x, const PlotAxis *y,
                      const Line *line) {
  text_printf(out, "<path class=\"band %s\" d=\"", line->class);
  for (int i = 0; i < t->sampling.curve.count; i++)
    text_printf(
        out, "%s%.1f %.1f ", i ? "L" : "M", place_log(x, t->sampling.curve.at[i].points),
        place(y, fmin(y->high, line->value(&t->sampling.curve.at[i].precision).high)));
  for (int i = t->sampling.curve.count - 1; i >= 0; i--)
    text_printf(out, "L%.1f %.1f ", place_log(x, t->sampling.curve.at[i].points),
                place(y, line->value(&t->sampling.curve.at[i].precision).low));
  text_printf(out, "Z\" />\n<polyline class=\"line %s\" points=\"", line->class);
  vec_each (const CurvePoint *, p, &t->sampling.curve)
    text_printf(out, "%.1f,%.1f ", place_log(x, p->points),
                place(y, fmin(y->high, line->value(&p->precision).middle)));
  text_add(out, "\" />\n");
  vec_each (const CurvePoint *, p, &t->sampling.curve)
    text_printf(out, "<circle class=\"dot %s\" cx=%.1f cy=%.1f r=3 />\n", line->class,
                place_log(x, p->points),
                place(y, fmin(y->high, line->value(&p->precision).middle)));
}

static void legend(Text *out, const Line *lines, int count) {
  for (int i = 0; i < count; i++)
    text_printf(out,
                "<line class=\"line %s\" x1=%d x2=%d y1=10 y2=10 /><text x=%d "
                "y=14>%s</text>\n",
                lines[i].class, LEFT + 200 * i, LEFT + 200 * i + 24, LEFT + 200 * i + 32,
                lines[i].name);
}

static void chart(Text *out, const Tuning *t, const char *label, const char *unit,
                  double most, const Line *lines, int count) {
  PlotAxis x = points_axis(t), y = { 0, most, BOTTOM, TOP + 10 };
  open_chart(out, label);
  for (int k = 0; k <= 4; k++)
    grid_line(out, place(&y, most * k / 4), text_format("%.3g %%", most * k / 4));
  point_labels(out, t, &x);
  for (int i = 0; i < count; i++)
    draw_line(out, t, &x, &y, &lines[i]);
  legend(out, lines, count);
  close_chart(out, "points measured before the choice (logarithmic)", unit);
}

static const char *share_text(const char *what, int hits, int all) {
  RangeValue v = share_value(hits, all);
  return text_format("%s %.1f %% (%.1f to %.1f)", what, v.middle, v.low, v.high);
}

static void precision_text(Text *out, const Tuning *t) {
  const Precision *r = &t->sampling.curve.at[t->sampling.curve.count - 1].precision,
                  *before = &t->sampling.before_precision;
  text_printf(out,
              "<h2>Precision on %d held-out points</h2><p>%s; %s; mean loss %.2f %% "
              "&plusmn; %.2f %%. Intervals are of 95 %%.",
              r->points, share_text("Fastest version picked:", r->fastest, r->points),
              share_text("one within 2 %:", r->near, r->points), 100 * r->regret,
              196 * r->regret_error);
  if (before->points)
    text_printf(out, " The program's own thresholds: %s; %s; mean loss %.1f %%.",
                share_text("fastest", before->fastest, before->points),
                share_text("within 2 %", before->near, before->points),
                100 * before->regret);
  text_printf(
      out,
      "</p><p class=note>On %d of these points noise leaves open which of several "
      "versions is the fastest; each of them counts. The choice was made from %d "
      "points in %d cells, %d of which no single version suits.</p>\n",
      r->even, t->sampling.holdout_from, t->sampling.cells, t->sampling.open_cells);
}

static double largest_loss(const Tuning *t) {
  double most = 2;
  vec_each (const CurvePoint *, p, &t->sampling.curve)
    most = fmax(most, 1.2 * precision_loss(&p->precision).middle);
  return most < 10 ? ceil(most) : 10 * ceil(most / 10);
}

// ---- predicted and measured

static void trial_dots(Text *out, const Tuning *t, const PlotAxis *x, const PlotAxis *y) {
  text_printf(out, "<line class=grid x1=%d x2=%d y1=%d y2=%d />\n", x->from, x->to,
              y->from, y->to);
  vec_each (const Trial *, trial, &t->sampling.trials)
    text_printf(
        out, "<circle class=\"dot %s\" cx=%.1f cy=%.1f r=3><title>%s</title></circle>\n",
        trial->disagrees ? "wrong" : "near", place_log(x, trial->predicted_us),
        place_log(y, samples_low(&trial->us)),
        quote_html(t->seen->data[trial->dataset].name));
}

static void decade_labels(Text *out, const PlotAxis *x, const PlotAxis *y) {
  for (double us = x->low; us <= x->high * 1.001; us *= 10) {
    grid_line(out, place_log(y, us), tuning_time(us));
    text_printf(out, "<text x=%.1f y=%d text-anchor=middle>%s</text>\n", place_log(x, us),
                BOTTOM + 20, tuning_time(us));
  }
}

static void trials_section(Text *out, const Tuning *t) {
  double low = INFINITY, high = 0;
  int wrong = 0;
  vec_each (const Trial *, trial, &t->sampling.trials) {
    double us = samples_low(&trial->us);
    low = fmin(low, fmin(us, trial->predicted_us));
    high = fmax(high, fmax(us, trial->predicted_us));
    wrong += trial->disagrees;
  }
  low = pow(10, floor(log10(fmax(low, 0.1))));
  high = pow(10, ceil(log10(fmax(high, 10 * low))));
  PlotAxis x = { low, high, LEFT + 20, RIGHT - 20 }, y = { low, high, BOTTOM, TOP };
  text_printf(out,
              "<h2>Predicted and measured</h2><p>The tuned program on the held-out "
              "points; it took %s.</p>\n",
              wrong ? text_format("other versions than predicted on %d of them", wrong)
                    : "the predicted versions on all of them");
  open_chart(out, "predicted and measured times");
  decade_labels(out, &x, &y);
  trial_dots(out, t, &x, &y);
  close_chart(out, "predicted", "measured");
}

// ---- the whole

void page_ranges(Text *out, const Tuning *t) {
  static const Line shares[] = { { "near", "within 2 % of it", near_of },
                                 { "fastest", "fastest version picked", fastest_of } };
  static const Line losses[] = { { "near", "mean of tuned / fastest - 1",
                                   precision_loss } };
  if (t->sampling.curve.at[t->sampling.curve.count - 1].precision.points == 0) return;
  precision_text(out, t);
  chart(out, t, "precision by points", "held-out points", 100, shares, 2);
  text_add(out, "<h2>Loss against each point's own best</h2>\n");
  chart(out, t, "loss by points", "mean loss", largest_loss(t), losses, 1);
  if (t->sampling.trials.count) trials_section(out, t);
}
