// Loading the prelude: the files that every program sees, and the modules of the scalar types,
// which are checked when a program first names one.
#include "base/embed.h"
#include "source/source.h"
#include "types/check.h"
#include <string.h>

static AstProgram *parse_built_in(Compiler *c, const char *path) {
  for (int i = 0; i < prelude_file_count; i++) {
    const EmbeddedFile *f = &prelude_files[i];
    if (strcmp(f->path, path) != 0) continue;
    SourceFile *file = source_file_new(f->path, f->text, f->length);
    file->built_in = true;
    return source_parse(c, file);
  }
  bug(c, (Loc){ 0 }, "no built-in file %s", path);
}

static void add_scalar_types(Library *lib) {
  for (int i = 0; i < PRIM_COUNT; i++) {
    Name name = name_of(lib->c->names, prim_type_name((PrimType)i));
    map_put(lib->types, name,
            new_node(TypeDef, .name = name, .type = type_prim((PrimType)i)));
  }
}

// Defines into the maps that all files see.
static Check *check_of_prelude(Library *lib) {
  Check *k = check_new(lib, true);
  k->scope.values = lib->values;
  k->scope.types = lib->types;
  return k;
}

// The abstract type of accumulators, under a name that programs do not use by chance.
static void add_accumulators(Library *lib) {
  Check *k = check_new(lib, true);
  Name name = name_of(lib->c->names, "accumulator'");
  Binding *param =
      binding_new(k, BIND_TYPE_PARAM, name_of(lib->c->names, "t"), (Loc){ 0 }, NULL);
  Binding *acc =
      binding_new(k, BIND_TYPE_PARAM, name_of(lib->c->names, "acc"), (Loc){ 0 }, NULL);
  acc->size_lifted = true;
  AstTypeParamVec *params = new (AstTypeParamVec);
  vec_push(params, (AstTypeParam){
                       .name = param->name, .kind = TYPE_PARAM_TYPE, .binding = param });
  TypeField field = { type_field_name(lib->c, 0), type_of_param(param) };
  Type *type = mem_copy(type_of_param(acc), sizeof *type);
  type->args = type_record(&field, 1, true);
  map_put(lib->types, name,
          new_node(TypeDef, .name = name, .params = params, .type = type,
                   .lifted = LIFTED_SIZES));
}

bool prelude_load(Library *lib) {
  static const char *const files[] = {
    "prelude/intrinsics.fl", "prelude/functional.fl", "prelude/zip.fl",
    "prelude/soacs.fl",      "prelude/array.fl",      "prelude/choose.fl",
    "prelude/ad.fl",
  };
  lib->values = map_new(NULL);
  lib->types = map_new(NULL);
  lib->intrinsics = map_new(NULL);
  lib->modules = map_new(NULL);
  add_scalar_types(lib);
  add_accumulators(lib);
  for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
    const AstProgram *program = parse_built_in(lib->c, files[i]);
    if (!program) return false;
    check_decls(check_of_prelude(lib), &program->decls);
  }
  return true;
}

Map *prelude_signatures(Library *lib) {
  const AstProgram *program = parse_built_in(lib->c, "prelude/module_types.fl");
  Check *k = check_new(lib, true);
  k->opaque = true;
  check_decls(k, &program->decls);
  return k->defined.signatures;
}

// The files that make up the module of a scalar type.
static void templates(PrimType prim, const char *paths[2]) {
  paths[0] = paths[1] = NULL;
  if (prim == PRIM_BOOL) {
    paths[0] = "prelude/mod_bool.fl";
  } else if (prim_is_float(prim)) {
    paths[0] = "prelude/mod_float.fl";
    paths[1] = prim == PRIM_F16   ? "prelude/mod_f16.fl"
               : prim == PRIM_F32 ? "prelude/mod_f32.fl"
                                  : "prelude/mod_f64.fl";
  } else {
    paths[0] = prim_is_signed(prim) ? "prelude/mod_signed.fl" : "prelude/mod_unsigned.fl";
  }
}

bool types_module_files(Name module, const char *paths[2]) {
  PrimType prim;
  if (!prim_type_named(module, &prim)) return false;
  templates(prim, paths);
  return true;
}

static const char intrinsics_module[] = "intrinsics";

bool prelude_is_module(Name name) {
  PrimType prim;
  return prim_type_named(name, &prim) || strcmp(name, intrinsics_module) == 0;
}

bool prelude_is_internal(const Library *lib, const Module *module) {
  return map_get(lib->modules, name_of(lib->c->names, intrinsics_module)) == module;
}

// In a template the type `t` is the scalar type.
static void define_scalar(Check *k, Module *module, PrimType prim) {
  Name t = name_of(k->c->names, "t");
  TypeDef *def = new_node(TypeDef, .name = t, .type = type_prim(prim));
  map_put(k->scope.types, t, def);
  map_put(module->names.types, t, def);
}

// The definitions of the files are the members.
static Module *load_module(Library *lib, Name name) {
  PrimType prim;
  bool scalar = prim_type_named(name, &prim);
  if (!prelude_is_module(name)) return NULL;
  Check *k = check_new(lib, true);
  Module *module = new_node(Module, .names = k->defined);
  map_put(lib->modules, name, module);
  const char *paths[2] = { "prelude/mod_intrinsics.fl", NULL };
  if (scalar) define_scalar(k, module, prim);
  if (scalar) templates(prim, paths);
  for (int i = 0; i < 2 && paths[i]; i++) {
    const AstProgram *program = parse_built_in(lib->c, paths[i]);
    if (!program) return NULL;
    check_decls(k, &program->decls);
  }
  module->ready = true;
  return module;
}

const Module *prelude_module(Library *lib, Name name) {
  Module *module = map_get(lib->modules, name);
  return module ? module : load_module(lib, name);
}
