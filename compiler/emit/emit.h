// Imp to text: the C program, its kernels, its header and its manifest.
//
// A generated C file is the public header, the runtime (runtime/contract.h), then
//   functions     Core functions that the host calls
//   tables        checks, tuning parameters, guards, types, kernels as text
//   entry points  per entry `main_cpu` and `main_gpu`, which launch kernels, and `call_main`, which
//                 unpacks values, chooses between the two, and packs the result
//   rt_program    everything above in one table
#pragma once
#include "base/hash.h"
#include "base/map.h"
#include "emit/emit_math.h"
#include "flat/flat.h"
#include "imp/imp.h"

// A tuned decision by sizes: "main.top_0@1:n*m" (runtime/decision.h).
typedef struct EmitPreset {
  const char *name;
  int64_t value;
} EmitPreset;

// OpenCL programs that were compiled for a device (runtime/ahead.h).
typedef struct AheadProgram {
  const char *about, *bytes;
  size_t length;
} AheadProgram;

typedef struct Ahead {
  const char *device, *driver, *platform;  // its name; versions
  Vec(AheadProgram) programs;
} Ahead;

typedef struct EmitOptions {
  const char *prefix;       // "fl": exported names are fl_...
  const char *source;       // "matmul.fl"
  const char *header_name;  // "matmul.h": what a library's C file includes
  bool library;
  Workers workers;
  bool mixed;  // for workers on devices of different kinds
  bool reproducible;
  bool little_use;                    // it will run on little
  const char *tree_text, *tree_json;  // the version tree, or NULL
  // A tuned value of a parameter, to become its default: true and stored in `value`; may be NULL.
  bool (*tuned)(void *state, const char *name, int64_t *value);
  void *state;
  const Ahead *ahead;         // kernels that were compiled for a device; NULL: none
  const EmitPreset *presets;  // those of things that the program lacks are left out
  int preset_count;
} EmitOptions;

typedef struct EmitField {
  const char *name;
  int type, first;
} EmitField;
typedef Vec(EmitField) EmitFieldVec;
typedef Vec(int) IntVec;

// A constructor of a sum type, with its arguments.
typedef struct EmitConstructor {
  const char *name;
  EmitFieldVec fields;
} EmitConstructor;

typedef enum EmitTypeKind { EMIT_SCALAR, EMIT_ARRAY, EMIT_OPAQUE } EmitTypeKind;

// A type of parameters or results as users see it.
typedef struct EmitType {
  const char *name;    // "i32", "[][]f32", "point", "(i32, f32)"
  const char *c_name;  // what follows the prefix: "f32_2d", "opaque_point"
  EmitTypeKind kind;
  PrimType elem;
  int rank;
  IntVec leaves;
  IntVec
      leaf_dims;  // of all leaves in order: constants, -1 where values may have any size
  EmitFieldVec fields;
  Vec(EmitConstructor) constructors;
  // Of arrays of opaque values (rank > 0): their type, -1 in other types; if that is a record's or
  // a tuple's, an array for each field.
  int element;
  EmitFieldVec columns;
} EmitType;

typedef struct EmitEntry {
  const Entry *entry;
  const char *c_name;  // what follows "fl_entry_": no two entry points share it
  IntVec inputs;       // types
  int output;          // type
  bool output_unique;
} EmitEntry;

// A row of the table of checks, as string literals.
typedef struct EmitCheck {
  const char *loc, *source, *parts;
  int value_count;
} EmitCheck;

typedef Vec(const Guard *) GuardVec;
typedef Vec(const char *) StringVec;

// Constants in memory (IMP_TABLE): the text of their values.
typedef struct EmitConstants {
  PrimType elem;
  Name values;
} EmitConstants;

// What is collected for the tables of one program.
typedef struct Emit {
  Compiler *c;
  EmitOptions options;
  const Core *flat;
  const ImpProgram *programs[PROFILE_COUNT];  // by Profile
  Vec(EmitType) types;
  Vec(EmitEntry) entries;
  Vec(TuningParam) tuning;
  GuardVec guards;
  Vec(Name) layouts;  // that have weights of their own
  StringVec sizes;  // of the entry points, by name
  Vec(EmitCheck) checks;
  Vec(EmitConstants) constants;
  Map *functions;      // Function -> const char *: its name in C
  Map *kernels;        // Kernel -> const int *: its number
  Map *math_texts;     // Name of the calls -> const char *: the functions
  Hash *prelude_hash;  // of what stands before each kernel; NULL: not needed yet
} Emit;

// ---- one C function or kernel (c_expr.c)

// How integer sums and products are written.
typedef enum Arith {
  ARITH_WRAP,      // values of the program: they wrap
  ARITH_PLAIN,     // indices and sizes: they do not overflow
  ARITH_SATURATE,  // Par and numbers of bytes
} Arith;

