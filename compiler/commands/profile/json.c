// A profile as JSON (docs/profiling.md).
#include "base/quote.h"
#include "commands/profile/profile.h"
#include <inttypes.h>

static void add_text(Text *t, const char *key, const char *text) {
  text_printf(t, "\"%s\": ", key);
  text_add(t, text ? quote_json(text) : "null");
}

static void add_number(Text *t, const char *key, int64_t number) {
  text_printf(t, ", \"%s\": %" PRId64, key, number);
}

static void add_sum(Text *t, const TraceSum *sum) {
  add_number(t, "count", sum->count);
  add_number(t, "total_ns", sum->total);
  add_number(t, "min_ns", sum->least);
  add_number(t, "max_ns", sum->most);
  add_number(t, "bytes", sum->bytes);
}

static void add_place(Text *t, const TraceKernel *k) {
  if (!trace_place(k)) return;
  LineCol at = loc_line_col(k->code->loc);
  text_add(t, ", ");
  add_text(t, "file", k->code->loc.file->path);
  add_number(t, "line", at.line);
  add_number(t, "column", at.col);
}

static void add_kernel(Text *t, const Trace *trace, const TraceKernel *k) {
  text_add(t, "    { ");
  add_text(t, "name", k->name);
  add_sum(t, &k->runs);
  text_printf(t, ", \"of_copy\": %.4f", trace_of_copy(trace, k));
  text_printf(t, ", \"operations\": %.0f, \"of_peak\": %.4f", trace_operations(k),
              trace_of_peak(trace, k));
  text_printf(t, ", \"more\": %s", k->is_bound ? "true" : "false");
  add_number(t, "groups", k->groups);
  add_number(t, "group_size", k->group_size);
  text_add(t, ", ");
  add_text(t, "version", k->version);
  add_place(t, k);
  const KernPlan *plan = k->code ? k->code->plan : NULL;
  text_add(t, ", \"recipe\": [");
  for (int i = 0; plan && i < plan->recipe_count; i++)
    text_printf(t, "%s%s", i ? ", " : "", quote_json(plan->recipe[i]));
  text_add(t, "] }");
}

static void add_kernels(Text *t, const Trace *trace) {
  text_add(t, ",\n  \"kernels\": [");
  for (int i = 0; i < trace->kernels.count; i++) {
    text_add(t, i ? ",\n" : "\n");
    add_kernel(t, trace, &trace->kernels.at[i]);
  }
  text_add(t, "]");
}

static void add_transfers(Text *t, const Trace *trace) {
  text_add(t, ",\n  \"transfers\": [");
  for (int kind = TRACE_READ; kind < TRACE_KINDS; kind++) {
    text_add(t, kind > TRACE_READ ? ",\n    { " : "\n    { ");
    add_text(t, "kind", trace_kind_names[kind]);
    add_sum(t, &trace->transfers[kind]);
    text_add(t, " }");
  }
  text_add(t, "]");
}

static void add_guards(Text *t, const Trace *trace) {
  text_add(t, ",\n  \"guards\": [");
  for (int i = 0; i < trace->guards.count; i++) {
    const GuardEvent *e = &trace->guards.at[i];
    text_add(t, i ? ",\n    { " : "\n    { ");
    add_text(t, "name", e->guard);
    add_number(t, "par", e->par);
    add_number(t, "threshold", e->threshold);
    add_number(t, "count", e->count);
    text_printf(t, ", \"taken\": %s }", e->first ? "true" : "false");
  }
  text_add(t, "]");
}

static void add_event(Text *t, const Trace *trace, const TraceEvent *e) {
  text_add(t, "{ ");
  add_text(t, "kind", trace_kind_names[e->kind]);
  if (e->kernel >= 0) {
    text_add(t, ", ");
    add_text(t, "kernel", trace->kernels.at[e->kernel].name);
  }
  add_number(t, "start_ns", e->start);
  add_number(t, "end_ns", e->end);
  add_number(t, "host_start_ns", e->host_start);
  add_number(t, "host_end_ns", e->host_end);
  if (e->kind != TRACE_KERNEL) add_number(t, "bytes", e->bytes);
  text_add(t, " }");
}

static void add_timeline(Text *t, const Trace *trace) {
  const TraceCall *call = trace_median(trace, true);
  text_add(t, ",\n  \"timeline\": ");
  if (!call) {
    text_add(t, "null");
    return;
  }
  text_printf(t, "{ \"ns\": %" PRId64 ", \"whole\": %s, \"events\": [", call->ns,
              call->whole ? "true" : "false");
  for (int i = 0; i < call->event_count; i++) {
    text_add(t, i ? ",\n    " : "\n    ");
    add_event(t, trace, &call->events[i]);
  }
  text_add(t, "] }");
}

static void add_device(Text *t, const Trace *trace) {
  text_add(t, ",\n  \"device\": { ");
  add_text(t, "name", trace->device);
  text_add(t, ", ");
  add_text(t, "driver", trace->driver);
  text_add(t, ", ");
  add_text(t, "code", trace->code);
  add_number(t, "compute_units", trace->compute_units);
  text_printf(t, " },\n  \"copy\": { \"bytes\": %" PRId64, trace->copy_bytes);
  add_number(t, "ns", trace->copy_ns);
  text_add(t, " },\n  \"peak\": { ");
  for (int i = 0; i < COMPUTED_KINDS; i++)
    text_printf(t, "%s\"%s\": %.0f", i ? ", " : "", trace_computed_names[i],
                trace->peak[i]);
  text_add(t, " }");
}

static void add_runs(Text *t, const Trace *trace) {
  text_add(t, ",\n  \"runs_ns\": [");
  for (int i = 0; i < trace->calls.count; i++)
    text_printf(t, "%s%" PRId64, i ? ", " : "", trace->calls.at[i].ns);
  text_add(t, "],\n  \"sizes\": {");
  for (int i = 0; i < trace->sizes.count; i++)
    text_printf(t, "%s %s: %" PRId64, i ? "," : "", quote_json(trace->sizes.at[i].name),
                trace->sizes.at[i].value);
  text_add(t, " }");
}

void trace_json(Text *t, const Trace *trace) {
  text_add(t, "{ \"schema\": \"flc-profile\", \"version\": 1,\n  ");
  add_text(t, "program", trace->path);
  text_add(t, ", ");
  add_text(t, "entry", trace->entry->name);
  text_add(t, ", ");
  add_text(t, "dataset", trace->dataset);
  add_device(t, trace);
  add_runs(t, trace);
  int64_t total = trace_total(trace), busy = trace_busy_total(trace);
  text_printf(t, ",\n  \"total_ns\": %" PRId64, total);
  add_number(t, "host_ns", total > busy ? total - busy : 0);
  add_number(t, "build_ns", trace->build_ns);
  add_number(t, "peak_bytes", trace->peak_bytes);
  text_add(t, ",\n  \"input\": { \"kind\": \"write\"");
  add_sum(t, &trace->input);
  text_add(t, " }");
  add_kernels(t, trace);
  add_transfers(t, trace);
  add_guards(t, trace);
  add_timeline(t, trace);
  text_add(t, ",\n  \"tree\": ");
  version_tree_json(t, &trace->tree, &trace->guards);
  text_add(t, "\n}\n");
}
