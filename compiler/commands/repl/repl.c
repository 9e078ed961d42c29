// flc repl: expressions and definitions, one after the other, in the interpreter.
#include "commands/repl/repl.h"
#include <ctype.h>
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

typedef struct Repl {
  ReplSession session;
  ReplLines *lines;
  bool over;
} Repl;

// ---- files

// "a" for "a.fl", which is how imports name it.
static const char *import_of(const char *path) {
  return text_format("import \"%s\"", compile_base(path));
}

static bool can_import(const char *path) {
  const char *base = compile_base(path);
  if (access(path, R_OK) != 0) {
    fprintf(stderr, "error: cannot read %s: %s\n", path, strerror(errno));
    return false;
  }
  if (strlen(base) < strlen(path) && !strpbrk(path, "\"\\\n")) return true;
  fprintf(stderr, "error: %s is not the name of a program (.fl or .fut)\n", path);
  return false;
}

static bool load(Repl *r, const char *path) {
  if (!can_import(path)) return false;
  ReplSession more = { 0 };
  const char *name = text_format("[%d]", r->session.number);
  vec_push(&more.pieces, (ReplPiece){ name, import_of(path), false });
  repl_define(&r->session, &more);
  return true;
}

// ---- commands

static void do_load(Repl *r, const char *argument) {
  if (*argument)
    load(r, argument);
  else
    fputs("error: expected the name of a program behind :load\n", stderr);
}

static void show(Repl *r, const char *command, const char *argument, ReplShow how) {
  if (*argument)
    repl_evaluate(&r->session, argument, how);
  else
    fprintf(stderr, "error: expected an expression behind :%s\n", command);
}

static void do_type(Repl *r, const char *argument) {
  show(r, "type", argument, REPL_SHOW_TYPE);
}

static void do_string(Repl *r, const char *argument) {
  show(r, "string", argument, REPL_SHOW_TEXT);
}

static void do_clear(Repl *r, const char *argument) {
  (void)argument;
  r->session.pieces.count = 0;
}

static void do_quit(Repl *r, const char *argument) {
  (void)argument;
  r->over = true;
}

static void do_help(Repl *r, const char *argument);

typedef struct ReplCommand {
  const char *name, *argument, *help;
  void (*run)(Repl *r, const char *argument);
} ReplCommand;

static const ReplCommand repl_commands[] = {
  { "load", " FILE",
    "make the definitions of a program visible; it is read anew each time", do_load },
  { "type", " EXPRESSION", "its type", do_type },
  { "string", " EXPRESSION", "the text that its value ([]u8) is", do_string },
  { "clear", "", "forget all definitions", do_clear },
  { "help", "", "this list", do_help },
  { "quit", "", "end (as does Ctrl-D)", do_quit },
};
enum { REPL_COMMANDS = sizeof repl_commands / sizeof *repl_commands };

static void do_help(Repl *r, const char *argument) {
  (void)r;
  (void)argument;
  puts("An expression is computed, a definition kept; a later one takes the place of an\n"
       "earlier one of that name.  What is not finished goes on in the next line, up to "
       "an\n"
       "empty one.  `:{` begins several lines, `:}` ends them.\n");
  for (int i = 0; i < REPL_COMMANDS; i++)
    printf("  :%-18s %s\n",
           text_format("%s%s", repl_commands[i].name, repl_commands[i].argument),
           repl_commands[i].help);
}

// ":t" is enough for ":type".
static const ReplCommand *command_named(const char *word) {
  for (int i = 0; i < REPL_COMMANDS; i++)
    if (*word && strncmp(repl_commands[i].name, word, strlen(word)) == 0)
      return &repl_commands[i];
  return NULL;
}

static void run_repl_command(Repl *r, const char *line) {
  size_t length = strcspn(line, " \t");
  const char *word = text_format("%.*s", (int)length, line), *rest = line + length;
  rest += strspn(rest, " \t");
  size_t end = strlen(rest);
  while (end && isspace((unsigned char)rest[end - 1]))
    end--;
  const ReplCommand *command = command_named(word);
  if (command)
    command->run(r, text_format("%.*s", (int)end, rest));
  else
    fprintf(stderr, "error: unknown command :%s (there is :help)\n", word);
}

