// References of kernels/everyday.fl.
#include "kernels.h"

// One stage of a transform: pairs that are n / 2 apart become neighbours that are `span` apart.
static void butterflies(int64_t n, int64_t span, const float *roots, const float *from,
                        float *to) {
  const float *fr = from, *fi = from + n;
  float *tr = to, *ti = to + n;
#pragma omp parallel for
  for (int64_t block = 0; block < n / 2 / span; block++)
#pragma omp simd
    for (int64_t j = 0; j < span; j++) {
      int64_t a = block * span + j, b = a + n / 2, c = 2 * block * span + j, d = c + span;
      float wr = roots[2 * j * (n / 2 / span)], wi = roots[2 * j * (n / 2 / span) + 1];
      float cr = fr[b] * wr - fi[b] * wi, ci = fr[b] * wi + fi[b] * wr;
      tr[c] = fr[a] + cr;
      ti[c] = fi[a] + ci;
      tr[d] = fr[a] - cr;
      ti[d] = fi[a] - ci;
    }
}

void fourier(int64_t n, int64_t k, const float *re, const float *im, float *out_re,
             float *out_im) {
  size_t bytes = (size_t)n * sizeof(float);
  float *from = malloc(2 * bytes), *to = malloc(2 * bytes), *roots = malloc(bytes);
#pragma omp parallel for simd
  for (int64_t i = 0; i < n / 2; i++) {
    float angle = -6.2831853071795865f * (float)i / (float)n;
    roots[2 * i] = cosf(angle);
    roots[2 * i + 1] = sinf(angle);
  }
  memcpy(from, re, bytes);
  memcpy(from + n, im, bytes);
  for (int64_t s = 0; s < k; s++) {
    butterflies(n, (int64_t)1 << s, roots, from, to);
    float *last = from;
    from = to;
    to = last;
  }
  memcpy(out_re, from, bytes);
  memcpy(out_im, from + n, bytes);
  free(from);
  free(to);
  free(roots);
}

static inline float lesser(float a, float b) { return a < b ? a : b; }

// Row and column k don't change in step k, so that it can be done in place.
void all_paths(int64_t n, const float *d, float *out) {
  memcpy(out, d, (size_t)(n * n) * sizeof *out);
#pragma omp parallel
  for (int64_t k = 0; k < n; k++)
#pragma omp for
    for (int64_t i = 0; i < n; i++) {
      float through = out[i * n + k];
#pragma omp simd
      for (int64_t j = 0; j < n; j++)
        out[i * n + j] = lesser(out[i * n + j], through + out[k * n + j]);
    }
}

static void subtract_row(int64_t n, int64_t k, int64_t i, double *m, double *x) {
  double factor = m[i * n + k];
#pragma omp simd
  for (int64_t j = k; j < n; j++)
    m[i * n + j] -= factor * m[k * n + j];
  x[i] -= factor * x[k];
}

void eliminated(int64_t n, const double *a, const double *b, double *x) {
  double *m = malloc((size_t)(n * n) * sizeof *m);
  memcpy(m, a, (size_t)(n * n) * sizeof *m);
  memcpy(x, b, (size_t)n * sizeof *x);
  for (int64_t i = 0; i < n; i++)
    m[i * n + i] += 1;
#pragma omp parallel
  for (int64_t k = 0; k < n; k++) {
#pragma omp single
    {
      double scale = 1 / m[k * n + k];
      for (int64_t j = k; j < n; j++)
        m[k * n + j] *= scale;
      x[k] *= scale;
    }
#pragma omp for
    for (int64_t i = 0; i < n; i++)
      if (i != k) subtract_row(n, k, i, m, x);
  }
  free(m);
}

void cholesky(int64_t n, const double *a, double *l) {
  memset(l, 0, (size_t)(n * n) * sizeof *l);
#pragma omp parallel
  for (int64_t j = 0; j < n; j++) {
#pragma omp for
    for (int64_t i = j; i < n; i++) {
      double sum = 0.5 * (a[i * n + j] + a[j * n + i]) + (i == j ? 1 : 0);
#pragma omp simd reduction(+ : sum)
      for (int64_t k = 0; k < j; k++)
        sum -= l[i * n + k] * l[j * n + k];
      l[i * n + j] = sum;
    }
#pragma omp single
    {
      double diagonal = sqrt(l[j * n + j]);
      l[j * n + j] = diagonal;
      for (int64_t i = j + 1; i < n; i++)
        l[i * n + j] /= diagonal;
    }
  }
}

