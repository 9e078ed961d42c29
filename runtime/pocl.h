// Begin pocl.h: programs that PoCL need not link with its library.
//
// PoCL 3.1 links each program that it builds with its library of OpenCL's functions.  It reads that
// for the first one, which takes 0.5 s, and copies parts of it into every program and kernel.  A
// text that brings along what it calls (kernels/builtins.cl with FLC_ALONE) needs none of this.  So
// it is compiled without being linked (clCompileProgram); but only what is linked has kernels.
// PoCL reads those from binaries, too, where they are described beside the code: so the binary of
// what was compiled is changed into one of a program with kernels.  What is not as expected here
// is built as ever.
//
// A binary: "poclbin\0", u64 of the device, u32 version, u32 number of kernels, u32 flags, u32 kind
// of program, u32, 41 characters that name it in PoCL's cache, u64 size of what follows: u32 length
// and name of the file "/program.bc", u32 length and its bytes.  Then come the kernels.

enum {
  RT_POCL_VERSION = 9,   // of the format
  RT_POCL_COMPILED = 1,  // kinds of programs, as OpenCL numbers them
  RT_POCL_EXECUTABLE = 4,
  RT_POCL_VERSION_AT = 16,
  RT_POCL_COUNT_AT = 20,
  RT_POCL_KIND_AT = 28,
  RT_POCL_NAME_AT = 85,
  RT_POCL_CODE_AT = 104,
  RT_POCL_NO_ACCESS = 0x11a3,  // as OpenCL numbers what is said of arguments
  RT_POCL_GLOBAL = 0x119b,
  RT_POCL_PRIVATE = 0x119e
};

RT_FN uint32_t rt_u32_at(const unsigned char *bytes, size_t at) {
  uint32_t x;
  memcpy(&x, bytes + at, sizeof x);
  return x;
}

// Are these the bytes of a program that was compiled, in the format that is known here?
RT_FN bool rt_pocl_is_compiled(const unsigned char *bytes, size_t length) {
  static const char file[] = "/program.bc", code[] = "BC\xC0\xDE";
  return length > RT_POCL_CODE_AT + 4 && memcmp(bytes, "poclbin", 8) == 0 &&
         rt_u32_at(bytes, RT_POCL_VERSION_AT) == RT_POCL_VERSION &&
         rt_u32_at(bytes, RT_POCL_COUNT_AT) == 0 &&
         rt_u32_at(bytes, RT_POCL_KIND_AT) == RT_POCL_COMPILED &&
         rt_u32_at(bytes, RT_POCL_NAME_AT - 8) == length - RT_POCL_NAME_AT &&
         rt_u32_at(bytes, RT_POCL_NAME_AT) == sizeof file - 1 &&
         memcmp(bytes + RT_POCL_NAME_AT + 4, file, sizeof file - 1) == 0 &&
         rt_u32_at(bytes, RT_POCL_CODE_AT - 4) == length - RT_POCL_CODE_AT &&
         memcmp(bytes + RT_POCL_CODE_AT, code, 4) == 0;
}

// Does the code mention a function of OpenCL's?  Their names, and only theirs, begin with _Z and a
// digit, and stand as they are in the bytes; so does the name of the source, which ends in chance
// letters (tempfile_Z1abcd).
RT_FN bool rt_pocl_needs_library(const unsigned char *bytes, size_t length) {
  static const char source[] = "tempfile";
  const size_t before = sizeof source - 1;
  const unsigned char *end = bytes + length - 2;
  for (const unsigned char *at = bytes; at < end; at++) {
    at = (const unsigned char *)memchr(at, '_', (size_t)(end - at));
    if (!at) return false;
    bool chance =
        (size_t)(at - bytes) >= before && memcmp(at - before, source, before) == 0;
    if (!chance && at[1] == 'Z' && at[2] >= '1' && at[2] <= '9') return true;
  }
  return false;
}

// ---- kernels, from the text

RT_FN void rt_text_u32(struct rt_text *t, uint32_t x) { rt_text_bytes(t, &x, sizeof x); }
RT_FN void rt_text_u64(struct rt_text *t, uint64_t x) { rt_text_bytes(t, &x, sizeof x); }

RT_FN void rt_text_append(struct rt_text *t, const struct rt_text *other) {
  if (other->data) rt_text_bytes(t, other->data, other->length);
}

RT_FN void rt_text_counted(struct rt_text *t, const char *text) {
  rt_text_u32(t, (uint32_t)strlen(text));
  rt_text_add(t, text);
}

