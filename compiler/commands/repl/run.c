#include "base/diag_show.h"
#include "commands/repl/repl.h"
#include "source/source.h"
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum { MOST_SHOWN = 20000 };  // characters, on a terminal

// How the expression is called in the program that is made of it.
static const char value_name[] = "value_of_this_input";

// ---- the program

typedef struct ReplText {
  Text *text;
  Vec(SourcePiece) pieces;
  const char *around;  // the name of texts between pieces
} ReplText;

static void begin_piece(ReplText *t, const char *path) {
  vec_push(&t->pieces, (SourcePiece){ (uint32_t)text_length(t->text), path, 1 });
}

// Each text stands on lines of its own, so that its mistakes are shown where they are.
static void add_piece(ReplText *t, const ReplPiece *piece) {
  if (piece->in_module) text_add(t->text, "open {\n");
  begin_piece(t, piece->name);
  text_printf(t->text, "%s\n", piece->text);
  if (piece->in_module) text_add(t->text, "}\n");
}

static ReplText text_of_session(const ReplSession *session) {
  ReplText t = { .text = text_new() };
  vec_each (const ReplPiece *, piece, &session->pieces)
    add_piece(&t, piece);
  return t;
}

static Program *program_of(Compiler *c, const ReplText *t) {
  size_t length = text_length(t->text);
  Program *program =
      program_of_text(c, "<repl>", mem_copy(text_str(t->text), length + 1), length);
  program->file->pieces = t->pieces.at;
  program->file->piece_count = t->pieces.count;
  return program;
}

// Definitions, and the expression as a definition by `keyword`.
static Program *program_with(Compiler *c, const ReplSession *session, const char *keyword,
                             const char *text) {
  ReplText t = text_of_session(session);
  text_printf(t.text, "%s %s =\n", keyword, value_name);
  begin_piece(&t, text_format("[%d]", session->number));
  text_printf(t.text, "%s\n", text);
  return program_of(c, &t);
}

// ---- messages

// Warnings about earlier inputs have been shown.
static bool is_news(const DiagMessage *message, const char *name) {
  return message->kind != MESSAGE_WARNING || !message->loc.file ||
         strcmp(loc_path(message->loc), name) == 0;
}

// What is new in the messages of an input.
static void show_messages(const Compiler *c, const char *name) {
  const DiagMessage *messages = NULL;
  int count = diag_messages(c, &messages);
  Text *t = text_new();
  for (int i = 0; i < count; i++)
    if (is_news(&messages[i], name)) message_show(t, &messages[i], diag_wants_colours());
  fputs(text_str(t), stderr);
}

// ---- in the child

typedef struct ReplTask {
  const ReplSession *session;
  const char *text;         // an expression
  const ReplSession *more;  // or definitions
  ReplShow show;
} ReplTask;

static const char *input_name(const ReplTask *task) {
  return text_format("[%d]", task->session->number);
}

static bool check_definitions(Compiler *c, const ReplTask *task) {
  ReplText t = text_of_session(task->session);
  vec_each (const ReplPiece *, piece, &task->more->pieces)
    add_piece(&t, piece);
  bool ok = pipeline_run(c, program_of(c, &t), "check");
  show_messages(c, input_name(task));
  return ok;
}

static const Binding *last_binding(const Program *program) {
  const AstDeclVec *decls = &program->ast->decls;
  return decls->at[decls->count - 1]->u.value.binding;
}

static const Type *type_of_last(const Program *program) {
  return last_binding(program)->type;
}

static bool is_text(const Type *type) {
  const Type *elem = type->kind == TYPE_ARRAY ? type->u.array.elem : NULL;
  return elem && elem->kind == TYPE_PRIM && elem->u.prim == PRIM_U8;
}

static bool print_bytes(const Value *v) {
  size_t length = (size_t)value_count(v);
  return fwrite(v->data, 1, length, stdout) == length && putchar('\n') != EOF;
}

