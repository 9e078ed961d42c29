// The mapnest context Sigma of the flattening rules (PPoPP'19, section 2.1): the maps around an
// expression, outermost first, and what they bind.
//
// A context is an immutable chain; each link is a dimension of the nest, a variable that is read
// from an array at the nest's position, or a cheap statement that is computed again wherever its
// value is needed (rule G6 would store it otherwise).  NULL is the empty context.
#pragma once
#include "core/core.h"

typedef enum NestKind {
  NEST_LEVEL,  // < width: u.level
  NEST_READ,   // var in array: u.read
  NEST_INDEX,  // var = the position in a level: u.index
  NEST_STM,    // let ... = ...: u.stm
} NestKind;

typedef struct Nest {
  NestKind kind;
  const struct Nest *outer;
  int depth;  // levels up to and including this link
  union {
    struct {
      Atom width;
    } level;
    // var = array[i_k, ..., i_1] for the innermost k = index_count levels at this link
    struct {
      const Var *var;
      Atom array;
      int index_count;
    } read;
    struct {
      const Var *var;
      int level;        // 1 for the outermost
      const Var *iota;  // that `var` is an element of; NULL: none
    } index;
    struct {
      const Stm *stm;
    } stm;
  } u;
} Nest;

// Sigma, < width: one more level, innermost.
const Nest *nest_level(const Nest *outer, Atom width);
// Sigma with var = array[positions of the innermost index_count levels].
const Nest *nest_read(const Nest *outer, const Var *var, Atom array, int index_count);
// Sigma with var = the position in a level, the outermost being 1.
const Nest *nest_index(const Nest *outer, const Var *var, int level);
// Sigma with a statement that is computed again where it is needed.
const Nest *nest_stm(const Nest *outer, const Stm *stm);

// var = the position in the innermost level, being an element of an iota.
const Nest *nest_position(const Nest *outer, const Var *var, const Var *iota);

int nest_depth(const Nest *nest);  // the number of levels
bool nest_binds(const Nest *nest, const Var *var);  // var in Dom(Sigma)
bool nest_varies(const Nest *nest, Atom a);         // a variable bound by the context

// The widths, outermost first, in `out` (nest_depth of them).
void nest_widths(const Nest *nest, Atom *out);

// Par(Sigma): the product of the widths; NULL for the empty context.
const SizeExp *nest_par(const Nest *nest);

// The array from outside the context that `var` is read from at the innermost `*index_count`
// levels (rule G5 permutes that one); false if there is no such array.
bool nest_origin(const Nest *nest, const Var *var, Atom *array, int *index_count);

// segmap^level Sigma body, segred ... : a seg-op over the context whose body starts with what it
// needs of the context.  Everything in it is renamed.  `like` gives kind, level and operators;
// its dims and body are ignored.
const SegOp *nest_manifest(Compiler *c, const Nest *nest, const SegOp *like,
                           const Body *body);

// The context without its innermost level, and the body wrapped in a map for that level (rule
// G8).  Variables are shared with the context: rename the result.
const Nest *nest_put_back(Compiler *c, const Nest *nest, const Body *body,
                          const Exp **map);
