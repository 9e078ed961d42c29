// The values of directives: each becomes a definition behind those of the program, which is then
// compiled as a whole and run.
#include "base/diag_show.h"
#include "commands/literate/literate.h"
#include "commands/repl/repl.h"
#include "commands/test/server.h"
#include "core/value/reader.h"
#include "source/source.h"
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

// ---- the program

typedef struct DirectiveProgram {
  Text *text;
  Vec(SourcePiece) pieces;      // the first one is the file
  Vec(Directive *) directives;  // the others
  Vec(uint32_t) starts;  // where the definitions of these begin, before the expressions
} DirectiveProgram;

static const char *definition_name(const Literate *l, const Directive *d) {
  int i = 0;
  while (l->directives.at[i] != d)
    i++;
  return text_format("literate_value_%d", i);
}

// `(step, start, count)` of a video: the frames that `count` steps make.
static const char frames_head[] =
    "let (literate_step, literate_start, literate_count) =\n";
static const char frames_rest[] =
    "let (frame, state) = literate_step literate_start\n"
    "in (loop (frames, state) = (replicate literate_count frame, state)\n"
    "for i in 1i64..<literate_count do\n"
    "let (frame, state) = literate_step state in (frames with [i] = frame, state)).0\n";

static void add_directive_definition(const Literate *l, DirectiveProgram *p, Directive *d,
                                     const char *keyword) {
  vec_push(&p->starts, (uint32_t)text_length(p->text));
  text_printf(p->text, "%s %s%s =\n", keyword, definition_name(l, d),
              literate_load_params(l, d));
  if (d->by_steps) text_add(p->text, frames_head);
  vec_push(&p->pieces, (SourcePiece){ (uint32_t)text_length(p->text), l->path,
                                      loc_line_col(d->loc).line });
  vec_push(&p->directives, d);
  text_printf(p->text, "%s\n", d->exp);
  if (d->by_steps) text_add(p->text, frames_rest);
}

// The file and the directives that have not failed.
static DirectiveProgram program_text(const Literate *l, const char *keyword) {
  DirectiveProgram p = { .text = text_new() };
  vec_push(&p.pieces, (SourcePiece){ 0, l->path, 1 });
  text_printf(p.text, "%s\n", l->file->text);
  vec_each (Directive *const *, d, &l->directives)
    if (!(*d)->failed) add_directive_definition(l, &p, *d, keyword);
  return p;
}

static Program *program_of_directives(Compiler *c, const Literate *l,
                                      const DirectiveProgram *p) {
  size_t length = text_length(p->text);
  Program *program =
      program_of_text(c, l->path, mem_copy(text_str(p->text), length + 1), length);
  program->file->pieces = p->pieces.at;
  program->file->piece_count = p->pieces.count;
  return program;
}

// ---- mistakes

// The number of the directive whose definition a message is about; -1: it is about the program.
static int directive_at(const DirectiveProgram *p, const Program *program, Loc loc) {
  int found = -1;
  if (loc.file != program->file) return -1;
  for (int i = 0; i < p->starts.count; i++)
    if (p->starts.at[i] <= loc.start) found = i;
  return found;
}

// Messages about the entry point of a directive are about its expression.
static const char *without_name(const char *message) {
  static const char head[] = "entry point `literate_value_";
  const char *rest = strncmp(message, head, strlen(head)) == 0
                         ? strchr(message + strlen(head), '`')
                         : NULL;
  return rest ? text_format("the expression%s", rest + 1) : message;
}

// An error becomes one of the directive.  What was written around its expression is not shown.
static void blame_directive(const DirectiveProgram *p, int i,
                            const DiagMessage *message) {
  Directive *d = p->directives.at[i];
  uint32_t start = p->pieces.at[i + 1].start, at = message->loc.start;
  if (at < start || at >= start + strlen(d->exp)) {
    if (d->failed) return;
    if (d->by_steps)
      directive_fail(
          d, "expected `(step, start, n)`: a function that gives a frame and the next "
             "state, the first state, and how many frames there are, an i64");
    else
      directive_fail(d, "%s", without_name(message->text));
    return;
  }
  Text *t = text_new();
  if (d->failed) text_add(t, d->failed);
  message_show(t, message, false);
  d->failed = text_str(t);
}

// Gives the errors to their directives.  False if some are nobody's, or if there are none.
static bool blame_directives(const Compiler *c, const DirectiveProgram *p,
                             const Program *program) {
  const DiagMessage *messages = NULL;
  int count = diag_messages(c, &messages), found = 0;
  for (int i = 0; i < count; i++) {
    if (messages[i].kind != MESSAGE_ERROR) continue;
    int at = directive_at(p, program, messages[i].loc);
    if (at < 0) return false;
    blame_directive(p, at, &messages[i]);
    found++;
  }
  return found > 0;
}

