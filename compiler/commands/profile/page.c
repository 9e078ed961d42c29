// A profile as a page of HTML that needs nothing else (docs/profiling.md).  Tables are
// written here; the timeline is drawn by the page's script from the events.
#include "base/quote.h"
#include "commands/html.h"
#include "commands/profile/profile.h"
#include <inttypes.h>
#include <string.h>

enum { COLOURS = 8, MOST_LINES = 400, AROUND = 5 };

// The class that gives a kernel its colour.
static const char *colour(int kernel) {
  return text_format("k%d", kernel < COLOURS ? kernel : COLOURS);
}

static double per_run(const Trace *trace, int64_t ns) {
  return (double)ns / trace->calls.count;
}

static double share(const Trace *trace, int64_t ns) {
  int64_t total = trace_shown_total(trace);
  return total > 0 ? 100.0 * (double)ns / (double)total : 0;
}

// ---- the head

static void add_fact(Text *t, const char *name, const char *value, const char *more) {
  text_printf(t, "<div><dt>%s</dt><dd>%s", name, value);
  if (*more) text_printf(t, "<small>%s</small>", more);
  text_add(t, "</dd></div>\n");
}

static const char *runs_text(const Trace *trace) {
  int64_t least = INT64_MAX, most = 0;
  vec_each (TraceCall *, call, &trace->calls) {
    if (call->ns < least) least = call->ns;
    if (call->ns > most) most = call->ns;
  }
  if (trace->calls.count == 1) return "one run";
  return text_format("%d runs, %s to %s", trace->calls.count, trace_time((double)least),
                     trace_time((double)most));
}

static const char *facts_html(const Trace *trace) {
  Text *t = text_new();
  text_add(t, "<dl class=\"facts\">\n");
  add_fact(t, "Time of a run", trace_time((double)trace_median(trace, false)->ns),
           runs_text(trace));
  add_fact(t, "Device", quote_html(trace->device),
           text_format("code for %s, %" PRId64 " compute units",
                       strcmp(trace->code, "gpu") == 0 ? "GPUs" : "CPUs",
                       trace->compute_units));
  if (trace->copy_ns > 0)
    add_fact(t, "Copies at",
             text_format("%.1f GB/s", trace_rate(trace->copy_bytes, trace->copy_ns)),
             "measured before the runs");
  const char *peaks = trace_peaks_text(trace);
  if (*peaks) add_fact(t, "Computes", peaks, "measured before the runs");
  add_fact(t, "Device memory", trace_bytes((double)trace->peak_bytes), "at most");
  add_fact(t, "Before the runs", trace_time((double)trace->build_ns),
           text_format("compiling kernels; %s of input",
                       trace_bytes((double)trace->input.bytes)));
  text_add(t, "</dl>\n");
  return text_str(t);
}

static const char *title_text(const Trace *trace) {
  Text *t = text_new();
  text_printf(t, "%s: %s", quote_html(trace->path), quote_html(trace->entry->name));
  if (trace->dataset) text_printf(t, ", %s", quote_html(trace->dataset));
  return text_str(t);
}

static const char *about_text(const Trace *trace) {
  Text *t = text_new();
  text_add(t, trace->sizes.count ? "Sizes: " : "Profile");
  vec_each (TraceSize *, size, &trace->sizes)
    text_printf(t, "%s%s = %" PRId64, size == trace->sizes.at ? "" : ", ",
                quote_html(size->name), size->value);
  return text_str(t);
}

// ---- shares

typedef struct ShareBar {
  Text *bar, *legend;
  const Trace *trace;
} ShareBar;

static void add_share(const ShareBar *s, const char *style, const char *name,
                      int64_t ns) {
  double percent = share(s->trace, ns);
  if (percent <= 0) return;
  text_printf(s->bar, "<span class=\"%s\" style=\"width:%.2f%%\"></span>", style,
              percent);
  text_printf(s->legend,
              "<li class=\"%s\"><span class=\"swatch\"></span>%s %.1f&nbsp;%%</li>\n",
              style, name, percent);
}

static const char *shares_html(const Trace *trace) {
  ShareBar s = { text_new(), text_new(), trace };
  int64_t others = 0;
  for (int i = 0; i < trace->kernels.count; i++) {
    const TraceKernel *k = &trace->kernels.at[i];
    if (i < COLOURS)
      add_share(&s, colour(i), text_format("<code>%s</code>", quote_html(k->name)),
                k->runs.total);
    else
      others += k->runs.total;
  }
  add_share(&s, colour(COLOURS), "other kernels", others);
  add_share(&s, "moves", "transfers", trace_moved_total(trace));
  add_share(&s, "host", "host", trace_host_total(trace));
  return text_format("<div class=\"shares\">%s</div>\n<ul class=\"legend\">\n%s</ul>\n",
                     text_str(s.bar), text_str(s.legend));
}

