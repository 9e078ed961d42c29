// --range and --gen: the box of sizes, its constraints, and inputs of given sizes.
//
//   RANGES     = PART {"," PART}
//   PART       = NAME "=" SUM ":" SUM [":linear"]  |  SUM ("<=" | "<" | ">=" | ">") SUM
//   SUM        = PRODUCT {("+" | "-") PRODUCT}
//   PRODUCT    = POWER {"*" POWER}
//   POWER      = (INTEGER | NAME | "(" SUM ")") ["^" POWER]
#include "base/file.h"
#include "commands/tune/data.h"
#include "core/value/generate.h"
#include <ctype.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { MOST_RANGES = 6 };

static int range_named(const TuneInputs *in, const char *name) {
  for (int i = 0; i < in->ranges.count; i++)
    if (strcmp(in->ranges.at[i].name, name) == 0) return i;
  return -1;
}

// ---- arithmetic

typedef struct Reader {
  const TuneInputs *in;
  const int64_t *sizes;  // NULL: names have no values here
  const char *at;
  const char *problem;  // NULL, or what is wrong
} Reader;

static double read_sum(Reader *r);

static double problem(Reader *r, const char *text) {
  if (!r->problem) r->problem = text;
  return 1;
}

static int name_length(const char *at) {
  int length = 0;
  while (isalnum((unsigned char)at[length]) || at[length] == '_' || at[length] == '\'')
    length++;
  return length;
}

static double read_name(Reader *r) {
  const char *name = text_format("%.*s", name_length(r->at), r->at);
  r->at += strlen(name);
  int range = range_named(r->in, name);
  if (r->sizes && range >= 0) return (double)r->sizes[range];
  return problem(r, r->sizes ? text_format("%s has no range", name)
                             : text_format("%s: a range ends in numbers", name));
}

static double read_atom(Reader *r) {
  while (*r->at == ' ')
    r->at++;
  char *rest = NULL;
  double value = 1;
  if (isdigit((unsigned char)*r->at)) {
    value = (double)strtoll(r->at, &rest, 10);
    r->at = rest;
  } else if (*r->at == '(') {
    r->at++;
    value = read_sum(r);
    if (*r->at != ')') return problem(r, "expected )");
    r->at++;
  } else if (isalpha((unsigned char)*r->at) || *r->at == '_') {
    value = read_name(r);
  } else {
    problem(r, *r->at ? text_format("expected a number or a size, found %s", r->at)
                      : "expected a number or a size at the end");
  }
  while (*r->at == ' ')
    r->at++;
  return value;
}

static double read_power(Reader *r) {
  double base = read_atom(r);
  if (*r->at != '^' || r->problem) return base;
  r->at++;
  return pow(base, read_power(r));
}

static double read_product(Reader *r) {
  double value = read_power(r);
  while (*r->at == '*' && !r->problem) {
    r->at++;
    value *= read_power(r);
  }
  return value;
}

static double read_sum(Reader *r) {
  double value = read_product(r);
  while ((*r->at == '+' || *r->at == '-') && !r->problem) {
    bool minus = *r->at++ == '-';
    double next = read_product(r);
    value += minus ? -next : next;
  }
  return value;
}

// Does the constraint hold?  Sets the problem if it is none.
static bool holds(Reader *r) {
  double left = read_sum(r);
  bool less = *r->at == '<', greater = *r->at == '>';
  if (!less && !greater) problem(r, "expected <=, <, >= or >");
  if (r->problem) return false;
  r->at++;
  bool equal = *r->at == '=';
  r->at += equal;
  double right = read_sum(r);
  if (*r->at) problem(r, text_format("unexpected %s", r->at));
  if (equal && left == right) return true;
  return less ? left < right : left > right;
}

// ---- ranges

static double read_end(Reader *r) {
  double value = read_sum(r);
  if (value < 0 || value > 9e15) problem(r, "a size is at least 0 and at most 9e15");
  return value;
}

