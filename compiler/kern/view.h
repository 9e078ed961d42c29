// Views: arrays of Core as index functions on tensors, so that slices, rows and transpositions cost
// nothing and accesses keep one index per dimension of the tensor.
#pragma once
#include "kern/kern.h"

// Element (i_0, ..) is tensor[start[d] + sum of i_k * stride[k] over the k with dim[k] == d, ..].
//
// An iota or a replicated scalar lies nowhere: without a tensor, the element at position p of its
// one dimension is first + p * step (step NULL: first).
typedef struct View {
  const Tensor *tensor;
  PrimType elem;
  int rank;
  const Term *const *shape;
  const Term *const *start;   // per dimension of the tensor
  const int *dim;             // per dimension of the view
  const Term *const *stride;  // likewise
  const Term *first, *step;
} View;

// The sizes of a type.
const Term *const *view_shape(CoreType type);
View view_of(const Tensor *tensor);  // all of it
// first, first + step, ..: an array of numbers without memory.
View view_virtual(PrimType elem, const Term *const *shape, const Term *first,
                  const Term *step);
View view_peel(const View *v, const Term *const *indices,
               int count);                       // leading indices fixed
View view_at(const View *v, const Term *index);  // the first one fixed
View view_slice(const View *v, const DimIndex *dims);
View view_rows(const View *v, const Term *start,
               const Term *count);  // of the outermost dimension
// Element vars[0], vars[1], .. is tensor[index..]; false: each of the variables must be in one of
// the indices, alone, times a number.
bool view_by_index(const Tensor *tensor, const Term *const *index, const Var *const *vars,
                   const Term *const *shape, int rank, View *out);
View view_permute(const View *v, const int *perm);
// Of another shape with as many elements; false if that takes a copy.
bool view_reshape(Compiler *c, const View *v, const Term *const *shape, int rank,
                  View *out);
// The same memory under a shape of equal rank whose sizes have other names.
View view_renamed(const View *v, const Term *const *shape);

bool view_same(const View *a,
               const View *b);  // the same elements at the same places, structurally
const Term *view_count(const View *v);  // number of elements

Access view_access(const View *v,
                   const Term *const *indices);  // an element; the view has a tensor
// The element as a variable: loaded, or computed if the view is virtual.
const Term *view_load(KernBuilder *b, const char *name, const View *v,
                      const Term *const *indices);
const Term *view_element(const View *v);  // of a virtual view of rank 0