// Loops of a kernel that are functions (emit_parts.c).
typedef struct CodeParts {
  Text *text;  // theirs
  Map *known;  // Name of what one does, but for names -> const int *: its number
} CodeParts;

typedef struct CodeText {
  Emit *e;
  Text *t;
  Map *names;          // Var or Mem -> const char *
  int next;            // number of the next name
  Map *live;           // variables whose values matter
  Map *changing;       // kernels: Mem, what several items store to under locks
  const char *unlock;  // kernels: what gives back the lock that the item holds, or NULL
  bool interleaved;    // arrays of items: neighbouring items have neighbouring words
  int64_t own_group;   // they lie in local memory, of so many items; 0: in a buffer
  bool guarded;        // a kernel with barriers and checks: see emit_kernels.c
  bool left;           // in a loop of such a kernel that failures leave: see emit_loops.c
  bool lone;           // a kernel whose groups are one item, flc_item
  CodeParts *parts;    // of a long one of these; or NULL
  bool in_part;        // the text is that of a part
  Map *helpers;       // kernels: names of functions on vectors that the text begins with,
  Text *helper_text;  // and their texts
  MathUses *math;     // the functions of our own that a kernel for CPUs calls; else NULL
  const char *on_error;  // host: where errors go
} CodeText;

CodeText code_text_new(Emit *e, Text *t);
// The name of a variable or block in this function: its own name and a number.
const char *c_name_of(CodeText *c, const void *binder, const char *name);
const char *c_var(CodeText *c, const Var *var);
const char *c_mem(CodeText *c, const Mem *mem);
const char *c_type(PrimType type);         // of a variable: "int64_t", "bool"
const char *c_memory_type(PrimType type);  // of an element in memory: a bool is a uint8_t
const char *c_identifier(const char *text);  // letters, digits and underscores
// The same for what is followed by "_" and a number: nothing else has such a name.
const char *c_local_name(const char *name);

const char *c_exp(CodeText *c, const ImpExp *e);         // as a value: wraps
const char *c_size(CodeText *c, const ImpExp *e);        // as an index or a size
const char *c_bound(CodeText *c, const ImpExp *e);       // a size as an operand of <
const char *c_saturating(CodeText *c, const ImpExp *e);  // as Par, or a number of bytes
// mem[index], for reading and writing.
const char *c_element(CodeText *c, const Mem *mem, const ImpExp *index);
// A string literal with its quotes.
const char *c_string(const char *text);
void c_add_string(Text *t, const char *text, size_t length);

// Starts a new line with the formatted text.
void c_line(CodeText *c, const char *format, ...) __attribute__((format(printf, 2, 3)));
void c_open(CodeText *c);   // after "{": indent
void c_close(CodeText *c);  // "}" on a line of its own

// ---- parts of a program

int emit_check_values(const ImpStm *check);    // how many of its values are reported
int emit_check(Emit *e, const ImpStm *check);  // the number of its row
int emit_place(Emit *e, Loc loc);              // of one that only has the place
int emit_guard_index(Emit *e, Name name);
int emit_layout_index(const Emit *e, Name layout);  // from 1 on; 0 for NULL
int emit_tuning_index(Emit *e, Name name);
int emit_size_index(Emit *e, Name name);
int emit_table(CodeText *c, const ImpStm *table);  // its number; equal ones are one

// The functions that code calls, callees first (emit_function.c).
const char *emit_function_name(Emit *e, const Function *function);
// `math`: see CodeText.
void emit_function(Emit *e, Text *t, const Function *function, MathUses *math);
void emit_call(CodeText *c, const ImpStm *stm);
void emit_declare(CodeText *c, const ImpStm *stm);
// Variables that calls and reads store to count as live: their addresses are taken.
void emit_keep_called(Map *live, const ImpBlock *block);
void emit_host_functions(Emit *e, Text *t);

// Kernels (emit_kernels.c).
typedef struct EmitKernelText {
  const char *text;
  bool uses_f64, lone;
} EmitKernelText;
EmitKernelText emit_kernel_text(Emit *e, const Kernel *kernel, Profile profile);
void emit_kernels(Emit *e, Text *t);  // emit_kernel_table.c: the texts and the table
// Around a function that the texts of several kernels may hold.
void emit_begin_shared(Text *t, const char *function);
void emit_end_shared(Text *t);

// Which kernels are compiled together (emit_batch.c): those that may well run in one call.
typedef struct Batches Batches;
Batches *emit_batches(const ImpProgram *program,
                      const Map *lengths);  // Kernel -> const size_t *: of its text
