// `flc literate`: a program whose comments are text as a document (docs/literate.md).
#pragma once
#include "commands/commands.h"
#include "commands/script_files.h"

typedef enum DirectiveKind {
  DIRECTIVE_VALUE,    // > e
  DIRECTIVE_IMAGE,    // > :img e
  DIRECTIVE_VIDEO,    // > :video e
  DIRECTIVE_AUDIO,    // > :audio e
  DIRECTIVE_PLOT,     // > :plot2d e
  DIRECTIVE_GNUPLOT,  // > :gnuplot e; script
  DIRECTIVE_TABLE,    // > :table e
  DIRECTIVE_KINDS
} DirectiveKind;

typedef struct Directive {
  DirectiveKind kind;
  bool brief, covert;  // without its parameters; not shown at all
  Loc loc;             // the expression
  const char *shown;   // the directive as it is written, without the marks of comments
  const char *exp;  // the expression at its place in lines: blanks for what is before it
  const char *params;  // what follows `;`: lines, or ""
  bool by_steps;       // :video (step, start, count)
  ValueVec loaded;     // from files; in the program of the directives, parameters
  const char *failed;  // a message, if it has failed
  const Type *type;    // of the value, and
  const Value **leaves;
} Directive;

typedef enum BlockKind { BLOCK_TEXT, BLOCK_CODE, BLOCK_DIRECTIVE } BlockKind;

typedef struct Block {
  BlockKind kind;
  const char *text;      // lines: Markdown, or code
  Directive *directive;  // BLOCK_DIRECTIVE
} Block;

typedef struct Literate {
  const char *path;
  const SourceFile *file;
  const char *folder;          // for temporary files
  const char *const *options;  // of the running program, then NULL
  bool interpret, stop_on_error, check_ir;
  Vec(Block) blocks;
  Vec(Directive *) directives;
} Literate;

// Notes that a directive has failed, at its place; only the first failure counts.
void directive_fail(Directive *d, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

// ---- read.c: the parts of the file

void literate_split(Literate *l);
// The value of a parameter (`key: value` on a line of its own), or NULL.
const char *directive_param(const Directive *d, const char *key);

// ---- load.c: what directives read

// Replaces `$loaddata "f"` and its like by names, and reads what they stand for.
void literate_load(const Literate *l, Directive *d);
// wave.c: the sound in a file, `[channels][samples]f64`; NULL after a failure.
const Value *literate_load_sound(const Literate *l, Directive *d, const char *path);
// "(literate_3_0: [4]f32) ...": the parameters of the definition that has them.
const char *literate_load_params(const Literate *l, const Directive *d);

// ---- run.c: values

// Finds the values of the expressions that have not failed.  False after an error that is none
// of a directive (already reported).
bool literate_run(Literate *l);

// ---- show.c: Markdown

// What a result needs beside the text: a picture, a sound.
typedef struct Media {
  const char *name;  // "1.png"
  const Text *bytes;
} Media;

typedef struct LiteratePage {
  const Literate *l;
  bool embeds;         // media go into the text as data
  const char *folder;  // or else here: "FILE-img", seen from the page
  Text *text;
  Vec(Media) media;
} LiteratePage;

void literate_show(LiteratePage *page);
// Adds a picture or a sound: a link to it, whose text is that of the directive.
void page_add_media(LiteratePage *page, const Directive *d, const char *ending,
                    const Text *bytes);
// Adds text between fences that do not occur in it.
void page_add_fenced(LiteratePage *page, const char *language, const char *text);

// ---- media.c: what directives show that is no text

// The array of scalars that the value is; NULL: it is something else.
const Value *directive_array(const Directive *d);
const char *directive_type_text(const Directive *d);
// Runs a program that writes the file `output`; its bytes, or NULL after a failure.
const Text *literate_output(const Literate *l, Directive *d, const char *const *words,
                            const char *output);
void show_image(LiteratePage *page, Directive *d);
void show_video(LiteratePage *page, Directive *d);
void show_audio(LiteratePage *page, Directive *d);

// ---- plot.c

// A column of numbers, by name.
typedef struct PlotColumn {
  const char *name;
  const Value *values;
} PlotColumn;
typedef Vec(PlotColumn) PlotColumns;

// The vectors of a tuple, or of a record whose fields are vectors.  False: it is something else.
bool plot_columns(const Type *type, const Value *const *leaves, PlotColumns *out);
void show_plot(LiteratePage *page, Directive *d);
void show_gnuplot(LiteratePage *page, Directive *d);
void show_table(LiteratePage *page, Directive *d);

// ---- html.c

// Can pages of HTML be made?  They need a library that reads Markdown.
bool literate_has_html(void);
const Text *literate_html(const Literate *l, const Text *markdown);
