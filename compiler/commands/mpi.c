// The processes of an MPI job.
#include "commands/mpi.h"
#include "base/text.h"
#include <stdlib.h>
#include <string.h>

bool mpi_read_count(const char *text, int *count) {
  static const long most = 100000;
  char *end = NULL;
  long value = strtol(text, &end, 10);
  *count = (int)value;
  return end != text && !*end && value >= 1 && value <= most;
}

int mpi_words(int count, const char **out) {
  const char *given = getenv("MPIRUN");
  const char *words = given && given[strspn(given, " ")] ? given : "mpirun";
  char *copy = mem_copy(words, strlen(words) + 1), *rest = NULL;
  int at = 0;
  for (char *word = strtok_r(copy, " ", &rest); word && at < MPI_MOST_WORDS - 2;
       word = strtok_r(NULL, " ", &rest))
    out[at++] = word;
  out[at++] = "-n";
  out[at++] = text_format("%d", count);
  return at;
}

void mpi_allow_many(void) {
  setenv("OMPI_MCA_rmaps_base_oversubscribe", "1", 0);                   // up to 4
  setenv("PRTE_MCA_rmaps_default_mapping_policy", ":oversubscribe", 0);  // from 5 on
}