static float product(int64_t n, const float *a, const float *p, float *q) {
  float sum = 0;
#pragma omp parallel for reduction(+ : sum)
  for (int64_t i = 0; i < n; i++) {
    float dot = p[i];
#pragma omp simd reduction(+ : dot)
    for (int64_t j = 0; j < n; j++)
      dot += a[i * n + j] * p[j];
    q[i] = dot;
    sum += p[i] * dot;
  }
  return sum;
}

void conjugate_gradients(int64_t n, const float *a, const float *b, float *x) {
  float *r = malloc((size_t)(3 * n) * sizeof *r), *p = r + n, *q = p + n, rr = 0;
  for (int64_t i = 0; i < n; i++) {
    x[i] = 0;
    r[i] = p[i] = b[i];
    rr += b[i] * b[i];
  }
  for (int step = 0; step < 20; step++) {
    float alpha = rr / (product(n, a, p, q) + 1e-30f), next = 0;
#pragma omp simd reduction(+ : next)
    for (int64_t i = 0; i < n; i++) {
      x[i] += alpha * p[i];
      r[i] -= alpha * q[i];
      next += r[i] * r[i];
    }
#pragma omp simd
    for (int64_t i = 0; i < n; i++)
      p[i] = r[i] + next / (rr + 1e-30f) * p[i];
    rr = next;
  }
  free(r);
}

void page_ranks(int64_t n, int64_t m, const int64_t *starts, const int64_t *columns,
                float *out) {
  float *from = malloc((size_t)n * sizeof *from);
  for (int64_t i = 0; i < n; i++)
    out[i] = 1 / (float)n;
  for (int t = 0; t < 5; t++) {
    memcpy(from, out, (size_t)n * sizeof *from);
#pragma omp parallel for
    for (int64_t i = 0; i < n; i++) {
      int64_t end = i == n - 1 ? m : starts[i + 1];
      float sum = 0;
      for (int64_t k = starts[i]; k < end; k++)
        sum += from[columns[k]];
      out[i] = 0.15f / (float)n + 0.85f * sum / 10;
    }
  }
  free(from);
}

static int64_t nearest(int64_t d, int64_t k, const float *p, const float *centres) {
  float best = FLT_MAX;
  int64_t at = 0;
  for (int64_t j = 0; j < k; j++) {
    float e = 0;
    for (int64_t x = 0; x < d; x++)
      e += (p[x] - centres[j * d + x]) * (p[x] - centres[j * d + x]);
    if (e < best) {
      best = e;
      at = j;
    }
  }
  return at;
}

void k_means_step(int64_t n, int64_t d, int64_t k, const float *points,
                  const float *centres, float *out) {
  float *counts = calloc((size_t)k, sizeof *counts);
  memset(out, 0, (size_t)(k * d) * sizeof *out);
#pragma omp parallel
  {
    float *own = calloc((size_t)(k * (d + 1)), sizeof *own);
#pragma omp for
    for (int64_t i = 0; i < n; i++) {
      float *sums = own + nearest(d, k, points + i * d, centres) * (d + 1);
      for (int64_t x = 0; x < d; x++)
        sums[x] += points[i * d + x];
      sums[d]++;
    }
#pragma omp critical
    for (int64_t j = 0; j < k; j++) {
      for (int64_t x = 0; x < d; x++)
        out[j * d + x] += own[j * (d + 1) + x];
      counts[j] += own[j * (d + 1) + d];
    }
    free(own);
  }
  for (int64_t j = 0; j < k; j++)
    for (int64_t x = 0; x < d; x++)
      out[j * d + x] /= counts[j] > 1 ? counts[j] : 1;
  free(counts);
}

// Each row is used twice while it is in the cache.
static void add_gradient(int64_t m, const float *x, float y, const float *ws,
                         float *sums) {
  float dot = 0;
#pragma omp simd reduction(+ : dot)
  for (int64_t j = 0; j < m; j++)
    dot += x[j] * ws[j];
  float error = 1 / (1 + expf(-dot)) - y;
#pragma omp simd
  for (int64_t j = 0; j < m; j++)
    sums[j] += error * x[j];
}

