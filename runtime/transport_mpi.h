// Begin transport_mpi.h: workers that are the processes of an MPI job.  Device buffers go through
// host memory.  MPI's own errors end the job.
#include <mpi.h>
#ifdef OPEN_MPI
#  include <mpi-ext.h>
#endif

// What a worker keeps.
struct rt_mpi {
  MPI_Comm comm;
  char *staged;
  int64_t staged_bytes;
  struct rt_mpi_underway {  // from its beginning to its end
    struct rt_exchange e;
    bool exchanges;
    int number, least;
    MPI_Request told, low, high, sent[2];
  } underway;
};

RT_FN struct rt_mpi *rt_mpi_of(const struct rt_workers *w) {
  return (struct rt_mpi *)w->transport;
}

// Makes this worker one of the processes of the communicator, which stays theirs.
RT_FN void rt_mpi_join(struct rt_workers *w, struct rt_mpi *mpi, MPI_Comm comm) {
  MPI_Comm machine;
  w->transport = mpi;
  mpi->comm = comm;
  MPI_Comm_rank(comm, &w->rank);
  MPI_Comm_size(comm, &w->size);
  MPI_Comm_split_type(comm, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &machine);
  MPI_Comm_size(machine, &w->neighbours);
  MPI_Comm_free(&machine);
}

RT_FN void rt_transport_alone(struct rt_workers *w, bool begins) {
  (void)w, (void)begins;
}

RT_FN char *rt_transport_stage(struct rt_workers *w, int64_t bytes) {
  struct rt_mpi *mpi = rt_mpi_of(w);
  if (bytes > mpi->staged_bytes || !mpi->staged) {
    free(mpi->staged);
    mpi->staged = (char *)malloc(bytes ? (size_t)bytes : 1);
    mpi->staged_bytes = mpi->staged ? bytes : 0;
  }
  return mpi->staged;
}

RT_FN int rt_transport_least(struct rt_workers *w, int number) {
  int least = number;
  MPI_Allreduce(&number, &least, 1, MPI_INT, MPI_MIN, rt_mpi_of(w)->comm);
  return least;
}

// ---- what is underway

enum { RT_TO_BEFORE, RT_TO_AFTER, RT_FETCHED };  // tags

// MPI_PROC_NULL, if there is none.
RT_FN int rt_mpi_rank(int neighbour) {
  return neighbour >= 0 ? neighbour : MPI_PROC_NULL;
}

RT_FN void rt_transport_begin(struct rt_workers *w, int number,
                              const struct rt_exchange *e) {
  MPI_Comm comm = rt_mpi_of(w)->comm;
  struct rt_mpi_underway *u = &rt_mpi_of(w)->underway;
  u->number = number;
  u->exchanges = e != NULL;
  MPI_Iallreduce(&u->number, &u->least, 1, MPI_INT, MPI_MIN, comm, &u->told);
  if (!e) return;
  u->e = *e;
  int before = rt_mpi_rank(e->before), after = rt_mpi_rank(e->after);
  MPI_Irecv(e->high, (int)e->high_bytes, MPI_BYTE, after, RT_TO_BEFORE, comm, &u->high);
  MPI_Irecv(e->low, (int)e->low_bytes, MPI_BYTE, before, RT_TO_AFTER, comm, &u->low);
  MPI_Isend(e->first, (int)e->first_bytes, MPI_BYTE, before, RT_TO_BEFORE, comm,
            &u->sent[0]);
  MPI_Isend(e->last, (int)e->last_bytes, MPI_BYTE, after, RT_TO_AFTER, comm, &u->sent[1]);
}

// One by one, as gcc warns of what MPICH's MPI_Waitall takes for no statuses.
RT_FN void rt_mpi_wait_all(int count, MPI_Request *requests) {
  for (int i = 0; i < count; i++)
    MPI_Wait(&requests[i], MPI_STATUS_IGNORE);
}

