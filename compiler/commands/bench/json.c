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

static BenchResult read_dataset(const char *program, const char *dataset,
                                const json_t *measured) {
  BenchResult result = { .program = text_format("%s", program),
                         .dataset = text_format("%s", dataset) };
  const json_t *times = json_object_get(measured, "runtimes");
  for (size_t i = 0; i < json_array_size(times); i++)
    vec_push(&result.times, json_number_value(json_array_get(times, i)));
  return result;
}

bool bench_read_json(const char *text, BenchVec *out) {
  json_t *all = json_loads(text, 0, NULL), *about, *measured;
  const char *program, *dataset;
  json_object_foreach(all, program, about) {
    json_object_foreach(json_object_get(about, "datasets"), dataset, measured) {
      BenchResult result = read_dataset(program, dataset, measured);
      if (result.times.count) vec_push(out, result);
    }
  }
  bool is_json = all != NULL;
  json_decref(all);
  return is_json;
}
