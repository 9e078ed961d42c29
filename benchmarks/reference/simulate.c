// References of kernels/simulate.fl.
#include "kernels.h"

#define BODIES(name, T, square_root)                                                     \
  void name(int64_t n, const T *xs, const T *ys, const T *zs, const T *ms, T *ax, T *ay, \
            T *az) {                                                                     \
    _Pragma("omp parallel for") for (int64_t i = 0; i < n; i++) {                        \
      T fx = 0, fy = 0, fz = 0;                                                          \
      _Pragma("omp simd reduction(+ : fx, fy, fz)") for (int64_t j = 0; j < n; j++) {    \
        T dx = xs[j] - xs[i], dy = ys[j] - ys[i], dz = zs[j] - zs[i];                    \
        T r2 = dx * dx + dy * dy + dz * dz + (T)0.01, inverse = 1 / square_root(r2);     \
        T s = ms[j] * inverse * inverse * inverse;                                       \
        fx += s * dx;                                                                    \
        fy += s * dy;                                                                    \
        fz += s * dz;                                                                    \
      }                                                                                  \
      ax[i] = fx;                                                                        \
      ay[i] = fy;                                                                        \
      az[i] = fz;                                                                        \
    }                                                                                    \
  }

BODIES(bodies, float, sqrtf)
BODIES(bodies_f64, double, sqrt)

static void accelerate(int64_t n, const float *xs, const float *ys, const float *ms,
                       float *vx, float *vy) {
#pragma omp parallel for
  for (int64_t i = 0; i < n; i++) {
    float fx = 0, fy = 0;
#pragma omp simd reduction(+ : fx, fy)
    for (int64_t j = 0; j < n; j++) {
      float dx = xs[j] - xs[i], dy = ys[j] - ys[i], r2 = dx * dx + dy * dy + 0.01f;
      float s = ms[j] / (r2 * sqrtf(r2));
      fx += s * dx;
      fy += s * dy;
    }
    vx[i] += 0.01f * fx;
    vy[i] += 0.01f * fy;
  }
}

void bodies_in_time(int64_t n, const float *xs, const float *ys, const float *ms,
                    float *px, float *py) {
  float *v = calloc((size_t)(2 * n), sizeof *v);
  memcpy(px, xs, (size_t)n * sizeof *px);
  memcpy(py, ys, (size_t)n * sizeof *py);
  for (int t = 0; t < 10; t++) {
    accelerate(n, px, py, ms, v, v + n);
#pragma omp simd
    for (int64_t i = 0; i < n; i++) {
      px[i] += 0.01f * v[i];
      py[i] += 0.01f * v[n + i];
    }
  }
  free(v);
}

#ifdef PLAIN
void distances(int64_t n, int64_t m, int64_t d, const float *ps, const float *qs,
               float *out) {
  for (int64_t i = 0; i < n; i++)
    for (int64_t j = 0; j < m; j++) {
      float sum = 0;
      for (int64_t x = 0; x < d; x++)
        sum += (ps[i * d + x] - qs[j * d + x]) * (ps[i * d + x] - qs[j * d + x]);
      out[i * m + j] = sqrtf(sum);
    }
}
#else
enum { BLOCK = 128 };

// A block of a row of the result stays in registers while dimensions pass; points by dimension.
static void distance_block(int64_t m, int64_t d, const float *p, const float *qs,
                           float *out) {
  float sums[BLOCK] = { 0 };
  for (int64_t x = 0; x < d; x++)
#  pragma omp simd
    for (int j = 0; j < BLOCK; j++)
      sums[j] += (p[x] - qs[x * m + j]) * (p[x] - qs[x * m + j]);
#  pragma omp simd
  for (int j = 0; j < BLOCK; j++)
    out[j] = sqrtf(sums[j]);
}

static void distance_row(int64_t m, int64_t d, const float *p, const float *qs,
                         float *out) {
  int64_t j = 0;
  for (; j + BLOCK <= m; j += BLOCK)
    distance_block(m, d, p, qs + j, out + j);
  for (; j < m; j++) {
    float sum = 0;
    for (int64_t x = 0; x < d; x++)
      sum += (p[x] - qs[x * m + j]) * (p[x] - qs[x * m + j]);
    out[j] = sqrtf(sum);
  }
}

