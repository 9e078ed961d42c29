// Test blocks: what a program's comments say about it (conventions: docs/cli.md).
#pragma once
#include "base/diag.h"
#include "base/vec.h"

typedef Vec(const char *) TextVec;

typedef enum TestSource {
  TEST_NOTHING,      // outcome: what the first run gives, or `auto output`
  TEST_VALUES,       // { ... }: text
  TEST_FILE,         // @ path: text
  TEST_RANDOM,       // random input { types }: text
  TEST_SCRIPT,       // script input { expression }: text
  TEST_SCRIPT_FILE,  // script input @ file: its path
  TEST_ERROR,        // error: regex: text
} TestSource;

enum { TEST_MARGIN = 2 };  // columns before the lines of a block: `--`

typedef struct TestText {
  TestSource source;
  const char *text;
  int line, column;  // of values in the program, from 1; line 0: they are elsewhere
} TestText;

typedef struct TestCase {
  int line;
  const char *name;  // NULL: none
  TextVec entries, tags;
  TestText input, outcome;
} TestCase;

typedef struct TestProperty {
  int line;
  const char *name;  // of the entry point
} TestProperty;

typedef struct TestStructure {
  const char *stage;  // "core", "flat", or another, which is skipped
  TextVec nodes;
  Vec(int) counts;
} TestStructure;

typedef struct TestSpec {
  TextVec tags;
  const char *error;  // NULL, or what the refusal of the program must match
  TextVec warnings;
  Vec(double)
      tolerances;  // relative, one per result (the last one for the rest); none: default
  Vec(TestCase) cases;
  Vec(TestProperty) properties;
  Vec(TestStructure) structures;
  bool found;           // is there any block?
  const char *message;  // what is wrong with a block, or NULL
} TestSpec;

TestSpec test_spec_parse(const char *text);
// The same for a file that is one block, whose lines have no `--`.
TestSpec test_spec_parse_file(const char *text);
bool test_has_tag(const TextVec *tags, const char *tag);
