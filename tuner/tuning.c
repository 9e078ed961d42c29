#include "tuner/tuning.h"
#include <math.h>
#include <stdio.h>
#include <unistd.h>

void tuning_progress(const Tuning *t, int percent, const char *format, ...) {
  if (t->options->quiet || !isatty(STDERR_FILENO)) return;
  va_list args;
  va_start(args, format);
  fprintf(stderr, "\r\033[K[%3d%%] %s", percent, text_format_list(format, args));
  va_end(args);
  fflush(stderr);
}

const char *tuning_time(double us) {
  if (isinf(us) || us <= 0) return "-";  // not measured
  if (us < 1e3) return text_format("%.0f us", us);
  if (us < 1e6) return text_format("%.3g ms", us * 1e-3);
  return text_format("%.3g s", us * 1e-6);
}

Interval tuning_interval(int hits, int all) {
  if (all == 0) return (Interval){ 0, 1 };
  double n = all, p = hits / n, z = 1.96, z2 = z * z;
  double middle = (p + z2 / (2 * n)) / (1 + z2 / n);
  double half = z / (1 + z2 / n) * sqrt(p * (1 - p) / n + z2 / (4 * n * n));
  return (Interval){ fmax(0, middle - half), fmin(1, middle + half) };
}
