// The prelude and the benchmarks: what the printer makes of their trees reads back to the same.
#include "snippets.h"

// The files are arguments; those in prelude/ are built in.
int main(int argc, char **argv) {
  mem_init();
  for (int i = 1; i < argc; i++) {
    size_t length;
    const char *text = text_read_file(argv[i], &length);
    CHECK(text != NULL);
    bool built_in = strstr(argv[i], "prelude/") != NULL;
    const char *printed = snippet_result(SNIPPET_PROGRAM, text, length, built_in);
    CHECK(strncmp(printed, "error: ", 7) != 0);
    snippet_check_round_trip(SNIPPET_PROGRAM, printed, built_in);
  }
  return 0;
}
