#include "commands/lsp/lsp.h"
#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

enum { FIRST_BYTES = 1 << 16 };

// Reads what has come, at least a byte; false at the end.
static bool fill(LspWire *w) {
  if (w->start > 0) {
    memmove(w->bytes, w->bytes + w->start, w->end - w->start);
    w->end -= w->start;
    w->start = 0;
  }
  if (w->end == w->capacity) {
    size_t capacity = w->capacity ? 2 * w->capacity : FIRST_BYTES;
    char *bytes = mem_alloc_plain(capacity);
    if (w->end) memcpy(bytes, w->bytes, w->end);
    w->bytes = bytes;
    w->capacity = capacity;
  }
  ssize_t n;
  do
    n = read(STDIN_FILENO, w->bytes + w->end, w->capacity - w->end);
  while (n < 0 && errno == EINTR);
  if (n > 0) w->end += (size_t)n;
  return n > 0;
}

bool lsp_pending(const LspWire *w) {
  struct pollfd input = { .fd = STDIN_FILENO, .events = POLLIN };
  return w->start < w->end || poll(&input, 1, 0) > 0;
}

// A line of the header without its end; NULL at the end of the input.
static const char *header_line(LspWire *w) {
  while (true) {
    char *from = w->bytes + w->start;
    char *newline = w->start < w->end ? memchr(from, '\n', w->end - w->start) : NULL;
    if (newline) {
      w->start += (size_t)(newline - from) + 1;
      int length = (int)(newline - from);
      if (length > 0 && from[length - 1] == '\r') length--;
      return text_format("%.*s", length, from);
    }
    if (!fill(w)) return NULL;
  }
}

// The length that the header says, 0 if it says none; false at the end of the input.
static bool read_header(LspWire *w, size_t *length) {
  static const char name[] = "Content-Length:";
  *length = 0;
  for (const char *line; (line = header_line(w));) {
    if (*line == '\0') return true;
    if (strncasecmp(line, name, strlen(name)) == 0)
      *length = strtoull(line + strlen(name), NULL, 10);
  }
  return false;
}

json_t *lsp_receive(LspWire *w) {
  size_t length;
  if (!read_header(w, &length)) return NULL;
  while (w->end - w->start < length)
    if (!fill(w)) return NULL;
  json_t *message = length ? json_loadb(w->bytes + w->start, length, 0, NULL) : NULL;
  w->start += length;
  return message ? message : json_object();
}

void lsp_send(json_t *message) {
  json_object_set_new(message, "jsonrpc", json_string("2.0"));
  char *text = json_dumps(message, JSON_COMPACT);
  printf("Content-Length: %zu\r\n\r\n%s", strlen(text), text);
  fflush(stdout);
  free(text);
  json_decref(message);
}
