// The tables of a program, and rt_program, which holds them all.
#include "base/diag_show.h"
#include "emit/emit.h"
#include <ctype.h>
#include <string.h>

static int find_tuning(const Emit *e, Name name) {
  for (int i = 0; i < e->tuning.count; i++)
    if (e->tuning.at[i].name == name) return i;
  return -1;
}

int emit_tuning_index(Emit *e, Name name) {
  int known = find_tuning(e, name);
  if (known < 0) bug(e->c, (Loc){ 0 }, "unknown tuning parameter %s", name);
  return known;
}

int emit_guard_index(Emit *e, Name name) {
  for (int i = 0; i < e->guards.count; i++)
    if (e->guards.at[i]->name == name) return i;
  bug(e->c, (Loc){ 0 }, "unknown guard %s", name);
}

static int find_size(const Emit *e, const char *name, size_t length) {
  for (int i = 0; i < e->sizes.count; i++)
    if (strlen(e->sizes.at[i]) == length && strncmp(e->sizes.at[i], name, length) == 0)
      return i;
  return -1;
}

int emit_size_index(Emit *e, Name name) {
  int known = find_size(e, name, strlen(name));
  if (known >= 0) return known;
  vec_push(&e->sizes, name);
  return e->sizes.count - 1;
}

int emit_table(CodeText *c, const ImpStm *table) {
  Emit *e = c->e;
  PrimType elem = table->u.table.mem->elem;
  Text *t = text_new();
  for (int i = 0; i < table->u.table.count; i++)
    text_printf(t, "%s%s", i % 8 ? " " : "\n  ",
                text_format("%s,", c_exp(c, imp_const(table->u.table.values[i]))));
  Name values = name_of(e->c->names, text_str(t));
  for (int i = 0; i < e->constants.count; i++)
    if (e->constants.at[i].elem == elem && e->constants.at[i].values == values) return i;
  vec_push(&e->constants, (EmitConstants){ elem, values });
  return e->constants.count - 1;
}

// "a.fl:3:7", or "" if unknown.
static const char *known_loc(Loc loc) { return loc.file ? loc_text(loc) : ""; }

// The line with a marker under the place, as messages of flc show it.
static const char *known_source(Loc loc) {
  Text *t = text_new();
  if (loc.file) message_show_source(t, loc, false);
  return text_str(t);
}

int emit_check_values(const ImpStm *check) {
  int count = check->u.check.value_count;
  return count < IMP_CHECK_VALUES ? count : IMP_CHECK_VALUES;
}

// The number of parts follows from their text.
static bool same_check(const EmitCheck *a, const EmitCheck *b) {
  return strcmp(a->loc, b->loc) == 0 && strcmp(a->source, b->source) == 0 &&
         strcmp(a->parts, b->parts) == 0;
}

static int add_check(Emit *e, Loc loc, const char *parts, int value_count) {
  EmitCheck row = { c_string(known_loc(loc)), c_string(known_source(loc)), parts,
                    value_count };
  for (int i = 0; i < e->checks.count; i++)
    if (same_check(&e->checks.at[i], &row)) return i;
  vec_push(&e->checks, row);
  return e->checks.count - 1;
}

int emit_check(Emit *e, const ImpStm *check) {
  Text *t = text_new();
  int count = emit_check_values(check);
  for (int i = 0; i <= count; i++)
    text_printf(t, "%s%s", i ? ", " : "", c_string(check->u.check.parts[i]));
  return add_check(e, check->loc, text_str(t), count);
}

int emit_place(Emit *e, Loc loc) { return add_check(e, loc, "\"\"", 0); }

// ---- collecting

// What one core computes while threads that sleep are woken: rounds of a host loop with less work
// are left to one item, and so are groups, if they are too few for all cores.  On a GPU one item is
// no match for the others.  Sums of columns in bands keep lanes full: an item for each column, or
// group, is worth it only if there are as many columns as lanes on all cores, or little to do.
enum { LOOP_OPERATIONS = 1 << 20, BAND_OPERATIONS = 1 << 15, COLUMNS_OF_CORE = 16 };

