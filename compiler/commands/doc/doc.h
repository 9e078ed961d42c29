// `flc doc`: pages about the modules of a library, one per file, with an index.
#pragma once
#include "commands/commands.h"

typedef enum DocSpace {
  DOC_VALUE,
  DOC_TYPE,
  DOC_MODULE,
  DOC_SIGNATURE,
  DOC_SPACES
} DocSpace;

typedef struct DocFile DocFile;
typedef struct DocItem DocItem;

// What a name without its beginning means: behind `import "g"` "" is "" in g, behind `open m` it is
// "m.", behind `module m = import "g"` "m." is "".
typedef struct DocOpening {
  const char *from;
  const DocFile *file;
  const char *to;
} DocOpening;

struct DocFile {
  const char *path, *real;    // as it was named, and without links
  const char *title, *shown;  // "sorts/merge_sort", "sorts/merge_sort.fl"
  const char *page, *source;  // names of files: "sorts-merge_sort.html"
  const AstProgram *ast;
  const CheckedProgram *checked;  // NULL: of the library that every program has
  const SourceFile *text;
  const char *doc;
  Vec(DocOpening) openings;
};

// A definition, or what a module type says of a member.
struct DocItem {
  const DocFile *file;
  DocSpace space;
  const char *name;    // in its file: "m.x"
  const char *anchor;  // on its page
  int depth;           // of modules around it
  const DocItem *parent;
  const AstDecl *decl;  // or
  const AstSpec *spec;
  // of a member of `module m = f n`, of which `decl` is the definition:
  const char *shown;       // "val x : i32"
  const DocItem *member;   // the same member of f, or NULL
  bool hidden;  // its module's type does not have it
};

typedef struct Docs {
  Compiler *c;
  const char *title;
  Vec(DocFile *) files;
  Vec(DocItem *) items;  // in the order of their files
  Map *named;            // the last of each name
} Docs;

// ---- names.c

// Adds the definitions of all files, which have been read.
void doc_collect(Docs *docs);
// What a name means within an item (NULL: at top level) of a file; NULL: nothing that has a place.
const DocItem *doc_find(const Docs *docs, const DocFile *file, const DocItem *within,
                        DocSpace space, const char *name);
// The file that an import reads, or NULL.
const DocFile *doc_imported(const Docs *docs, const DocFile *file,
                            const AstModExp *import);

// ---- texts as HTML (html.c)

// "sorts-merge_sort.html#v.sort"
const char *doc_link(const DocItem *item);
// The type of a value, the definition of a type, with links to the types that it mentions.
const char *doc_signature_html(const Docs *docs, const DocItem *item);
// What is shown of a member of a module that is an application.
const char *doc_member_text(const ModuleMember *member);
// A comment; `code` that names a definition is a link.
const char *doc_comment_html(const Docs *docs, const DocFile *file, const DocItem *within,
                             const char *text);
// The comment's first sentence, or as much of it as stands in its first paragraph.
const char *doc_summary_html(const Docs *docs, const DocFile *file, const DocItem *within,
                             const char *text);

// ---- pages (page.c)

const Text *doc_file_page(const Docs *docs, const DocFile *file);
const Text *doc_source_page(const Docs *docs, const DocFile *file);
const Text *doc_index_page(const Docs *docs);