// Takes the rows that a worker has sent here, if it has, to nowhere.
RT_FN void rt_mpi_drop(const struct rt_workers *w, bool sent, int from, int tag) {
  MPI_Comm comm = rt_mpi_of(w)->comm;
  MPI_Status status;
  int bytes = 0;
  if (!sent) return;
  MPI_Probe(from, tag, comm, &status);
  MPI_Get_count(&status, MPI_BYTE, &bytes);
  char *rows = (char *)rt_host_alloc((size_t)bytes + 1);
  MPI_Recv(rows, bytes, MPI_BYTE, from, tag, comm, MPI_STATUS_IGNORE);
  free(rows);
}

// Ends a receive, to which nobody sends unless `sent`.
RT_FN void rt_mpi_end_receive(MPI_Request *request, bool sent) {
  if (!sent && *request != MPI_REQUEST_NULL) MPI_Cancel(request);
  MPI_Wait(request, MPI_STATUS_IGNORE);
}

// A worker has failed, and some exchange nothing: sends are received, receives end.
RT_FN void rt_mpi_abandon(struct rt_workers *w) {
  enum { TO_BEFORE = 1, TO_AFTER = 2 };
  struct rt_mpi_underway *u = &rt_mpi_of(w)->underway;
  int *sent = (int *)rt_host_alloc((size_t)w->size * sizeof *sent);
  int before = (w->rank + w->size - 1) % w->size, after = (w->rank + 1) % w->size;
  int own = !u->exchanges
                ? 0
                : (u->e.before >= 0 ? TO_BEFORE : 0) | (u->e.after >= 0 ? TO_AFTER : 0);
  MPI_Allgather(&own, 1, MPI_INT, sent, 1, MPI_INT, rt_mpi_of(w)->comm);
  bool low = (sent[before] & TO_AFTER) != 0, high = (sent[after] & TO_BEFORE) != 0;
  free(sent);
  if (!u->exchanges) {
    rt_mpi_drop(w, low, before, RT_TO_AFTER);
    rt_mpi_drop(w, high, after, RT_TO_BEFORE);
    return;
  }
  rt_mpi_end_receive(&u->low, low);
  rt_mpi_end_receive(&u->high, high);
  rt_mpi_wait_all(2, u->sent);
}

RT_FN int rt_transport_end(struct rt_workers *w) {
  struct rt_mpi_underway *u = &rt_mpi_of(w)->underway;
  MPI_Wait(&u->told, MPI_STATUS_IGNORE);
  if (u->least < w->size) {
    rt_mpi_abandon(w);
  } else if (u->exchanges) {
    MPI_Wait(&u->low, MPI_STATUS_IGNORE);
    MPI_Wait(&u->high, MPI_STATUS_IGNORE);
    rt_mpi_wait_all(2, u->sent);
  }
  return u->least;
}

RT_FN void rt_transport_broadcast(struct rt_workers *w, int from, void *bytes,
                                  int64_t count) {
  enum { MOST_BYTES = 1 << 30 };
  for (int64_t at = 0; at < count; at += MOST_BYTES) {
    int64_t some = count - at < MOST_BYTES ? count - at : MOST_BYTES;
    MPI_Bcast((char *)bytes + at, (int)some, MPI_BYTE, from, rt_mpi_of(w)->comm);
  }
}

RT_FN bool rt_transport_takes_cuda(void) {
  int takes = 0;                    // who knows: device_aware=1 says it
#if defined(MPIX_GPU_SUPPORT_CUDA)  // MPICH from 4.0 on, where it is the number of a kind
  if (MPIX_GPU_query_support(MPIX_GPU_SUPPORT_CUDA, &takes)) takes = 0;
#elif defined(MPIX_CUDA_AWARE_SUPPORT)
  takes = MPIX_Query_cuda_support();
#endif
  return takes == 1;
}

// MPI counts in int.
RT_FN bool rt_transport_gather(struct rt_workers *w, void *all,
                               const struct rt_gathered *g) {
  if (g->total > INT_MAX || g->row_bytes > INT_MAX) return false;
  int *counts = (int *)rt_host_alloc((size_t)w->size * 2 * sizeof *counts);
  int *starts = counts + w->size;
  MPI_Datatype row;
  for (int r = 0; r < w->size; r++) {
    struct rt_block block = rt_gathered_block(w, g, r);
    counts[r] = (int)block.count;
    starts[r] = (int)block.start;
  }
  MPI_Type_contiguous((int)g->row_bytes, MPI_BYTE, &row);
  MPI_Type_commit(&row);
  MPI_Allgatherv(MPI_IN_PLACE, 0, row, all, counts, starts, row, rt_mpi_of(w)->comm);
  MPI_Type_free(&row);
  free(counts);
  return true;
}

