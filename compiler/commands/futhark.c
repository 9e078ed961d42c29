#include "commands/futhark.h"
#include <string.h>

bool futhark_option(Compiler *c, const Command *command, int option,
                    const char **backend) {
  if (option == OPTION_BACKEND) {
    bool ours = strcmp(optarg, "opencl") == 0 || strcmp(optarg, "cuda") == 0;
    if (ours) *backend = optarg;
    if (!ours)
      warning(
          c, (Loc){ 0 },
          "flc %s: there are the backends opencl and cuda; --backend=%s is not heeded",
          command->name, optarg);
    diag_flush(c);
  }
  return option == OPTION_BACKEND || option == OPTION_OF_FUTHARK || option == 'v';
}

const char *futhark_command(const char *name) {
  if (strcmp(name, "autotune") == 0) return "tune";
  if (strcmp(name, "dataset") == 0) return "data";
  return name;
}

const char *futhark_instead(const char *name) {
  static const char *const pairs[][2] = {
    { "opencl", "flc build` or `flc lib" },
    { "cuda", "flc build` or `flc lib" },
    { "hip", "flc build` or `flc lib" },
    { "c", "flc build` or `flc lib" },
    { "multicore", "flc build` or `flc lib" },
    { "ispc", "flc build` or `flc lib" },
    { "script", "flc literate" },
    { "dev", "flc dump` or `flc tree" },
    { "query", "flc lsp" },
    { "check-syntax", "flc check" },
    { "--profile", "flc profile" },
  };
  for (size_t i = 0; i < sizeof pairs / sizeof *pairs; i++)
    if (strcmp(name, pairs[i][0]) == 0) return pairs[i][1];
  return NULL;
}
