// The trace of a program, which it has written as JSON (runtime/trace.h).
#include "commands/profile/profile.h"
#include <jansson.h>
#include <stdlib.h>
#include <string.h>

const char *const trace_kind_names[TRACE_KINDS] = { "kernel", "read", "write", "copy" };
const char *const trace_computed_names[COMPUTED_KINDS] = { "f32", "f64", "i32", "i64" };

static const char *text_at(const json_t *json, const char *key) {
  const char *text = json_string_value(json_object_get(json, key));
  return text_format("%s", text ? text : "");
}

static int64_t number_at(const json_t *json, const char *key) {
  return json_integer_value(json_object_get(json, key));
}

static int64_t element(const json_t *array, size_t i) {
  return json_integer_value(json_array_get(array, i));
}

static TraceSum read_trace_sum(const json_t *json) {
  return (TraceSum){ number_at(json, "count"), number_at(json, "total_ns"),
                     number_at(json, "min_ns"), number_at(json, "max_ns"),
                     number_at(json, "bytes") };
}

static TraceKernel read_kernel(const json_t *json) {
  TraceKernel k = { .id = (int)number_at(json, "id"),
                    .name = text_at(json, "name"),
                    .runs = read_trace_sum(json),
                    .groups = number_at(json, "groups"),
                    .group_size = number_at(json, "group_size") };
  const json_t *arguments = json_object_get(json, "arguments");
  k.argument_count = (int)json_array_size(arguments);
  int64_t *bytes = new_array(int64_t, k.argument_count + 1);
  for (int i = 0; i < k.argument_count; i++)
    bytes[i] = element(arguments, (size_t)i);
  k.arguments = bytes;
  double *scalars = new_array(double, k.argument_count + 1);
  for (int i = 0; i < k.argument_count; i++)
    scalars[i] =
        json_number_value(json_array_get(json_object_get(json, "scalars"), (size_t)i));
  k.scalars = scalars;
  k.items = json_number_value(json_object_get(json, "items"));
  return k;
}

static int longer_first(const void *a, const void *b) {
  const TraceKernel *x = a, *y = b;
  if (x->runs.total != y->runs.total) return x->runs.total < y->runs.total ? 1 : -1;
  return x->id - y->id;
}

static void read_kernels(const json_t *list, Trace *out) {
  for (size_t i = 0; i < json_array_size(list); i++)
    vec_push(&out->kernels, read_kernel(json_array_get(list, i)));
}

static int kernel_position(const Trace *trace, int id) {
  for (int i = 0; i < trace->kernels.count; i++)
    if (trace->kernels.at[i].id == id) return i;
  return -1;
}

static TraceKind kind_named(const char *name) {
  for (int kind = 0; name && kind < TRACE_KINDS; kind++)
    if (strcmp(trace_kind_names[kind], name) == 0) return (TraceKind)kind;
  return TRACE_KERNEL;
}

static TraceEvent read_event(const json_t *json) {
  return (TraceEvent){ kind_named(json_string_value(json_array_get(json, 0))),
                       (int)element(json, 1),
                       element(json, 2),
                       element(json, 3),
                       element(json, 4),
                       element(json, 5),
                       element(json, 6) };
}

static void read_calls(const json_t *list, Trace *out) {
  for (size_t i = 0; i < json_array_size(list); i++) {
    const json_t *json = json_array_get(list, i),
                 *events = json_object_get(json, "events");
    TraceCall call = { .ns = number_at(json, "ns"),
                       .kept = json_is_true(json_object_get(json, "kept")),
                       .whole = json_is_true(json_object_get(json, "whole")),
                       .event_count = (int)json_array_size(events) };
    call.events = new_array(TraceEvent, call.event_count + 1);
    for (int k = 0; k < call.event_count; k++)
      call.events[k] = read_event(json_array_get(events, (size_t)k));
    vec_push(&out->calls, call);
  }
}

static bool has_all_events(const Trace *trace) {
  vec_each (TraceCall *, call, &trace->calls)
    if (!call->kept || !call->whole) return false;
  return true;
}

// What the events of a kind, and of the kernel with this id, took in a run.
static int64_t time_in(const TraceCall *call, TraceKind kind, int kernel) {
  int64_t sum = 0;
  for (int i = 0; i < call->event_count; i++) {
    const TraceEvent *e = &call->events[i];
    bool is_it = e->kind == kind && (kind != TRACE_KERNEL || e->kernel == kernel);
    if (is_it) sum += e->end - e->start;
  }
  return sum;
}

