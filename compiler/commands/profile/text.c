// The table that `flc profile` prints.
#include "commands/profile/profile.h"
#include <string.h>

// A table whose columns are as wide as what stands in them.
enum { COLUMNS = 11, MOST_PLACE = 40 };

typedef struct TraceRow {
  const char *cells[COLUMNS];
} TraceRow;
typedef Vec(TraceRow) TraceRowVec;

static bool is_left(int column) { return column >= 8; }

static void add_table(Text *t, const TraceRowVec *rows) {
  int width[COLUMNS] = { 0 };
  vec_each (TraceRow *, row, rows)
    for (int i = 0; i < COLUMNS; i++)
      if ((int)strlen(row->cells[i]) > width[i]) width[i] = (int)strlen(row->cells[i]);
  vec_each (TraceRow *, row, rows) {
    Text *line = text_new();
    for (int i = 0; i < COLUMNS; i++)
      text_printf(line, is_left(i) ? "  %-*s" : "  %*s", width[i], row->cells[i]);
    int length = (int)text_length(line);
    while (length > 0 && text_str(line)[length - 1] == ' ')
      length--;
    text_printf(t, "%.*s\n", length, text_str(line));
  }
}

static const char *share_of(const Trace *trace, int64_t ns) {
  int64_t total = trace_shown_total(trace);
  return text_format("%.1f %%", total > 0 ? 100.0 * (double)ns / (double)total : 0);
}

// How often in one run.
static const char *count_text(const Trace *trace, int64_t count) {
  double each = (double)count / trace->calls.count;
  return text_format(count % trace->calls.count == 0 ? "%.0f" : "%.1f", each);
}

static TraceRow sum_row(const Trace *trace, const TraceSum *sum, const char *name) {
  double runs = trace->calls.count;
  bool moved = sum->bytes > 0 && sum->total > 0;
  return (TraceRow){
    { trace_time((double)sum->total / runs), share_of(trace, sum->total),
      count_text(trace, sum->count), trace_time((double)sum->total / (double)sum->count),
      moved ? text_format("%.1f GB/s", trace_rate(sum->bytes, sum->total)) : "", "", "",
      "", name, "", "" }
  };
}

static const char *short_place(const TraceKernel *k) {
  const char *place = trace_place(k);
  if (!place) return "";
  size_t length = strlen(place);
  return length > MOST_PLACE ? text_format("...%s", place + length - MOST_PLACE + 3)
                             : place;
}

static TraceRow kernel_row(const Trace *trace, const TraceKernel *k) {
  TraceRow row = sum_row(trace, &k->runs, k->name);
  double of_copy = trace_of_copy(trace, k);
  if (of_copy > 0) row.cells[5] = text_format("%.0f %%", 100 * of_copy);
  double of_peak = trace_of_peak(trace, k), computes = trace_computes(k);
  if (computes > 0)
    row.cells[6] = text_format("%s%.2f GOP/s", k->is_bound ? "> " : "", computes);
  if (of_peak > 0) row.cells[7] = text_format("%.1f %%", 100 * of_peak);
  row.cells[9] = k->version ? k->version : "";
  row.cells[10] = short_place(k);
  return row;
}

static void add_rows(Text *t, const Trace *trace) {
  TraceRowVec rows = { 0 };
  vec_push(&rows, (TraceRow){ { "time", "share", "calls", "each", "moves", "of copy",
                                "computes", "of peak", "", "version", "made of" } });
  vec_each (TraceKernel *, k, &trace->kernels)
    vec_push(&rows, kernel_row(trace, k));
  for (int kind = TRACE_READ; kind < TRACE_KINDS; kind++)
    if (trace->transfers[kind].count)
      vec_push(&rows, sum_row(trace, &trace->transfers[kind],
                              text_format("(%s)", trace_kind_names[kind])));
  int64_t host = trace_host_total(trace);
  vec_push(&rows, (TraceRow){ { trace_time((double)host / trace->calls.count),
                                share_of(trace, host), "", "", "", "", "", "", "(host)",
                                "", "" } });
  add_table(t, &rows);
}

static void add_head(Text *t, const Trace *trace) {
  double least = 1e300, most = 0;
  vec_each (TraceCall *, call, &trace->calls) {
    if ((double)call->ns < least) least = (double)call->ns;
    if ((double)call->ns > most) most = (double)call->ns;
  }
  text_printf(t, "%s: %s", trace->path, trace->entry->name);
  if (trace->dataset) text_printf(t, ", %s", trace->dataset);
  text_printf(t, ": %s", trace_time((double)trace_median(trace, false)->ns));
  if (trace->calls.count > 1)
    text_printf(t, " (%d runs, %s to %s)", trace->calls.count, trace_time(least),
                trace_time(most));
  text_printf(t, "\n%s, code for %s", trace->device,
              strcmp(trace->code, "gpu") == 0 ? "GPUs" : "CPUs");
  if (trace->copy_ns > 0)
    text_printf(t, "; copies %.1f GB/s", trace_rate(trace->copy_bytes, trace->copy_ns));
  const char *peaks = trace_peaks_text(trace);
  if (*peaks) text_printf(t, ", computes %s", peaks);
  text_printf(t, "; at most %s of device memory\n\n",
              trace_bytes((double)trace->peak_bytes));
}

void trace_print(Text *t, const Trace *trace) {
  add_head(t, trace);
  add_rows(t, trace);
  const EventVec *events = trace->guards.count ? &trace->guards : NULL;
  text_add(t, "\n");
  version_tree_text(t, &trace->tree, events);
}
