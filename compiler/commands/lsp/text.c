#include "commands/lsp/lsp.h"
#include <ctype.h>
#include <stdlib.h>
#include <string.h>

// ---- places

// The bytes of the UTF-8 character that begins with this one, and the units that it takes.
static int bytes_of(char first) {
  unsigned char byte = (unsigned char)first;
  return byte < 0xc0 ? 1 : byte < 0xe0 ? 2 : byte < 0xf0 ? 3 : 4;
}

static int units_of(const Lsp *lsp, char first) {
  int bytes = bytes_of(first);
  return lsp->counts_bytes ? bytes : bytes == 4 ? 2 : 1;
}

static uint32_t line_end(const SourceFile *file, uint32_t line) {
  return line + 1 < file->line_count ? file->line_starts[line + 1] - 1
                                     : (uint32_t)file->length;
}

uint32_t lsp_offset(const Lsp *lsp, const SourceFile *file, const json_t *position) {
  json_int_t line = json_integer_value(json_object_get(position, "line"));
  json_int_t units = json_integer_value(json_object_get(position, "character"));
  if (line < 0 || line >= file->line_count) return (uint32_t)file->length;
  uint32_t at = file->line_starts[line], end = line_end(file, (uint32_t)line);
  while (at < end && units > 0) {
    units -= units_of(lsp, file->text[at]);
    at += (uint32_t)bytes_of(file->text[at]);
  }
  return at < end ? at : end;
}

static json_t *position_of(const Lsp *lsp, const SourceFile *file, uint32_t offset) {
  int line = loc_line_col((Loc){ file, offset, offset }).line - 1;
  int units = 0;
  for (uint32_t at = file->line_starts[line]; at < offset;
       at += (uint32_t)bytes_of(file->text[at]))
    units += units_of(lsp, file->text[at]);
  return json_pack("{s:i, s:i}", "line", line, "character", units);
}

json_t *lsp_range(const Lsp *lsp, Loc loc) {
  return json_pack("{s:o, s:o}", "start", position_of(lsp, loc.file, loc.start), "end",
                   position_of(lsp, loc.file, loc.end));
}

json_t *lsp_location(const Lsp *lsp, const char *uri, Loc loc) {
  return json_pack("{s:s, s:o}", "uri", uri, "range", lsp_range(lsp, loc));
}

// ---- names of files

static const char scheme[] = "file://";

// The byte that `%20` and its kin stand for; -1 if the text is none of them.
static int coded_byte(const char *at) {
  if (at[0] != '%' || !isxdigit((unsigned char)at[1]) || !isxdigit((unsigned char)at[2]))
    return -1;
  const char hex[3] = { at[1], at[2], '\0' };
  return (int)strtol(hex, NULL, 16);
}

const char *lsp_path_of_uri(const char *uri) {
  const char *at = strncmp(uri, scheme, strlen(scheme)) == 0 ? uri + strlen(scheme) : uri;
  Text *t = text_new();
  while (*at) {
    int coded = coded_byte(at);
    unsigned char byte = (unsigned char)(coded >= 0 ? coded : *at);
    text_add_bytes(t, (const char *)&byte, 1);
    at += coded >= 0 ? 3 : 1;
  }
  return text_str(t);
}

const char *lsp_uri_of_path(const char *path) {
  Text *t = text_new();
  text_add(t, scheme);
  for (; *path; path++) {
    bool plain = isalnum((unsigned char)*path) || strchr("/-._~", *path);
    if (plain)
      text_add_bytes(t, path, 1);
    else
      text_printf(t, "%%%02X", (unsigned char)*path);
  }
  return text_str(t);
}
