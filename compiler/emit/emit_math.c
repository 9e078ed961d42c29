// Mathematical functions for kernels: those that a kernel calls, cut out of runtime/kernels/math/.
//
// The files there consist of sections, one function each:
//
//   // section exp_f32: within 0.95
//   FN F exp_f32(F x) { .. exp_part_f32(x, &n) .. }
//
// After the colon: what the error stays below, in units in the last place, where sums of products
// are contracted: measured for all arguments of f32, on 10^8 of f64 and on as many pairs, with a
// margin there.  tests/math/ holds it.
// A section holds for single values and for vectors: written for 16 values at once, F becomes
// float16, exp_f32 becomes fl_exp_f32x16, and so on by the table `words`.  It needs every section
// whose name it mentions.  A `scalar section` is written for single values only.  Comments are left
// out.
#include "emit/emit_math.h"
#include "base/embed.h"
#include "emit/emit.h"
#include <ctype.h>
#include <string.h>

typedef struct Section {
  const char *name;  // "exp_f32"
  const char *text, *end;
  bool scalar;
} Section;
typedef Vec(Section) Sections;

typedef struct Written {
  const char *name;
  int width;
} Written;

typedef struct Writer {
  Text *t;
  Sections sections;
  Vec(Written) done;
} Writer;

// ---- sections

static const char folder[] = "runtime/kernels/math/";

static const char *after(const char *text, const char *start) {
  size_t length = strlen(start);
  return strncmp(text, start, length) == 0 ? text + length : NULL;
}

// The name that the line opens a section with, or NULL.
static const char *opened(const char *line, bool *scalar) {
  const char *name = after(line, "// scalar section ");
  *scalar = name != NULL;
  if (!name) name = after(line, "// section ");
  return name ? text_format("%.*s", (int)strcspn(name, ":\n"), name) : NULL;
}

static const char *next_line(const char *line) {
  line += strcspn(line, "\n");
  return *line ? line + 1 : line;
}

static void add_sections(Sections *sections, const char *text) {
  bool scalar;
  for (const char *line = text; *line; line = next_line(line)) {
    const char *name = opened(line, &scalar);
    if (!name) continue;
    const char *end = next_line(line);
    for (bool other; *end && !opened(end, &other);)
      end = next_line(end);
    vec_push(sections, (Section){ name, next_line(line), end, scalar });
  }
}

static Sections all_sections(void) {
  Sections sections = { 0 };
  for (int i = 0; i < runtime_file_count; i++)
    if (after(runtime_files[i].path, folder))
      add_sections(&sections, runtime_files[i].text);
  return sections;
}

static const Section *find_section(const Sections *sections, const char *name) {
  vec_each (const Section *, section, sections)
    if (strcmp(section->name, name) == 0) return section;
  return NULL;
}

// ---- words

// Stands for `before`, a type with the width, as in convert_float16.
typedef struct MathWord {
  const char *word, *before, *f32, *f64;
} MathWord;

// In sections for f32, D and L are of twice the size.
static const MathWord words[] = {
  { "F", "", "float", "double" },
  { "I", "", "int", "long" },
  { "U", "", "uint", "ulong" },
  { "D", "", "double", NULL },
  { "as_F", "as_", "float", "double" },
  { "as_I", "as_", "int", "long" },
  { "as_U", "as_", "uint", "ulong" },
  { "as_L", "as_", "long", NULL },
  { "convert_F", "convert_", "float", "double" },
  { "convert_I", "convert_", "int", "long" },
  { "convert_D", "convert_", "double", NULL },
};

static const char *width_suffix(int width, const char *before) {
  return width > 1 ? text_format("%s%d", before, width) : "";
}

static const char *function_name(const char *section, int width) {
  return text_format("fl_%s%s", section, width_suffix(width, "x"));
}

const char *emit_any_lane(const char *mask, int width) {
  if (width == 1) return text_format("%s != 0", mask);
  const char *bytes = text_format("convert_char%d(%s)", width, mask);
  if (width == 16)
    return text_format("(as_long2(%s).x | as_long2(%s).y) != 0", bytes, bytes);
  const char *type = width == 2 ? "short" : width == 4 ? "int" : "long";
  return text_format("as_%s(%s) != 0", type, bytes);
}

static const char *type_word(const Section *section, int width, const char *word) {
  size_t length = strlen(section->name);
  bool f64 = length > 4 && strcmp(section->name + length - 4, "_f64") == 0;
  for (size_t i = 0; i < sizeof words / sizeof *words; i++)
    if (strcmp(words[i].word, word) == 0)
      return text_format("%s%s%s", words[i].before, f64 ? words[i].f64 : words[i].f32,
                         width_suffix(width, ""));
  return NULL;
}

