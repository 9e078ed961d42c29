// Pictures as PNG, and several of them as an animated one (APNG).
#pragma once
#include "base/text.h"
#include <stdint.h>

typedef struct PngImage {
  int64_t width, height;        // from 1 to PNG_MOST_PIXELS
  int channels;                 // bytes of a pixel: 1 (grey) or 3 (red, green, blue)
  const unsigned char *pixels;  // row by row
} PngImage;

enum { PNG_MOST_PIXELS = 1 << 20 };

void png_write(Text *t, const PngImage *image);
// Frames of one size and kind, at least one; `repeat`: without end, else once.
void png_write_animation(Text *t, const PngImage *frames, int count, int per_second,
                         bool repeat);
