// What `$loaddata "f"`, `$loadimg "f"` and their kin in directives stand for: values, which become
// parameters of the directive's definition.
#include "base/file.h"
#include "base/process.h"
#include "commands/literate/literate.h"
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

// ---- files

// Names of files are relative to the program.
static const char *beside(const Literate *l, const char *name) {
  const char *slash = strrchr(l->path, '/');
  if (*name == '/' || !slash) return name;
  return text_format("%.*s%s", (int)(slash + 1 - l->path), l->path, name);
}

// ---- pictures

// "P6 WIDTH HEIGHT 255" and three bytes for each pixel.
static const Value *value_of_ppm(const char *bytes, size_t length) {
  long width = 0, height = 0;
  int head = 0;
  if (sscanf(bytes, "P6 %ld %ld 255%n", &width, &height, &head) != 2 || !head)
    return NULL;
  if (width < 1 || height < 1 || width > 1 << 20 || height > 1 << 20) return NULL;
  if (length - (size_t)head - 1 < (size_t)width * (size_t)height * 3) return NULL;
  Value *v = value_new(PRIM_U32, 2, (int64_t[]){ height, width });
  const unsigned char *from = (const unsigned char *)bytes + head + 1;
  for (int64_t i = 0; i < value_count(v); i++, from += 3)
    value_set(v, i,
              prim_int(PRIM_U32, 0xff000000LL | from[0] << 16 | from[1] << 8 | from[2]));
  return v;
}

static void load_picture(const Literate *l, Directive *d, const char *path) {
  if (access(path, R_OK) != 0) {
    directive_fail(d, "cannot read %s: %s", path, strerror(errno));
    return;
  }
  if (!process_find("convert")) {
    directive_fail(d,
                   "pictures are read by `convert` (ImageMagick), which was not found");
    return;
  }
  const char *output = text_format("%s/picture", l->folder);
  int out = open(output, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
  const char *const words[] = { "convert", path, "-strip", "-depth", "8", "ppm:-", NULL };
  int status =
      out < 0 ? -1 : process_run(&(Process){ .argv = words, .in = -1, .out = out });
  if (out >= 0) close(out);
  size_t length = 0;
  const char *bytes = text_read_file(output, &length);
  bool ok = bytes && status >= 0 && WIFEXITED(status) && WEXITSTATUS(status) == 0;
  const Value *v = ok ? value_of_ppm(bytes, length) : NULL;
  if (v)
    vec_push(&d->loaded, v);
  else
    directive_fail(d, "`convert` could not read %s", path);
}

static void load_sound(const Literate *l, Directive *d, const char *path) {
  const Value *v = literate_load_sound(l, d, path);
  if (v) vec_push(&d->loaded, v);
}

// ---- expressions

static void load_file(const Literate *l, Directive *d, const char *builtin,
                      const char *name) {
  const char *path = beside(l, name);
  const char *message = NULL;
  if (strcmp(builtin, "loaddata") == 0)
    message = script_load_data(path, &d->loaded);
  else if (strcmp(builtin, "loadbytes") == 0)
    message = script_load_bytes(path, &d->loaded);
  else if (strcmp(builtin, "loadimg") == 0)
    load_picture(l, d, path);
  else if (strcmp(builtin, "loadaudio") == 0)
    load_sound(l, d, path);
  else
    directive_fail(d,
                   "unknown builtin `$%s`: expected `$loaddata`, `$loadbytes`, "
                   "`$loadimg` or `$loadaudio`",
                   builtin);
  if (message) directive_fail(d, "%s", message);
}

static int number_of(const Literate *l, const Directive *d) {
  for (int i = 0; i < l->directives.count; i++)
    if (l->directives.at[i] == d) return i;
  return -1;
}

static const char *load_name(const Literate *l, const Directive *d, int i) {
  return text_format("literate_%d_%d", number_of(l, d), i);
}

// At `at` stands `$name "file"`: adds what stands for it to `t`; its length, or 0 if something else
// stands there.
static size_t replace_builtin(const Literate *l, Directive *d, const char *at, Text *t) {
  const char *builtin, *name;
  size_t length = script_builtin(at, &builtin, &name);
  if (!length) return 0;
  int first = d->loaded.count;
  load_file(l, d, builtin, name);
  text_add(t, "(");
  for (int i = first; i < d->loaded.count; i++)
    text_printf(t, "%s%s", i > first ? ", " : "", load_name(l, d, i));
  text_add(t, ")");
  return length;
}

void literate_load(const Literate *l, Directive *d) {
  Text *t = text_new();
  for (const char *at = d->exp; *at;) {
    size_t length = replace_builtin(l, d, at, t);
    if (length) {
      at += length;
      continue;
    }
    length = *at == '"' ? script_quoted(at) : 1;
    text_add_bytes(t, at, length);
    at += length;
  }
  d->exp = text_str(t);
}

const char *literate_load_params(const Literate *l, const Directive *d) {
  Text *t = text_new();
  for (int i = 0; i < d->loaded.count; i++)
    text_printf(t, " (%s: %s)", load_name(l, d, i), value_type_text(d->loaded.at[i]));
  return text_str(t);
}