// The program after a pass, without the directives that have errors until then; NULL after an
// error in what they are about (already reported).
static Program *program_after(const Literate *l, Compiler **out, const char *keyword,
                              const char *pass) {
  for (;;) {
    Compiler *c = compiler_new();
    c->check_ir = l->check_ir;
    DirectiveProgram p = program_text(l, keyword);
    Program *program = program_of_directives(c, l, &p);
    bool ok = pipeline_run(c, program, pass) && diag_error_count(c) == 0;
    if (!ok && blame_directives(c, &p, program)) continue;
    if (ok)
      diag_take_text(c);
    else
      diag_flush(c);
    *out = c;
    return ok ? program : NULL;
  }
}

// An expression that is none would take what follows for a part of it.
static void parse_directive(const Literate *l, Directive *d) {
  Compiler *c = compiler_new();
  const char *text = d->exp;
  SourceFile *file = source_file_new(l->path, text, strlen(text));
  file->pieces = new_node(SourcePiece, 0, l->path, loc_line_col(d->loc).line);
  file->piece_count = 1;
  const AstExp *exp = source_parse_exp(c, file);
  if (!exp || diag_error_count(c)) d->failed = diag_take_text(c);
  d->by_steps = exp && d->kind == DIRECTIVE_VIDEO && exp->kind == AST_TUPLE;
}

// ---- types

static void take_types(const Literate *l, const Program *program) {
  const AstDeclVec *decls = &program->ast->decls;
  int at = decls->count;
  for (int i = l->directives.count - 1; i >= 0; i--) {
    Directive *d = l->directives.at[i];
    if (d->failed) continue;
    const Type *type = decls->at[--at]->u.value.binding->type;
    for (int k = 0; k < d->loaded.count; k++)
      type = type->u.function.to;
    d->type = type;
    if (type->kind == TYPE_FUNCTION)
      directive_fail(d, "the expression is a function: %s",
                     command_name_sizes(type_text(type)));
  }
}

// ---- failures

// What a run says of itself, "file.fl:3:5" where; that is told where it is not the directive.
static void fail_where(Directive *d, const char *where, const char *message) {
  const char *own = loc_text((Loc){ d->loc.file, d->loc.start, d->loc.start });
  size_t line = (size_t)(strrchr(own, ':') - own);
  if (strncmp(where, own, line + 1) == 0)
    directive_fail(d, "%s", message);
  else
    directive_fail(d, "%s (at %s)", message, where);
}

// The first line of what a program said: "file.fl:3:5: error: index 9 out of bounds".
static void fail_as_said(Directive *d, const char *said) {
  static const char mark[] = ": error: ";
  const char *line = text_format("%.*s", (int)strcspn(said, "\n"), said);
  const char *at = strstr(line, mark);
  if (at)
    fail_where(d, text_format("%.*s", (int)(at - line), line), at + strlen(mark));
  else
    directive_fail(d, "%s", line);
}

// ---- the interpreter

static void interpret_directives(Compiler *c, const Literate *l, const Core *core) {
  vec_each (Directive *const *, at, &l->directives) {
    Directive *d = *at;
    if (d->failed) continue;
    const Entry *entry = command_find_entry(core, definition_name(l, d));
    command_progress("%s", d->shown);
    InterpResult result = interp_run(
        c, core, entry, d->loaded.count ? d->loaded.at : new_array(const Value *, 1),
        (InterpOptions){ 0 });
    if (result.ok)
      d->leaves = result.values;
    else
      fail_where(d, loc_text(result.loc), result.message);
  }
}

// ---- the device

typedef struct DirectiveRun {
  const Literate *l;
  TestServer *server;
  int file;  // values in and out: a file in memory that the server inherits
} DirectiveRun;

static bool put_loaded(const DirectiveRun *r, const Directive *d) {
  Text *bytes = text_new();
  for (int i = 0; i < d->loaded.count; i++)
    value_write_binary(bytes, d->loaded.at[i]);
  const char *at = text_str(bytes);
  size_t left = text_length(bytes);
  if (ftruncate(r->file, 0) != 0 || lseek(r->file, 0, SEEK_SET) != 0) return false;
  for (ssize_t n; left > 0; at += n, left -= (size_t)n)
    if ((n = write(r->file, at, left)) <= 0) return false;
  return true;
}

// `verb` and what the values that were read are called, with their types where they are made.
static ServerReply about_loaded(const DirectiveRun *r, const Directive *d,
                                const char *verb, bool types) {
  Text *line = text_new();
  text_add(line, verb);
  for (int i = 0; i < d->loaded.count; i++) {
    const Value *v = d->loaded.at[i];
    text_printf(line, " in%d", i);
    if (types) text_printf(line, " %s", value_type_name(v->elem, v->rank));
  }
  return server_ask(r->server, text_str(line));
}

