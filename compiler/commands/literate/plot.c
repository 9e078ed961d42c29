// Vectors as plots and tables.
#include "base/file.h"
#include "base/quote.h"
#include "commands/literate/literate.h"
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

// ---- columns

static bool is_vector(const Type *type) {
  return type->kind == TYPE_ARRAY && type->u.array.elem->kind == TYPE_PRIM;
}

static bool is_product(const Type *type) {
  return type->kind == TYPE_RECORD && !type_is_sum(type);
}

bool plot_columns(const Type *type, const Value *const *leaves, PlotColumns *out) {
  if (is_vector(type)) vec_push(out, (PlotColumn){ "", leaves[0] });
  if (!is_product(type)) return is_vector(type);
  for (int i = 0; i < type->u.record.count; i++) {
    if (!is_vector(type->u.record.fields[i].type)) return false;
    vec_push(out, (PlotColumn){ type->u.record.fields[i].name, leaves[i] });
  }
  return type->u.record.count > 0;
}

// Several lines of a plot, or files of columns for gnuplot.
typedef struct PlotSeries {
  const char *name;
  PlotColumns columns;
} PlotSeries;
typedef Vec(PlotSeries) PlotSeriesVec;

static bool read_series(const Type *type, const Value *const *leaves,
                        PlotSeriesVec *out) {
  PlotSeries series = { "", { 0 } };
  if (plot_columns(type, leaves, &series.columns) && type_is_tuple(type)) {
    vec_push(out, series);
    return true;
  }
  if (!is_product(type) || type_is_tuple(type)) return false;
  for (int i = 0; i < type->u.record.count; i++) {
    const TypeField *field = &type->u.record.fields[i];
    series = (PlotSeries){ field->name, { 0 } };
    if (!plot_columns(field->type, leaves, &series.columns)) return false;
    leaves += series.columns.count;
    vec_push(out, series);
  }
  return out->count > 0;
}

static double column_number(const Value *v, int64_t i) {
  return prim_to_double(value_get(v, i));
}

// ---- the plane of a plot

typedef struct PlotScale {
  double low, high;  // values
  double from, to;   // where they stand in the picture
  double step;       // between marks
} PlotScale;

static void widen(PlotScale *axis, const Value *v) {
  for (int64_t i = 0; i < value_count(v); i++) {
    double x = column_number(v, i);
    if (!isfinite(x)) continue;
    axis->low = fmin(axis->low, x);
    axis->high = fmax(axis->high, x);
  }
}

// Marks at multiples of 1, 2 or 5 times a power of ten, about `wanted` of them.
static void set_step(PlotScale *axis, int wanted) {
  if (axis->low > axis->high) axis->low = 0, axis->high = 1;
  if (axis->low == axis->high) {
    double half = axis->low != 0 ? fabs(axis->low) / 2 : 0.5;
    axis->low -= half;
    axis->high += half;
  }
  double rough = axis->high / wanted - axis->low / wanted;
  double power = pow(10, floor(log10(rough))), first = rough / power;
  axis->step = power * (first < 1.5 ? 1 : first < 3.5 ? 2 : first < 7.5 ? 5 : 10);
}

static double place(const PlotScale *axis, double x) {
  double part =
      x / 2 - axis->low / 2;  // halves: the difference of two numbers may be too large
  return axis->from + part / (axis->high / 2 - axis->low / 2) * (axis->to - axis->from);
}

typedef struct Plot {
  Text *t;
  int width, height;
  PlotScale x, y;
} Plot;

enum { LEFT = 68, RIGHT = 16, TOP = 14, BOTTOM = 34 };

static void add_mark(const Plot *p, bool across, double value) {
  double at = place(across ? &p->y : &p->x, value);
  double x1 = across ? LEFT : at, x2 = across ? p->width - RIGHT : at;
  double y1 = across ? at : TOP, y2 = across ? at : p->height - BOTTOM;
  text_printf(
      p->t,
      "<line x1=\"%.1f\" y1=\"%.1f\" x2=\"%.1f\" y2=\"%.1f\" stroke=\"#e2e6ec\"/>\n"
      "<text x=\"%.1f\" y=\"%.1f\" text-anchor=\"%s\">%.6g</text>\n",
      x1, y1, x2, y2, across ? LEFT - 8 : at, across ? at + 4 : p->height - BOTTOM + 18.0,
      across ? "end" : "middle", value);
}

