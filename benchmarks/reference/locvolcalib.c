// LocVolCalib (benchmarks/README.md) in plain C and OpenMP: an option per iteration of the parallel
// loop, rows solved by the sequential (Thomas) algorithm.
//
//   locvolcalib RUNS NUMS NUMX NUMY NUMT   prints microseconds a run, then the results with -v last
#include <math.h>
#include <omp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct Problem {
  int nums, numx, numy, numt;
  float s0, t, alpha, nu, beta;
} Problem;

typedef struct Grid {
  float *x, *y;
  float (*dx)[3], (*dxx)[3], (*dy)[3], (*dyy)[3];
  int ix, iy;
} Grid;

static void operators(int n, const float *g, float (*d)[3], float (*e)[3]) {
  for (int i = 1; i < n - 1; i++) {
    float l = g[i] - g[i - 1], u = g[i + 1] - g[i];
    d[i][0] = -(u / l) / (l + u);
    d[i][1] = (u / l - l / u) / (l + u);
    d[i][2] = (l / u) / (l + u);
    e[i][0] = 2 / (l * (l + u));
    e[i][1] = -2 * (1 / l + 1 / u) / (l + u);
    e[i][2] = 2 / (u * (l + u));
  }
  float first = g[1] - g[0], last = g[n - 1] - g[n - 2];
  d[0][1] = -1 / first;
  d[0][2] = 1 / first;
  d[n - 1][0] = -1 / last;
  d[n - 1][1] = 1 / last;
}

static Grid make_grid(const Problem *p) {
  Grid g;
  g.x = calloc((size_t)p->numx, sizeof(float));
  g.y = calloc((size_t)p->numy, sizeof(float));
  g.dx = calloc((size_t)p->numx, sizeof *g.dx);
  g.dxx = calloc((size_t)p->numx, sizeof *g.dxx);
  g.dy = calloc((size_t)p->numy, sizeof *g.dy);
  g.dyy = calloc((size_t)p->numy, sizeof *g.dyy);
  float hx = 20 * p->alpha * p->s0 * sqrtf(p->t) / (float)p->numx;
  float hy = 10 * p->nu * sqrtf(p->t) / (float)p->numy;
  g.ix = (int)(p->s0 / hx);
  g.iy = p->numy / 2;
  for (int i = 0; i < p->numx; i++)
    g.x[i] = (float)i * hx - (float)g.ix * hx + p->s0;
  for (int j = 0; j < p->numy; j++)
    g.y[j] = (float)j * hy - (float)g.iy * hy + logf(p->alpha);
  operators(p->numx, g.x, g.dx, g.dxx);
  operators(p->numy, g.y, g.dy, g.dyy);
  return g;
}

// a z[q-1] + b z[q] + c z[q+1] = d, in place in d; b is overwritten.
static void thomas(int n, const float *a, float *b, const float *c, float *d) {
  for (int q = 1; q < n; q++) {
    float f = a[q] / b[q - 1];
    b[q] -= f * c[q - 1];
    d[q] -= f * d[q - 1];
  }
  d[n - 1] /= b[n - 1];
  for (int q = n - 2; q >= 0; q--)
    d[q] = (d[q] - c[q] * d[q + 1]) / b[q];
}

typedef struct Work {
  float *r, *u, *v, *a, *b, *c, *w;
} Work;

static void explicit_parts(const Problem *p, const Grid *g, const Work *k, float delta, float time) {
  int nx = p->numx, ny = p->numy;
  for (int i = 0; i < nx; i++)
    for (int j = 0; j < ny; j++) {
      float sum = 0;
      for (int n = 0; n < 3; n++)
        if (j + n >= 1 && j + n - 1 < ny)
          sum += 0.5f * p->nu * p->nu * g->dyy[j][n] * k->r[(j + n - 1) * nx + i];
      k->v[i * ny + j] = sum;
    }
  for (int j = 0; j < ny; j++)
    for (int i = 0; i < nx; i++) {
      float var = expf(2 * (p->beta * logf(g->x[i]) + g->y[j] - 0.5f * p->nu * p->nu * time)), sum = 0;
      for (int n = 0; n < 3; n++)
        if (i + n >= 1 && i + n - 1 < nx) sum += 0.5f * var * g->dxx[i][n] * k->r[j * nx + i + n - 1];
      k->u[j * nx + i] = delta * k->r[j * nx + i] + 0.5f * sum + k->v[i * ny + j];
    }
}