static bool add_range(TuneInputs *in, const char *part) {
  TunerRange range = { .name = text_format("%.*s", name_length(part), part) };
  Reader r = { .in = in, .at = part + strlen(range.name) };
  r.at += strspn(r.at, " ");
  if (*r.at++ != '=' || !*range.name)
    return tune_fail(in, "--range: expected NAME=LOW:HIGH or a constraint, found %s",
                     part);
  double low = read_end(&r);
  if (*r.at != ':') problem(&r, "expected LOW:HIGH");
  r.at += *r.at == ':';
  double high = r.problem ? low : read_end(&r);
  range.linear = strcmp(r.at, ":linear") == 0;
  if (*r.at && !range.linear)
    problem(&r, text_format("expected nothing or :linear, found %s", r.at));
  if (!r.problem && high <= low) problem(&r, "the range is empty");
  if (range_named(in, range.name) >= 0) problem(&r, "it has a range already");
  if (r.problem) return tune_fail(in, "--range %s: %s", part, r.problem);
  range.low = (int64_t)low;
  range.high = (int64_t)high;
  vec_push(&in->ranges, range);
  return true;
}

// Are the constraints well formed, and do they leave anything?
static bool check_constraints(const TuneInputs *in) {
  int64_t lows[MOST_RANGES];
  for (int i = 0; i < in->ranges.count; i++)
    lows[i] = in->ranges.at[i].low;
  vec_each (const char *const *, text, &in->constraints) {
    Reader r = { .in = in, .sizes = lows, .at = *text };
    holds(&r);
    if (r.problem) return tune_fail(in, "--range: constraint %s: %s", *text, r.problem);
  }
  return true;
}

bool tune_ranges(TuneInputs *in, const char *text) {
  for (const char *at = text; *at;) {
    int length = (int)strcspn(at, ",");
    const char *part = text_format("%.*s", length, at);
    if (strpbrk(part, "<>"))
      vec_push(&in->constraints, part);
    else if (!add_range(in, part))
      return false;
    at += length + (at[length] == ',');
  }
  if (in->ranges.count == 0) return tune_fail(in, "--range: expected NAME=LOW:HIGH");
  if (in->ranges.count > MOST_RANGES)
    return tune_fail(in, "--range: at most %d sizes can be varied", MOST_RANGES);
  return check_constraints(in);
}

bool tune_allowed(const void *state, const int64_t *sizes) {
  const TuneInputs *in = state;
  vec_each (const char *const *, text, &in->constraints) {
    Reader r = { .in = in, .sizes = sizes, .at = *text };
    if (!holds(&r)) return false;
  }
  return true;
}

// ---- random inputs

// "[n][m]f32" with the sizes of the point: "[10][20]f32"; NULL and the unknown name.
static const char *sized_type(const TuneInputs *in, const char *type,
                              const int64_t *sizes, bool *used, const char **unknown) {
  Text *t = text_new();
  for (const char *at = type; *at;) {
    int length = name_length(at);
    const char *word = text_format("%.*s", length, at);
    bool is_size =
        at > type && at[-1] == '[' && length > 0 && !isdigit((unsigned char)*at);
    int range = is_size ? range_named(in, word) : -1;
    if (is_size && range < 0) {
      *unknown = word;
      return NULL;
    }
    if (range >= 0) used[range] = true;
    if (range >= 0)
      text_printf(t, "%lld", (long long)sizes[range]);
    else
      text_add_bytes(t, at, (size_t)(length ? length : 1));
    at += length ? length : 1;
  }
  return text_str(t);
}

// What generate_value makes the parameter from.
static const char *input_spec(const TuneInputs *in, const EntryValue *input,
                              const int64_t *sizes, bool *used, const char **unknown) {
  int range = input->name ? range_named(in, input->name) : -1;
  const char *type = input->type + (*input->type == '*');
  if (range < 0 || *type == '[') return sized_type(in, type, sizes, used, unknown);
  used[range] = true;
  return text_format("%lld%s", (long long)sizes[range], type);
}

