// What unit tests need: CHECK stops the test and says where and what did not hold.
#pragma once
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static inline void check_at(bool holds, const char *claim, const char *file, int line) {
  if (holds) return;
  fprintf(stderr, "%s:%d: does not hold: %s\n", file, line, claim);
  exit(1);
}

static inline void check_text_at(const char *got, const char *expected, const char *file,
                                 int line) {
  if (strcmp(got, expected) == 0) return;
  fprintf(stderr, "%s:%d: expected:\n%s\ngot:\n%s\n", file, line, expected, got);
  exit(1);
}

#define CHECK(claim)              check_at((claim), #claim, __FILE__, __LINE__)
#define CHECK_TEXT(got, expected) check_text_at((got), (expected), __FILE__, __LINE__)