// ---- the timeline

static void add_names(Text *t, const char *key, const char *const *names, int count) {
  text_printf(t, "\"%s\":[", key);
  for (int i = 0; i < count; i++)
    text_printf(t, "%s%s", i ? "," : "", quote_json(names[i]));
  text_add(t, "]");
}

static void add_span(Text *t, const TraceEvent *e) {
  text_printf(t, "[%d,%d,%" PRId64 ",%" PRId64 ",%" PRId64 ",%" PRId64 ",%" PRId64 "]",
              (int)e->kind, e->kernel, e->start, e->end, e->host_start, e->host_end,
              e->bytes);
}

// Within a script nothing may look like a tag; in JSON a "<" is part of a string.
static const char *without_tags(const char *json) {
  Text *t = text_new();
  for (const char *s = json; *s;) {
    size_t length = strcspn(s, "<");
    text_add_bytes(t, s, length);
    s += length;
    if (*s) text_add(t, "\\u003c"), s++;
  }
  return text_str(t);
}

static const char *events_json(const Trace *trace) {
  const TraceCall *call = trace_median(trace, true);
  if (!call) return "null";
  Text *t = text_new();
  const char **names = new_array(const char *, trace->kernels.count + 1);
  for (int i = 0; i < trace->kernels.count; i++)
    names[i] = trace->kernels.at[i].name;
  text_printf(t, "{\"ns\":%" PRId64 ",", call->ns);
  add_names(t, "kinds", trace_kind_names, TRACE_KINDS);
  text_add(t, ",");
  add_names(t, "kernels", names, trace->kernels.count);
  text_add(t, ",\"events\":[");
  for (int i = 0; i < call->event_count; i++) {
    text_add(t, i ? ",\n" : "\n");
    add_span(t, &call->events[i]);
  }
  text_add(t, "]}");
  return without_tags(text_str(t));
}

static const char *timeline_html(const Trace *trace) {
  const TraceCall *call = trace_median(trace, true);
  if (!call) return "<p class=\"note\">The runs had too many events to be kept.</p>";
  if (!call->event_count) return "<p class=\"note\">Nothing ran on the device.</p>";
  return text_format("<p class=\"note\">The run in the middle, of %s; %d event%s%s.</p>",
                     trace_time((double)call->ns), call->event_count,
                     call->event_count == 1 ? "" : "s",
                     call->whole ? "" : ", of its beginning only");
}

// ---- kernels

typedef struct FileNumbers {
  Vec(const SourceFile *) files;  // in which kernels begin; the program's own comes first
} FileNumbers;

static int file_number(FileNumbers *n, const SourceFile *file) {
  for (int i = 0; i < n->files.count; i++)
    if (n->files.at[i] == file) return i;
  vec_push(&n->files, file);
  return n->files.count - 1;
}

static void add_place_cell(Text *t, const TraceKernel *k, FileNumbers *numbers) {
  const char *place = trace_place(k);
  if (!place) {
    text_add(t, "<td class=\"left\"></td>");
    return;
  }
  text_printf(t, "<td class=\"left\"><a href=\"#line-%d-%d\">%s</a></td>",
              file_number(numbers, k->code->loc.file), loc_line_col(k->code->loc).line,
              quote_html(place));
}

static void add_recipe_cell(Text *t, const TraceKernel *k) {
  const KernPlan *plan = k->code ? k->code->plan : NULL;
  text_add(t, "<td class=\"left\">");
  if (plan && plan->recipe_count) {
    text_printf(t, "<details><summary>%d step%s</summary><ol>", plan->recipe_count,
                plan->recipe_count == 1 ? "" : "s");
    for (int i = 0; i < plan->recipe_count; i++)
      text_printf(t, "<li><code>%s</code></li>", quote_html(plan->recipe[i]));
    text_add(t, "</ol></details>");
  }
  text_add(t, "</td>");
}

static void add_roof_cell(Text *t, double of_roof) {
  double percent = 100 * of_roof, width = percent < 100 ? percent : 100;
  text_printf(t, "<td class=\"roof\" data-v=\"%.4f\">", of_roof);
  if (of_roof > 0)
    text_printf(t,
                "%.0f&nbsp;%%<span class=\"gauge\"><i style=\"width:%.1f%%\"></i></span>",
                percent, width);
  text_add(t, "</td>");
}