static void add_guard(Emit *e, const Guard *guard, bool one_for_two, bool bands) {
  for (int i = 0; i < e->guards.count; i++)
    if (e->guards.at[i]->name == guard->name) return;
  vec_push(&e->guards, guard);
  if (find_tuning(e, guard->name) >= 0) return;
  TuningParam param = {
    .name = guard->name, .kind = "threshold", .cpu_default = -1, .gpu_default = -1
  };
  if (guard->kind == GUARD_LOOP) {
    param.cpu_default = LOOP_OPERATIONS;
    param.cpu_words = one_for_two ? 2 : 1;
    param.gpu_default = 0;
  }
  if (guard->kind == GUARD_INTRA)
    param.cpu_step = bands ? BAND_OPERATIONS : LOOP_OPERATIONS;
  if (guard->kind == GUARD_TOP && bands) param.cpu_each = COLUMNS_OF_CORE;
  if (guard->kind == GUARD_WORKERS) param.kind = "workers";
  vec_push(&e->tuning, param);
}

int emit_layout_index(const Emit *e, Name layout) {
  for (int i = 0; i < e->layouts.count; i++)
    if (e->layouts.at[i] == layout) return i + 1;
  return 0;
}

static void add_split(Emit *e, const ImpStm *stm) {
  Name layout = stm->u.split.layout;
  add_guard(e, stm->u.split.guard, false, false);
  if (layout && !emit_layout_index(e, layout)) vec_push(&e->layouts, layout);
}

static void collect_guards(Emit *e, const ImpBlock *block) {
  vec_each (const ImpStm **, stm, block) {
    if ((*stm)->kind == IMP_GUARD)
      add_guard(e, (*stm)->u.guard.guard, (*stm)->u.guard.one_for_two,
                (*stm)->u.guard.bands);
    if ((*stm)->kind == IMP_SPLIT) add_split(e, *stm);
    const ImpBlock *inner[2];
    int count = imp_blocks(*stm, inner);
    for (int i = 0; i < count; i++)
      collect_guards(e, inner[i]);
  }
}

static void collect_tuning(Emit *e, const ImpProgram *program) {
  for (int i = 0; i < program->tuning_count; i++)
    if (find_tuning(e, program->tuning[i].name) < 0)
      vec_push(&e->tuning, program->tuning[i]);
}

static void name_functions(Emit *e) {
  Map *used = map_new(NULL);
  for (int i = 0; i < e->flat->function_count; i++) {
    const Function *function = e->flat->functions[i];
    Name name = name_of(e->c->names, c_identifier(function->name));
    bool again = map_has(used, name);
    map_put(used, name, function);
    map_put(e->functions, function,
            again ? text_format("%s_fn%d", name, i) : text_format("%s_fn", name));
  }
}

void emit_tables_collect(Emit *e) {
  int number = 0;
  for (int p = 0; p < PROFILE_COUNT; p++) {
    for (int i = 0; i < e->programs[p]->entry_count; i++)
      collect_guards(e, &e->programs[p]->entries[i]->body);
    collect_tuning(e, e->programs[p]);
    for (int i = 0; i < e->programs[p]->kernel_count; i++)
      map_put(e->kernels, e->programs[p]->kernels[i], new_node(int, number++));
  }
  name_functions(e);
}

// ---- writing

static void checks_table(Emit *e, Text *t) {
  for (int i = 0; i < e->checks.count; i++)
    text_printf(t, "\nstatic const char *const check_%d[] = { %s };", i,
                e->checks.at[i].parts);
  if (!e->checks.count) return;
  text_add(t, "\nstatic const struct rt_check program_checks[] = {");
  for (int i = 0; i < e->checks.count; i++)
    text_printf(t, "\n  { %s, %s, check_%d, %d },", e->checks.at[i].loc,
                e->checks.at[i].source, i, e->checks.at[i].value_count);
  text_add(t, "\n};\n");
}