static void add_marks(const Plot *p, bool across) {
  const PlotScale *axis = across ? &p->y : &p->x;
  enum { MOST_MARKS = 50 };
  double first = ceil(axis->low / axis->step);
  for (int i = 0; i < MOST_MARKS; i++) {
    double value = (first + i) * axis->step;
    if (!(value <= axis->high + axis->step * 1e-9)) break;
    add_mark(p, across, fabs(value) < axis->step * 1e-9 ? 0 : value);
  }
}

static const char *line_colour(int i) {
  static const char *const colours[] = { "#1f5fb0", "#c2410c", "#0a7a4c", "#8a3ffc",
                                         "#b08900", "#0e7490", "#be185d", "#57534e" };
  return colours[i % (int)(sizeof colours / sizeof *colours)];
}

// A line through the points; numbers that have no place interrupt it.
static void add_line(const Plot *p, const PlotSeries *series, int number) {
  const Value *xs = series->columns.at[0].values, *ys = series->columns.at[1].values;
  text_printf(p->t, "<path fill=\"none\" stroke=\"%s\" stroke-width=\"1.6\" d=\"",
              line_colour(number));
  bool drawing = false;
  for (int64_t i = 0; i < value_count(xs); i++) {
    double x = column_number(xs, i), y = column_number(ys, i);
    bool has_place = isfinite(x) && isfinite(y);
    if (has_place)
      text_printf(p->t, "%s%.1f %.1f", drawing ? "L" : "M", place(&p->x, x),
                  place(&p->y, y));
    drawing = has_place;
  }
  text_add(p->t, "\"/>\n");
}

static void add_legend(const Plot *p, const char *name, int number) {
  double y = TOP + 18 + 18 * number;
  text_printf(p->t,
              "<line x1=\"%d\" x2=\"%d\" y1=\"%.1f\" y2=\"%.1f\" stroke=\"%s\" "
              "stroke-width=\"3\"/>\n<text x=\"%d\" y=\"%.1f\">%s</text>\n",
              LEFT + 12, LEFT + 32, y - 4, y - 4, line_colour(number), LEFT + 38, y,
              quote_html(name));
}

static void draw_plot(Plot *p, const PlotSeriesVec *all) {
  text_printf(
      p->t,
      "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%d\" height=\"%d\" "
      "viewBox=\"0 0 %d %d\" font-family=\"sans-serif\" font-size=\"12\" "
      "fill=\"#3b4552\">\n<rect width=\"100%%\" height=\"100%%\" fill=\"white\"/>\n",
      p->width, p->height, p->width, p->height);
  add_marks(p, false);
  add_marks(p, true);
  for (int i = 0; i < all->count; i++)
    add_line(p, &all->at[i], i);
  for (int i = 0; i < all->count; i++)
    if (*all->at[i].name) add_legend(p, all->at[i].name, i);
  text_add(p->t, "</svg>\n");
}

// size: (HEIGHT, WIDTH)
static bool read_size(Directive *d, Plot *p) {
  const char *size = directive_param(d, "size");
  if (!size) return true;
  if (sscanf(size, "(%d,%d)", &p->height, &p->width) == 2 && p->width >= 200 &&
      p->height >= 120 && p->width <= 10000 && p->height <= 10000)
    return true;
  directive_fail(
      d, "`size: %s`: expected (HEIGHT, WIDTH) from (120, 200) to (10000, 10000)", size);
  return false;
}

static bool has_series(Directive *d, PlotSeriesVec *all, int columns) {
  bool ok = read_series(d->type, d->leaves, all);
  for (int i = 0; ok && i < all->count; i++) {
    const PlotColumns *c = &all->at[i].columns;
    ok = columns == 0 || c->count == columns;
    for (int k = 1; k < c->count; k++)
      ok = ok && value_count(c->at[k].values) == value_count(c->at[0].values);
  }
  if (!ok)
    directive_fail(
        d,
        "expected %s of arrays of numbers of one length, or a record of such, found %s",
        columns ? "a pair" : "a tuple", directive_type_text(d));
  return ok;
}

void show_plot(LiteratePage *page, Directive *d) {
  PlotSeriesVec all = { 0 };
  Plot p = { .t = text_new(), .width = 640, .height = 400 };
  if (!has_series(d, &all, 2) || !read_size(d, &p)) return;
  p.x = (PlotScale){ INFINITY, -INFINITY, LEFT, p.width - RIGHT, 0 };
  p.y = (PlotScale){ INFINITY, -INFINITY, p.height - BOTTOM, TOP, 0 };
  vec_each (const PlotSeries *, series, &all) {
    widen(&p.x, series->columns.at[0].values);
    widen(&p.y, series->columns.at[1].values);
  }
  set_step(&p.x, p.width / 90);
  set_step(&p.y, p.height / 55);
  draw_plot(&p, &all);
  page_add_media(page, d, "svg", p.t);
}

