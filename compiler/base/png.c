#include "base/png.h"
#include "base/mem.h"
#include <string.h>
#include <zlib.h>

static const char signature[8] = "\x89PNG\r\n\x1a\n";

static void put_32(unsigned char *to, uint32_t value) {
  for (int i = 0; i < 4; i++)
    to[i] = (unsigned char)(value >> (24 - 8 * i));
}

static void put_16(unsigned char *to, uint32_t value) {
  to[0] = (unsigned char)(value >> 8);
  to[1] = (unsigned char)value;
}

static void add_chunk(Text *t, const char *kind, const unsigned char *bytes,
                      size_t length) {
  unsigned char number[4];
  put_32(number, (uint32_t)length);
  text_add_bytes(t, (const char *)number, 4);
  text_add_bytes(t, kind, 4);
  text_add_bytes(t, (const char *)bytes, length);
  uLong sum = crc32(0, (const Bytef *)kind, 4);
  if (length) sum = crc32_z(sum, bytes, length);
  put_32(number, (uint32_t)sum);
  text_add_bytes(t, (const char *)number, 4);
}

static void begin_png(Text *t, const PngImage *image) {
  enum { GREY = 0, COLOURS = 2 };
  unsigned char head[13] = { 0 };
  put_32(head, (uint32_t)image->width);
  put_32(head + 4, (uint32_t)image->height);
  head[8] = 8;  // bits
  head[9] = image->channels == 1 ? GREY : COLOURS;
  text_add_bytes(t, signature, sizeof signature);
  add_chunk(t, "IHDR", head, sizeof head);
}

// Each row as its difference to the one above ("Up"), behind a byte that says so.
static unsigned char *filtered(const PngImage *image, size_t *length) {
  enum { UP = 2 };
  size_t row = (size_t)image->width * (size_t)image->channels;
  *length = (row + 1) * (size_t)image->height;
  unsigned char *out = mem_alloc_plain(*length);
  for (int64_t y = 0; y < image->height; y++) {
    const unsigned char *from = image->pixels + (size_t)y * row;
    unsigned char *to = out + (size_t)y * (row + 1);
    *to++ = UP;
    for (size_t x = 0; x < row; x++)
      to[x] = (unsigned char)(from[x] - (y ? from[x - row] : 0));
  }
  return out;
}

// The pixels, compressed, behind `before` bytes that are left free.
static unsigned char *compressed(const PngImage *image, size_t before, size_t *length) {
  size_t raw_length;
  const unsigned char *raw = filtered(image, &raw_length);
  uLongf bytes = compressBound(raw_length);
  unsigned char *out = mem_alloc_plain(before + bytes);
  compress2(out + before, &bytes, raw, raw_length, Z_DEFAULT_COMPRESSION);
  *length = before + bytes;
  return out;
}

void png_write(Text *t, const PngImage *image) {
  size_t length;
  const unsigned char *data = compressed(image, 0, &length);
  begin_png(t, image);
  add_chunk(t, "IDAT", data, length);
  add_chunk(t, "IEND", NULL, 0);
}

static void add_frame(Text *t, const PngImage *frame, int index, int per_second) {
  // What follows is numbered: the control of the first frame, then control and data of each.
  uint32_t sequence = index ? 2 * (uint32_t)index - 1 : 0;
  unsigned char control[26] = { 0 };
  put_32(control, sequence);
  put_32(control + 4, (uint32_t)frame->width);
  put_32(control + 8, (uint32_t)frame->height);
  put_16(control + 20, 1);
  put_16(control + 22, (uint32_t)per_second);
  add_chunk(t, "fcTL", control, sizeof control);
  size_t length, before = index ? 4 : 0;
  unsigned char *data = compressed(frame, before, &length);
  if (index) put_32(data, sequence + 1);
  add_chunk(t, index ? "fdAT" : "IDAT", data, length);
}

void png_write_animation(Text *t, const PngImage *frames, int count, int per_second,
                         bool repeat) {
  unsigned char head[8];
  put_32(head, (uint32_t)count);
  put_32(head + 4, repeat ? 0 : 1);
  begin_png(t, frames);
  add_chunk(t, "acTL", head, sizeof head);
  for (int i = 0; i < count; i++)
    add_frame(t, &frames[i], i, per_second);
  add_chunk(t, "IEND", NULL, 0);
}