static ServerReply call_directive(const DirectiveRun *r, const Directive *d) {
  if (d->loaded.count) {
    if (!put_loaded(r, d))
      return (ServerReply){ .alive = true, .text = "cannot write values" };
    ServerReply reply =
        about_loaded(r, d, text_format("restore /proc/self/fd/%d", r->file), true);
    if (!reply.ok) return reply;
  }
  const char *call = text_format("call %s out", definition_name(r->l, d));
  ServerReply reply = about_loaded(r, d, call, false);
  if (d->loaded.count && reply.alive) about_loaded(r, d, "free", false);
  return reply;
}

static void read_leaves(const DirectiveRun *r, Directive *d, const Entry *entry) {
  size_t length = 0;
  const char *message = NULL;
  char *bytes = text_read_file(text_format("/proc/self/fd/%d", r->file), &length);
  ValueReader *reader = value_reader_new("result", bytes ? bytes : "", length);
  d->leaves = new_array(const Value *, entry->result_count + 1);
  for (int i = 0; i < entry->result_count; i++) {
    ValueType type = { entry->results[i].elem, entry->results[i].rank };
    d->leaves[i] = value_read(reader, &type, &message);
    if (d->leaves[i]) continue;
    directive_fail(d, "%s", message ? message : "the result cannot be read");
    return;
  }
}

static void run_directive(const DirectiveRun *r, Directive *d, const Core *core) {
  ServerReply reply = call_directive(r, d);
  if (reply.ok)
    reply = server_ask(r->server, text_format("store /proc/self/fd/%d out", r->file));
  if (!reply.ok) {
    fail_as_said(d, reply.text);
    return;
  }
  read_leaves(r, d, command_find_entry(core, definition_name(r->l, d)));
  server_ask(r->server, "free out");
}

static const char *const *literate_server(const Literate *l, const char *executable) {
  TextVec words = { 0 };
  vec_push(&words, executable);
  vec_push(&words, "--server");
  for (int i = 0; l->options[i]; i++)
    vec_push(&words, l->options[i]);
  vec_push(&words, NULL);
  return words.at;
}

// The server, if it has died started anew.
static bool ensure_server(DirectiveRun *r, const char *executable, const char **message) {
  if (r->server && server_ask(r->server, "entry_points").alive) return true;
  if (r->server) server_stop(r->server);
  ServerReply greeting = { .text = strerror(errno) };
  r->server = server_start(literate_server(r->l, executable), NULL, &greeting);
  *message = greeting.text;
  if (r->server && !greeting.ok) {
    server_stop(r->server);
    r->server = NULL;
  }
  return r->server != NULL;
}

static bool run_directives(Compiler *c, const Literate *l, const Core *core,
                           const char *executable) {
  DirectiveRun r = { .l = l, .file = memfd_create("values", 0) };
  const char *message = NULL;
  vec_each (Directive *const *, d, &l->directives) {
    if ((*d)->failed) continue;
    command_progress("%s", (*d)->shown);
    if (!ensure_server(&r, executable, &message)) {
      error(c, (Loc){ 0 }, "the program cannot run: %s", message);
      diag_flush(c);
      break;
    }
    run_directive(&r, *d, core);
  }
  if (r.server) server_stop(r.server);
  close(r.file);
  return diag_error_count(c) == 0;
}

// ---- all of it

// The entry points of the directives alone: what the program's are for is somebody else's concern,
// and each takes its time to compile.
static const Core *only_directives(const Literate *l, const Core *core) {
  const Entry **entries = new_array(const Entry *, l->directives.count + 1);
  int count = 0;
  vec_each (Directive *const *, d, &l->directives)
    if (!(*d)->failed)
      entries[count++] = command_find_entry(core, definition_name(l, *d));
  Core *only = mem_copy(core, sizeof *core);
  only->entries = entries;
  only->entry_count = count;
  return only;
}

static bool compute(Compiler *c, const Literate *l, Program *program) {
  const Core *core = program->core = only_directives(l, program->core);
  if (core->entry_count == 0) return true;
  if (l->interpret) {
    interpret_directives(c, l, core);
    return true;
  }
  EmitResult made;
  command_progress("compiling ...");
  const char *executable = compile_program_to_c(c, program, (CompileOptions){ 0 }, &made)
                               ? compile_cached(c, &made)
                               : NULL;
  diag_flush(c);
  return executable && run_directives(c, l, program->core, executable);
}

bool literate_run(Literate *l) {
  vec_each (Directive *const *, d, &l->directives) {
    if (!(*d)->failed) literate_load(l, *d);
    if (!(*d)->failed) parse_directive(l, *d);
  }
  Compiler *c = NULL;
  Program *program = program_after(l, &c, "def", "check");
  if (!program) return false;
  take_types(l, program);
  program = program_after(l, &c, "entry", "elaborate");
  bool ok = program && compute(c, l, program);
  command_progress("%s", "");
  return ok;
}