static bool print_value(Compiler *c, const Program *program, ReplShow show) {
  const Entry *entry = command_find_entry(program->core, value_name);
  InterpResult result = interp_run(c, program->core, entry, new_array(const Value *, 1),
                                   (InterpOptions){ .trace = true });
  if (!result.ok) {
    error(c, result.loc, "%s", result.message);
    return false;
  }
  if (show == REPL_SHOW_TEXT) return print_bytes(result.values[0]);
  Text *t = text_new();
  repl_print_value(t, type_of_last(program), result.values);
  bool cut = isatty(STDOUT_FILENO) && text_length(t) > MOST_SHOWN;
  return printf("%.*s%s\n", cut ? MOST_SHOWN : (int)text_length(t), text_str(t),
                cut ? " ..." : "") > 0;
}

// Whether others may update it says nothing about a value that has no name.
static bool print_type(const Type *type, bool alone) {
  Type *shown = mem_copy(type, sizeof *type);
  shown->unique = false;
  return printf("%s%s\n",
                alone ? "" : "a function: ", command_name_sizes(type_text(shown))) > 0;
}

// Functions have no values that could be shown: their types are.
static bool evaluate_input(Compiler *c, const ReplTask *task) {
  const char *name = input_name(task);
  Program *program = program_with(c, task->session, "def", task->text);
  bool ok = pipeline_run(c, program, "check");
  show_messages(c, name);
  if (!ok) return false;
  const Type *type = type_of_last(program);
  bool only_type = task->show == REPL_SHOW_TYPE;
  if (only_type || type->kind == TYPE_FUNCTION) return print_type(type, only_type);
  if (task->show == REPL_SHOW_TEXT && !is_text(type)) {
    fprintf(stderr, "error: only values of type []u8 are texts, this one has type %s\n",
            command_name_sizes(type_text(type)));
    return false;
  }
  if (last_binding(program)->types.count > 0) {
    fprintf(stderr,
            "error: the type of this value is open: %s\n"
            "hint: write it, as in `[] : []i32`\n",
            command_name_sizes(type_text(type)));
    return false;
  }
  c = compiler_new();
  program = program_with(c, task->session, "entry", task->text);
  ok = pipeline_run(c, program, "elaborate") && print_value(c, program, task->show);
  if (!ok) show_messages(c, name);
  return ok;
}

// ---- processes

static bool wait_for(pid_t child) {
  int status = 0;
  pid_t ended = 0;
  do
    ended = waitpid(child, &status, 0);
  while (ended < 0 && errno == EINTR);
  if (WIFEXITED(status)) return WEXITSTATUS(status) == 0;
  if (WTERMSIG(status) == SIGINT)
    fputs("interrupted\n", stderr);
  else
    fprintf(stderr, "flc has died of signal %d\n", WTERMSIG(status));
  return false;
}

// Meanwhile Ctrl-C is for the child.
static bool run_task(const ReplTask *task) {
  fflush(stdout);
  struct sigaction ignore = { .sa_handler = SIG_IGN }, before;
  sigaction(SIGINT, &ignore, &before);
  pid_t child = fork();
  if (child == 0) {
    signal(SIGINT, SIG_DFL);
    Compiler *c = compiler_new();
    bool ok = task->more ? check_definitions(c, task) : evaluate_input(c, task);
    _exit(fflush(stdout) == 0 && ok ? 0 : 1);
  }
  bool ok = child > 0 && wait_for(child);
  sigaction(SIGINT, &before, NULL);
  return ok;
}

bool repl_define(ReplSession *session, const ReplSession *more) {
  if (!run_task(&(ReplTask){ .session = session, .more = more })) return false;
  vec_each (const ReplPiece *, piece, &more->pieces)
    vec_push(&session->pieces, *piece);
  return true;
}

bool repl_evaluate(const ReplSession *session, const char *text, ReplShow show) {
  return run_task(&(ReplTask){ .session = session, .text = text, .show = show });
}