// The bytes of an argument of the type; 0 if it is none of those known.
RT_FN uint32_t rt_pocl_type_bytes(const char *type, size_t length) {
  static const char *const types[] = { "int8_t",  "uint8_t",  "int16_t", "uint16_t",
                                       "int32_t", "uint32_t", "int64_t", "uint64_t",
                                       "float",   "double",   "long" };
  static const uint32_t bytes[] = { 1, 1, 2, 2, 4, 4, 8, 8, 4, 8, 8 };
  for (size_t i = 0; i < sizeof bytes / sizeof *bytes; i++)
    if (strlen(types[i]) == length && memcmp(types[i], type, length) == 0)
      return bytes[i];
  return 0;
}

// A parameter: u32 access, u32 address space, u64 qualifiers, u32 is it an array, u32 bytes, name
// and type, which nobody asks for.
RT_FN bool rt_pocl_param(struct rt_text *t, const char *param) {
  static const char changes[] = "volatile ", global[] = "__global ";
  if (strncmp(param, changes, sizeof changes - 1) == 0) param += sizeof changes - 1;
  bool is_array = strncmp(param, global, sizeof global - 1) == 0;
  uint32_t bytes = is_array ? 8 : rt_pocl_type_bytes(param, strcspn(param, " "));
  rt_text_u32(t, RT_POCL_NO_ACCESS);
  rt_text_u32(t, is_array ? RT_POCL_GLOBAL : RT_POCL_PRIVATE);
  rt_text_u64(t, 0);
  rt_text_u32(t, is_array);
  rt_text_u32(t, bytes);
  rt_text_counted(t, "x");
  rt_text_counted(t, "t");
  return bytes > 0;
}

// Kernel `number` with the parameters at `params`, a line each: u64 size of it all, u64 size of its
// files, u32 size of its parameters, name, u32 number of parameters, u32 of local arrays, three u64
// for the size of groups, u32 size of attributes, u64 that says what is known of parameters.
RT_FN bool rt_pocl_kernel(struct rt_text *t, int number, const char *params) {
  static const char last[] = ") {";
  struct rt_text all = { NULL, 0, 0 }, kernel = { NULL, 0, 0 };
  char name[32];
  uint32_t count = 0;
  bool known = true;
  for (bool more = true; more && known; count++) {
    params += strspn(params, " ");
    size_t length = strcspn(params, "\n");
    known = params[length] && length > sizeof last && rt_pocl_param(&all, params);
    more = known && params[length - 1] == ',';
    known = known && (more || memcmp(params + length - 3, last, 3) == 0);
    params += length + 1;
  }
  snprintf(name, sizeof name, "flc_kernel_%d", number);
  rt_text_u32(&kernel, (uint32_t)all.length);
  rt_text_counted(&kernel, name);
  rt_text_u32(&kernel, count);
  for (int i = 0; i < 8; i++)
    rt_text_u32(&kernel, 0);
  rt_text_u64(&kernel, 0x1f);
  rt_text_append(&kernel, &all);
  rt_text_u64(t, 16 + kernel.length);
  rt_text_u64(t, 0);
  rt_text_append(t, &kernel);
  rt_text_free(&all);
  rt_text_free(&kernel);
  return known;
}

// Describes the kernels of a program's text; false if there is one whose groups are more than one
// item, or with arguments of other kinds.
RT_FN bool rt_pocl_kernels(struct rt_text *t, const char *source, uint32_t *count) {
  static const char kernel[] = "\n__kernel ", lone[] = "FLC_ONE_ITEM void flc_kernel(\n";
  *count = 0;
  for (const char *at = source; (at = strstr(at, kernel)) != NULL;) {
    at += sizeof kernel - 1;
    if (strncmp(at, lone, sizeof lone - 1) != 0 ||
        !rt_pocl_kernel(t, (int)(*count)++, at + sizeof lone - 1))
      return false;
  }
  return *count > 0;
}

// The binary of what was compiled, as one of a program with these kernels; false if it needs the
// library, or is not as known.
RT_FN bool rt_pocl_executable(struct rt_text *t, const unsigned char *compiled,
                              size_t length, const struct rt_text *kernels,
                              uint32_t count) {
  uint32_t kind = RT_POCL_EXECUTABLE;
  if (!rt_pocl_is_compiled(compiled, length) ||
      rt_pocl_needs_library(compiled + RT_POCL_CODE_AT, length - RT_POCL_CODE_AT))
    return false;
  rt_text_bytes(t, compiled, length);
  char *header = t->data;
  if (!header) return false;
  memcpy(header + RT_POCL_COUNT_AT, &count, sizeof count);
  memcpy(header + RT_POCL_KIND_AT, &kind, sizeof kind);
  rt_text_append(t, kernels);
  return true;
}
// End pocl.h
