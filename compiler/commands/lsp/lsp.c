// flc lsp: a language server on standard input and output.
#include "commands/lsp/lsp.h"
#include "base/file.h"
#include "base/vec.h"
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

// Errors of the protocol.
enum {
  INVALID_REQUEST = -32600,
  NOT_READY = -32002,
  METHOD_UNKNOWN = -32601,
  INTERNAL_ERROR = -32603,
  REQUEST_FAILED = -32803
};

// ---- documents

static LspDocument *find_document(Lsp *lsp, const char *uri) {
  vec_each (LspDocument *, d, &lsp->documents)
    if (strcmp(d->uri, uri) == 0) return d;
  return NULL;
}

static const char *uri_of(const json_t *params) {
  const char *uri =
      json_string_value(json_object_get(json_object_get(params, "textDocument"), "uri"));
  return uri ? uri : "";
}

static void set_document_text(LspDocument *d, const char *text, size_t length) {
  d->text = text;
  d->length = length;
  d->open = d->changed = true;
}

// `version` is where the editor says of which version the text is.
static void set_version(LspDocument *d, const json_t *version) {
  d->version = json_integer_value(json_object_get(version, "version"));
}

// The characters of a string, for good.
static const char *content_of(const json_t *text) {
  size_t length = json_string_length(text);
  return text_format("%.*s", (int)length, length ? json_string_value(text) : "");
}

static bool imports(const LspDocument *d, const char *path) {
  for (size_t i = 0; i < json_array_size(d->imports); i++)
    if (strcmp(json_string_value(json_array_get(d->imports, i)), path) == 0) return true;
  return false;
}

// What imports a file changes with it.
static void change_importers(Lsp *lsp, const char *path) {
  vec_each (LspDocument *, d, &lsp->documents)
    if (d->open && imports(d, path)) d->changed = true;
}

// Of a text that cannot be read the imports are not known: those before it are kept.
static void set_imports(LspDocument *d, json_t *paths) {
  if (!json_is_array(paths)) return;
  json_decref(d->imports);
  d->imports = json_incref(paths);
}

static LspDocument *new_document(Lsp *lsp, const char *uri) {
  const char *own = text_format("%s", uri);
  vec_push(&lsp->documents, (LspDocument){ .uri = own, .path = lsp_path_of_uri(own) });
  return &lsp->documents.at[lsp->documents.count - 1];
}

static void open_document(Lsp *lsp, const json_t *params) {
  const char *uri = uri_of(params);
  LspDocument *known = find_document(lsp, uri);
  const json_t *document = json_object_get(params, "textDocument");
  LspDocument *d = known ? known : new_document(lsp, uri);
  const json_t *text = json_object_get(document, "text");
  set_document_text(d, content_of(text), json_string_length(text));
  set_version(d, document);
  change_importers(lsp, d->path);
}

// The new text of a range, or of the whole document.
static void apply_change(const Lsp *lsp, LspDocument *d, const json_t *change) {
  const json_t *text = json_object_get(change, "text"),
               *range = json_object_get(change, "range");
  if (!json_is_string(text)) return;
  if (!json_is_object(range)) {
    set_document_text(d, content_of(text), json_string_length(text));
    return;
  }
  const SourceFile *file = source_file_new(d->path, d->text, d->length);
  uint32_t start = lsp_offset(lsp, file, json_object_get(range, "start"));
  uint32_t end = lsp_offset(lsp, file, json_object_get(range, "end"));
  if (end < start) return;
  Text *t = text_new();
  text_add_bytes(t, d->text, start);
  if (json_string_length(text))
    text_add_bytes(t, json_string_value(text), json_string_length(text));
  text_add_bytes(t, d->text + end, d->length - end);
  set_document_text(d, text_str(t), text_length(t));
}

static void change_document(Lsp *lsp, const json_t *params) {
  LspDocument *d = find_document(lsp, uri_of(params));
  const json_t *changes = json_object_get(params, "contentChanges");
  size_t count = json_array_size(changes);
  if (!d || !count) return;
  for (size_t i = 0; i < count; i++)
    apply_change(lsp, d, json_array_get(changes, i));
  set_version(d, json_object_get(params, "textDocument"));
  d->changed = true;
  change_importers(lsp, d->path);
}

static void publish_messages(const LspDocument *d, json_t *diagnostics) {
  lsp_send(json_pack("{s:s, s:{s:s, s:I, s:o}}", "method",
                     "textDocument/publishDiagnostics", "params", "uri", d->uri,
                     "version", d->version, "diagnostics", diagnostics));
}

static void close_document(Lsp *lsp, const json_t *params) {
  LspDocument *d = find_document(lsp, uri_of(params));
  if (!d) return;
  d->open = d->changed = false;
  publish_messages(d, json_array());
  change_importers(lsp, d->path);
}

// ---- questions

typedef json_t *(*LspAnswer)(LspQuery *q);