static void implicit_x(const Problem *p, const Grid *g, const Work *k, float delta, float time) {
  int nx = p->numx;
  for (int j = 0; j < p->numy; j++) {
    for (int i = 0; i < nx; i++) {
      float var = expf(2 * (p->beta * logf(g->x[i]) + g->y[j] - 0.5f * p->nu * p->nu * time));
      k->a[i] = -0.5f * 0.5f * var * g->dxx[i][0];
      k->b[i] = delta - 0.5f * 0.5f * var * g->dxx[i][1];
      k->c[i] = -0.5f * 0.5f * var * g->dxx[i][2];
    }
    thomas(nx, k->a, k->b, k->c, k->u + j * nx);
  }
}

static void implicit_y(const Problem *p, const Grid *g, const Work *k, float delta) {
  int nx = p->numx, ny = p->numy;
  float var = p->nu * p->nu;
  for (int i = 0; i < nx; i++) {
    for (int j = 0; j < ny; j++) {
      k->a[j] = -0.5f * 0.5f * var * g->dyy[j][0];
      k->b[j] = delta - 0.5f * 0.5f * var * g->dyy[j][1];
      k->c[j] = -0.5f * 0.5f * var * g->dyy[j][2];
      k->w[j] = delta * k->u[j * nx + i] - 0.5f * k->v[i * ny + j];
    }
    thomas(ny, k->a, k->b, k->c, k->w);
    for (int j = 0; j < ny; j++)
      k->r[j * nx + i] = k->w[j];
  }
}

static float value(const Problem *p, const Grid *g, float strike) {
  int nx = p->numx, ny = p->numy;
  size_t cells = (size_t)nx * (size_t)ny, line = (size_t)(nx > ny ? nx : ny);
  float *all = malloc((3 * cells + 4 * line) * sizeof *all);
  Work k = { .r = all, .u = all + cells, .v = all + 2 * cells, .a = all + 3 * cells };
  k.b = k.a + line;
  k.c = k.b + line;
  k.w = k.c + line;
  for (int j = 0; j < ny; j++)
    for (int i = 0; i < nx; i++)
      k.r[j * nx + i] = fmaxf(g->x[i] - strike, 0);
  for (int step = p->numt - 2; step >= 0; step--) {
    float time = p->t * (float)step / (float)(p->numt - 1);
    float next = p->t * (float)(step + 1) / (float)(p->numt - 1), delta = 1 / (next - time);
    explicit_parts(p, g, &k, delta, time);
    implicit_x(p, g, &k, delta, time);
    implicit_y(p, g, &k, delta);
  }
  float result = k.r[g->iy * nx + g->ix];
  free(all);
  return result;
}

int main(int argc, char **argv) {
  if (argc < 6) return fprintf(stderr, "usage: locvolcalib RUNS NUMS NUMX NUMY NUMT [-v]\n"), 1;
  Problem p = { atoi(argv[2]), atoi(argv[3]), atoi(argv[4]), atoi(argv[5]), 0.03f, 5, 0.2f, 0.6f, 0.5f };
  Grid g = make_grid(&p);
  float *out = calloc((size_t)p.nums, sizeof *out);
  for (int r = 0; r < atoi(argv[1]) + 1; r++) {
    double start = omp_get_wtime();
#pragma omp parallel for schedule(dynamic)
    for (int o = 0; o < p.nums; o++)
      out[o] = value(&p, &g, 0.001f * (float)o);
    if (r > 0) printf("%.0f\n", (omp_get_wtime() - start) * 1e6);  // the first run warms up
  }
  for (int o = 0; o < p.nums && argc > 6; o++)
    printf("%s%g", o ? ", " : "", out[o]);
}