// Time, share, calls, each: those that transfers have as well.
static void add_time_cells(Text *t, const Trace *trace, const TraceSum *sum) {
  double time = per_run(trace, sum->total), calls = per_run(trace, sum->count);
  double each = sum->count ? (double)sum->total / (double)sum->count : 0;
  text_printf(t, "<td data-v=\"%.0f\">%s</td><td data-v=\"%.3f\">%.1f&nbsp;%%</td>", time,
              trace_time(time), share(trace, sum->total), share(trace, sum->total));
  text_printf(t, "<td data-v=\"%.3f\">%.*f</td>", calls,
              sum->count % trace->calls.count == 0 ? 0 : 1, calls);
  text_printf(t, "<td data-v=\"%.1f\" title=\"%s to %s\">%s</td>", each,
              trace_time((double)sum->least), trace_time((double)sum->most),
              trace_time(each));
}

static void add_byte_cells(Text *t, const Trace *trace, const TraceSum *sum) {
  double bytes = per_run(trace, sum->bytes), rate = trace_rate(sum->bytes, sum->total);
  text_printf(t, "<td data-v=\"%.0f\">%s</td>", bytes,
              bytes > 0 ? trace_bytes(bytes) : "");
  text_printf(t, "<td data-v=\"%.4f\">%s</td>", rate,
              rate > 0 ? text_format("%.1f", rate) : "");
}

static void add_kernel_row(Text *t, const Trace *trace, int i, FileNumbers *numbers) {
  const TraceKernel *k = &trace->kernels.at[i];
  text_printf(t,
              "<tr class=\"%s\"><td><span class=\"swatch\"></span><code>%s</code></td>",
              colour(i), quote_html(k->name));
  add_time_cells(t, trace, &k->runs);
  add_byte_cells(t, trace, &k->runs);
  add_roof_cell(t, trace_of_copy(trace, k));
  double computes = trace_computes(k);
  text_printf(t, "<td data-v=\"%.4f\">%s%s</td>", computes,
              computes > 0 && k->is_bound ? "&gt; " : "",
              computes > 0 ? text_format("%.2f", computes) : "");
  add_roof_cell(t, trace_of_peak(trace, k));
  text_printf(t,
              "<td data-v=\"%" PRId64 "\">%" PRId64 " &times; %" PRId64
              "</td><td class=\"left\">%s</td>",
              k->groups * k->group_size, k->groups, k->group_size,
              k->version ? k->version : "");
  add_recipe_cell(t, k);
  add_place_cell(t, k, numbers);
  text_add(t, "</tr>\n");
}

static void add_foot(Text *t, const Trace *trace) {
  int64_t host = trace_host_total(trace);
  text_add(t, "<tfoot>\n");
  for (int kind = TRACE_READ; kind < TRACE_KINDS; kind++) {
    const TraceSum *sum = &trace->transfers[kind];
    if (!sum->count) continue;
    text_printf(t, "<tr class=\"moves\"><td><span class=\"swatch\"></span>%s</td>",
                text_format("(%s)", trace_kind_names[kind]));
    add_time_cells(t, trace, sum);
    add_byte_cells(t, trace, sum);
    text_add(t, "<td colspan=\"7\"></td></tr>\n");
  }
  text_printf(
      t,
      "<tr class=\"host\"><td><span class=\"swatch\"></span>(host)</td><td>%s</td>"
      "<td>%.1f&nbsp;%%</td><td colspan=\"11\"></td></tr>\n</tfoot>\n",
      trace_time(per_run(trace, host)), share(trace, host));
}

static const char *kernels_html(const Trace *trace, FileNumbers *numbers) {
  static const struct {
    const char *name, *title;
    bool left;
  } columns[] = {
    { "kernel", "as `flc dump FILE --after imp` prints it", true },
    { "time", "of the run in the middle", false },
    { "share", "of the whole time", false },
    { "calls", "in one run", false },
    { "each", "one call, in the mean", false },
    { "bytes", "that it reads and writes, in one run", false },
    { "GB/s", "bytes by time", false },
    { "of copy", "the rate as a fraction of that of a copy on this device", false },
    { "GOP/s", "operations by time, an addition and a multiplication each one", false },
    { "of peak", "as a fraction of what additions and multiplications reach here",
      false },
    { "work-items", "groups times items of the last call", false },
    { "version", "that it belongs to", true },
    { "recipe", "the steps that made it", true },
    { "made of", "the operation in the source", true },
  };
  Text *t = text_new();
  text_add(t, "<div class=\"scroll\"><table class=\"sortable\">\n<thead><tr>");
  for (size_t i = 0; i < sizeof columns / sizeof *columns; i++)
    text_printf(t, "<th scope=\"col\" title=\"%s\"%s%s><button>%s</button></th>",
                columns[i].title, columns[i].left ? " class=\"left\"" : "",
                i == 1 ? " aria-sort=\"descending\"" : "", columns[i].name);
  text_add(t, "</tr></thead>\n<tbody>\n");
  for (int i = 0; i < trace->kernels.count; i++)
    add_kernel_row(t, trace, i, numbers);
  text_add(t, "</tbody>\n");
  add_foot(t, trace);
  text_add(t, "</table></div>\n");
  return text_str(t);
}

