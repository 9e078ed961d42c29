// Terms: scalar expressions over variables and constants, without effects; shared by Kern and Imp.
//
// In Kern a term reads no memory: loads are statements.  Imp adds the kinds from TERM_LOAD on, and
// vectors: a term of `lanes` numbers, for as many points at once.
#pragma once
#include "core/core.h"

typedef struct Mem Mem;  // imp/imp.h

typedef enum TermKind {
  TERM_VAR,      // u.var
  TERM_CONST,    // u.constant
  TERM_OP,       // u.op (integer division by zero is excluded by a check before it)
  TERM_CONVERT,  // u.arg, to `type`
  TERM_BITS,     // u.arg: its bits as `type`
  TERM_SELECT,   // condition ? a : b: u.select
  TERM_TUNING,   // the value of a tuning parameter, an i64: u.tuning
} TermKind;

typedef struct Term Term;
struct Term {
  TermKind kind;
  PrimType type;
  union {
    const Var *var;
    Prim constant;
    struct {
      PrimOp op;
      PrimType operands;
      const Term *args[3];
    } op;
    const Term *arg;
    struct {
      const Term *condition, *a, *b;
    } select;
    Name tuning;
  } u;
};

// ---- building; constants and the neutral cases of integer arithmetic fold

const Term *term_var(const Var *var);
const Term *term_const(Prim constant);
const Term *term_i64(int64_t value);
const Term *term_bool(bool value);
const Term *term_atom(Atom a);
const Term *term_op1(PrimOp op, const Term *a);
const Term *term_op2(PrimOp op, const Term *a, const Term *b);
const Term *term_op3(PrimOp op, const Term *a, const Term *b, const Term *d);
const Term *term_add(const Term *a, const Term *b);  // these: i64
const Term *term_sub(const Term *a, const Term *b);
const Term *term_mul(const Term *a, const Term *b);
const Term *term_quot(const Term *a, const Term *b);  // b > 0 is known
const Term *term_ceil_div(const Term *a, const Term *b);
const Term *term_min(const Term *a, const Term *b);
const Term *term_max(const Term *a, const Term *b);
const Term *term_less(const Term *a, const Term *b);
const Term *term_at_most(const Term *a, const Term *b);
const Term *term_and(const Term *a, const Term *b);  // these: bool
const Term *term_or(const Term *a, const Term *b);
const Term *term_convert(PrimType to, const Term *a);
const Term *term_bits(PrimType to, const Term *a);
const Term *term_select(const Term *condition, const Term *a, const Term *b);
const Term *term_tuning(Name name);

// ---- asking

bool term_is_i64(const Term *t, int64_t value);
bool term_is_var(const Term *t, const Var *var);
bool term_is_bool(const Term *t, bool value);
bool term_same(const Term *a,
               const Term *b);  // structurally, up to the order of sums and products
int term_operands(const Term *t, const Term **out);  // at most 3
bool term_mentions(const Term *t, const Var *var);
bool term_mentions_any(const Term *t, const Map *vars);  // Var -> anything
// Has it more than so many operators and operands?  What is put together of lets, each of which
// mentions others twice, gets as long as 2 to the number of lets.
bool term_is_long(const Term *t, int most);
bool term_calls_library(const Term *t);  // a function of the mathematical library
// Does it take a few cycles, and never trap?
bool term_is_cheap(const Term *t);
void term_each_var(const Term *t, void (*visit)(void *state, const Var *var),
                   void *state);

// The same operator on other operands; folds again.
const Term *term_with(const Term *t, const Term *const *args, int count);

// The term with its variables replaced; `of` gives NULL for those that stay.
const Term *term_replace(const Term *t, const Term *(*of)(void *state, const Var *var),
                         void *state);

// The term in terms of what is bound outside of lets (Var -> const Term *); NULL if that is long:
// lets of lets may double it again and again.
const Term *term_inlined(const Map *lets, const Term *t);

// As the paper's notation has it: "j0 * 32 + j".
void term_print(Text *t, const Term *term);
