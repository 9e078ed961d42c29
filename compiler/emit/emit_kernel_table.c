// The table of kernels: their texts, and what the runtime has to know of them.
#include "emit/emit.h"
#include <stdlib.h>
#include <string.h>
#include <strings.h>

// ---- texts

static bool is_digit(char c) { return c >= '0' && c <= '9'; }
static bool is_word(char c) {
  return is_digit(c) || c == '_' || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

// Where the number of a variable's name begins, `12` of `rows_12`; NULL: the word is no variable,
// or a name of the prelude's.
static const char *number_in(const char *begin, const char *end) {
  const char *number = end;
  while (number > begin && is_digit(number[-1]))
    number--;
  bool is_variable = number < end && number - begin >= 2 && number[-1] == '_';
  return is_variable && strncasecmp(begin, "flc_", 4) != 0 ? number : NULL;
}

enum { MOST_VARIABLES = 4096 };

typedef struct NumberedName {
  const char *begin;
  size_t length;
} NumberedName;

// False if another name has the number.
static bool note_name(NumberedName *names, const char *begin, const char *number) {
  long n = strtol(number, NULL, 10);
  NumberedName name = { begin, (size_t)(number - begin) };
  if (n >= MOST_VARIABLES) return false;
  if (!names[n].begin) names[n] = name;
  return names[n].length == name.length &&
         memcmp(names[n].begin, begin, name.length) == 0;
}

// Kernels that have the same text differ in names alone.  The text itself if two names have one
// number.
const char *emit_without_names(const char *text) {
  NumberedName names[MOST_VARIABLES] = { 0 };
  Text *t = text_new();
  for (const char *at = text, *end; *at; at = end) {
    for (end = at + 1; is_word(*at) && is_word(*end); end++)
      ;
    const char *number = is_word(*at) && !is_digit(*at) ? number_in(at, end) : NULL;
    if (number && !note_name(names, at, number)) return text;
    if (number) text_add(t, "$");
    const char *kept = number ? number : at;
    text_add_bytes(t, kept, (size_t)(end - kept));
  }
  return text_str(t);
}

// A text of the table.
typedef struct KeptText {
  const char *name;
  const char *hash;  // of everything that is compiled for the kernel, but for options
} KeptText;

static const char *kernel_hash(Emit *e, const char *text) {
  if (!e->prelude_hash) {
    e->prelude_hash = hash_new();
    runtime_hash_dialects(e->prelude_hash);
  }
  Hash *hash = hash_copy(e->prelude_hash);
  hash_text(hash, text);
  return hash_digest(hash);
}

// Kernels that differ in names alone, of both profiles, have the text of the first one: it is
// compiled once (runtime/build.h).  `texts` has what is kept by what is the same.
static const KeptText *keep_text(Emit *e, Text *t, Map *texts, const char *text,
                                 const char *wanted) {
  Name alike = name_of(e->c->names, emit_without_names(text));
  const KeptText *known = map_get(texts, alike);
  if (known) return known;
  KeptText *kept = new_node(KeptText, .name = wanted, .hash = kernel_hash(e, text));
  map_put(texts, alike, kept);
  text_printf(t, "\nstatic const char *const %s_text[] = {", wanted);
  c_text_rows(t, text);
  text_add(t, "\n  NULL,\n};\n");
  return kept;
}

// ---- the table

static const char *kernel_row(Emit *e, Text *t, Map *texts, const Kernel *kernel,
                              EmitKernelText code, Profile profile, int batch) {
  const char *wanted = text_format("%s_%s", profile_traits[profile].name, kernel->name);
  const KeptText *kept = keep_text(e, t, texts, code.text, wanted);
  return text_format(
      "{ \"%s\", %s_text, %s, %s, %s, NULL, 0, %s, \"%s\", %s, %d, %lld, %s, %s }",
      kernel->name, kept->name, kernel->may_fail ? "true" : "false",
      code.uses_f64 ? "true" : "false",
      profile_traits[profile].local_memory ? "true" : "false",
      kernel->uses_arena ? "true" : "false", kept->hash, kernel->sized ? "true" : "false",
      batch, (long long)kernel->group_size,
      kernel->recipe_name ? c_string(kernel->recipe_name) : "NULL",
      code.lone ? "true" : "false");
}

static void add_kernel_rows(Emit *e, Text *t, Map *texts, Profile profile,
                            StringVec *rows) {
  const ImpProgram *program = e->programs[profile];
  EmitKernelText *codes = new_array(EmitKernelText, program->kernel_count + 1);
  Map *lengths = map_new(NULL);
  for (int i = 0; i < program->kernel_count; i++) {
    codes[i] = emit_kernel_text(e, program->kernels[i], profile);
    size_t length = strlen(codes[i].text);
    map_put(lengths, program->kernels[i], mem_copy(&length, sizeof length));
  }
  Batches *batches = emit_batches(program, lengths);
  for (int i = 0; i < program->kernel_count; i++) {
    const Kernel *kernel = program->kernels[i];
    int batch = emit_batch_of(batches, kernel);
    vec_push(rows, kernel_row(e, t, texts, kernel, codes[i], profile, batch));
  }
}

void emit_kernels(Emit *e, Text *t) {
  StringVec rows = { 0 };
  Map *texts = map_new(NULL);
  for (Profile p = PROFILE_CPU; p <= PROFILE_GPU; p++)
    add_kernel_rows(e, t, texts, p, &rows);
  if (!rows.count) return;
  text_add(t, "\nstatic const struct rt_kernel program_kernels[] = {");
  vec_each (const char **, row, &rows)
    text_printf(t, "\n  %s,", *row);
  text_add(t, "\n};\n");
}