// ---- source

typedef struct LineTime {
  int64_t total;
  const char *title;  // the kernels
} LineTime;

// Per line of the file, from 1.
static LineTime *times_of_lines(const Trace *trace, const SourceFile *file) {
  LineTime *lines = new_array(LineTime, (int)file->line_count + 2);
  vec_each (TraceKernel *, k, &trace->kernels) {
    if (!k->code || k->code->loc.file != file) continue;
    LineTime *line = &lines[loc_line_col(k->code->loc).line];
    line->total += k->runs.total;
    line->title = line->title ? text_format("%s, %s", line->title, k->name) : k->name;
  }
  return lines;
}

static const char *line_text(const SourceFile *file, int line) {
  uint32_t start = file->line_starts[line - 1];
  const char *text = file->text + start;
  return text_format("%.*s", (int)strcspn(text, "\r\n"), text);
}

typedef struct SourceSheet {
  Text *t;
  const Trace *trace;
  const SourceFile *file;
  int number;  // of the file
  const LineTime *lines;
} SourceSheet;

// Lines of long files are shown near those with times.
static bool is_line_shown(const SourceSheet *s, int line) {
  int count = (int)s->file->line_count;
  if (count <= MOST_LINES) return true;
  for (int near = line - AROUND; near <= line + AROUND; near++)
    if (near >= 1 && near <= count && s->lines[near].total) return true;
  return false;
}

static void add_line_row(const SourceSheet *s, int line) {
  const LineTime *time = &s->lines[line];
  text_printf(s->t, "<tr id=\"line-%d-%d\"%s><td", s->number, line,
              time->total ? " class=\"hot\"" : "");
  if (time->title) text_printf(s->t, " title=\"%s\"", quote_html(time->title));
  text_printf(s->t, ">%s</td><td class=\"share\">",
              time->total ? trace_time(per_run(s->trace, time->total)) : "");
  if (time->total)
    text_printf(s->t, "<i style=\"width:%.1f%%\"></i>", share(s->trace, time->total));
  text_printf(s->t,
              "</td><td class=\"line\">%d</td><td class=\"text\"><code>%s</code></td>"
              "</tr>\n",
              line, quote_html(line_text(s->file, line)));
}

static void add_source_file(const SourceSheet *s) {
  text_printf(s->t,
              "<details open><summary>%s</summary>\n<div class=\"scroll\">"
              "<table class=\"source\">\n",
              quote_html(s->file->path));
  bool gap = false;
  int count = (int)s->file->line_count;
  if (count > 1 && !*line_text(s->file, count)) count--;
  for (int line = 1; line <= count; line++) {
    if (is_line_shown(s, line)) {
      add_line_row(s, line);
      gap = false;
    } else if (!gap) {
      text_add(s->t,
               "<tr><td></td><td class=\"share\"></td><td class=\"line\">&#8942;</td>"
               "<td></td></tr>\n");
      gap = true;
    }
  }
  text_add(s->t, "</table></div></details>\n");
}

static const char *sources_html(const Trace *trace, const FileNumbers *numbers) {
  Text *t = text_new();
  text_add(t, "<p class=\"note\">Beside each line the time of the kernels that begin "
              "there, of one run.</p>\n");
  for (int i = 0; i < numbers->files.count; i++)
    add_source_file(&(SourceSheet){ t, trace, numbers->files.at[i], i,
                                    times_of_lines(trace, numbers->files.at[i]) });
  return text_str(t);
}

// ---- the whole

void trace_page(Text *t, const Trace *trace) {
  FileNumbers numbers = { 0 };
  if (trace->file) file_number(&numbers, trace->file);
  const char *kernels = kernels_html(trace, &numbers);
  const HtmlPart parts[] = {
    { "title", title_text(trace) },         { "about", about_text(trace) },
    { "facts", facts_html(trace) },         { "shares", shares_html(trace) },
    { "timeline", timeline_html(trace) },   { "kernels", kernels },
    { "versions", trace_tree_html(trace) }, { "sources", sources_html(trace, &numbers) },
    { "events", events_json(trace) },
  };
  html_fill(t, "profile.html", parts, (int)(sizeof parts / sizeof *parts));
}
