// Begin transport_mpi.h: workers that are the processes of an MPI job.  Device buffers go through
// host memory.  MPI's own errors end the job.
#include <mpi.h>

RT_FN bool rt_transport_open(struct rt_workers *w, int *argc, char ***argv) {
  MPI_Comm machine;
  if (MPI_Init(argc, argv) != MPI_SUCCESS) {
    fprintf(stderr, "error: MPI could not be started\n");
    return false;
  }
  MPI_Comm_rank(MPI_COMM_WORLD, &w->rank);
  MPI_Comm_size(MPI_COMM_WORLD, &w->size);
  MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &machine);
  MPI_Comm_size(machine, &w->neighbours);
  MPI_Comm_free(&machine);
  return true;
}

RT_FN void rt_transport_close(struct rt_workers *w) {
  (void)w;
  MPI_Barrier(MPI_COMM_WORLD);  // when one ends with an error, mpirun ends the others
  MPI_Finalize();
}

RT_FN void rt_transport_abort(struct rt_workers *w) {
  (void)w;
  MPI_Abort(MPI_COMM_WORLD, 1);
  _exit(1);
}

RT_FN int rt_transport_least(struct rt_workers *w, int number) {
  int least = number;
  (void)w;
  MPI_Allreduce(&number, &least, 1, MPI_INT, MPI_MIN, MPI_COMM_WORLD);
  return least;
}

RT_FN void rt_transport_broadcast(struct rt_workers *w, int from, void *bytes,
                                  int64_t count) {
  enum { MOST_BYTES = 1 << 30 };
  (void)w;
  for (int64_t at = 0; at < count; at += MOST_BYTES) {
    int64_t some = count - at < MOST_BYTES ? count - at : MOST_BYTES;
    MPI_Bcast((char *)bytes + at, (int)some, MPI_BYTE, from, MPI_COMM_WORLD);
  }
}

// MPI counts in int.
RT_FN bool rt_transport_gather(struct rt_workers *w, void *all, int64_t total,
                               int64_t row_bytes) {
  if (total > INT_MAX || row_bytes > INT_MAX) return false;
  int *counts = (int *)rt_host_alloc((size_t)w->size * 2 * sizeof *counts);
  int *starts = counts + w->size;
  MPI_Datatype row;
  for (int r = 0; r < w->size; r++) {
    struct rt_block block = rt_block_of(total, w->size, r);
    counts[r] = (int)block.count;
    starts[r] = (int)block.start;
  }
  MPI_Type_contiguous((int)row_bytes, MPI_BYTE, &row);
  MPI_Type_commit(&row);
  MPI_Allgatherv(MPI_IN_PLACE, 0, row, all, counts, starts, row, MPI_COMM_WORLD);
  MPI_Type_free(&row);
  free(counts);
  return true;
}

RT_FN bool rt_transport_exchange(struct rt_workers *w, const struct rt_exchange *e) {
  int before = w->rank > 0 ? w->rank - 1 : MPI_PROC_NULL;
  int after = w->rank + 1 < w->size ? w->rank + 1 : MPI_PROC_NULL;
  if (e->first_bytes > INT_MAX || e->last_bytes > INT_MAX || e->low_bytes > INT_MAX ||
      e->high_bytes > INT_MAX)
    return false;
  MPI_Sendrecv(e->first, (int)e->first_bytes, MPI_BYTE, before, 0, e->high,
               (int)e->high_bytes, MPI_BYTE, after, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  MPI_Sendrecv(e->last, (int)e->last_bytes, MPI_BYTE, after, 1, e->low,
               (int)e->low_bytes, MPI_BYTE, before, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  return true;
}
// End transport_mpi.h
