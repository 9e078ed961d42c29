// Core functions: scalars in, scalars out, nothing that can fail; a function in C, too.
#include "imp/lower/lower.h"

const ImpFunction *imp_lower_function(Compiler *c, const Function *function) {
  Lower lower = { .c = c };
  ImpBuilder b = { .c = c, .loc = function->loc };
  ScratchVec scratch = { 0 };
  bool may_fail = false;
  Code k = { .lower = &lower,
             .b = &b,
             .arrays = map_new(NULL),
             .inside = map_new(NULL),
             .sizes = map_new(NULL),
             .owned = map_new(NULL),
             .wanted = map_new(NULL),
             .scratch = &scratch,
             .may_fail = &may_fail };
  for (int i = 0; i < function->param_count; i++)
    map_put(k.inside, function->params[i], function);
  int count = function->body->result_count;
  ImpFunction *out = new_node(ImpFunction, .function = function);
  out->results = new_array(const ImpExp *, count + 1);
  seq_body(&k, function->body, out->results, new_array(const Arr *, count + 1));
  if (may_fail || scratch.count)
    bug(c, function->loc, "function %s may fail or needs memory", function->name);
  out->body.at = b.block.at;
  out->body.count = b.block.count;
  return out;
}