// "n, m, p": what can have a range.
static const char *names_of(const Entry *entry) {
  Text *t = text_new();
  for (int i = 0; i < entry->size_count; i++)
    text_printf(t, "%s%s", text_length(t) ? ", " : "", entry->params[i]->name);
  for (int i = 0; i < entry->input_count; i++) {
    const EntryValue *input = &entry->inputs[i];
    const CoreType *type = &entry->params[input->first]->type;
    if (!input->opaque && input->name && !type->rank && prim_is_int(type->elem))
      text_printf(t, "%s%s", text_length(t) ? ", " : "", input->name);
  }
  return text_length(t) ? text_str(t) : "no sizes";
}

static bool unused_range(const TuneInputs *in, const bool *used, const Entry *entry) {
  for (int i = 0; i < in->ranges.count; i++)
    if (!used[i])
      return tune_fail(
          in, "--range: entry point %s has no size or integer parameter %s, only %s",
          entry->name, in->ranges.at[i].name, names_of(entry));
  return true;
}

static bool random_complete(const TuneInputs *in) {
  int64_t lows[MOST_RANGES] = { 0 };
  bool used[MOST_RANGES] = { false };
  for (int i = 0; i < in->about->input_count; i++) {
    const EntryValue *input = &in->about->inputs[i];
    const char *unknown = NULL;
    if (input->opaque)
      return tune_fail(in,
                       "--range: parameter %s: %s: there are no random records or "
                       "tuples; a program can make them: --gen",
                       input->name, input->type);
    const char *spec = input_spec(in, input, lows, used, &unknown);
    if (!spec)
      return tune_fail(in, "--range: size %s of parameter %s needs a range", unknown,
                       input->name);
    if (strchr(spec, '[') && !generate_is_type(spec))
      return tune_fail(in,
                       "--range: parameter %s: %s: only names and numbers can be "
                       "random sizes; a program can make others: --gen",
                       input->name, input->type);
  }
  return unused_range(in, used, in->about);
}

static bool make_random(const TuneInputs *in, const int64_t *sizes, Text *bytes) {
  static const GenerateBounds no_bounds = { 0 };
  bool used[MOST_RANGES];
  for (int i = 0; i < in->about->input_count; i++) {
    const char *unknown = NULL, *message = NULL;
    const char *spec = input_spec(in, &in->about->inputs[i], sizes, used, &unknown);
    const Value *v =
        spec ? generate_value(spec, in->seed + (uint64_t)i, &no_bounds, &message) : NULL;
    if (!v) return false;
    value_write_binary(bytes, v);
  }
  return true;
}

// ---- inputs from a program

bool tune_generator(TuneInputs *in, const char *path, const char *device) {
  EmitResult result;
  Program *program = program_read(in->c, path);
  if (!program ||
      !compile_program_to_c(in->c, program, (CompileOptions){ .untuned = true }, &result))
    return false;
  Generator *g = &in->generator;
  g->path = path;
  g->about = command_entry(in->c, program->core, NULL);
  const char *executable = g->about ? compile_cached(in->c, &result) : NULL;
  if (!executable) return false;
  const char **words = new_array(const char *, 5);
  words[0] = executable;
  words[1] = "--server";
  if (device) words[2] = "--device", words[3] = device;
  g->server = (Child){ .argv = words, .interrupt = -1 };
  return true;
}

static bool is_seed(const char *name) { return strcmp(name, "seed") == 0; }

// Its parameters are integers with ranges, or `seed`; its results are what the program takes.
static bool generator_complete(const TuneInputs *in) {
  const Entry *gen = in->generator.about, *entry = in->about;
  bool used[MOST_RANGES] = { false };
  for (int i = 0; i < gen->input_count; i++) {
    const EntryValue *input = &gen->inputs[i];
    const CoreType *type = &gen->params[input->first]->type;
    if (input->opaque || type->rank || !prim_is_int(type->elem))
      return tune_fail(in,
                       "--gen: parameter %s of %s: expected an integer type, found %s",
                       input->name, gen->name, input->type);
    int range = range_named(in, input->name);
    if (range < 0 && !is_seed(input->name))
      return tune_fail(in, "--gen: parameter %s of %s needs a range", input->name,
                       gen->name);
    if (range >= 0) used[range] = true;
  }
  int wanted = entry->param_count - entry->size_count;
  for (int i = 0; i < wanted || i < gen->result_count; i++) {
    const CoreType *type =
        i < wanted ? &entry->params[entry->size_count + i]->type : NULL;
    bool same = type && i < gen->result_count && type->elem == gen->results[i].elem &&
                type->rank == gen->results[i].rank;
    if (!same)
      return tune_fail(in,
                       "--gen: %s of %s makes %d values, not what %s takes (%d, "
                       "records and tuples taken apart): they differ at number %d",
                       gen->name, in->generator.path, gen->result_count, entry->name,
                       wanted, i + 1);
  }
  return unused_range(in, used, gen);
}

