// What the files of the interpreter share.  A run compiles the program once into instructions whose
// operands are addresses: every binder of the whole program has words of its own, because no
// function is recursive.  An instruction is a function and its operands; run.c says what that
// costs.
//
//   scalar: one word.
//   array of rank r: 2 + 2r words:  base, store, shape[r], stride[r] (bytes)
//
// Slices, rearrangements and rows are views that share a store.  A store counts the words that
// refer to it; an update whose source dies writes in place when that is the only reference (Note
// [Lifetimes] in body.c).  Counts that are too high cost a copy, never a wrong value.
#pragma once
#include "base/map.h"
#include "core/interp/interp.h"

typedef struct Store {
  int64_t refs;
  struct Store *previous, *next;  // all stores of a machine
  char *data;
  size_t bytes;
} Store;

typedef union Word {
  int64_t i;  // integers and bools, extended as in Prim
  float f32;
  double f64;
  char *base;
  Store *store;
} Word;

// Where a variable or constant lives.
typedef struct Slot {
  Word *at;
  PrimType elem;
  int rank;
} Slot;

typedef struct Machine {
  Compiler *c;
  InterpOptions options;
  int64_t steps;
  Store *stores;
  size_t live_bytes, most_bytes;
  const char *message;  // the failure
  Loc loc;
  bool stops_no_more;  // #[break] has been answered so
} Machine;

typedef struct Ins Ins;
typedef bool InsFn(Machine *m, const Ins *ins);  // false: the run has failed

struct Ins {
  InsFn *run;
  Word *dst;
  const Word *a, *b, *c;
  const void *more;  // what does not fit into the operands
  const Stm *stm;    // for messages; NULL in glue
};

typedef struct InsCode {
  const Ins *ins;
  int count;
} InsCode;

typedef Vec(Ins) InsVec;

// The code generator.
typedef struct Gen {
  Compiler *c;
  Machine *m;
  Map *slots;      // Var to Slot
  Map *functions;  // Function to FunctionCode
  InsVec code;     // what is being generated
  const Stm *stm;
  VarVec dying;  // arrays whose last use is the statement that is being generated
} Gen;

// ---- arrays (array.c)

static inline int64_t *slot_shape(Slot s) { return &s.at[2].i; }
static inline int64_t *slot_strides(Slot s) { return &s.at[2 + s.rank].i; }
static inline size_t slot_words(Slot s) { return s.rank ? 2 + 2 * (size_t)s.rank : 1; }

int64_t shape_count(const int64_t *shape,
                    int rank);  // elements of an array of that shape
// Gives `to` fresh dense storage; false when memory is exhausted.
bool array_alloc(Machine *m, const Stm *stm, Slot to, const int64_t *shape);
// Lets the words refer to dense bytes that the machine does not own and never writes.
void array_borrow(Machine *m, Slot to, const int64_t *shape, char *data);
void array_release(Machine *m, Slot s);  // the words refer to nothing afterwards
void array_share(Machine *m, Slot to, Slot from);
void array_move(Machine *m, Slot to, Slot from);
// Row-major without gaps?
bool array_is_dense(Slot s);
// Makes `to` a dense copy of `from`.
bool array_copy(Machine *m, const Stm *stm, Slot to, Slot from);
// Moves `from` to `to` if it may be overwritten, else copies it; a `movable` source dies either
// way.
bool array_take(Machine *m, const Stm *stm, Slot to, Slot from, bool movable);

// One side of a copy between strided regions.
typedef struct MemoryRegion {
  char *base;
  const int64_t *strides;
} MemoryRegion;
void region_copy(MemoryRegion to, MemoryRegion from, const int64_t *shape, int rank,
                 int64_t elem_bytes);
void region_dense_strides(int64_t *strides, const int64_t *shape, int rank,
                          int64_t elem_bytes);

typedef void LoadFn(Word *to, const char *from);
typedef void StoreFn(char *to, const Word *from);
LoadFn *scalar_load(PrimType type);
StoreFn *scalar_store(PrimType type);
Prim word_prim(PrimType type, const Word *w);
void word_set_prim(Word *w, Prim p);
Value *value_of_slot(Slot s);  // a copy (run.c)

// ---- running (run.c)

// Runs to the end or to the first failure; false then.
bool run_code(Machine *m, const InsCode *code);
#define NEGATIVE_SIZE "Range 0..1..<%lld is invalid (a negative size)"
// The program is at fault: keeps the message and returns false.
bool run_fail(Machine *m, const Stm *stm, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
// We are at fault: reports it and stops the compiler.
_Noreturn void run_bug(Machine *m, const Stm *stm, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

// ---- generating (body.c; a function per group of expressions elsewhere)

Slot gen_slot(Gen *g, Atom a);
// The words of a variable, made at its first mention.
Slot gen_var(Gen *g, const Var *var);
Slot gen_temp(PrimType elem, int rank);  // words that only the code being made uses
Slot *gen_binders(Gen *g);               // of the current statement
Slot *gen_atoms(Gen *g, const Atom *atoms, int count);
void gen_add(Gen *g, Ins ins);
InsVec gen_begin(Gen *g);  // starts a separate piece of code; returns the one around
const InsCode *gen_end(Gen *g, InsVec outer);
bool gen_consume(Gen *g, Atom a);  // may the statement take the array over?
void gen_move(Gen *g, Slot to, Atom from);
void gen_trace(Gen *g, const Stm *stm);  // shows the results (trace.c)
void gen_stop(Gen *g, const Stm *stm);   // asks whether to go on (trace.c)
void gen_moves(Gen *g, const Slot *to, const Atom *from, int count);  // as if at once
void gen_move_slot(Gen *g, Slot to, Slot from, bool consume);
void gen_alias(Gen *g, const Var *var,
               Slot slot);               // the variable lives where the slot is
void gen_check(Gen *g, const Var *var);  // is the array's shape what its type says?
// The body, with `mortal` arrays from outside dying in it too; its results are moved to `to`.
void gen_body(Gen *g, const Body *body, VarVec mortal, const Slot *to);
// The lambda's body as part of the current code; arrays among the results have slots of their own.
Slot *gen_lambda(Gen *g, const Lambda *fn);
void gen_lambda_to(Gen *g, const Lambda *fn, const Slot *to);
const InsCode *gen_branch(Gen *g, const Body *body, VarVec mortal, const Slot *to);

void gen_stm(Gen *g, const Stm *stm);                  // appends the code of a statement
void gen_scalar_exp(Gen *g, const Exp *exp, Slot to);  // op, convert, bits
void gen_index_exp(Gen *g, const Exp *exp, Slot to);   // index, update
void gen_array_exp(Gen *g, const Exp *exp, Slot to);   // iota .. array
void gen_control_exp(Gen *g, const Exp *exp,
                     const Slot *to);  // assert, if, loop, call, choose, guard
void gen_workers_exp(Gen *g, const Exp *exp,
                     const Slot *to);  // split .. fetch, of several workers (workers.c)
void gen_soac_exp(Gen *g, const Exp *exp, const Slot *to);  // map .. filter, seg