void distances(int64_t n, int64_t m, int64_t d, const float *ps, const float *qs,
               float *out) {
  float *by_dimension = malloc((size_t)(m * d) * sizeof *by_dimension);
  for (int64_t j = 0; j < m; j++)
    for (int64_t x = 0; x < d; x++)
      by_dimension[x * m + j] = qs[j * d + x];
#  pragma omp parallel for
  for (int64_t i = 0; i < n; i++)
    distance_row(m, d, ps + i * d, by_dimension, out + i * m);
  free(by_dimension);
}
#endif

void gaussian_sums(int64_t n, const float *xs, const float *ys, float *out) {
#pragma omp parallel for
  for (int64_t i = 0; i < n; i++) {
    float sum = 0;
#pragma omp simd reduction(+ : sum)
    for (int64_t j = 0; j < n; j++)
      sum +=
          expf(-((xs[j] - xs[i]) * (xs[j] - xs[i]) + (ys[j] - ys[i]) * (ys[j] - ys[i])));
    out[i] = sum;
  }
}

// A row of points goes on until all of a vector have escaped.
#ifdef PLAIN
#  define ESCAPES(name, T, VECTOR, Integer)                                           \
    static void name(const T *cr, T ci, int32_t limit, int32_t *out, int64_t count) { \
      for (int64_t j = 0; j < count; j++) {                                           \
        T r = 0, i = 0;                                                               \
        int32_t k = 0;                                                                \
        for (; k < limit && r * r + i * i <= 4; k++) {                                \
          T next = r * r - i * i + cr[j];                                             \
          i = 2 * r * i + ci;                                                         \
          r = next;                                                                   \
        }                                                                             \
        out[j] = k;                                                                   \
      }                                                                               \
    }
#else
#  define ESCAPES(name, T, VECTOR, Integer)                                             \
    static void name(const T *cr, T ci, int32_t limit, int32_t *out, int64_t count) {   \
      T r[VECTOR] = { 0 }, i[VECTOR] = { 0 };                                           \
      Integer k[VECTOR] = { 0 }, inside = 1;                                            \
      for (int32_t step = 0; step < limit && inside; step++) {                          \
        inside = 0;                                                                     \
        _Pragma("omp simd reduction(+ : inside)") for (int l = 0; l < VECTOR; l++) {    \
          Integer in = r[l] * r[l] + i[l] * i[l] <= 4;                                  \
          T next = r[l] * r[l] - i[l] * i[l] + cr[l], imaginary = 2 * r[l] * i[l] + ci; \
          r[l] = in ? next : r[l];                                                      \
          i[l] = in ? imaginary : i[l];                                                 \
          k[l] += in;                                                                   \
          inside += in;                                                                 \
        }                                                                               \
      }                                                                                 \
      for (int64_t l = 0; l < count; l++)                                               \
        out[l] = (int32_t)k[l];                                                         \
    }
#endif

enum { POINTS = 32 };
ESCAPES(escapes_f32, float, POINTS, int32_t)
ESCAPES(escapes_f64, double, POINTS, int64_t)

#define MANDELBROT(name, T, escapes)                                                   \
  void name(int64_t n, int64_t m, int32_t limit, int32_t *out) {                       \
    _Pragma("omp parallel for schedule(dynamic, 4)") for (int64_t i = 0; i < n; i++) { \
      T ci = (T)i * 2 / (T)n - 1;                                                      \
      for (int64_t j = 0; j < m; j += POINTS) {                                        \
        T cr[POINTS];                                                                  \
        for (int l = 0; l < POINTS; l++)                                               \
          cr[l] = (T)(j + l) * 3 / (T)m - 2;                                           \
        escapes(cr, ci, limit, out + i * m + j, least(POINTS, m - j));                 \
      }                                                                                \
    }                                                                                  \
  }