static int64_t middle_total(const Trace *trace, TraceKind kind, int kernel) {
  Vec(int64_t) times = { 0 };
  vec_each (TraceCall *, call, &trace->calls)
    vec_push(&times, time_in(call, kind, kernel));
  return trace_middle(times.at, times.count) * times.count;
}

// Totals are as if each run took what the one in the middle took: one that other processes have
// held up would decide a mean.
static void settle_totals(Trace *trace) {
  if (!trace->calls.count || !has_all_events(trace)) return;
  vec_each (TraceKernel *, k, &trace->kernels)
    k->runs.total = middle_total(trace, TRACE_KERNEL, k->id);
  for (int kind = TRACE_READ; kind < TRACE_KINDS; kind++)
    trace->transfers[kind].total = middle_total(trace, (TraceKind)kind, -1);
}

// Events then have the places of kernels for their ids.
static void sort_kernels(Trace *trace) {
  if (trace->kernels.count)
    qsort(trace->kernels.at, (size_t)trace->kernels.count, sizeof *trace->kernels.at,
          longer_first);
  vec_each (TraceCall *, call, &trace->calls)
    for (int i = 0; i < call->event_count; i++)
      call->events[i].kernel = kernel_position(trace, call->events[i].kernel);
}

// Equal decisions are counted; names become those of the tree later (join.c).
static void read_decisions(const json_t *list, Trace *out) {
  for (size_t i = 0; i < json_array_size(list); i++) {
    const json_t *json = json_array_get(list, i);
    GuardEvent e = { text_at(json, "name"), number_at(json, "par"),
                     number_at(json, "threshold"), 1,
                     json_is_true(json_object_get(json, "taken")) };
    bool known = false;
    vec_each (GuardEvent *, old, &out->guards) {
      if (strcmp(old->guard, e.guard) != 0 || old->par != e.par || old->first != e.first)
        continue;
      old->count++;
      known = true;
      break;
    }
    if (!known) vec_push(&out->guards, e);
  }
}

static void read_builds(const json_t *list, Trace *out) {
  for (size_t i = 0; i < json_array_size(list); i++) {
    const json_t *json = json_array_get(list, i);
    out->build_count += (int)number_at(json, "count");
    out->build_ns += 1000 * number_at(json, "total_us");
  }
}

static void read_sizes(json_t *object, Trace *out) {
  const char *name;
  json_t *value;
  json_object_foreach(object, name, value) vec_push(
      &out->sizes, (TraceSize){ text_format("%s", name), json_integer_value(value) });
}

bool trace_read(const char *text, Trace *out) {
  json_t *json = json_loads(text, 0, NULL);
  if (!json) return false;
  const json_t *device = json_object_get(json, "device"),
               *copy = json_object_get(json, "copy"),
               *transfers = json_object_get(json, "transfers");
  out->device = text_at(device, "name");
  out->driver = text_at(device, "driver");
  out->code = text_at(device, "code");
  out->compute_units = number_at(device, "compute_units");
  out->peak_bytes = number_at(json_object_get(json, "bytes"), "peak");
  out->copy_bytes = number_at(copy, "bytes");
  out->copy_ns = number_at(copy, "ns");
  const json_t *peak = json_object_get(json, "peak");
  for (int i = 0; i < COMPUTED_KINDS; i++)
    out->peak[i] = json_number_value(json_object_get(peak, trace_computed_names[i]));
  for (int kind = TRACE_READ; kind < TRACE_KINDS; kind++)
    out->transfers[kind] =
        read_trace_sum(json_object_get(transfers, trace_kind_names[kind]));
  out->input = read_trace_sum(json_object_get(json_object_get(json, "around"), "write"));
  read_kernels(json_object_get(json, "kernels"), out);
  read_builds(json_object_get(json, "builds"), out);
  read_decisions(json_object_get(json, "guards"), out);
  read_sizes(json_object_get(json, "sizes"), out);
  read_calls(json_object_get(json, "calls"), out);
  settle_totals(out);
  sort_kernels(out);
  json_decref(json);
  return out->calls.count > 0;
}