// As rt_setting_wants in runtime/tuning.h.
static void check_tuned(Emit *e, const TuningParam *p, int64_t value) {
  static const char *const may_be_0s[] = { "threshold", "bytes", "switch", "workers",
                                           "overlap" };
  bool may_be_0 = false;
  for (size_t i = 0; i < sizeof may_be_0s / sizeof *may_be_0s; i++)
    may_be_0 = may_be_0 || strcmp(p->kind, may_be_0s[i]) == 0;
  int64_t most = may_be_0 ? INT64_MAX : p->most ? p->most : INT64_C(1) << 40;
  if (value >= !may_be_0 && value <= most) return;
  error(e->c, (Loc){ 0 },
        "the tuning file sets %s (%s) to %lld; it wants a number from %d %s", p->name,
        p->kind, (long long)value, !may_be_0,
        value < !may_be_0 ? "on" : text_format("to %lld", (long long)most));
}

static bool has_param(const ImpProgram *program, Name name) {
  for (int i = 0; i < program->tuning_count; i++)
    if (program->tuning[i].name == name) return true;
  return false;
}

// Does only the code for the other kind of device have the number?
static bool is_foreign(const ImpProgram *program, const ImpProgram *other, Name name) {
  return !has_param(program, name) && has_param(other, name);
}

// What a tuning file says of the parameter, for this code: "main.top_0@gpu", or "main.top_0".
static void take_tuned(Emit *e, const TuningParam *p, const char *code, int64_t *out) {
  bool (*tuned)(void *, const char *, int64_t *) = e->options.tuned;
  int64_t value = 0;
  if (!tuned || (!tuned(e->options.state, text_format("%s%s", p->name, code), &value) &&
                 !tuned(e->options.state, p->name, &value)))
    return;
  check_tuned(e, p, value);
  *out = value;
}

static void tuning_table(Emit *e, Text *t) {
  if (e->tuning.count)
    text_add(t, "\nstatic const struct rt_tuning_param program_tuning[] = {");
  vec_each (TuningParam *, p, &e->tuning) {
    int64_t cpu = p->cpu_default, gpu = p->gpu_default;
    take_tuned(e, p, "@cpu", &cpu);
    take_tuned(e, p, "@gpu", &gpu);
    if (is_foreign(e->programs[PROFILE_CPU], e->programs[PROFILE_GPU], p->name)) cpu = 0;
    if (is_foreign(e->programs[PROFILE_GPU], e->programs[PROFILE_CPU], p->name)) gpu = 0;
    text_printf(t, "\n  { %s, %s, %lld, %lld, %d, %lld, %lld, %lld, %lld },",
                c_string(p->name), c_string(p->kind), (long long)cpu, (long long)gpu,
                p->follows ? find_tuning(e, p->follows) : -1, (long long)p->most,
                cpu == p->cpu_default ? (long long)p->cpu_step : 0,
                cpu == p->cpu_default ? (long long)p->cpu_each : 0,
                cpu == p->cpu_default ? (long long)p->cpu_words : 0);
  }
  if (e->tuning.count) text_add(t, "\n};\n");
}

static void guards_table(Emit *e, Text *t) {
  if (e->guards.count)
    text_add(t, "\nstatic const struct rt_guard_info program_guards[] = {");
  vec_each (const Guard **, guard, &e->guards)
    text_printf(t, "\n  { %s, %d },", c_string((*guard)->name),
                find_tuning(e, (*guard)->name));
  if (e->guards.count) text_add(t, "\n};\n");
}

static void constants_table(Emit *e, Text *t) {
  for (int i = 0; i < e->constants.count; i++)
    text_printf(t, "\nstatic const %s constants_%d[] = {%s\n};",
                c_memory_type(e->constants.at[i].elem), i, e->constants.at[i].values);
  if (!e->constants.count) return;
  text_add(t, "\nstatic const struct rt_constants program_constants[] = {");
  for (int i = 0; i < e->constants.count; i++)
    text_printf(t, "\n  { constants_%d, sizeof constants_%d },", i, i);
  text_add(t, "\n};\n");
}

static void sizes_table(Emit *e, Text *t) {
  if (e->sizes.count) text_add(t, "\nstatic const char *const program_sizes[] = {");
  vec_each (const char **, size, &e->sizes)
    text_printf(t, "\n  %s,", c_string(*size));
  if (e->sizes.count) text_add(t, "\n};\n");
}