// What the word is written as; NULL: as it is.
static const char *spelling(const Writer *w, const Section *section, int width,
                            const char *word) {
  const char *type = type_word(section, width, word);
  if (type) return type;
  if (strcmp(word, "FN") == 0) return "__attribute__((unused)) static inline";
  if (strcmp(word, "LANES") == 0) return text_format("%d", width);
  if (strcmp(word, "ANY") == 0) return emit_any_lane("c", width);
  const Section *called = find_section(&w->sections, word);
  return called ? function_name(word, called->scalar ? 1 : width) : NULL;
}

// ---- writing

static size_t word_length(const char *text) {
  size_t length = 0;
  while (isalnum((unsigned char)text[length]) || text[length] == '_')
    length++;
  return length;
}

// Of the line, without its comment.
static size_t code_length(const char *line) {
  size_t length = strcspn(line, "\n");
  const char *comment = strstr(line, "//");
  if (comment && comment < line + length) length = (size_t)(comment - line);
  while (length && line[length - 1] == ' ')
    length--;
  return length;
}

static void write_line(const Writer *w, const Section *section, int width,
                       const char *line) {
  const char *end = line + code_length(line);
  if (end == line) return;
  for (const char *at = line; at < end;) {
    size_t word = word_length(at), taken = word ? word : 1;
    bool named = word && !isdigit((unsigned char)*at);
    const char *other =
        named ? spelling(w, section, width, text_format("%.*s", (int)word, at)) : NULL;
    if (other)
      text_add(w->t, other);
    else
      text_add_bytes(w->t, at, taken);
    at += taken;
  }
  text_add(w->t, "\n");
}

static bool is_written(const Writer *w, const char *name, int width) {
  vec_each (const Written *, done, &w->done)
    if (done->width == width && strcmp(done->name, name) == 0) return true;
  return false;
}

static void write_section(Writer *w, const Section *section, int width);

static void write_needed(Writer *w, const char *line, int width) {
  const char *end = line + code_length(line);
  for (const char *at = line; at < end;) {
    size_t word = word_length(at);
    bool named = word && !isdigit((unsigned char)*at);
    const Section *needed =
        named ? find_section(&w->sections, text_format("%.*s", (int)word, at)) : NULL;
    if (needed) write_section(w, needed, width);
    at += word ? word : 1;
  }
}

static void write_section(Writer *w, const Section *section, int width) {
  if (section->scalar) width = 1;
  if (is_written(w, section->name, width)) return;
  vec_push(&w->done, (Written){ section->name, width });
  for (const char *line = section->text; line < section->end; line = next_line(line))
    write_needed(w, line, width);
  emit_begin_shared(w->t, function_name(section->name, width));
  for (const char *line = section->text; line < section->end; line = next_line(line))
    write_line(w, section, width, line);
  emit_end_shared(w->t);
}

// ---- what other files call

static const char *section_name(MathUse use) {
  return text_format("%s_%s", op_name(use.op), prim_type_name(use.type));
}

static bool is_noted(const MathUses *uses, MathUse use) {
  vec_each (const MathUse *, known, uses)
    if (known->op == use.op && known->type == use.type && known->width == use.width)
      return true;
  return false;
}

// Asked for each use: without taking the texts apart.
static bool opens_section(const char *text, const char *name) {
  const char *opening = text_format("section %s", name);
  size_t length = strlen(opening);
  for (const char *at = text; (at = strstr(at, opening)); at += length)
    if (at[length] == ':' || at[length] == '\n') return true;
  return false;
}

static bool has_section(const char *name) {
  for (int i = 0; i < runtime_file_count; i++)
    if (after(runtime_files[i].path, folder) &&
        opens_section(runtime_files[i].text, name))
      return true;
  return false;
}

const char *emit_math_use(MathUses *uses, MathUse use) {
  if (!prim_is_float(use.type) || op_cost(use.op, use.type) != COST_LIBRARY) return NULL;
  const char *name = section_name(use);
  if (!is_noted(uses, use)) {
    if (!has_section(name)) return NULL;
    vec_push(uses, use);
  }
  return function_name(name, use.width);
}

// Sums of products may be contracted here: the functions are made for it, and where one depends on
// the product's low digits it says `fma`.
void emit_math(Text *t, const MathUses *uses) {
  if (!uses->count) return;
  Writer w = { .t = t, .sections = all_sections() };
  text_add(t, "#pragma OPENCL FP_CONTRACT ON\n");
  vec_each (const MathUse *, use, uses)
    write_section(&w, find_section(&w.sections, section_name(*use)), use->width);
  text_add(t, "#pragma OPENCL FP_CONTRACT OFF\n");
}
