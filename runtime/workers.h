// Begin workers.h: several workers that run one program together; only in programs made for that.
//
// All run the same host code on the same scalars.  A worker has a rank, from 0 on; each has all of
// an array, or a block of its rows (compiler/flat/workers.h).  Blocks follow the ranks; those of n
// rows among w workers have n/w rows, the first n%w of them one more.
//
// What connects the workers is a transport (transport_mpi.h), which defines the functions below.
// They are called by all workers in the same order.

struct rt_context;
struct rt_mem;

// What connects this worker with the others.
struct rt_workers {
  int rank, size;
  int neighbours;   // workers on this machine, this one included
  int64_t gathers;  // that moved something
  int64_t sent,
      received;  // bytes of arrays, as a worker that talks to each other one counts them
  int64_t ns;    // in gathers, waiting included
  bool failed;             // in this call, and all know it
  char *staged;            // host memory for gathers
  int64_t staged_bytes;
};

// Rows of an array; what generated code knows of its split.
struct rt_block {
  int64_t start, count, workers, rank;
};

// Where this worker's rows belong: `count` of `total` from `start` on; workers 1: they are all.
// For a border: the rows wanted before and after them.
struct rt_gathered {
  int64_t workers, total, start, count, row_bytes, before, after;
};

// ---- transports

// Connects; false after a message on standard error.
RT_FN bool rt_transport_open(struct rt_workers *w, int *argc, char ***argv);
// After the last other call, on all workers.
RT_FN void rt_transport_close(struct rt_workers *w);
// Ends all workers; does not return.
RT_FN void rt_transport_abort(struct rt_workers *w);
// The least of the numbers.
RT_FN int rt_transport_least(struct rt_workers *w, int number);
// The bytes of the worker of this rank, for all.
RT_FN void rt_transport_broadcast(struct rt_workers *w, int from, void *bytes,
                                  int64_t count);
// `all` holds `total` rows, of which this worker has put its block in its place: with all blocks
// afterwards.  False if that is more than the transport can move at once.
RT_FN bool rt_transport_gather(struct rt_workers *w, void *all, int64_t total,
                               int64_t row_bytes);

// Exchanges rows with the neighbours by rank: `low` and `high` get what the one before and the one
// after send, from `first` and `last`; so many bytes, 0 where there is no neighbour.
struct rt_exchange {
  void *first, *last, *low, *high;
  int64_t first_bytes, last_bytes, low_bytes, high_bytes;
};
RT_FN bool rt_transport_exchange(struct rt_workers *w, const struct rt_exchange *e);

// ---- failures

// If any worker has failed: all have, with the code and the message of the one with the lowest
// rank.  Called before every gather and at the end of every entry point, so that nobody waits for
// one that has left; once in a call.
RT_FN int rt_workers_agree(struct rt_context *ctx, int error);

// Does another worker share the machine?
RT_FN bool rt_has_neighbours(const struct rt_context *ctx);

// ---- what generated host code calls

// The rows of this worker among `width`: its block if the guard is taken for `par` operations, else
// all, as each worker has them then.
RT_FN struct rt_block rt_workers_split(struct rt_context *ctx, int guard, int64_t par,
                                       int64_t width);
// to = all rows; `from` holds those of this worker.
RT_FN int rt_workers_gather(struct rt_context *ctx, struct rt_mem **to,
                            struct rt_mem *from, const struct rt_gathered *g);
// to = the rows of this worker, which `from` holds, with some before and after them.
RT_FN int rt_workers_border(struct rt_context *ctx, struct rt_mem **to,
                            struct rt_mem *from, const struct rt_gathered *g);
// to = a value of each worker.
RT_FN int rt_workers_gather_value(struct rt_context *ctx, struct rt_mem **to,
                                  const void *value, const struct rt_gathered *g);

RT_FN struct rt_block rt_block_of(int64_t total, int64_t workers, int64_t rank);
// End workers.h