void gradient(int64_t n, int64_t m, const float *xs, const float *ys, const float *ws,
              float *out) {
  memset(out, 0, (size_t)m * sizeof *out);
#pragma omp parallel
  {
    float *own = calloc((size_t)m, sizeof *own);
#pragma omp for
    for (int64_t i = 0; i < n; i++)
      add_gradient(m, xs + i * m, ys[i], ws, own);
#pragma omp critical
    for (int64_t j = 0; j < m; j++)
      out[j] += own[j] / (float)n;
    free(own);
  }
}

void adam(int64_t n, float t, const float *w, const float *g, const float *m,
          const float *v, float *out_w, float *out_m, float *out_v) {
  float first = 1 - powf(0.9f, t), second = 1 - powf(0.999f, t);
#pragma omp parallel for simd
  for (int64_t i = 0; i < n; i++) {
    float mi = 0.9f * m[i] + 0.1f * g[i], vi = 0.999f * v[i] + 0.001f * g[i] * g[i];
    out_w[i] = w[i] - 0.001f * (mi / first) / (sqrtf(vi / second) + 1e-8f);
    out_m[i] = mi;
    out_v[i] = vi;
  }
}

void resized(int64_t n, int64_t m, int64_t h, int64_t w, const float *image, float *out) {
#pragma omp parallel for
  for (int64_t i = 0; i < h; i++) {
    float y = (float)i * (float)(n - 1) / (float)(h - 1);
    int64_t i0 = least(n - 2, (int64_t)y);
    float b = y - (float)i0;
    const float *top = image + i0 * m, *bottom = top + m;
#pragma omp simd
    for (int32_t j = 0; j < (int32_t)w; j++) {
      float x = (float)j * (float)(m - 1) / (float)(w - 1);
      int32_t j0 = (int32_t)x < (int32_t)m - 2 ? (int32_t)x : (int32_t)m - 2;
      float a = x - (float)j0;
      out[i * w + j] = (top[j0] * (1 - a) + top[j0 + 1] * a) * (1 - b) +
                       (bottom[j0] * (1 - a) + bottom[j0 + 1] * a) * b;
    }
  }
}

void equalised(int64_t n, const uint8_t *image, uint8_t *out) {
  int64_t counts[256] = { 0 }, sum = 0;
  uint8_t table[256];
#pragma omp parallel for reduction(+ : counts)
  for (int64_t i = 0; i < n; i++)
    counts[image[i]]++;
  for (int v = 0; v < 256; v++) {
    sum += counts[v];
    table[v] = (uint8_t)(sum * 255 / n);
  }
#pragma omp parallel for
  for (int64_t i = 0; i < n; i++)
    out[i] = table[image[i]];
}

static void window(int64_t i, int64_t k, const float *xs, float *mean, float *high) {
  float sum = 0, greatest = -FLT_MAX;
  for (int64_t d = 0; d < k; d++) {
    float x = xs[most(0, i - d)];
    sum += x;
    greatest = x > greatest ? x : greatest;
  }
  *mean = sum / (float)k;
  *high = greatest;
}

// Windows side by side in vectors, but for the first ones, which are clamped.
void windows(int64_t n, int64_t k, const float *xs, float *means, float *maxima) {
  for (int64_t i = 0; i < k; i++)
    window(i, k, xs, means + i, maxima + i);
#pragma omp parallel for simd
  for (int64_t i = k; i < n; i++) {
    float sum = 0, greatest = -FLT_MAX;
    for (int64_t d = 0; d < k; d++) {
      sum += xs[i - d];
      greatest = xs[i - d] > greatest ? xs[i - d] : greatest;
    }
    means[i] = sum / (float)k;
    maxima[i] = greatest;
  }
}

static void windows_of_part(Part p, int64_t k, const double *xs, double *out) {
  double sum = 0;
  for (int64_t i = most(0, p.from - k); i < p.from; i++)
    sum += xs[i];
  for (int64_t i = p.from; i < p.to; i++) {
    sum += xs[i] - (i >= k ? xs[i - k] : 0);
    out[i] = sum / (double)least(k, i + 1);
  }
}

void windows_by_sums(int64_t n, int64_t k, const double *xs, double *out) {
#ifdef PLAIN
  windows_of_part((Part){ 0, 1, 0, n }, k, xs, out);
#else
#  pragma omp parallel
  windows_of_part(part_of(n), k, xs, out);
#endif
}

