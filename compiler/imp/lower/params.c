// Parameters: numbers that the host code asks for, which the user or the tuner may set.
//
//   segred_chunk         of all kernels that have none of their own
//   main.segred_2.chunk  of one kernel; the former's value while nobody sets it
#include "imp/lower/lower.h"
#include <string.h>

static const ImpExp *list_param(Lower *lower, TuningParam param) {
  bool known = false;
  vec_each (const TuningParam *, p, &lower->tuning)
    known = known || p->name == param.name;
  if (!known) vec_push(&lower->tuning, param);
  return imp_tuning(param.name);
}

const ImpExp *tuning_param(Lower *lower, const char *name, const char *kind, int64_t cpu,
                           int64_t gpu) {
  TuningParam param = { .name = name_of(lower->c->names, name),
                        .kind = kind,
                        .cpu_default = cpu,
                        .gpu_default = gpu };
  return list_param(lower, param);
}

const ImpExp *tuning_param_following(Lower *lower, const char *name,
                                     const ImpExp *parent) {
  TuningParam param = { .name = name_of(lower->c->names, name),
                        .kind = "",
                        .cpu_default = -1,
                        .gpu_default = -1,
                        .follows = parent->u.tuning };
  vec_each (const TuningParam *, p, &lower->tuning)
    if (p->name == param.follows) param.kind = p->kind;
  return list_param(lower, param);
}

void tuning_param_of_recipes(Lower *lower, const char *name, int count) {
  list_param(lower, (TuningParam){ .name = name_of(lower->c->names, name),
                                   .kind = "recipe",
                                   .cpu_default = 1,
                                   .gpu_default = 1,
                                   .most = count });
}

// ---- those that plans mention

// Numbers of all kernels of a kind: name, class, defaults of the profiles (-1: by the device).
typedef struct PlanParam {
  const char *name, *kind;
  int64_t cpu, gpu;
} PlanParam;

static const PlanParam params[] = {
  { "segred_items", "grid_size", -1, 16384 },
  { "segred_chunk", "chunk", 4096, 64 },
  { "segscan_items", "grid_size", -1, 16384 },
  { "segscan_chunk", "chunk", 4096, 64 },
  { "seghist_items", "grid_size", -1, 16384 },
  { "segmap_block_points", "chunk", 262144, 262144 },
  { "segmap_shared_points", "chunk", 65536, 65536 },
  { "segmap_staged_points", "chunk", 64, 64 },
};

static const ImpExp *usual_param(Code *k, const char *name) {
  for (size_t i = 0; i < sizeof params / sizeof params[0]; i++)
    if (strcmp(params[i].name, name) == 0)
      return tuning_param(k->lower, params[i].name, params[i].kind, params[i].cpu,
                          params[i].gpu);
  bug(k->lower->c, k->b->loc, "no parameter %s", name);
}

// main.segred_2.chunk  =>  segred_chunk
static const char *usual_name(const char *name) {
  const char *kind = strchr(name, '.') + 1, *number = strrchr(name, '.') + 1;
  return text_format("%.*s_%s", (int)strcspn(kind, "_."), kind, number);
}

const ImpExp *code_tuning(Code *k, const char *name) {
  if (!strchr(name, '.')) return usual_param(k, name);
  if (strstr(name, ".recipe")) return imp_tuning(name);  // listed when its plan began
  return tuning_param_following(k->lower, name, usual_param(k, usual_name(name)));
}