MANDELBROT(mandelbrot, float, escapes_f32)
MANDELBROT(mandelbrot_f64, double, escapes_f64)

static inline float cumulative(float d) {
  float k = 1 / (1 + 0.2316419f * fabsf(d));
  float p = 1.781477937f + k * (-1.821255978f + k * 1.330274429f);
  p = k * (0.31938153f + k * (-0.356563782f + k * p));
  float r = 0.39894228f * expf(-0.5f * d * d) * p;
  return d > 0 ? 1 - r : r;
}

void black_scholes(int64_t n, const float *price, const float *strike, const float *years,
                   float *calls, float *puts) {
#pragma omp parallel for simd
  for (int64_t i = 0; i < n; i++) {
    float s = price[i], x = strike[i], t = years[i], root = sqrtf(t);
    float d1 = (logf(s / x) + (0.02f + 0.5f * 0.3f * 0.3f) * t) / (0.3f * root);
    float d2 = d1 - 0.3f * root, discounted = x * expf(-0.02f * t);
    float c1 = cumulative(d1), c2 = cumulative(d2);
    calls[i] = s * c1 - discounted * c2;
    puts[i] = discounted * (1 - c2) - s * (1 - c1);
  }
}

void black_scholes_erf(int64_t n, const double *price, const double *strike,
                       const double *years, double *out) {
#pragma omp parallel for simd
  for (int64_t i = 0; i < n; i++) {
    double s = price[i], x = strike[i], t = years[i], root = sqrt(t);
    double d1 = (log(s / x) + (0.02 + 0.3 * 0.3 / 2) * t) / (0.3 * root),
           d2 = d1 - 0.3 * root;
    double c1 = 0.5 * (1 + erf(d1 * 0.70710678118654752));
    double c2 = 0.5 * (1 + erf(d2 * 0.70710678118654752));
    out[i] = s * c1 - x * exp(-0.02 * t) * c2;
  }
}

// Random numbers: paths side by side in vectors.
#ifdef PLAIN
enum { PATHS = 1 };
#else
enum { PATHS = 16 };
#endif

static inline uint64_t next_u64(uint64_t s) {
  return s * 6364136223846793005u + 1442695040888963407u;
}

static inline double unit(uint64_t s) { return (double)(int64_t)(s >> 11) * 0x1p-53; }

static int64_t hits(int64_t seed, int64_t count, int64_t steps) {
  uint64_t s[PATHS];
  int64_t hit = 0;
  for (int64_t l = 0; l < PATHS; l++)
    s[l] = next_u64((uint64_t)(seed + (l < count ? l : 0)));
  for (int64_t k = 0; k < steps; k++)
#pragma omp simd reduction(+ : hit)
    for (int64_t l = 0; l < PATHS; l++) {
      uint64_t s1 = next_u64(s[l]), s2 = next_u64(s1);
      double x = unit(s1), y = unit(s2);
      s[l] = s2;
      hit += x * x + y * y <= 1 && l < count;
    }
  return hit;
}

void monte_carlo_pi(int64_t n, int64_t steps, double *out) {
  int64_t all = 0;
#pragma omp parallel for reduction(+ : all)
  for (int64_t i = 0; i < n; i += PATHS)
    all += hits(i, least(PATHS, n - i), steps);
  *out = 4 * (double)all / (double)(n * steps);
}

enum { WALKS = 4 * PATHS };

static void walk(int64_t from, int64_t count, int64_t steps, int32_t *out) {
  uint32_t s[WALKS];
  int32_t x[WALKS] = { 0 };
  for (int64_t l = 0; l < WALKS; l++)
    s[l] = (uint32_t)(from + l) * 2654435761u + 12345;
  for (int64_t k = 0; k < steps; k++)
#pragma omp simd
    for (int64_t l = 0; l < WALKS; l++) {
      s[l] = s[l] * 1664525u + 1013904223u;
      x[l] += (int32_t)(s[l] >> 15 & 2) - 1;
    }
  memcpy(out, x, (size_t)count * sizeof *out);
}

