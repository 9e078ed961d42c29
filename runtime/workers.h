// Begin workers.h: several workers that run one program together; only in programs made for that.
//
// All run the same host code on the same scalars.  A worker has a rank, from 0 on; each has all of
// an array, or a block of its rows (compiler/flat/workers/workers.h).  Blocks follow the ranks;
// those of n rows among w workers have n/w rows, the first n%w of them one more, or as many as
// their weights say.
//
// What connects the workers is a transport (transport_mpi.h, transport_threads.h), which defines
// the functions below.  They are called by all workers in the same order.

struct rt_context;
struct rt_mem;
struct rt_text;

enum {
  RT_MOST_WEIGHT = 1000000,
  RT_USUAL_WEIGHT = 100,
  RT_RACE_WEIGHTS = 64,  // of workers
  RT_NO_WEIGHT = -2
};

// What connects this worker with the others.
struct rt_workers {
  int rank, size;
  int neighbours;   // workers on this machine, this one included
  int64_t gathers;  // that moved something
  int64_t sent,
      received;  // bytes of arrays, as a worker that talks to each other one counts them
  int64_t ns;    // in gathers, and some of the waiting
  int64_t waited;   // ns, for others to come to an exchange
  int64_t busy;     // ns of the last call that was timed, without that
  bool failed;      // in this call, and all know it
  bool mixed;       // their devices are of different kinds, or run different code
  bool other_code;  // this one does not run the code of rank 0
  bool priced;      // what exchanges take has been measured, or set
  bool lends;       // gathers take memory of devices (all workers have such)
  bool divides;     // what is read is needed by rows: of binary values each reads its own
  uint64_t read;    // a hash of what all have read
  int64_t exchange_ns,
      megabyte_ns;   // what an exchange takes, and a megabyte more in it (price.h)
  int64_t *weights;  // for the sizes of blocks: of each worker, the program's, then those of each
                     // layout; -1: the program's
  int weighing;      // how often the program's were set
  void *transport;   // what the transport keeps of this worker
  struct rt_underway *underway;  // a border; or NULL
};

// Rows of an array; what generated code knows of its split.
struct rt_block {
  int64_t start, count, workers, rank;
  int64_t most;  // rows of the largest block, if it is of a split
};

// Where this worker's rows belong: `count` of `total` from `start` on; workers 1: they are all;
// each: every worker has one.  For a border: the rows wanted before and after them; in a ring the
// last row comes before the first.  room: those have a place in the block's memory, where so many
// rows lie before the block (else before_block is 0).
struct rt_gathered {
  int64_t workers, total, start, count, row_bytes, before, after;
  bool each, ring, room;
  int64_t before_block;
  int layout;  // by the weights of which the blocks are made; 0: by the program's
};

// ---- transports

#ifdef RT_LIBRARY
// Parts from the others.
RT_FN void rt_transport_close(struct rt_workers *w);
#else
// Runs the program that the command line asks for, as each worker; returns the exit status.
RT_FN int rt_transport_main(int argc, char **argv);
#endif
// Begins and ends what workers of one process do one after the other.
RT_FN void rt_transport_alone(struct rt_workers *w, bool begins);
// The least of the numbers.
RT_FN int rt_transport_least(struct rt_workers *w, int number);
// The bytes of the worker of this rank, for all.
RT_FN void rt_transport_broadcast(struct rt_workers *w, int from, void *bytes,
                                  int64_t count);
// Host memory for so many bytes, until the next time; NULL if there is none.  All workers put what
// they send into it, meet (rt_transport_least), and then gather or exchange.
RT_FN char *rt_transport_stage(struct rt_workers *w, int64_t bytes);
// `all` holds all rows, of which this worker has put its block in its place: with all blocks
// afterwards.  False if that is more than the transport can move at once.
RT_FN bool rt_transport_gather(struct rt_workers *w, void *all,
                               const struct rt_gathered *g);

// Does that take memory of a device of CUDA's, too?
RT_FN bool rt_transport_takes_cuda(void);

// Exchanges rows with the neighbours by rank: `low` and `high` get what the one before and the one
// after send, from `first` and `last`; so many bytes, 0 where there is none.  All lie in the
// staged memory, in one layout: where workers share that, nothing needs to be moved.
struct rt_exchange {
  int before, after;  // ranks; -1: none
  void *first, *last, *low, *high;
  int64_t first_bytes, last_bytes, low_bytes, high_bytes;
};
// Begins that, with a number, and ends it with the least of all numbers.  Nothing else may happen
// between the two.  e NULL, a number below `size`: this worker has failed, and exchanges nothing.
RT_FN void rt_transport_begin(struct rt_workers *w, int number,
                              const struct rt_exchange *e);