RT_FN bool rt_transport_fetch(struct rt_workers *w, char *all, int64_t row_bytes,
                              const struct rt_wanted *wanted) {
  MPI_Comm comm = rt_mpi_of(w)->comm;
  MPI_Datatype row;
  int begun = 0;
  for (int r = 0; r < w->size; r++)  // all see the same
    if (row_bytes > INT_MAX || wanted[r].has_count > INT_MAX) return false;
  MPI_Request *requests =
      (MPI_Request *)rt_host_alloc((size_t)w->size * 2 * sizeof *requests);
  MPI_Type_contiguous((int)row_bytes, MPI_BYTE, &row);
  MPI_Type_commit(&row);
  for (int r = 0; r < w->size; r++) {
    struct rt_range in = rt_overlap(&wanted[r], &wanted[w->rank]);
    struct rt_range out = rt_overlap(&wanted[w->rank], &wanted[r]);
    if (r != w->rank && in.count)
      MPI_Irecv(all + in.start * row_bytes, (int)in.count, row, r, RT_FETCHED, comm,
                &requests[begun++]);
    if (r != w->rank && out.count)
      MPI_Isend(all + out.start * row_bytes, (int)out.count, row, r, RT_FETCHED, comm,
                &requests[begun++]);
  }
  rt_mpi_wait_all(begun, requests);
  MPI_Type_free(&row);
  free(requests);
  return true;
}

// What one worker has for all others, or (of rows) all have for it.
RT_FN int64_t rt_parcels_of(const struct rt_workers *w, const struct rt_parcels *p,
                            int rank, bool sent) {
  int64_t sum = 0;
  for (int r = 0; r < w->size; r++)
    sum += sent ? p->counts[rank * w->size + r] : p->counts[r * w->size + rank];
  return sum;
}

RT_FN bool rt_transport_parcels(struct rt_workers *w, struct rt_parcels *p) {
  int64_t all = rt_parcels_of(w, p, w->rank, true) + rt_parcels_of(w, p, w->rank, false);
  p->staged = p->out = rt_transport_stage(w, rt_sat_mul(all, p->item_bytes));
  return p->out != NULL;
}

RT_FN bool rt_transport_deliver(struct rt_workers *w, struct rt_parcels *p) {
  if (p->item_bytes > INT_MAX) return false;
  for (int r = 0; r < w->size; r++)  // all see the same
    if (rt_parcels_of(w, p, r, true) > INT_MAX || rt_parcels_of(w, p, r, false) > INT_MAX)
      return false;
  size_t size = (size_t)w->size;
  int *sent = (int *)rt_host_alloc(4 * size * sizeof *sent), *from = sent + size,
      *received = from + size, *to = received + size;
  char *in = p->out + rt_parcels_of(w, p, w->rank, true) * p->item_bytes;
  MPI_Datatype item;
  for (int r = 0, out_at = 0, in_at = 0; r < w->size; r++) {
    bool own = r == w->rank;  // stays where it is
    int out_count = (int)p->counts[w->rank * w->size + r];
    int in_count = (int)p->counts[r * w->size + w->rank];
    from[r] = out_at;
    to[r] = in_at;
    sent[r] = own ? 0 : out_count;
    received[r] = own ? 0 : in_count;
    p->in[r] = own ? p->out + out_at * p->item_bytes : in + in_at * p->item_bytes;
    out_at += out_count;
    in_at += in_count;
  }
  MPI_Type_contiguous((int)p->item_bytes, MPI_BYTE, &item);
  MPI_Type_commit(&item);
  MPI_Alltoallv(p->out, sent, from, item, in, received, to, item, rt_mpi_of(w)->comm);
  MPI_Type_free(&item);
  free(sent);
  return true;
}

#ifdef RT_LIBRARY

// ---- libraries

