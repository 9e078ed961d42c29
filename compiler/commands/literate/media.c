// Arrays as pictures, moving pictures and sounds.
#include "base/file.h"
#include "base/png.h"
#include "base/process.h"
#include "commands/literate/literate.h"
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

// ---- the array

const Value *directive_array(const Directive *d) {
  const Type *type = d->type;
  while (type->kind == TYPE_ARRAY)
    type = type->u.array.elem;
  return type->kind == TYPE_PRIM ? d->leaves[0] : NULL;
}

const char *directive_type_text(const Directive *d) {
  return command_name_sizes(type_text(d->type));
}

// ---- pictures

// Grey from 0 to 1.
static unsigned char grey(double x) {
  if (!(x > 0)) return 0;
  return x >= 1 ? 255 : (unsigned char)(x * 255 + 0.5);
}

static bool is_picture_element(PrimType elem) {
  return elem == PRIM_U32 || elem == PRIM_I32 || elem == PRIM_U8 || elem == PRIM_BOOL ||
         prim_is_float(elem);
}

// Pixels of a picture of scalars from number `first` on; colours are 0xAARRGGBB, of which AA is not
// looked at.
static PngImage picture_of(const Value *v, int64_t height, int64_t width, int64_t first) {
  bool colours = v->elem == PRIM_U32 || v->elem == PRIM_I32;
  int64_t count = height * width;
  unsigned char *pixels = mem_alloc_plain((size_t)count * 3 + 1);
  for (int64_t i = 0; i < count; i++) {
    Prim p = value_get(v, first + i);
    uint64_t bits = prim_bits_of(p);
    for (int k = 0; colours && k < 3; k++)
      pixels[3 * i + k] = (unsigned char)(bits >> (16 - 8 * k));
    if (v->elem == PRIM_U8) pixels[i] = (unsigned char)bits;
    if (v->elem == PRIM_BOOL) pixels[i] = bits ? 255 : 0;
    if (prim_is_float(v->elem)) pixels[i] = grey(prim_to_double(p));
  }
  return (PngImage){ width, height, colours ? 3 : 1, pixels };
}

// Is the value made of pictures, `rank` dimensions in all?  Otherwise the directive has failed.
static bool has_pictures(Directive *d, const Value *v, int rank) {
  if (!v || v->rank != rank || !is_picture_element(v->elem)) {
    directive_fail(
        d,
        "expected %s of u32 or i32 (colours), f16, f32, f64, u8 or bool (grey), "
        "found %s",
        rank == 2 ? "a 2-dimensional array"
                  : "a 3-dimensional array (or a triple of a function, a state and a "
                    "number of frames)",
        directive_type_text(d));
    return false;
  }
  for (int i = 0; i < rank; i++)
    if (v->shape[i] < 1 || v->shape[i] > PNG_MOST_PIXELS) {
      directive_fail(d, "there is nothing to see in %s", value_type_text(v));
      return false;
    }
  return true;
}

void show_image(LiteratePage *page, Directive *d) {
  const Value *v = directive_array(d);
  if (!has_pictures(d, v, 2)) return;
  PngImage image = picture_of(v, v->shape[0], v->shape[1], 0);
  Text *bytes = text_new();
  png_write(bytes, &image);
  page_add_media(page, d, "png", bytes);
}

// ---- other programs

// The value of a parameter that is a number from 1 to `most`.
static bool number_param(Directive *d, const char *key, int most, int *out) {
  const char *text = directive_param(d, key);
  if (!text) return true;
  char *end;
  errno = 0;
  long number = strtol(text, &end, 10);
  *out = (int)number;
  if (end != text && !*end && !errno && number >= 1 && number <= most) return true;
  directive_fail(d, "`%s: %s`: expected a number from 1 to %d%s", key, text, most,
                 strpbrk(text, ",;") ? "; each parameter has a line of its own" : "");
  return false;
}