RT_FN int rt_transport_end(struct rt_workers *w);

// What a worker has of an array, and what it wants: rows from the first on.  Of all that it has,
// another one wants what lies in both.
struct rt_wanted {
  int64_t has, has_count, wants, wants_count;
};

// The rows that the one has and the other wants.
struct rt_range {
  int64_t start, count;
};

RT_FN struct rt_range rt_overlap(const struct rt_wanted *owner,
                                 const struct rt_wanted *other);

// Sends each other worker what it wants of this one's rows, and gets what this one wants of theirs:
// `all` is as in a gather, with some of its rows.
RT_FN bool rt_transport_fetch(struct rt_workers *w, char *all, int64_t row_bytes,
                              const struct rt_wanted *wanted);

// What workers have for the blocks of others: items of so many bytes.  counts: [size][size], of
// what one has for another, which all know.  out: where this worker puts its items, those for one
// worker behind those for the one before; in: where those of each worker for this one are.
struct rt_parcels {
  const int64_t *counts;
  int64_t item_bytes;
  char *staged, *out;
  const char **in;
};

// Finds `out`; false if there is no memory.  As with a stage, all then meet.
RT_FN bool rt_transport_parcels(struct rt_workers *w, struct rt_parcels *p);
// Finds `in`; false if that is more than the transport can move at once.
RT_FN bool rt_transport_deliver(struct rt_workers *w, struct rt_parcels *p);

// ---- failures

// If any worker has failed: all have, with the code and the message of the one with the lowest
// rank.  Called before every gather (a border asks while its rows travel) and at the end of every
// entry point, so that nobody waits for one that has left; once in a call.
RT_FN int rt_workers_agree(struct rt_context *ctx, int error);

// When the context has been made, or not (`error`): the same parameters for all, unless their
// devices are of different kinds; an error if they are, and the program is not made for that.
RT_FN int rt_workers_begin(struct rt_context *ctx, int error);
// The same parameters and sizes for all, where they decide.
RT_FN void rt_workers_settle(struct rt_context *ctx);
#ifndef RT_LIBRARY
// Standard input as rank 0 reads it; its next line, as by getline, false if there is none or nobody
// hears the reply to the last one; of this worker, in the log.
RT_FN char *rt_workers_input(struct rt_workers *w, size_t *length);
RT_FN bool rt_workers_line(struct rt_workers *w, bool heard, char **line,
                           size_t *capacity);
RT_FN void rt_workers_report(struct rt_context *ctx);
// The microseconds that each worker has worked in the last call that was timed, in lines.
RT_FN int rt_workers_busy(struct rt_context *ctx, struct rt_text *out);
// Notes a value that was read, unless it was divided, and its length; an error unless all have
// noted the same.
RT_FN void rt_workers_note(struct rt_workers *w, const char *bytes, size_t length);
RT_FN int rt_workers_have_read(struct rt_context *ctx, const char *file);
#endif

// What is exchanged for so many kernels that a split divides.
struct rt_moved {
  int64_t bytes;
  int exchanges, kernels;
};

// Measures what exchanges take, once; what those for a kernel of a split do, in operations
// (price.h).
RT_FN int rt_price_begin(struct rt_context *ctx);
// Is that the threshold of a split of which nothing was said?  What exchanges take is added then.
RT_FN bool rt_is_usual_split(int64_t threshold);
RT_FN int64_t rt_price(const struct rt_context *ctx, const struct rt_moved *moved);

// Whose weight: in number `layout` of the program's layouts, from 1 on; 0: in all that have none.
struct rt_weight {
  int layout, rank;
};

// weight_2, main.layout_1.weight_2; rank -1: the name is no weight.
RT_FN struct rt_weight rt_weight_named(const char *name);
// What is in force.
RT_FN int64_t rt_workers_weight(const struct rt_workers *w, struct rt_weight of);
// Sets a weight from the next split on; not 0 if no worker would have one.  Ranks that there are
// not may have any.
RT_FN int rt_workers_weigh(struct rt_context *ctx, struct rt_weight of, int64_t weight);

#ifdef RT_LIBRARY
// One, until the user names others; and its end.
RT_FN struct rt_workers *rt_workers_one(void);
RT_FN void rt_workers_free(struct rt_workers *w);
// Around what the user calls, with the error that it has: all have the same one afterwards.
RT_FN void rt_workers_call(struct rt_context *ctx);
RT_FN int rt_workers_called(struct rt_context *ctx, int error);
// total = the rows of all workers together, of which this one has `rows`; an error unless that is
// its block.
RT_FN int rt_workers_rows(struct rt_context *ctx, const char *name, int64_t rows,
                          int64_t *total);
