// One body as a graph of statements, for fuse.c: where each value comes from, who reads it, and in
// which order the statements stand.
#pragma once
#include "core/core.h"

typedef Vec(Stm) StmVec;
typedef Vec(RedOp) RedOpVec;
typedef Vec(HistOp) HistOpVec;

// A SOAC taken apart, so that it can grow.  `arrays` and `params` run in parallel, and so do
// `reduced` and `reduced_binders` (reductions and scans), `mapped` and `mapped_binders`.  Of
// EXP_SCATTER, EXP_HIST and EXP_FILTER all results of the lambda are `mapped`, and the binders are
// those of the statement, whose numbers need not agree.
typedef struct Form {
  ExpKind kind;
  Atom width;
  AtomVec arrays;
  VarVec params;
  StmVec stms;
  AtomVec reduced, mapped;
  VarVec reduced_binders, mapped_binders;
  RedOpVec ops;
  HistOpVec hists;
  bool nested;  // the lambda contains SOACs
} Form;

// A statement of the body.
typedef struct Node {
  Stm stm;  // as it was: once `grown`, only its expression's destinations, loc and attrs count
  int position;   // in Graph.order; -1 once it is part of another node
  VarVec free;    // variables that it mentions, each once
  Map *mentions;  // the same as keys
  Map *inside;    // those that it mentions otherwise than as an input array
  Form *form;     // NULL: no SOAC
  bool grown;     // the form differs from the statement
} Node;

typedef struct Graph {
  Compiler *c;
  Node **order;  // the statements in order; NULL where one has become part of another
  int count;
  Map *producers;  // Var -> Node, for what this body binds
  Map *uses;       // Var -> int *: how many nodes and body results mention it
  Map *sources;    // Var -> Var: what a view (reshape, slice, ...) shows
  bool is_inner;   // the body is within the function of an operator
  bool in_loop;    // or in a loop
} Graph;

Graph *graph_new(Compiler *c, const Body *body);

// The statements in their present order, grown forms put together again.
const Body *graph_body(const Graph *g, const Body *old);

Node *graph_producer(const Graph *g, Atom a);  // NULL: bound outside
int graph_uses(const Graph *g, const Var *var);

// True if `b` may join `a`, which stands before it: nothing that `b` needs depends on `a` except
// the elements that `a` maps, and no statement that moves in front of `a` overwrites what it reads.
bool graph_can_join(const Graph *g, const Node *a, const Node *b);

// Makes `b` part of `a`: one pass over memory, in which `b` takes the elements that `a` has just
// computed.  Results of `a` that nobody else reads disappear.  Needs graph_can_join; position in
// the source and attributes are left to the caller.
void graph_join(Graph *g, Node *a, Node *b);

// Whether nothing that stands between them overwrites what `a` reads: it may run where `b` stands.
bool graph_can_wait(const Graph *g, const Node *a, const Node *b);

// Replaces the inputs of a SOAC that are replicate n x by x itself.
void graph_inline_replicates(Graph *g, Node *node);

// `binder` is the array of elements that a SOAC's lambda returned (not reduced, not scanned).
int form_mapped_index(const Form *form, const Var *binder);

// A SOAC's form, or NULL for other statements; and the expression of a grown form, whose
// destinations are those of `old`.
Form *form_of(const Stm *stm);
const Exp *form_exp(const Form *form, const Exp *old);

const Body *form_body(const Form *form);  // the lambda's

// Binders of the form, reduced ones first.
VarVec form_binders(const Form *form);

// Reversals, rotations and parts of what maps make as maps, and all other rotations
// (fuse_turned.c).
const Body *fuse_turned(Compiler *c, const Body *body);

// Scans behind their own neutral element as scans of what stands behind it (fuse_shifted.c).
const Body *fuse_shifted(Compiler *c, const Body *body);

// Transposed literals of rows as maps (fuse_interleaved.c).
const Body *fuse_interleaved(Compiler *c, const Body *body);

// Concats of what scalar code makes, or what a map alone reads, as one map each (fuse_joined.c);
// within operators only the latter.
const Body *fuse_joined(Compiler *c, const Body *body, bool is_inner, bool in_loop);

// Scatters whose places are a few sums of their elements' numbers as maps (fuse_placed.c).
const Body *fuse_placed(Compiler *c, const Body *body);

// Cheap elements of a map that another one reads by their numbers, made there (fuse_read.c): of one
// map, if there is one, else the body itself.  `places`: the variables that are iotas from 0 on.
const Body *fuse_read(Compiler *c, const Map *places, const Body *body);
// Adds those that the body binds.
void fuse_note_places(Map *places, const Body *body);

// Sums of what a filter keeps, without keeping it (fuse_filter.c).
const Body *fuse_filters(Compiler *c, const Body *body);
