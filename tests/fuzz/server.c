// Random commands for the server of compiled programs: server SEED COUNT, in an empty folder.  It answers
// each, and never leaves its memory (build with -fsanitize=address,undefined).
#include "../runtime/program.h"
// The runtime comes before any system header.

#include "../unit.h"
#include "mutate.h"

static const char *const seeds[] = {
  "types",
  "entry_points",
  "restore in xs []i32 i i64 seven i32",
  "restore floats fs []f32",
  "restore pair p (i64, []i32)",
  "call main ys fs",
  "call consume ys fs",
  "call get out xs i",
  "call sum total xs",
  "call pair p i",
  "store out xs i",
  "store pair p",
  "free xs",
  "free xs i seven out ys p q total a b",
  "rename xs ys",
  "inputs consume",
  "output pair",
  "clear",
  "kind \"(i64, []i32)\"",
  "type xs",
  "pause_profiling",
  "unpause_profiling",
  "report",
  "set_tuning_param sum.intra_0 2",
  "tuning_params sum",
  "tuning_param_class pair.tile_1",
  "tuning_param_value pair.tile_1",
  "attributes pair",
  "rank []i32",
  "elemtype []f32",
  "new_array ys []i32 2 seven seven",
  "shape xs",
  "index out xs 0",
  "set xs seven 2",
  "fields (i64, []i32)",
  "new p (i64, []i32) i xs",
  "project q p 1",
  "set_path sum.intra_0=F",
  "tree",
};

static const char *const words[] = {
  " ",
  "\"",
  "(",
  ")",
  "[",
  "]",
  "xs",
  "ys",
  "i",
  "p",
  "q",
  "0",
  "-1",
  "2",
  "[]i32",
  "i64",
  "i32",
  "[]f32",
  "seven",
  "\t",
  "\r",
  "\\",
  "=",
  "sum.intra_0=T",
  "9223372036854775807",
  "a b",
  "{",
  "}",
  "in",
  "pair",
  "99999999999999999999",
  "\x01",
  "in floats",
};

static void write_file(const char *name, const char *text) {
  CHECK(rt_write_file(name, text, strlen(text)));
}

static void serve(struct rt_server *s, Mutant *m) {
  char *line = (char *)rt_host_alloc(m->length + 1);
  memcpy(line, m->bytes, m->length);
  for (size_t i = 0; i < m->length; i++)
    if (line[i] == '/') line[i] = '_';  // all files stay in this folder
  CHECK(rt_serve_line(s, line));
  free(line);
}

int main(int argc, char **argv) {
  long count = argc > 2 ? atol(argv[2]) : 5000;
  mutate_state = argc > 1 ? (uint64_t)atoll(argv[1]) * 2 + 1 : 1;
  char folder[] = "/tmp/flc-server-XXXXXX";
  CHECK(mkdtemp(folder) && chdir(folder) == 0);
  CHECK(freopen("/dev/null", "w", stdout));
  struct rt_config *cfg = fl_context_config_new();
  struct rt_context *ctx = fl_context_new(cfg);
  if (ctx->broken) return 77;  // no OpenCL
  struct rt_server *s = (struct rt_server *)rt_host_alloc(sizeof *s);
  s->ctx = ctx;
  s->program = ctx->program;
  for (long i = 0; i < count; i++) {
    if (i % 50 == 0) {
      write_file("in", "[10, 20, 30] 1i64 7");
      write_file("floats", "[1, 2.5]");
      write_file("pair", "3 [1, 2]");
    }
    const char *seed = seeds[mutate_random(sizeof seeds / sizeof *seeds)];
    Mutant m = mutant_of(seed, strlen(seed), words, sizeof words / sizeof *words);
    if (mutate_random(2)) {
      free(m.bytes);
      m.bytes = rt_strdup(seed);
      m.length = strlen(seed);
    }
    serve(s, &m);
    free(m.bytes);
  }
  while (s->count > 0)
    rt_remove_variable(s, &s->variables[0]);
  CHECK(ctx->memory.live == 0);
  free(s->variables);
  free(s);
  fl_context_free(ctx);
  fl_context_config_free(cfg);
  CHECK(chdir("/") == 0);
  struct rt_text command = { NULL, 0, 0 };
  rt_text_printf(&command, "rm -r %s", folder);
  CHECK(system(command.data) == 0);
  rt_text_free(&command);
  return 0;
}