#endif

#ifdef RT_DIVIDES
// ---- arrays of executables of which each worker has its rows (divided.h)

struct rt_array;
struct rt_value;
struct rt_type;
struct rt_reader;

// This worker's rows of an input from now on, and how many all have; and a result that is such.
RT_FN int rt_input_block(struct rt_context *ctx, struct rt_array *array, int64_t *rows);
RT_FN void rt_result_block(const struct rt_context *ctx, struct rt_array *array);
// All workers have all of it from now on; or rank 0 has.
RT_FN int rt_array_whole(struct rt_context *ctx, struct rt_array *array);
RT_FN int rt_array_collect(struct rt_context *ctx, struct rt_array *array);
// The same for all arrays of a value.
RT_FN int rt_value_together(struct rt_context *ctx, int type,
                            const struct rt_value *value,
                            int (*become)(struct rt_context *ctx,
                                          struct rt_array *array));
// A copy is divided like the array.
RT_FN void rt_divided_like(struct rt_array *array, const struct rt_array *other);
// Should this worker read its rows of the next value, and can it?  It does.
RT_FN bool rt_reads_rows(const struct rt_context *ctx, struct rt_reader *r);
RT_FN int rt_read_rows(struct rt_context *ctx, struct rt_reader *r,
                       const struct rt_type *t, struct rt_value *out);
#endif

// ---- what generated host code calls

// The rows of this worker among `width`: its block if the guard is taken for `par` operations, else
// all, as each worker has them then.
RT_FN int rt_workers_split(struct rt_context *ctx, int guard, int64_t par,
                           const struct rt_moved *moved, int layout, int64_t width,
                           struct rt_block *block);
// The same rows in another layout: of so many workers, as the split has found.
RT_FN struct rt_block rt_workers_likewise(const struct rt_context *ctx, int64_t workers,
                                          int layout, int64_t width);
// In programs for devices of different kinds: a guard whose branches hold exchanges is taken by all
// workers if each of them would take it.
RT_FN int rt_workers_guard(struct rt_context *ctx, int guard, int64_t par,
                           int64_t local_bytes, int64_t step, bool *taken);
// to = all rows; `from` holds those of this worker.
RT_FN int rt_workers_gather(struct rt_context *ctx, struct rt_mem **to,
                            struct rt_mem *from, const struct rt_gathered *g);
// to = the rows of this worker, which `from` holds, with some before and after them; later: those
// may still be on their way, until they are awaited, or until whatever else the workers exchange.
RT_FN int rt_workers_border(struct rt_context *ctx, struct rt_mem **to,
                            struct rt_mem *from, const struct rt_gathered *g, bool later);
RT_FN int rt_workers_await(struct rt_context *ctx);
// to = `rows` rows from row `first` on of what all workers have in order; `from` holds those of
// this one.  Blocks may be of any sizes.
RT_FN int rt_workers_fetch(struct rt_context *ctx, struct rt_mem **to,
                           struct rt_mem *from, const struct rt_gathered *g,
                           int64_t first, int64_t rows);
// Of what a row consists: `outer` times `count` columns, of so many bytes; a worker wants some of
// these, from number `first` on.
struct rt_columns {
  int64_t outer, count, column_bytes, first, wanted;
};

// to = the wanted columns of the rows that all workers have in order; `from` holds the rows of this
// one.  If one worker has all rows, all have, and want all columns.
RT_FN int rt_workers_columns(struct rt_context *ctx, struct rt_mem **to,
                             struct rt_mem *from, const struct rt_gathered *g,
                             const struct rt_columns *columns);
// to = this worker's block of the rows of all, which `from` holds, with values put into it: number
// k of each worker's `values`, of so many bytes, is for place positions[k] of such in all rows, or
// for none.  If one worker has all rows, all have.
RT_FN int rt_workers_deliver(struct rt_context *ctx, struct rt_mem **to,
                             struct rt_mem *from, const struct rt_gathered *g,
                             struct rt_mem *positions, struct rt_mem *values,
                             int64_t points, int64_t value_bytes);
// to = a value of each worker.
RT_FN int rt_workers_gather_value(struct rt_context *ctx, struct rt_mem **to,
                                  const void *value, const struct rt_gathered *g);

// A worker's block of a split of `total` rows, or of what is gathered.
RT_FN struct rt_block rt_block_of(const struct rt_workers *w, int layout, int64_t total,
                                  int rank);
RT_FN struct rt_block rt_gathered_block(const struct rt_workers *w,
                                        const struct rt_gathered *g, int rank);
// End workers.h