// Imports of what is open read what the editor has.
static void give_sources(const Lsp *lsp, const Compiler *c) {
  vec_each (const LspDocument *, d, &lsp->documents)
    if (d->open)
      map_put(c->sources, name_of(c->names, d->path),
              source_file_new(d->path, d->text, d->length));
}

// In the child.
static void answer_to(int out, const Lsp *lsp, LspAnswer answer, const LspDocument *d,
                      json_t *params, bool check) {
  enum { MOST_SECONDS = 20 };
  alarm(MOST_SECONDS);
  Compiler *c = compiler_new();
  give_sources(lsp, c);
  LspQuery q = { .lsp = lsp, .document = d, .params = params, .c = c };
  if (d) {
    q.program = lsp_program_of(c, map_get(c->sources, name_of(c->names, d->path)));
    q.offset = lsp_offset(lsp, q.program->file, json_object_get(params, "position"));
  }
  if (d && check) pipeline_run(c, q.program, "check");
  json_t *result = answer(&q);
  bool written = json_dumpfd(result, out, JSON_COMPACT | JSON_ENCODE_ANY) == 0;
  _exit(written ? 0 : 1);
}

static json_t *read_answer(int in) {
  FILE *file = fdopen(in, "r");
  json_t *result = file ? json_loadf(file, JSON_DECODE_ANY, NULL) : NULL;
  if (file) fclose(file);
  return result;
}

// What the child says; NULL if it dies.
static json_t *ask(const Lsp *lsp, LspAnswer answer, const LspDocument *d, json_t *params,
                   bool check) {
  int ends[2];
  if (pipe(ends) != 0) return NULL;
  pid_t child = fork();
  if (child == 0) {
    close(ends[0]);
    answer_to(ends[1], lsp, answer, d, params, check);
  }
  close(ends[1]);
  json_t *result = read_answer(ends[0]);
  if (child > 0) waitpid(child, NULL, 0);
  return result;
}

// The messages about documents that have changed, if nobody is waiting.
static void publish_changes(Lsp *lsp) {
  vec_each (LspDocument *, d, &lsp->documents) {
    if (!d->changed) continue;
    d->changed = false;
    json_t *params = json_object();
    json_t *told = ask(lsp, lsp_diagnostics, d, params, false);
    json_decref(params);
    if (!told) continue;
    publish_messages(d, json_incref(json_object_get(told, "messages")));
    set_imports(d, json_object_get(told, "imports"));
    json_decref(told);
  }
}

// ---- the protocol

// The editor names the units that it counts columns in, the best first; UTF-16 is always one.
static const char *choose_encoding(Lsp *lsp, const json_t *params) {
  const json_t *able = json_object_get(params, "capabilities");
  const json_t *known =
      json_object_get(json_object_get(able, "general"), "positionEncodings");
  const char *first = json_string_value(json_array_get(known, 0));
  lsp->counts_bytes = first && strcmp(first, "utf-8") == 0;
  return lsp->counts_bytes ? "utf-8" : "utf-16";
}

static json_t *initialize(Lsp *lsp, const json_t *params) {
  enum { SYNC_RANGES = 2 };
  const char *root = json_string_value(json_object_get(params, "rootUri"));
  if (root) lsp->root = lsp_path_of_uri(text_format("%s", root));
  return json_pack(
      "{s:{s:s, s:{s:b, s:i}, s:b, s:{s:[s]}, s:b, s:b, s:b, s:b, s:b, s:b, s:b, s:b, "
      "s:{s:[s, s, s, s]}, s:{s:[s, s]}}, s:{s:s, s:s}}",
      "capabilities", "positionEncoding", choose_encoding(lsp, params),
      "textDocumentSync", "openClose", 1, "change", SYNC_RANGES, "inlayHintProvider", 1,
      "codeActionProvider", "codeActionKinds", "quickfix", "hoverProvider", 1,
      "definitionProvider", 1, "referencesProvider", 1, "documentHighlightProvider", 1,
      "documentSymbolProvider", 1, "documentFormattingProvider", 1, "renameProvider", 1,
      "workspaceSymbolProvider", 1, "completionProvider", "triggerCharacters", ".", "#",
      "\"", "/", "signatureHelpProvider", "triggerCharacters", " ", "(", "serverInfo",
      "name", "flc", "version", FLC_VERSION);
}

static void respond(const json_t *id, json_t *result) {
  json_t *message = json_object();
  json_object_set(message, "id", json_deep_copy(id));
  json_object_set_new(message, "result", result);
  lsp_send(message);
}

static void refuse(const json_t *id, int code, const char *why) {
  json_t *message = json_pack("{s:{s:i, s:s}}", "error", "code", code, "message", why);
  json_object_set(message, "id", id ? json_deep_copy(id) : json_null());
  lsp_send(message);
}

