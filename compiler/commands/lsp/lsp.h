// What the files of the language server share.
//
// The server itself only keeps the texts of open documents, and what they import.  Every question
// is answered by a child process, which reads and checks the program anew: that takes less than an
// author notices, and a mistake of ours costs one answer.
#pragma once
#include "commands/commands.h"
#include <jansson.h>

typedef struct LspDocument {
  const char *uri, *path;
  const char *text;
  size_t length;
  json_int_t version;  // as the editor counts
  bool open, changed;  // changed since its messages were sent
  json_t *imports;     // paths: it changes with those files
} LspDocument;

typedef struct Lsp {
  Vec(LspDocument) documents;
  bool ready, shut_down, over;
  bool counts_bytes;  // in columns, as the editor has agreed; else UTF-16 units
  const char *root;   // the folder that the editor has opened, or NULL
} Lsp;

// A question about a document; about all of them if that is NULL.
typedef struct LspQuery {
  const Lsp *lsp;
  const LspDocument *document;
  json_t *params;
  Program *program;  // checked as far as it goes; `ast` is NULL if it cannot be read
  Compiler *c;
  uint32_t offset;  // the place that is asked about
} LspQuery;

// ---- text.c: places, as the protocol has them: lines from 0 and units in them (Lsp.counts_bytes)

uint32_t lsp_offset(const Lsp *lsp, const SourceFile *file, const json_t *position);
json_t *lsp_range(const Lsp *lsp, Loc loc);
json_t *lsp_location(const Lsp *lsp, const char *uri, Loc loc);
// "/a b" for "file:///a%20b", and back.
const char *lsp_path_of_uri(const char *uri);
const char *lsp_uri_of_path(const char *path);

// ---- wire.c: messages with a header that says their length

typedef struct LspWire {
  char *bytes;
  size_t start, end, capacity;
} LspWire;

// The next message from standard input; NULL at its end.
json_t *lsp_receive(LspWire *wire);
// Has more arrived?
bool lsp_pending(const LspWire *wire);
// Writes the message and gives it up.
void lsp_send(json_t *message);

// ---- import.c: the files that a document imports, as the editor has them or from the disk

// The program that an import names; NULL if it cannot be read.
const AstProgram *lsp_imported(Compiler *c, const AstModExp *import);
// The paths of all files that the document imports, and of those that these import.
json_t *lsp_imports(const LspQuery *q);
// The import in the document that leads to the file.
Loc lsp_import_of(const LspQuery *q, const SourceFile *file);
// What the import at the place that is asked about leads to; NULL if none is there.
const SourceFile *lsp_import_asked(const LspQuery *q);

// ---- names.c: what the names in a file refer to

typedef struct LspName {
  Loc loc;
  Name name;
  const Binding *binding;
  const Type *type;
  bool is_definition;
  bool is_field;  // {x} for {x = x}: the field keeps its name
} LspName;
typedef Vec(LspName) LspNames;

// The names of values, sizes, types and modules in a checked program, in the order of the text.
LspNames lsp_names(Compiler *c, const AstProgram *program);
// The name at a place; NULL if none is there.
const LspName *lsp_name_at(const LspNames *names, uint32_t offset);
// Do both refer to the same?  Where one word refers to two bindings (`let xs[i] = v`), they are
// one.
bool lsp_same_name(const LspNames *names, const LspName *a, const LspName *b);
// The smallest expression around a place whose type is known; NULL if there is none.
const AstExp *lsp_exp_at(const AstProgram *program, uint32_t offset);

// ---- uses.c: names across files

// A file that uses the name that is asked about.
typedef struct LspUse {
  const Program *program;
  LspNames names;       // all of the file
  const LspName *name;  // one of them that refers to it, or NULL: see below
} LspUse;
typedef Vec(LspUse) LspUses;

// Those among the open files and those in the folders of the document and of the definition.  A
// file that imports the definition's and has errors is a reason to refuse.  With another name also
// the importers that mention only that.
LspUses lsp_uses(LspQuery *q, const LspName *name, const char *other,
                 const char **refused);
// The program that a file is, with messages for that compiler.
Program *lsp_program_of(Compiler *c, SourceFile *file);
// A file as the editor has it or from the disk; NULL if it cannot be read.
SourceFile *lsp_read_source(Compiler *c, const char *path);
// The name that the editor has for a file.
const char *lsp_uri_of(const LspQuery *q, const SourceFile *file);

// ---- symbols.c: what files define

// Those of the files that are open, and of those in the folder that the editor has opened, whose
// names hold what is asked for.
json_t *lsp_workspace_symbols(LspQuery *q);

// ---- answers: JSON, `null` where there is nothing to say (answer.c, advise.c, complete.c,
// rename.c, signature.c)

// Do the names of a file of the library need no module before them?
bool lsp_is_open_file(const char *path);

json_t *lsp_hover(LspQuery *q);
json_t *lsp_definition(LspQuery *q);
json_t *lsp_references(LspQuery *q);
json_t *lsp_highlights(LspQuery *q);
json_t *lsp_symbols(LspQuery *q);
json_t *lsp_completion(LspQuery *q);
// Adds the files and folders that can follow where the path of an import is being written; false
// elsewhere (complete_import.c).
bool lsp_import_completion(const LspQuery *q, json_t *items);
json_t *lsp_signature(LspQuery *q);
json_t *lsp_formatting(LspQuery *q);
json_t *lsp_rename(LspQuery *q);
json_t *lsp_inlay_hints(LspQuery *q);
json_t *lsp_code_actions(LspQuery *q);
// {"messages": those about the document, "imports": lsp_imports, or null if they are not known}
json_t *lsp_diagnostics(LspQuery *q);
