// Properties: entry points that give true for whatever they are given.
#pragma once
#include "commands/test/run.h"
#include "pipeline.h"

// What `#[prop(gen(f), shrink(g), pprint(h), size(n))]` on an entry point says.
typedef struct Property {
  const Core *core;
  const Entry *entry, *generator,
      *shrinker;         // NULL: values are made, and made smaller, by type
  bool shrinks_by_type;  // even what the generator makes
  const Entry *printer;  // NULL: they are shown as values
  int64_t size;
  uint64_t seed;
  int64_t max_steps;
} Property;

// A property as the program has it; NULL, or what is wrong with it.
const char *property_find(const Program *program, const char *name, Property *out);

// Arguments of the property, number `number`; NULL and a message if they cannot be made.
const Value **property_candidate(Compiler *c, const Property *p, int number,
                                 const char **message);

// NULL if the property holds for them, else how it fails.
const char *property_try(Compiler *c, const Property *p, const Value *const *inputs);

// Smaller arguments for which it fails as well, and what it then says.
const Value **property_shrink(Compiler *c, const Property *p, const Value **inputs,
                              const char **failure);

// "[1, 2] true", or what the function of the program that shows them says.
const char *property_inputs_text(Compiler *c, const Property *p,
                                 const Value *const *inputs);
