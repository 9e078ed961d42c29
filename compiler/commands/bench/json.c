// {"prog.fl:entry": {"datasets": {"NAME": {"runtimes": [microseconds, ...], "bytes": {"device":
// PEAK}, "moved": BYTES} | "error text"}}}
#include "base/quote.h"
#include "commands/bench/bench.h"
#include <jansson.h>
#include <string.h>

// ---- writing

static void write_result(Text *t, const BenchResult *r) {
  text_add(t, quote_json(r->dataset));
  text_add(t, ": ");
  if (r->error) {
    text_add(t, quote_json(r->error));
    return;
  }
  text_add(t, "{ \"runtimes\": [");
  for (int i = 0; i < r->times.count; i++)
    text_printf(t, "%s%.0f", i ? ", " : "", r->times.at[i]);
  text_add(t, "]");
  if (r->peak) text_printf(t, ", \"bytes\": { \"device\": %s }", r->peak);
  if (r->moved > 0) text_printf(t, ", \"moved\": %.0f", r->moved);
  text_add(t, " }");
}

void bench_write_json(Text *t, const BenchVec *results) {
  text_add(t, "{");
  for (int i = 0; i < results->count; i++) {
    const BenchResult *r = &results->at[i];
    bool same = i > 0 && strcmp(results->at[i - 1].program, r->program) == 0;
    if (!same) {
      text_add(t, i ? "\n    }\n  },\n  " : "\n  ");
      text_add(t, quote_json(r->program));
      text_add(t, ": {\n    \"datasets\": {");
    }
    text_add(t, same ? ",\n      " : "\n      ");
    write_result(t, r);
  }
  text_add(t, results->count ? "\n    }\n  }\n}\n" : "}\n");
}

// ---- reading

// False if there is something in the place of times.
static bool read_earlier_times(const json_t *times, BenchResult *out) {
  for (size_t i = 0; i < json_array_size(times); i++) {
    double us = json_number_value(json_array_get(times, i));
    if (!(us >= 0) || !json_is_number(json_array_get(times, i))) return false;
    vec_push(&out->times, us);
  }
  return json_is_array(times);
}

// What failed has a text in the place of times.  NULL, or what is wrong.
static const char *read_program(const char *program, json_t *datasets, BenchVec *out) {
  const char *dataset;
  json_t *measured;
  if (!json_is_object(datasets))
    return text_format("%s has no \"datasets\"", quote_json(program));
  json_object_foreach(datasets, dataset, measured) {
    BenchResult result = { .program = text_format("%s", program),
                           .dataset = text_format("%s", dataset) };
    if (json_is_string(measured)) continue;
    if (!read_earlier_times(json_object_get(measured, "runtimes"), &result))
      return text_format("%s of %s has no \"runtimes\" in microseconds",
                         quote_json(dataset), quote_json(program));
    if (result.times.count) vec_push(out, result);
  }
  return NULL;
}

const char *bench_read_json(const char *text, size_t length, BenchVec *out) {
  json_error_t problem;
  json_t *all = json_loadb(text, length, 0, &problem), *about;
  const char *program, *wrong = NULL;
  if (!all) return text_format("it is no JSON: line %d: %s", problem.line, problem.text);
  if (!json_is_object(all)) wrong = "no programs stand in it";
  json_object_foreach(all, program, about) {
    if (!wrong) wrong = read_program(program, json_object_get(about, "datasets"), out);
  }
  json_decref(all);
  return wrong ? text_format("it is nothing that bench --json has written: %s", wrong)
               : NULL;
}
