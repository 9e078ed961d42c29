// Sounds in files: WAVE is read here, anything else after `ffmpeg` has made WAVE of it.
#include "commands/literate/literate.h"
#include <errno.h>
#include <math.h>
#include <string.h>
#include <unistd.h>

enum { WAVE_INTEGERS = 1, WAVE_FLOATS = 3, WAVE_EXTENSIBLE = 0xfffe, MOST_CHANNELS = 64 };

typedef struct Wave {
  int format, channels, bits;
  const unsigned char *samples;
  size_t size;  // of the samples, in bytes
} Wave;

static uint64_t little_endian(const unsigned char *at, int bytes) {
  uint64_t value = 0;
  for (int i = bytes - 1; i >= 0; i--)
    value = value << 8 | at[i];
  return value;
}

static void read_format(Wave *w, const unsigned char *at, size_t size) {
  enum { FORMAT_SIZE = 16, SUBFORMAT = 24 };
  if (size < FORMAT_SIZE) return;
  w->format = (int)little_endian(at, 2);
  w->channels = (int)little_endian(at + 2, 2);
  w->bits = (int)little_endian(at + 14, 2);
  if (w->format == WAVE_EXTENSIBLE && size >= SUBFORMAT + 2)
    w->format = (int)little_endian(at + SUBFORMAT, 2);
}

// The chunks behind "RIFF....WAVE"; the size of the last one may be wrong (of streams it is).
static Wave read_chunks(const unsigned char *at, size_t left) {
  enum { HEAD = 8 };
  Wave w = { 0 };
  while (left >= HEAD && !w.samples) {
    size_t size = little_endian(at + 4, 4);
    const unsigned char *name = at;
    at += HEAD;
    left -= HEAD;
    if (size > left) size = left;
    if (memcmp(name, "fmt ", 4) == 0) read_format(&w, at, size);
    if (memcmp(name, "data", 4) == 0) w.samples = at;
    w.size = size;
    size += size % 2 && size < left;
    at += size;
    left -= size;
  }
  return w;
}

static bool is_known_wave(const Wave *w) {
  if (!w->samples || w->channels < 1 || w->channels > MOST_CHANNELS) return false;
  if (w->format == WAVE_FLOATS) return w->bits == 32 || w->bits == 64;
  return w->format == WAVE_INTEGERS && w->bits % 8 == 0 && w->bits >= 8 && w->bits <= 32;
}

// From -1 to 1.
static double wave_sample(const Wave *w, const unsigned char *at) {
  uint64_t raw = little_endian(at, w->bits / 8);
  PrimType type = w->bits == 32 ? PRIM_F32 : PRIM_F64;
  if (w->format == WAVE_FLOATS)
    return prim_convert(PRIM_F64, prim_of_bits(type, raw)).u.f64;
  double half = ldexp(1, w->bits - 1), value = (double)raw;
  if (w->bits == 8) return (value - half) / half;  // without a sign
  return (value >= half ? value - 2 * half : value) / half;
}

static const Value *wave_value(const unsigned char *bytes, size_t length) {
  enum { HEAD = 12 };
  bool is_wave = length >= HEAD && memcmp(bytes, "RIFF", 4) == 0 &&
                 memcmp(bytes + 8, "WAVE", 4) == 0;
  if (!is_wave) return NULL;
  Wave w = read_chunks(bytes + HEAD, length - HEAD);
  if (!is_known_wave(&w)) return NULL;
  int step = w.bits / 8;
  int64_t count = (int64_t)(w.size / (size_t)(step * w.channels));
  Value *v = value_new(PRIM_F64, 2, (int64_t[]){ w.channels, count });
  for (int64_t i = 0; i < count; i++)
    for (int64_t k = 0; k < w.channels; k++)
      value_set(
          v, k * count + i,
          prim_float(PRIM_F64, wave_sample(&w, w.samples + (i * w.channels + k) * step)));
  return v;
}

const Value *literate_load_sound(const Literate *l, Directive *d, const char *path) {
  size_t length;
  const char *bytes = text_read_file(path, &length);
  if (!bytes) {
    directive_fail(d, "cannot read %s: %s", path, strerror(errno));
    return NULL;
  }
  const Value *v = wave_value((const unsigned char *)bytes, length);
  if (v) return v;
  const char *output = text_format("%s/loaded.wav", l->folder);
  const char *const words[] = { "ffmpeg", "-y",   "-loglevel", "error", "-i",
                                path,     "-c:a", "pcm_f64le", output,  NULL };
  const Text *made = literate_output(l, d, words, output);
  if (made) v = wave_value((const unsigned char *)text_str(made), text_length(made));
  if (made && !v) directive_fail(d, "%s is no sound", path);
  return v;
}