// ---- input

static ReplLine next_input_line(const Repl *r, bool more, const char **line) {
  const char *prompt = text_format("[%d]> ", r->session.number);
  if (more) prompt = text_format("%*s", (int)strlen(prompt), "| ");
  return repl_lines_next(r->lines, prompt, line);
}

// The lines up to `:}`.
static ReplLine read_block(const Repl *r, Text *all) {
  const char *line = NULL;
  for (ReplLine status; (status = next_input_line(r, true, &line)) != REPL_INTERRUPTED;) {
    if (status == REPL_END || strcmp(line + strspn(line, " \t"), ":}") == 0)
      return REPL_LINE;
    text_printf(all, "%s\n", line);
  }
  return REPL_INTERRUPTED;
}

static bool is_blank(const char *line) { return !line[strspn(line, " \t\r")]; }

// Adds lines to the first one until it is whole, or a line is empty.
static ReplLine read_rest(const Repl *r, Text *all) {
  const char *name = text_format("[%d]", r->session.number), *line = NULL;
  ReplSession unused = { 0 };
  while (repl_read(name, text_str(all), &unused) == REPL_UNFINISHED) {
    ReplLine status = next_input_line(r, true, &line);
    if (status == REPL_INTERRUPTED) return status;
    if (status == REPL_END || is_blank(line)) break;
    text_printf(all, "\n%s", line);
  }
  return REPL_LINE;
}

static void run_input(Repl *r, const char *text) {
  ReplSession more = { 0 };
  const char *name = text_format("[%d]", r->session.number);
  switch (repl_read(name, text, &more)) {
  case REPL_NOTHING: return;
  case REPL_DECLS: repl_define(&r->session, &more); break;
  case REPL_EXPRESSION: repl_evaluate(&r->session, text, REPL_SHOW_VALUE); break;
  case REPL_UNFINISHED:
  case REPL_MISTAKE: repl_report(name, text); break;
  }
  r->session.number++;
}

// One input: a command, or an expression or definitions of one or several lines.
static void run_one(Repl *r) {
  const char *line = NULL;
  ReplLine status = next_input_line(r, false, &line);
  if (status == REPL_END) r->over = true;
  if (status != REPL_LINE) return;
  const char *first = line + strspn(line, " \t");
  bool block = strncmp(first, ":{", 2) == 0 && is_blank(first + 2);
  if (*first == ':' && !block) {
    run_repl_command(r, first + 1);
    return;
  }
  Text *all = text_new();
  if (!block) text_add(all, line);
  status = block ? read_block(r, all) : read_rest(r, all);
  if (status == REPL_LINE) run_input(r, text_str(all));
}

// ---- the command

// A signal that interrupts reading and ends nothing.
static void interrupted(int signal) { (void)signal; }

static int command_repl(Compiler *c, int argc, char **argv) {
  OptionReader reader = options_begin(c, &repl_command, argc, argv);
  if (options_next(&reader) || reader.over) return reader.status;
  Repl r = { .session = { .number = 1 } };
  r.lines = repl_lines_open(&r.session);
  struct sigaction action = { .sa_handler = interrupted };
  sigaction(SIGINT, &action, NULL);
  bool loaded = true;
  for (int i = optind; i < argc; i++)
    loaded = loaded && load(&r, argv[i]);
  while (loaded && !r.over)
    run_one(&r);
  repl_lines_close(r.lines);
  return fflush(stdout) == 0 && loaded ? 0 : 1;
}

const Command repl_command = {
  .name = "repl",
  .summary = "computes expressions as they are typed",
  .usage = "[FILE...]",
  .about = "Reads expressions and definitions, from a terminal or a pipe; computes the "
           "former in the "
           "interpreter and keeps the latter, with those of the files.  `:help` says "
           "what else "
           "there is.",
  .operands = OPERANDS_PROGRAMS,
  .run = command_repl,
};
