// Which kernels are compiled in one program: those of an entry point that are launched after the
// same outcomes of guards, whichever guards these are, unless their texts are long; and others as
// well, while all are short.
//
// Why: an OpenCL compiler takes as long to begin a program (its own headers and libraries) as for
// some 30,000 characters of kernels (PoCL; docs/opencl.md, "Time to compile"); but what is not
// launched in the end is read in vain.  Nests that follow each other are often run in versions of
// one kind: all outer parallelism, or all within groups.  Tests run all versions: there one program
// has all kernels.
#include "base/map.h"
#include "emit/emit.h"

enum { LONG_BATCH = 100000, SHORT_BATCH = 16000 };  // characters

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
  Map *pieces;  // Kernel -> LaunchPiece: of its first launch
  Batch *last;
  bool all;  // in one
};

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
    for (int i = 0; i < count; i++)
      find_pieces(b, inner[i], stm->kind == IMP_GUARD ? after_outcome(piece, i) : piece);
    if (stm->kind == IMP_LAUNCH && !map_has(b->pieces, stm->u.launch.kernel))
      map_put(b->pieces, stm->u.launch.kernel, piece);
  }
}

Batches *emit_batches(const ImpProgram *program, bool all) {
  Batches *b = new_node(Batches, .pieces = map_new(NULL), .all = all);
  for (int i = 0; i < program->entry_count; i++)
    find_pieces(b, &program->entries[i]->body, new (LaunchPiece));
  return b;
}

int emit_batch_of(Batches *b, const Kernel *kernel, size_t length) {
  if (b->all) return 0;
  LaunchPiece *piece = map_get(b->pieces, kernel);
  if (!piece->batch && b->last && b->last->length + length <= SHORT_BATCH)
    piece->batch = b->last;
  if (!piece->batch || piece->batch->length + length > LONG_BATCH) {
    piece->batch = new_node(Batch, .number = b->last ? b->last->number + 1 : 0);
    b->last = piece->batch;
  }
  piece->batch->length += length;
  return piece->batch->number;
}