// clang-format off
static const struct {
  const char *method;
  LspAnswer answer;
  bool check;  // whether the answer wants a checked program
} questions[] = {
  { "textDocument/hover", lsp_hover, true },
  { "textDocument/definition", lsp_definition, true },
  { "textDocument/references", lsp_references, true },
  { "textDocument/documentHighlight", lsp_highlights, true },
  { "textDocument/documentSymbol", lsp_symbols, true },
  { "textDocument/completion", lsp_completion, false },
  { "textDocument/signatureHelp", lsp_signature, false },
  { "textDocument/rename", lsp_rename, true },
  { "textDocument/formatting", lsp_formatting, false },
  { "textDocument/inlayHint", lsp_inlay_hints, true },
  { "textDocument/codeAction", lsp_code_actions, false },
  { "workspace/symbol", lsp_workspace_symbols, false },
};
// clang-format on
enum { QUESTION_COUNT = sizeof questions / sizeof *questions };

static void answer_question(Lsp *lsp, const json_t *id, int question, json_t *params) {
  bool of_all = questions[question].answer == lsp_workspace_symbols;
  const LspDocument *d = of_all ? NULL : find_document(lsp, uri_of(params));
  if (!of_all && (!d || !d->open)) {
    refuse(id, REQUEST_FAILED, "the document is not open");
    return;
  }
  json_t *result =
      ask(lsp, questions[question].answer, d, params, questions[question].check);
  const char *refused = json_string_value(json_object_get(result, "refused"));
  if (!result)
    refuse(id, INTERNAL_ERROR, "flc failed to answer");
  else if (refused)
    refuse(id, REQUEST_FAILED, refused);
  else
    respond(id, json_incref(result));
  json_decref(result);
}

static void handle_request(Lsp *lsp, const char *method, const json_t *id,
                           json_t *params) {
  bool starts = strcmp(method, "initialize") == 0;
  if (!lsp->ready && !starts) {
    refuse(id, NOT_READY, "the first request is initialize");
    return;
  }
  if (lsp->shut_down || (lsp->ready && starts)) {
    refuse(id, INVALID_REQUEST,
           lsp->shut_down ? "the server has been shut down"
                          : "the server is initialized already");
    return;
  }
  for (int i = 0; i < QUESTION_COUNT; i++) {
    if (strcmp(method, questions[i].method) != 0) continue;
    answer_question(lsp, id, i, params);
    return;
  }
  if (starts) {
    lsp->ready = true;
    respond(id, initialize(lsp, params));
  } else if (strcmp(method, "shutdown") == 0) {
    lsp->shut_down = true;
    respond(id, json_null());
  } else {
    refuse(id, METHOD_UNKNOWN, text_format("unknown method %s", method));
  }
}

// Files that are not open and have changed on the disk.
static void change_files(Lsp *lsp, const json_t *params) {
  const json_t *changes = json_object_get(params, "changes");
  for (size_t i = 0; i < json_array_size(changes); i++) {
    const char *uri =
        json_string_value(json_object_get(json_array_get(changes, i), "uri"));
    if (uri) change_importers(lsp, lsp_path_of_uri(uri));
  }
}

static void handle_notification(Lsp *lsp, const char *method, const json_t *params) {
  if (strcmp(method, "textDocument/didOpen") == 0) open_document(lsp, params);
  if (strcmp(method, "textDocument/didChange") == 0) change_document(lsp, params);
  if (strcmp(method, "textDocument/didClose") == 0) close_document(lsp, params);
  if (strcmp(method, "workspace/didChangeWatchedFiles") == 0) change_files(lsp, params);
  if (strcmp(method, "exit") == 0) lsp->over = true;
}

static void handle(Lsp *lsp, const json_t *message) {
  const char *method = json_string_value(json_object_get(message, "method"));
  const json_t *id = json_object_get(message, "id");
  json_t *params = json_object_get(message, "params");
  if (!method) return;  // an answer; the server asks nothing
  if (id)
    handle_request(lsp, method, id, params);
  else
    handle_notification(lsp, method, params);
}

static int serve(void) {
  Lsp lsp = { 0 };
  LspWire wire = { 0 };
  signal(SIGPIPE, SIG_IGN);
  for (json_t *message; !lsp.over && (message = lsp_receive(&wire));) {
    handle(&lsp, message);
    json_decref(message);
    if (!lsp_pending(&wire)) publish_changes(&lsp);
  }
  return lsp.shut_down ? 0 : 1;
}

static int command_lsp(Compiler *c, int argc, char **argv) {
  OptionReader r = options_begin(c, &lsp_command, argc, argv);
  if (options_next(&r) || r.over) return r.status;
  if (optind != argc)
    return command_usage_error(c, "flc lsp: unexpected argument %s", argv[optind]);
  return serve();
}

const Command lsp_command = {
  .name = "lsp",
  .summary = "answers editors' questions about programs",
  .usage = "",
  .about = "A language server: speaks the Language Server Protocol on standard input and "
           "output. "
           " Editors start it.",
  .operands = OPERANDS_NONE,
  .run = command_lsp,
};