static int64_t count_runs(Part p, const int32_t *xs) {
  int64_t count = 0;
#pragma omp simd reduction(+ : count)
  for (int64_t i = most(1, p.from); i < p.to; i++)
    count += xs[i] != xs[i - 1];
  return count + (p.from == 0);
}

static void store_runs(Part p, int64_t n, int64_t at, const int32_t *xs, int32_t *values,
                       int64_t *lengths) {
  int64_t i = p.from;
  while (i > 0 && i < p.to && xs[i] == xs[i - 1])
    i++;
  while (i < p.to) {
    int64_t end = i + 1;
    while (end < n && xs[end] == xs[i])
      end++;
    values[at] = xs[i];
    lengths[at++] = end - i;
    i = end;
  }
}

int64_t run_lengths(int64_t n, const int32_t *xs, int32_t *values, int64_t *lengths) {
  int64_t total = 0;
#ifdef PLAIN
  Part p = { 0, 1, 0, n };
  total = count_runs(p, xs);
  store_runs(p, n, 0, xs, values, lengths);
#else
  int64_t counts[MOST_THREADS];
#  pragma omp parallel
  {
    Part p = part_of(n);
    int64_t at = 0;
    counts[p.id] = count_runs(p, xs);
#  pragma omp barrier
    for (int t = 0; t < p.id; t++)
      at += counts[t];
    if (p.id == p.threads - 1) total = at + counts[p.id];
    store_runs(p, n, at, xs, values, lengths);
  }
#endif
  return total;
}

int64_t primes(int64_t n, int64_t *out) {
  bool *composite = calloc((size_t)n, sizeof *composite);
  for (int64_t p = 2; p * p < n; p++)
    if (!composite[p])
      for (int64_t i = p * p; i < n; i += p)
        composite[i] = true;
  int64_t count = 0;
  for (int64_t i = 2; i < n; i++) {
    out[count] = i;
    count += !composite[i];
  }
  free(composite);
  return count;
}

static inline float lattice(int32_t i, int32_t j) {
  uint32_t h = (uint32_t)i * 374761393u + (uint32_t)j * 668265263u;
  h = (h ^ (h >> 13)) * 1274126177u;
  return (float)(int32_t)((h ^ (h >> 16)) >> 8) / 16777216;
}

static inline float noise_at(float y, float x) {
  int32_t i = (int32_t)y, j = (int32_t)x;
  float b = y - (float)i, a = x - (float)j;
  b = b * b * (3 - 2 * b);
  a = a * a * (3 - 2 * a);
  return (lattice(i, j) * (1 - a) + lattice(i, j + 1) * a) * (1 - b) +
         (lattice(i + 1, j) * (1 - a) + lattice(i + 1, j + 1) * a) * b;
}

void noise(int64_t n, int64_t m, float *out) {
#pragma omp parallel for
  for (int64_t i = 0; i < n; i++)
#pragma omp simd
    for (int32_t j = 0; j < (int32_t)m; j++) {
      float y = (float)i, x = (float)j;
      out[i * m + j] =
          0.5f * noise_at(y / 64, x / 64) + 0.25f * noise_at(y / 32, x / 32) +
          0.125f * noise_at(y / 16, x / 16) + 0.0625f * noise_at(y / 8, x / 8);
    }
}

void margins(int64_t n, int64_t m, const double *table, double *rows, double *columns,
             double *all) {
  double total = 0;
  memset(columns, 0, (size_t)m * sizeof *columns);
#pragma omp parallel reduction(+ : total)
  {
    double *own = calloc((size_t)m, sizeof *own);
#pragma omp for
    for (int64_t i = 0; i < n; i++) {
      double sum = 0;
#pragma omp simd reduction(+ : sum)
      for (int64_t j = 0; j < m; j++) {
        sum += table[i * m + j];
        own[j] += table[i * m + j];
      }
      rows[i] = sum;
      total += sum;
    }
#pragma omp critical
    for (int64_t j = 0; j < m; j++)
      columns[j] += own[j];
    free(own);
  }
  *all = total;
}

// Sums, squares and products in one pass of outer products.
static void add_products(int64_t m, const double *x, const double *means, double *shifted,
                         double *out) {
#pragma omp simd
  for (int64_t j = 0; j < m; j++)
    shifted[j] = x[j] - means[j];
  for (int64_t i = 0; i < m; i++)
#pragma omp simd
    for (int64_t j = 0; j < m; j++)
      out[i * m + j] += shifted[i] * shifted[j];
}