void random_walks(int64_t n, int64_t steps, int32_t *out) {
#pragma omp parallel for
  for (int64_t i = 0; i < n; i += WALKS)
    walk(i, least(WALKS, n - i), steps, out + i);
}

static inline uint32_t next_u32(uint32_t s) {
  s ^= s << 13;
  s ^= s >> 17;
  return s ^ s << 5;
}

static inline float unit_float(uint32_t s) {
  return ((float)(int32_t)(s >> 8) + 0.5f) / 16777216;
}

static void follow(int64_t from, int64_t count, int64_t steps, float *out) {
  uint32_t s[WALKS];
  float price[WALKS];
  for (int64_t l = 0; l < WALKS; l++) {
    s[l] = (uint32_t)(from + l) * 747796405u + 2891336453u;
    price[l] = 100;
  }
  for (int64_t k = 0; k < steps; k++)
#pragma omp simd
    for (int64_t l = 0; l < WALKS; l++) {
      uint32_t s1 = next_u32(s[l]), s2 = next_u32(s1);
      float z = sqrtf(-2 * logf(unit_float(s1))) * cosf(6.2831853f * unit_float(s2));
      s[l] = s2;
      price[l] *= expf(0.001f + 0.02f * z);
    }
  memcpy(out, price, (size_t)count * sizeof *out);
}

void geometric_paths(int64_t n, int64_t steps, float *out) {
#pragma omp parallel for
  for (int64_t i = 0; i < n; i += WALKS)
    follow(i, least(WALKS, n - i), steps, out + i);
}

typedef struct Tree {
  int64_t steps;
  double up, p, discount;
} Tree;

static double price_of_option(const Tree *tree, double strike, double *values) {
  for (int64_t i = 0; i <= tree->steps; i++) {
    double value = pow(tree->up, (double)(2 * i - tree->steps)) - strike;
    values[i] = value > 0 ? value : 0;
  }
  double up = tree->discount * tree->p, down = tree->discount * (1 - tree->p);
  for (int64_t t = tree->steps; t > 0; t--)
#pragma omp simd
    for (int64_t i = 0; i < t; i++)
      values[i] = up * values[i + 1] + down * values[i];
  return values[0];
}

void binomial(int64_t n, int64_t steps, const double *strikes, double *out) {
  double dt = 1 / (double)steps, up = exp(0.2 * sqrt(dt)), down = 1 / up;
  Tree tree = { steps, up, (exp(0.05 * dt) - down) / (up - down), exp(-0.05 * dt) };
#pragma omp parallel
  {
    double *values = malloc((size_t)(steps + 1) * sizeof *values);
#pragma omp for
    for (int64_t i = 0; i < n; i++)
      out[i] = price_of_option(&tree, strikes[i], values);
    free(values);
  }
}

// Blocks of elements, so that steps are outside and vectors inside.
enum { ELEMENTS = 64 };
#define IN_BLOCKS(count, T, first, step)                                     \
  _Pragma("omp parallel for") for (int64_t at = 0; at < n; at += ELEMENTS) { \
    T x[ELEMENTS];                                                           \
    int64_t size = least(ELEMENTS, n - at);                                  \
    for (int64_t l = 0; l < size; l++)                                       \
      x[l] = first;                                                          \
    for (int64_t k = 0; k < (count); k++)                                    \
      _Pragma("omp simd") for (int64_t l = 0; l < size; l++) x[l] = step;    \
    memcpy(out + at, x, (size_t)size * sizeof *x);                           \
  }

void newton(int64_t n, const double *as, double *out) {
  IN_BLOCKS(30, double, as[at + l], 0.5 * (x[l] + as[at + l] / x[l]))
}

void logistic(int64_t n, int64_t steps, const float *rs, float *out) {
  IN_BLOCKS(steps, float, 0.5f, rs[at + l] * x[l] * (1 - x[l]))
}

