// How programs for several workers are started: by $MPIRUN, default `mpirun`.
#pragma once
#include "base/mem.h"
#include <stdbool.h>

enum { MPI_MOST_WORDS = 24 };  // that mpi_words writes, at most

// A number of processes as `--mpi N` has it; false if it is none.
bool mpi_read_count(const char *text, int *count);
// Writes what starts so many processes of the program that follows; returns the number of words.
int mpi_words(int count, const char **out);
// More processes than cores are meant: Open MPI refuses them unless its environment says so.
void mpi_allow_many(void);