// ---- gnuplot

static bool write_columns(Directive *d, const char *path, const PlotColumns *columns) {
  Text *t = text_new();
  int64_t count = value_count(columns->at[0].values);
  for (int64_t i = 0; i < count; i++)
    for (int k = 0; k < columns->count; k++)
      text_printf(t, "%.17g%s", column_number(columns->at[k].values, i),
                  k + 1 < columns->count ? " " : "\n");
  if (file_write(path, t)) return true;
  directive_fail(d, "cannot write %s: %s", path, strerror(errno));
  return false;
}

void show_gnuplot(LiteratePage *page, Directive *d) {
  PlotSeriesVec all = { 0 };
  if (!has_series(d, &all, 0)) return;
  const char *output = text_format("%s/plot.png", page->l->folder),
             *script = text_format("%s/script", page->l->folder);
  Text *t = text_new();
  text_printf(t, "set terminal png size 640,480\nset output '%s'\n", output);
  vec_each (const PlotSeries *, series, &all) {
    const char *name = *series->name ? series->name : "data";
    const char *path = text_format("%s/columns-%s", page->l->folder, name);
    if (!write_columns(d, path, &series->columns)) return;
    text_printf(t, "%s='%s'\n", name, path);
  }
  text_add(t, d->params);
  if (!file_write(script, t)) {
    directive_fail(d, "cannot write %s: %s", script, strerror(errno));
    return;
  }
  const char *const words[] = { "gnuplot", script, NULL };
  const Text *bytes = literate_output(page->l, d, words, output);
  if (bytes) page_add_media(page, d, "png", bytes);
}

// ---- tables

static void add_cell(Text *t, const Value *v, int64_t i) {
  Prim p = value_get(v, i);
  if (prim_is_float(v->elem))
    text_printf(t, " %.6g |", prim_to_double(p));
  else if (v->elem == PRIM_BOOL)
    text_printf(t, " %s |", prim_bits_of(p) ? "true" : "false");
  else
    text_printf(t, prim_is_signed(v->elem) ? " %lld |" : " %llu |", (long long)p.u.i);
}

static void add_heads(Text *t, const char *const *heads, int64_t count) {
  text_add(t, "|");
  for (int64_t i = 0; i < count; i++)
    text_printf(t, " %s |", heads[i]);
  text_add(t, "\n|");
  for (int64_t i = 0; i < count; i++)
    text_add(t, "--:|");
  text_add(t, "\n");
}

static void add_column_table(Text *t, const PlotColumns *columns) {
  const char **heads = new_array(const char *, columns->count);
  for (int k = 0; k < columns->count; k++)
    heads[k] = columns->at[k].name;
  add_heads(t, heads, columns->count);
  for (int64_t i = 0; i < value_count(columns->at[0].values); i++) {
    text_add(t, "|");
    for (int k = 0; k < columns->count; k++)
      add_cell(t, columns->at[k].values, i);
    text_add(t, "\n");
  }
}

static void add_matrix_table(Text *t, const Value *v) {
  const char **heads = new_array(const char *, v->shape[1] + 1);
  for (int64_t k = 0; k < v->shape[1]; k++)
    heads[k] = text_format("%lld", (long long)k);
  add_heads(t, heads, v->shape[1]);
  for (int64_t i = 0; i < value_count(v); i++) {
    if (i % v->shape[1] == 0) text_add(t, "|");
    add_cell(t, v, i);
    if ((i + 1) % v->shape[1] == 0) text_add(t, "\n");
  }
}

void show_table(LiteratePage *page, Directive *d) {
  PlotColumns columns = { 0 };
  const Value *v = directive_array(d);
  if (v && v->rank == 2 && v->shape[1] > 0) {
    add_matrix_table(page->text, v);
  } else {
    bool ok = plot_columns(d->type, d->leaves, &columns);
    for (int k = 1; ok && k < columns.count; k++)
      ok = value_count(columns.at[k].values) == value_count(columns.at[0].values);
    if (!ok) {
      directive_fail(
          d,
          "expected a 2-dimensional array, or a record or tuple of arrays of one "
          "length, found %s",
          directive_type_text(d));
      return;
    }
    add_column_table(page->text, &columns);
  }
  text_add(page->text, "\n");
}