bool tune_ranges_complete(TuneInputs *in) {
  if (!in->about) return true;  // a server that takes the sizes themselves
  return in->generator.path ? generator_complete(in) : random_complete(in);
}

// For a server of which nothing is known: the sizes are its inputs.
static bool make_sizes(const TuneInputs *in, const int64_t *sizes, Text *bytes) {
  for (int i = 0; i < in->ranges.count; i++)
    text_printf(bytes, "%lldi64\n", (long long)sizes[i]);
  return true;
}

static bool generator_says(const TuneInputs *in, Reply reply) {
  if (reply.status == REPLY_OK) return true;
  return tune_fail(in, "--gen %s: %s", in->generator.path, reply.text);
}

// "10i64 20i64", as the parameters want it.
static const char *generator_arguments(const TuneInputs *in, const int64_t *sizes,
                                       Text *variables, Text *names) {
  Text *values = text_new();
  const Entry *gen = in->generator.about;
  for (int i = 0; i < gen->input_count; i++) {
    int range = range_named(in, gen->inputs[i].name);
    long long value = range < 0 ? (long long)in->seed : (long long)sizes[range];
    text_printf(values, "%lld%s ", value, gen->inputs[i].type);
    text_printf(variables, " a%d %s", i, gen->inputs[i].type);
    text_printf(names, " a%d", i);
  }
  const char *file = text_format("%s/sizes", in->scratch);
  return file_write(file, values) ? file : NULL;
}

static bool make_by_program(TuneInputs *in, const int64_t *sizes, Text *bytes) {
  enum { LIMIT_S = 300 };
  Child *server = &in->generator.server;
  Text *variables = text_new(), *names = text_new();
  const char *file = generator_arguments(in, sizes, variables, names);
  const char *out = text_format("%s/made", in->scratch);
  if (!file) return tune_fail(in, "cannot write to %s", in->scratch);
  if (!server->pid && !generator_says(in, child_start(server, LIMIT_S))) return false;
  if (!generator_says(in, child_command(server, LIMIT_S, "restore \"%s\"%s", file,
                                        text_str(variables))) ||
      !generator_says(in, child_command(server, LIMIT_S, "call %s made%s",
                                        in->generator.about->name, text_str(names))) ||
      !generator_says(in, child_command(server, LIMIT_S, "store \"%s\" made", out)) ||
      !generator_says(in, child_command(server, LIMIT_S, "free made%s", text_str(names))))
    return false;
  size_t length = 0;
  const char *made = text_read_file(out, &length);
  if (made) text_add_bytes(bytes, made, length);
  return made != NULL;
}

bool tune_data_make(void *state, const int64_t *sizes, int number, TunerDataset *out) {
  TuneInputs *in = state;
  Text *bytes = text_new(), *name = text_new();
  bool made = in->generator.path ? make_by_program(in, sizes, bytes)
              : in->about        ? make_random(in, sizes, bytes)
                                 : make_sizes(in, sizes, bytes);
  if (!made) return false;
  for (int i = 0; i < in->ranges.count; i++)
    text_printf(name, "%s%s=%lld", i ? "," : "", in->ranges.at[i].name,
                (long long)sizes[i]);
  out->name = text_str(name);
  return tune_keep(in, bytes, text_format("point%d", number), out);
}
