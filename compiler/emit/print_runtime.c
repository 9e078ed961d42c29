// For the build: prints the runtime of executables, which is compiled once and put beside flc
// (commands/compile_cc.c).
#include "base/mem.h"
#include "emit/emit.h"
#include <stdio.h>
#include <string.h>

int main(int argc, char **argv) {
  mem_init();
  bool threads = argc > 1 && strcmp(argv[1], "threads") == 0;
  const char *key;
  fputs(text_str(runtime_apart(threads ? WORKERS_THREADS : WORKERS_ONE, &key)), stdout);
  return fclose(stdout) == 0 ? 0 : 1;
}