static void divide_by_deviations(int64_t m, double *out) {
  double *deviations = malloc((size_t)m * sizeof *deviations);
  for (int64_t j = 0; j < m; j++)
    deviations[j] = sqrt(out[j * m + j]);
  for (int64_t i = 0; i < m; i++)
    for (int64_t j = 0; j < m; j++)
      out[i * m + j] /= deviations[i] * deviations[j];
  free(deviations);
}

void correlations(int64_t n, int64_t m, const double *xss, double *out) {
  double *means = calloc((size_t)m, sizeof *means);
  memset(out, 0, (size_t)(m * m) * sizeof *out);
  for (int64_t i = 0; i < n; i++)
    for (int64_t j = 0; j < m; j++)
      means[j] += xss[i * m + j] / (double)n;
#pragma omp parallel
  {
    double *own = calloc((size_t)(m * (m + 1)), sizeof *own);
#pragma omp for
    for (int64_t i = 0; i < n; i++)
      add_products(m, xss + i * m, means, own + m * m, own);
#pragma omp critical
    for (int64_t i = 0; i < m * m; i++)
      out[i] += own[i];
    free(own);
  }
  divide_by_deviations(m, out);
  free(means);
}

int64_t polynomial_product(int64_t n, const double *a, const double *b, double *out) {
#pragma omp parallel for schedule(dynamic, 64)
  for (int64_t k = 0; k < 2 * n - 1; k++) {
    double sum = 0;
#pragma omp simd reduction(+ : sum)
    for (int64_t i = most(0, k - n + 1); i < least(n, k + 1); i++)
      sum += a[i] * b[k - i];
    out[k] = sum;
  }
  return 2 * n - 1;
}

void common_subsequence(int64_t n, const uint8_t *a, const uint8_t *b, int32_t *out) {
  int32_t *row = calloc((size_t)(n + 1), sizeof *row);
  for (int64_t i = 0; i < n; i++) {
    int32_t diagonal = 0;
    for (int64_t j = 0; j < n; j++) {
      int32_t above = row[j + 1], left = row[j], skip = above > left ? above : left;
      row[j + 1] = a[i] == b[j] ? diagonal + 1 : skip;
      diagonal = above;
    }
  }
  *out = row[n];
  free(row);
}

static float near_pairs(int64_t n, int64_t i, const float *x, const float *y) {
  float sum = 0;
#pragma omp simd reduction(+ : sum)
  for (int64_t j = i + 1; j < n; j++) {
    float dx = x[i] - x[j], dy = y[i] - y[j];
    sum += 1 / sqrtf(dx * dx + dy * dy + 0.01f);
  }
  return sum;
}

void pairs(int64_t n, const float *x, const float *y, float *out) {
  float sum = 0;
#pragma omp parallel for reduction(+ : sum) schedule(dynamic, 32)
  for (int64_t i = 0; i < n; i++)
    sum += near_pairs(n, i, x, y);
  *out = sum;
}

void below_diagonal(int64_t n, const float *a, const float *x, float *out) {
#pragma omp parallel for schedule(dynamic, 64)
  for (int64_t i = 0; i < n; i++) {
    float sum = 0;
#pragma omp simd reduction(+ : sum)
    for (int64_t k = 0; k < i; k++)
      sum += a[i * n + k] * x[k];
    out[i] = sum;
  }
}

void autocorrelation(int64_t n, int64_t m, const float *x, float *out) {
#pragma omp parallel for
  for (int64_t l = 0; l < m; l++) {
    float sum = 0;
#pragma omp simd reduction(+ : sum)
    for (int64_t i = 0; i < n - l; i++)
      sum += x[i] * x[i + l];
    out[l] = sum;
  }
}

void occurrences(int64_t n, int64_t k, const uint8_t *text, const uint8_t *word,
                 int64_t *out) {
  int64_t sum = 0;
#pragma omp parallel for reduction(+ : sum)
  for (int64_t i = 0; i < n - k + 1; i++) {
    int64_t j = 0;
    while (j < k && text[i + j] == word[j])
      j++;
    sum += j == k;
  }
  *out = sum;
}