// The number of the kernel's batch; asked once for each kernel, in their order.
int emit_batch_of(Batches *batches, const Kernel *kernel);
void emit_kernel_block(CodeText *c, const ImpBlock *block);
void emit_kernel_check(CodeText *c, const ImpStm *stm);
void emit_kernel_for(CodeText *c, const ImpStm *stm);
void emit_kernel_while(CodeText *c, const ImpStm *stm);
void emit_locked(CodeText *c, const ImpStm *stm);
// A call of a function that does what the loop does; false: it stays where it is.
bool emit_part(CodeText *c, const ImpStm *stm);
bool emit_has_parts(const Kernel *kernel);  // has it one point, and is it long enough?
// What ends a kernel, or a part of one, when it has failed.
const char *emit_return(const CodeText *c);
// A kernel's text with `$12` for `rows_12`.
const char *emit_without_names(const char *text);

// Host code (emit_host.c): static functions per entry and profile; emit_call_entry.c: call_main.
void emit_entry_args(Emit *e, Text *t, const Entry *entry);
const char *entry_arg_name(const Entry *entry, int param);
void emit_host_entry(Emit *e, Text *t, const ImpEntry *entry, Profile profile);
// What the results need to be alive: scalars that the caller gets, and sizes.
Map *emit_entry_live(const ImpEntry *entry);
typedef Vec(const Mem *) MemVec;
// The references that the guard's branches change; the first `taken` may lose their block to code
// that overwrites it.
MemVec emit_guard_slots(const ImpStm *stm, int *taken);
// Loops that only compute, for tables (emit_own_loop.c).
typedef struct LoopVars {
  VarVec outer;  // of outside the loop
  Map *set;      // those that it sets
} LoopVars;
// Statements of a kind, those within others too.
int emit_count_stms(const ImpBlock *block, ImpStmKind kind);
bool emit_only_computes(const ImpStm *stm);
LoopVars emit_loop_vars(const ImpStm *loop, Map *live);
// The same as emit_host_entry as a table (emit_script.c), for code without EXP_SPLIT.
void emit_script(Emit *e, Text *t, const ImpEntry *entry, const char *profile);
void emit_entry_call(Emit *e, Text *t, int number);
void host_stm(CodeText *c, const ImpStm *stm);
const char *emit_elem_name(PrimType type);     // "RT_F32"
const char *emit_value_member(PrimType type);  // of struct rt_value: "f32", "boolean"

// Types (emit_types.c).
void emit_types_collect(Emit *e);
void emit_types_table(Emit *e, Text *t);
// A field of the type as the end of a C name: "x", "0".
const char *emit_field_name(const EmitFieldVec *fields, int field);
// "opaque_option_some", as functions for the constructor end in.
const char *emit_constructor_name(const EmitType *type, int constructor);
// Is it an array of opaque values?
bool emit_is_opaque_array(const EmitType *type);
// Is it made of fields: a record or a tuple, perhaps an empty one?
bool emit_is_record(const EmitType *type);
// An entry point as a part of a C name.
const char *emit_entry_name(const Emit *e, const Entry *entry);

// Tables and rt_program (emit_tables.c); collect before code is emitted.
void emit_tables_collect(Emit *e);
void emit_tables(Emit *e, Text *t);

void emit_ahead(Text *t, const Ahead *ahead);  // emit_ahead.c

// The public C API (emit_api.c).
void emit_header(Emit *e, Text *t);
void emit_api(Emit *e, Text *t);

// Texts of runtime/ (runtime_text.c).
// For hosts; `api` stands where all.c has api.h.
typedef enum RuntimeParts {
  RUNTIME_LIBRARY,
  RUNTIME_LIBRARY_AHEAD,  // one that holds compiled kernels
  RUNTIME_EXECUTABLE,
  RUNTIME_CONTRACT  // what a program needs that is compiled apart from the runtime
} RuntimeParts;
void runtime_add(Text *t, const char *api, RuntimeParts parts, Workers workers);
// What stands before the runtime.
void runtime_add_macros(Text *t, Workers workers);
// The runtime of executables with the prefix `fl`, to be compiled apart from them.  Its object
// contains the key, which differs where the text does.
const Text *runtime_apart(Workers workers, const char **key);
// The text of runtime/host.c.
const char *runtime_host(void);
void runtime_public_header(Text *t, const char *prefix);
void runtime_add_dialects(Text *t);  // tables of what stands before kernels
void runtime_hash_dialects(Hash *hash);
// The text as string literals, a line each, indented, in pieces followed by commas.  Why pieces of
// many lines: a C compiler takes three times as long if each line is an element of an array.
void c_text_rows(Text *t, const char *text);

// ---- the result

typedef struct EmitResult {
  Text *c, *header, *manifest;  // the last two only for libraries
  Workers workers;
  Text *apart;  // executables: to be linked with runtime_apart; NULL with other prefixes
} EmitResult;

// programs: by Profile.
EmitResult emit_program(Compiler *c, const Core *flat, const ImpProgram *const *programs,
                        EmitOptions options);
void emit_manifest(Emit *e, Text *t);  // emit_manifest.c
// Is it the name of a worker's weight?
bool emit_is_weight(const char *name);
