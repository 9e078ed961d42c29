// Which kernels are compiled in one program: those of an entry point that are launched after the
// same outcomes of guards, whichever guards these are, unless their texts are long; and others as
// well, while all are short.  Long recipes of a kernel, of which the host picks one, are compiled
// apart in the same way.
//
// Why: an OpenCL compiler takes as long to begin a program as for some 10,000 characters of kernels
// (PoCL; docs/opencl.md, "Time to compile"); but what is not launched in the end is read in vain.
// Nests that follow each other are often run in versions of one kind: all outer parallelism, or all
// within groups.
#include "base/map.h"
#include "emit/emit.h"

enum {  // characters
  LONG_BATCH = 40000,
  SHORT_BATCH = 8000,
  SHORT_KERNEL = 4000,    // goes into a long batch as well
  SHORT_VERSIONS = 4000,  // what runs after either outcome of a guard
  LONG_RECIPES = 10000,   // of a kernel, together
};

typedef struct Batch {
  int number;
  size_t length;  // of the texts so far
} Batch;

// Code that runs after some outcomes of guards.
typedef struct LaunchPiece LaunchPiece;
struct LaunchPiece {
  LaunchPiece *then_piece, *else_piece;  // after one more; NULL: none yet
  Batch *batch;                          // where its next kernel goes; NULL: none yet
};

struct Batches {
  const Map *lengths;  // Kernel -> const size_t *: of its text
  Map *pieces;         // Kernel -> LaunchPiece: of its first launch
  Batch *last;
};

static size_t length_of(const Batches *b, const Kernel *kernel) {
  const size_t *length = map_get(b->lengths, kernel);
  return *length;
}

// Of the texts of all kernels that are launched there.
static size_t launched_length(const Batches *b, const ImpBlock *block) {
  size_t length = 0;
  vec_each (const ImpStm **, at, block) {
    const ImpBlock *inner[2];
    int count = imp_blocks(*at, inner);
    for (int i = 0; i < count; i++)
      length += launched_length(b, inner[i]);
    if ((*at)->kind == IMP_LAUNCH) length += length_of(b, (*at)->u.launch.kernel);
  }
  return length;
}

// Are the outcomes compiled apart?
static bool is_choice(const Batches *b, const ImpStm *stm) {
  const ImpBlock *inner[2];
  if (stm->kind != IMP_GUARD && stm->kind != IMP_IF) return false;
  imp_blocks(stm, inner);
  size_t yes = launched_length(b, inner[0]), no = launched_length(b, inner[1]);
  if (stm->kind == IMP_GUARD) return yes + no > SHORT_VERSIONS;
  return yes > 0 && no > 0 && yes + no > LONG_RECIPES;
}

static LaunchPiece *after_outcome(LaunchPiece *piece, int branch) {
  LaunchPiece **next = branch == 0 ? &piece->then_piece : &piece->else_piece;
  if (!*next) *next = new (LaunchPiece);
  return *next;
}

static void find_pieces(Batches *b, const ImpBlock *block, LaunchPiece *piece) {
  vec_each (const ImpStm **, at, block) {
    const ImpStm *stm = *at;
    const ImpBlock *inner[2];
    int count = imp_blocks(stm, inner);
    bool choice = is_choice(b, stm);
    for (int i = 0; i < count; i++)
      find_pieces(b, inner[i], choice ? after_outcome(piece, i) : piece);
    if (stm->kind == IMP_LAUNCH && !map_has(b->pieces, stm->u.launch.kernel))
      map_put(b->pieces, stm->u.launch.kernel, piece);
  }
}

Batches *emit_batches(const ImpProgram *program, const Map *lengths) {
  Batches *b = new_node(Batches, .lengths = lengths, .pieces = map_new(NULL));
  for (int i = 0; i < program->entry_count; i++)
    find_pieces(b, &program->entries[i]->body, new (LaunchPiece));
  return b;
}

static bool has_room(const Batch *batch, size_t length) {
  return length <= SHORT_KERNEL || batch->length + length <= LONG_BATCH;
}

int emit_batch_of(Batches *b, const Kernel *kernel) {
  LaunchPiece *piece = map_get(b->pieces, kernel);
  size_t length = length_of(b, kernel);
  if (!piece->batch && b->last && b->last->length + length <= SHORT_BATCH)
    piece->batch = b->last;
  if (!piece->batch || !has_room(piece->batch, length)) {
    piece->batch = new_node(Batch, .number = b->last ? b->last->number + 1 : 0);
    b->last = piece->batch;
  }
  piece->batch->length += length;
  return piece->batch->number;
}