RT_FN void rt_transport_close(struct rt_workers *w) {
  struct rt_mpi *mpi = rt_mpi_of(w);
  int ended = 0;
  if (!mpi) return;
  MPI_Finalized(&ended);
  if (!ended) MPI_Comm_free(&mpi->comm);
  free(mpi->staged);
  free(mpi);
  w->transport = NULL;
}

int RT_NAME(context_config_set_mpi)(struct rt_config *cfg, int comm) {
  int begun = 0, ended = 0;
  MPI_Comm own;
  MPI_Initialized(&begun);
  MPI_Finalized(&ended);
  if (!begun || ended || MPI_Comm_f2c(comm) == MPI_COMM_NULL) return 1;
  rt_transport_close(cfg->workers);
  MPI_Comm_dup(MPI_Comm_f2c(comm), &own);  // apart from what the user sends
  rt_mpi_join(cfg->workers, (struct rt_mpi *)rt_host_alloc(sizeof(struct rt_mpi)), own);
  return 0;
}
#else

// ---- executables

// PoCL's threads are as many as the cores that this worker has to itself, unless the user says
// otherwise.
RT_FN void rt_share_cores(const struct rt_workers *w) {
  char text[24];
  long cores = sysconf(_SC_NPROCESSORS_ONLN);
  if (w->neighbours < 2 || cores < 1) return;
  snprintf(text, sizeof text, "%ld", cores > w->neighbours ? cores / w->neighbours : 1);
  setenv("POCL_MAX_PTHREAD_COUNT", text, 0);
  setenv("POCL_CPU_MAX_CU_COUNT", text, 0);
}

// What all say alike only rank 0 says: takes standard error away from the others; returns where it
// is, to give it back, or -1.
RT_FN int rt_mpi_hush(const struct rt_workers *w) {
  if (w->rank == 0) return -1;
  int kept = dup(2), nowhere = open("/dev/null", O_WRONLY);
  if (nowhere >= 0) {
    dup2(nowhere, 2);
    close(nowhere);
  }
  return kept;
}

RT_FN void rt_mpi_speak(int kept) {
  if (kept < 0) return;
  dup2(kept, 2);
  close(kept);
}

// Refuses to be alone where mpirun has started several: each would do all of the work, and print
// the result.  Only the first one says so, and fails.
RT_FN bool rt_mpi_is_stranger(const struct rt_workers *w, int *status) {
  static const char *const sizes[] = { "OMPI_COMM_WORLD_SIZE", "PMI_SIZE" },
                           *const ranks[] = { "OMPI_COMM_WORLD_RANK", "PMI_RANK" };
  for (int i = 0; i < 2; i++) {
    const char *size = getenv(sizes[i]), *rank = getenv(ranks[i]);
    if (w->size > 1 || !size || strtol(size, NULL, 10) < 2) continue;
    *status =
        rank && strtol(rank, NULL, 10) > 0
            ? 0
            : rt_usage_error("mpirun has started %s processes, but not as those of this "
                             "program's MPI: use the mpirun of the MPI that it was "
                             "built with",
                             size);
    return true;
  }
  return false;
}

RT_FN int rt_transport_main(int argc, char **argv) {
  struct rt_workers w;
  struct rt_mpi mpi;
  memset(&w, 0, sizeof w);
  memset(&mpi, 0, sizeof mpi);
  if (MPI_Init(&argc, &argv) != MPI_SUCCESS)
    return rt_usage_error("MPI could not be started");
  rt_mpi_join(&w, &mpi, MPI_COMM_WORLD);
  int status = 0;
  if (rt_mpi_is_stranger(&w, &status)) return MPI_Finalize(), status;
  rt_share_cores(&w);
  if (w.rank > 0 && !freopen("/dev/null", "w", stdout)) MPI_Abort(MPI_COMM_WORLD, 1);
  int hushed = rt_mpi_hush(&w);
  struct rt_cli cli;
  status = rt_cli_open(&cli, argc, argv);
  rt_mpi_speak(hushed);
  if (status == 0 && !rt_print_information(&cli)) status = rt_run_as_worker(&cli, &w);
  status = rt_cli_close(&cli, status);
  free(mpi.staged);
  MPI_Barrier(MPI_COMM_WORLD);  // when one ends with an error, mpirun ends the others
  MPI_Finalize();
  return status;
}
#endif
// End transport_mpi.h