static void layouts_table(const Emit *e, Text *t) {
  if (e->layouts.count) text_add(t, "\nstatic const char *const program_layouts[] = {");
  vec_each (const Name *, layout, &e->layouts)
    text_printf(t, "\n  %s,", c_string(*layout));
  if (e->layouts.count) text_add(t, "\n};\n");
}

bool emit_is_weight(const char *name) {
  static const char mark[] = "weight_";
  const char *dot = strrchr(name, '.');
  return strncmp(dot ? dot + 1 : name, mark, sizeof mark - 1) == 0;
}

// "weight_1", "main.layout_2.weight_1": of a layout that the program has?
static bool weight_fits(const Emit *e, const char *name) {
  const char *dot = strrchr(name, '.');
  if (e->options.workers == WORKERS_ONE) return false;
  bool found = !dot;
  vec_each (const Name *, layout, &e->layouts)
    found = found || (strlen(*layout) == (size_t)(dot - name) &&
                      strncmp(*layout, name, (size_t)(dot - name)) == 0);
  return found;
}

// Does the program have what "main.top_0@1:n*m" is about?
static bool preset_fits(const Emit *e, const char *name) {
  if (emit_is_weight(name)) return weight_fits(e, name);
  const char *at = strrchr(name, '@'), *colon = at ? strchr(at, ':') : NULL;
  bool guard = false;
  if (at && !isdigit((unsigned char)at[1])) return false;  // "main.top_0@gpu"
  vec_each (const Guard *const *, g, &e->guards)
    guard |= at && strlen((*g)->name) == (size_t)(at - name) &&
             strncmp((*g)->name, name, (size_t)(at - name)) == 0;
  for (const char *s = colon; guard && s && *s;) {
    size_t length = strcspn(++s, "*");
    guard = find_size(e, s, length) >= 0;
    s += length;
  }
  return guard;
}

static int presets_table(Emit *e, Text *t) {
  int count = 0;
  Text *rows = text_new();
  for (int i = 0; i < e->options.preset_count; i++) {
    const EmitPreset *preset = &e->options.presets[i];
    if (!preset_fits(e, preset->name)) continue;
    text_printf(rows, "\n  { %s, %lld },", c_string(preset->name),
                (long long)preset->value);
    count++;
  }
  if (count)
    text_printf(t, "\nstatic const struct rt_preset program_presets[] = {%s\n};\n",
                text_str(rows));
  return count;
}

static bool is_in_blocks(const Entry *entry, const EntryValue *input) {
  return entry->result_blocks && input->count && entry->blocks[input->first];
}

static void entry_inputs(Emit *e, Text *t, const EmitEntry *entry) {
  bool says = e->options.workers != WORKERS_ONE && !e->options.library;
  if (entry->inputs.count)
    text_printf(t, "\nstatic const struct rt_input entry_%s_inputs[] = {", entry->c_name);
  for (int i = 0; i < entry->inputs.count; i++) {
    const EntryValue *input = &entry->entry->inputs[i];
    const char *blocks = is_in_blocks(entry->entry, input) ? ", true" : ", false";
    text_printf(t, "\n  { %s, %d, %s%s },", c_string(input->name ? input->name : ""),
                entry->inputs.at[i], input->unique ? "true" : "false",
                says ? blocks : "");
  }
  if (entry->inputs.count) text_add(t, "\n};");
}

// Which parameters concern an entry point: those that its host code mentions are the ones with
// its name before the dot, and those without an owner.
static void entry_tuning(Emit *e, Text *t, const EmitEntry *entry, int *count) {
  Text *list = text_new();
  size_t length = strlen(entry->entry->name);
  *count = 0;
  for (int i = 0; i < e->tuning.count; i++) {
    const char *name = e->tuning.at[i].name;
    bool own = strncmp(name, entry->entry->name, length) == 0 && name[length] == '.';
    if (!own && strchr(name, '.')) continue;
    text_printf(list, "%s%d", (*count)++ ? ", " : "", i);
  }
  if (*count)
    text_printf(t, "\nstatic const int entry_%s_tuning[] = { %s };", entry->c_name,
                text_str(list));
}

