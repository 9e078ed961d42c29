// {"prog.fl:entry": {"datasets": {"NAME": {"runtimes": [microseconds, ...], "bytes": {"device": PEAK},
// "moved": BYTES} | "error text"}}}
#include "commands/bench.h"
#include <stdlib.h>
#include <string.h>

// ---- writing

static void write_string(Text *t, const char *text) {
  text_add(t, "\"");
  for (const char *s = text; *s; s++) {
    unsigned char c = (unsigned char)*s;
    if (c == '"' || c == '\\')
      text_printf(t, "\\%c", c);
    else if (c < ' ')
      text_printf(t, "\\u%04x", c);
    else
      text_add_bytes(t, s, 1);
  }
  text_add(t, "\"");
}

static void write_result(Text *t, const BenchResult *r) {
  write_string(t, r->dataset);
  text_add(t, ": ");
  if (r->error) {
    write_string(t, r->error);
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
      write_string(t, r->program);
      text_add(t, ": {\n    \"datasets\": {");
    }
    text_add(t, same ? ",\n      " : "\n      ");
    write_result(t, r);
  }
  text_add(t, results->count ? "\n    }\n  }\n}\n" : "}\n");
}

// ---- reading

typedef struct Json {
  const char *at;
} Json;

static void skip_space(Json *j) { j->at += strspn(j->at, " \t\r\n"); }

static bool next_is(Json *j, char c) {
  skip_space(j);
  if (*j->at != c) return false;
  j->at++;
  return true;
}

// The string, its escapes undone but for \u, which stays as it is; NULL if there is none.
static const char *read_string(Json *j) {
  if (!next_is(j, '"')) return NULL;
  Text *t = text_new();
  for (; *j->at && *j->at != '"'; j->at++) {
    bool escaped = *j->at == '\\' && (j->at[1] == '"' || j->at[1] == '\\');
    if (escaped) j->at++;
    text_add_bytes(t, j->at, 1);
  }
  if (*j->at) j->at++;
  return text_str(t);
}

// Any value: strings and brackets are matched, the rest is passed over.
static void skip_value(Json *j) {
  int depth = 0;
  do {
    skip_space(j);
    if (*j->at == '"') {
      read_string(j);
      continue;
    }
    if (*j->at == '{' || *j->at == '[') depth++;
    if (*j->at == '}' || *j->at == ']') depth--;
    if (*j->at) j->at++;
    if (depth == 0) j->at += strcspn(j->at, ",}] \t\r\n");
  } while (*j->at && depth > 0);
}

typedef void (*MemberFn)(Json *j, const char *key, void *state);

// Calls `member` at the value of each member.
static void read_object(Json *j, MemberFn member, void *state) {
  if (!next_is(j, '{')) {
    skip_value(j);
    return;
  }
  for (const char *key; (key = read_string(j)) != NULL;) {
    if (!next_is(j, ':')) return;
    member(j, key, state);
    if (!next_is(j, ',')) break;
  }
  next_is(j, '}');
}

typedef struct Reading {
  BenchVec *out;
  const char *program, *dataset;
} Reading;

static void read_times(Json *j, const char *key, void *state) {
  Reading *r = state;
  if (strcmp(key, "runtimes") != 0 || !next_is(j, '[')) {
    skip_value(j);
    return;
  }
  BenchResult result = { .program = r->program, .dataset = r->dataset };
  for (char *end;; next_is(j, ',')) {
    skip_space(j);
    double time = strtod(j->at, &end);
    if (end == j->at) break;
    j->at = end;
    vec_push(&result.times, time);
  }
  next_is(j, ']');
  if (result.times.count) vec_push(r->out, result);
}

static void read_dataset(Json *j, const char *key, void *state) {
  ((Reading *)state)->dataset = key;
  read_object(j, read_times, state);
}

static void read_datasets(Json *j, const char *key, void *state) {
  if (strcmp(key, "datasets") == 0)
    read_object(j, read_dataset, state);
  else
    skip_value(j);
}

static void read_program(Json *j, const char *key, void *state) {
  ((Reading *)state)->program = key;
  read_object(j, read_datasets, state);
}

BenchVec bench_read_json(const char *text) {
  BenchVec out = { 0 };
  Json j = { text };
  Reading reading = { .out = &out };
  read_object(&j, read_program, &reading);
  return out;
}