// One step of the oscillator x'' = -w x with step h = 0.01.
static inline void runge_kutta(double w, double *x, double *v) {
  const double h = 0.01;
  double a1 = *v, b1 = -w * *x, a2 = *v + h / 2 * b1, b2 = -w * (*x + h / 2 * a1);
  double a3 = *v + h / 2 * b2, b3 = -w * (*x + h / 2 * a2), a4 = *v + h * b3,
         b4 = -w * (*x + h * a3);
  *x += h / 6 * (a1 + 2 * a2 + 2 * a3 + a4);
  *v += h / 6 * (b1 + 2 * b2 + 2 * b3 + b4);
}

static void oscillate(int64_t count, int64_t steps, const double *ws, double *out) {
  double x[ELEMENTS], v[ELEMENTS], w[ELEMENTS];
  for (int64_t l = 0; l < ELEMENTS; l++) {
    x[l] = 1;
    v[l] = 0;
    w[l] = l < count ? ws[l] * ws[l] : 0;
  }
  for (int64_t k = 0; k < steps; k++)
#pragma omp simd
    for (int64_t l = 0; l < ELEMENTS; l++)
      runge_kutta(w[l], &x[l], &v[l]);
  memcpy(out, x, (size_t)count * sizeof *x);
}

void oscillators(int64_t n, int64_t steps, const double *ws, double *out) {
#pragma omp parallel for
  for (int64_t at = 0; at < n; at += ELEMENTS)
    oscillate(least(ELEMENTS, n - at), steps, ws + at, out + at);
}

void gcds(int64_t n, const int32_t *xs, const int32_t *ys, int32_t *out) {
#pragma omp parallel for
  for (int64_t i = 0; i < n; i++) {
    int32_t a = xs[i], b = ys[i];
    while (b != 0) {
      int32_t r = a % b;
      a = b;
      b = r;
    }
    out[i] = a;
  }
}

typedef struct Spheres {
  int64_t count;
  const float *x, *y, *z, *r;
} Spheres;

static inline float nearest_hit(const Spheres *s, float x, float y, float z) {
  float near = 1000;
#pragma omp simd reduction(min : near)
  for (int64_t k = 0; k < s->count; k++) {
    float a = s->x[k], b = s->y[k], c = s->z[k], r = s->r[k];
    float t = a * x + b * y + c * z, under = r * r - (a * a + b * b + c * c - t * t);
    float hit = under < 0 ? 1000 : t - sqrtf(under > 0 ? under : 0);
    near = hit < near ? hit : near;
  }
  return near;
}

void spheres(int64_t k, int64_t n, int64_t m, const float *cx, const float *cy,
             const float *cz, const float *rs, float *out) {
  Spheres all = { k, cx, cy, cz, rs };
#pragma omp parallel for collapse(2)
  for (int64_t i = 0; i < n; i++)
    for (int64_t j = 0; j < m; j++) {
      float x = ((float)j + 0.5f) / (float)m - 0.5f,
            y = ((float)i + 0.5f) / (float)n - 0.5f;
      float l = 1 / sqrtf(x * x + y * y + 1);
      out[i * m + j] = nearest_hit(&all, x * l, y * l, l);
    }
}

static int32_t edit_distance(int64_t m, const uint8_t *a, const uint8_t *b,
                             int32_t *row) {
  for (int64_t j = 0; j <= m; j++)
    row[j] = (int32_t)j;
  for (int64_t i = 0; i < m; i++) {
    int32_t diagonal = row[0], left = (int32_t)(i + 1);
    row[0] = left;
    for (int64_t j = 0; j < m; j++) {
      int32_t change = diagonal + (a[i] != b[j]),
              gap = 1 + (row[j + 1] < left ? row[j + 1] : left);
      diagonal = row[j + 1];
      row[j + 1] = left = change < gap ? change : gap;
    }
  }
  return row[m];
}

void edit_distances(int64_t n, int64_t m, const uint8_t *as, const uint8_t *bs,
                    int32_t *out) {
#pragma omp parallel
  {
    int32_t *row = malloc((size_t)(m + 1) * sizeof *row);
#pragma omp for
    for (int64_t i = 0; i < n; i++)
      out[i] = edit_distance(m, as + i * m, bs + i * m, row);
    free(row);
  }
}