static void entry_attributes(Text *t, const EmitEntry *entry) {
  if (!entry->entry->attribute_count) return;
  text_printf(t, "\nstatic const char *const entry_%s_attributes[] = { ", entry->c_name);
  for (int i = 0; i < entry->entry->attribute_count; i++)
    text_printf(t, "%s, ", c_string(entry->entry->attributes[i]));
  text_add(t, "NULL };");
}

static void entries_table(Emit *e, Text *t) {
  Text *rows = text_new();
  vec_each (EmitEntry *, entry, &e->entries) {
    const char *name = entry->c_name;
    int tuning;
    entry_inputs(e, t, entry);
    entry_tuning(e, t, entry, &tuning);
    entry_attributes(t, entry);
    text_printf(rows, "\n  { %s, %s, %d, %d, %s, call_%s, %s, %d, %s },",
                c_string(entry->entry->name),
                entry->inputs.count ? text_format("entry_%s_inputs", name) : "NULL",
                entry->inputs.count, entry->output,
                entry->output_unique ? "true" : "false", name,
                tuning ? text_format("entry_%s_tuning", name) : "NULL", tuning,
                entry->entry->attribute_count ? text_format("entry_%s_attributes", name)
                                              : "NULL");
  }
  if (!e->entries.count) return;
  text_printf(t, "\nstatic const struct rt_entry_point program_entries[] = {%s\n};\n",
              text_str(rows));
}

// A member of rt_program: the table and its number of rows.
static void member(Text *t, const char *table, int count) {
  text_printf(t, "\n    %s, %d,", count ? text_format("program_%s", table) : "NULL",
              count);
}

static const char *kinds_of_workers(const Emit *e) {
  if (!e->options.mixed) return "RT_KINDS_ONE";
  const Entry *differs =
      imp_other_exchanges(e->programs[PROFILE_CPU], e->programs[PROFILE_GPU]);
  if (!differs) return "RT_KINDS_ANY";
  warning(e->c, differs->loc,
          "workers of %s must all run the code for CPUs, or all that for GPUs: these "
          "exchange in different orders",
          differs->name);
  return "RT_KINDS_ONE_CODE";
}

void emit_tables(Emit *e, Text *t) {
  checks_table(e, t);
  tuning_table(e, t);
  guards_table(e, t);
  emit_types_table(e, t);
  entries_table(e, t);
  sizes_table(e, t);
  constants_table(e, t);
  layouts_table(e, t);
  int presets = presets_table(e, t);
  if (e->options.ahead) emit_ahead(t, e->options.ahead);
  runtime_add_dialects(t);
  text_add(t, "\nstatic const char *const tree_text[] = {");
  c_text_rows(t, e->options.tree_text ? e->options.tree_text : "");
  text_add(t, "\n  NULL,\n};\n");
  text_add(t, "static const char *const tree_json[] = {");
  c_text_rows(t, e->options.tree_json ? e->options.tree_json : "");
  text_add(t, "\n  NULL,\n};\n");
  text_add(t, "\nRT_FN const struct rt_program *rt_program(void) {");
  text_add(t, "\n  static const struct rt_program program = {");
  text_printf(
      t, "\n    %s, opencl_prelude, opencl_builtins, cuda_words, tree_text, tree_json,",
      c_string(e->options.source));
  member(t, "kernels", e->programs[0]->kernel_count + e->programs[1]->kernel_count);
  member(t, "checks", e->checks.count);
  member(t, "tuning", e->tuning.count);
  member(t, "guards", e->guards.count);
  member(t, "types", e->types.count);
  member(t, "entries", e->entries.count);
  member(t, "sizes", e->sizes.count);
  member(t, "presets", presets);
  text_printf(t, "\n    %s, %s,", kinds_of_workers(e),
              e->options.reproducible ? "true" : "false");
  text_add(t, e->options.ahead ? "\n    &program_ahead," : "\n    NULL,");
  member(t, "constants", e->constants.count);
  if (e->options.workers != WORKERS_ONE) member(t, "layouts", e->layouts.count);
  text_add(t, "\n  };\n  return &program;\n}\n");
}