const Text *literate_output(const Literate *l, Directive *d, const char *const *words,
                            const char *output) {
  if (!process_find(words[0])) {
    directive_fail(d, "this needs `%s`, which was not found (Debian's package: %s)",
                   words[0], strcmp(words[0], "gnuplot") == 0 ? "gnuplot-nox" : words[0]);
    return NULL;
  }
  const char *said_path = text_format("%s/said", l->folder);
  int none = open("/dev/null", O_RDONLY | O_CLOEXEC),
      log = open(said_path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
  int status = process_run(&(Process){ .argv = words, .in = none, .out = log });
  close(none);
  close(log);
  size_t length;
  const char *said = text_read_file(said_path, &length);
  const char *bytes = text_read_file(output, &length);
  if (bytes && status >= 0 && WIFEXITED(status) && WEXITSTATUS(status) == 0) {
    Text *t = text_new();
    text_add_bytes(t, bytes, length);
    return t;
  }
  directive_fail(d, "`%s` failed:\n%s", words[0], said ? said : "");
  return NULL;
}

// ---- moving pictures

static const Text *film_of(const Literate *l, Directive *d, const PngImage *frames,
                           int count, int per_second, bool repeat, const char *format) {
  for (int i = 0; i < count; i++) {
    Text *bytes = text_new();
    png_write(bytes, &frames[i]);
    if (!file_write(text_format("%s/frame%d.png", l->folder, i), bytes))
      directive_fail(d, "cannot write a frame: %s", strerror(errno));
  }
  if (d->failed) return NULL;
  const char *output = text_format("%s/film.%s", l->folder, format);
  bool gif = strcmp(format, "gif") == 0;
  const char *const words[] = { "ffmpeg",
                                "-y",
                                "-loglevel",
                                "error",
                                "-framerate",
                                text_format("%d", per_second),
                                "-i",
                                text_format("%s/frame%%d.png", l->folder),
                                "-frames:v",
                                text_format("%d", count),
                                gif ? "-filter_complex" : "-pix_fmt",
                                gif ? "split[a][b];[a]palettegen[p];[b][p]paletteuse"
                                    : "yuv420p",
                                gif ? "-loop" : "-b:v",
                                gif ? (repeat ? "0" : "-1") : "4M",
                                output,
                                NULL };
  return literate_output(l, d, words, output);
}

static const PngImage *frames_of(const Value *v) {
  PngImage *frames = new_array(PngImage, v->shape[0]);
  for (int64_t i = 0; i < v->shape[0]; i++)
    frames[i] = picture_of(v, v->shape[1], v->shape[2], i * v->shape[1] * v->shape[2]);
  return frames;
}

static const char *video_format(Directive *d) {
  const char *format = directive_param(d, "format");
  if (!format) return "png";
  if (strcmp(format, "png") != 0 && strcmp(format, "gif") != 0 &&
      strcmp(format, "webm") != 0)
    directive_fail(d, "`format: %s`: expected png, gif or webm", format);
  return format;
}

void show_video(LiteratePage *page, Directive *d) {
  const Value *v = directive_array(d);
  int per_second = 30;
  const char *repeats = directive_param(d, "repeat"), *format = video_format(d);
  bool repeat = !repeats || strcmp(repeats, "true") == 0;
  if (!repeat && strcmp(repeats, "false") != 0)
    directive_fail(d, "`repeat: %s`: expected true or false", repeats);
  if (!number_param(d, "fps", 1000, &per_second) || d->failed) return;
  if (!has_pictures(d, v, 3)) return;
  const PngImage *frames = frames_of(v);
  const Text *bytes = NULL;
  if (strcmp(format, "png") == 0) {
    Text *animation = text_new();
    png_write_animation(animation, frames, (int)v->shape[0], per_second, repeat);
    bytes = animation;
  } else {
    bytes = film_of(page->l, d, frames, (int)v->shape[0], per_second, repeat, format);
  }
  if (bytes) page_add_media(page, d, format, bytes);
}

// ---- sounds

static void put_number(Text *t, uint64_t value, int bytes) {
  for (int i = 0; i < bytes; i++)
    text_add_bytes(t, &(char){ (char)(value >> 8 * i) }, 1);
}

// WAVE has samples of one byte without a sign, others with one; floats as they are.
static Prim sample(Prim p) {
  int bits = prim_bits(p.type);
  if (prim_is_float(p.type)) return p.type == PRIM_F16 ? prim_convert(PRIM_F32, p) : p;
  bool flip = bits == 8 ? prim_is_signed(p.type) : !prim_is_signed(p.type);
  uint64_t raw = prim_bits_of(p) ^ (flip ? (uint64_t)1 << (bits - 1) : 0);
  return prim_of_bits(p.type, raw);
}

// Channels take turns.
static const Text *wave_of(const Value *v, int frequency) {
  enum { INTEGERS = 1, FLOATS = 3 };
  int64_t channels = v->rank == 2 ? v->shape[0] : 1, length = v->shape[v->rank - 1];
  int bytes = prim_size_bytes(v->elem == PRIM_F16 ? PRIM_F32 : v->elem);
  uint64_t data = (uint64_t)(channels * length * bytes),
           block = (uint64_t)(channels * bytes);
  Text *t = text_new();
  text_add(t, "RIFF");
  put_number(t, 36 + data, 4);
  text_add(t, "WAVEfmt ");
  put_number(t, 16, 4);
  put_number(t, prim_is_float(v->elem) ? FLOATS : INTEGERS, 2);
  put_number(t, (uint64_t)channels, 2);
  put_number(t, (uint64_t)frequency, 4);
  put_number(t, (uint64_t)frequency * block, 4);
  put_number(t, block, 2);
  put_number(t, (uint64_t)(8 * bytes), 2);
  text_add(t, "data");
  put_number(t, data, 4);
  for (int64_t i = 0; i < length; i++)
    for (int64_t k = 0; k < channels; k++)
      put_number(t, prim_bits_of(sample(value_get(v, k * length + i))), bytes);
  return t;
}

static const Text *encoded_sound(const Literate *l, Directive *d, const Text *wave,
                                 const char *codec) {
  const char *input = text_format("%s/sound.wav", l->folder),
             *output = text_format("%s/sound.%s", l->folder, codec);
  if (!file_write(input, wave)) {
    directive_fail(d, "cannot write a sound: %s", strerror(errno));
    return NULL;
  }
  const char *const words[] = { "ffmpeg", "-y",  "-loglevel", "error",
                                "-i",     input, output,      NULL };
  return literate_output(l, d, words, output);
}

void show_audio(LiteratePage *page, Directive *d) {
  const Value *v = directive_array(d);
  int frequency = 44100;
  const char *codec = directive_param(d, "codec");
  if (!codec) codec = "wav";
  if (!number_param(d, "sampling_frequency", 1000000, &frequency)) return;
  if (strpbrk(codec, "/ ") || !*codec)
    directive_fail(d, "`codec: %s`: expected wav, mp3, flac, ogg or opus", codec);
  bool fits = v && (v->rank == 1 || v->rank == 2) && v->elem != PRIM_BOOL &&
              v->elem != PRIM_I64 && v->elem != PRIM_U64 &&
              value_count(v) * prim_size_bytes(v->elem) < 1 << 30;
  if (!fits)
    directive_fail(
        d,
        "expected samples, an array of integers of at most 32 bits or of floats, "
        "or one for each channel, found %s",
        directive_type_text(d));
  if (d->failed) return;
  const Text *bytes = wave_of(v, frequency);
  if (strcmp(codec, "wav") != 0) bytes = encoded_sound(page->l, d, bytes, codec);
  if (bytes) page_add_media(page, d, codec, bytes);
}
