#include "kern/profile.h"

const Traits profile_traits[PROFILE_COUNT] = {
  [PROFILE_CPU] = { .name = "cpu",
                    .by_axes = true,
                    .in_place = true,
                    .in_parts = true,
                    .own_math = true,
                    .lone_items = true },
  [PROFILE_GPU] = { .name = "gpu",
                    .group_plans = true,
                    .side_by_side = true,
                    .sized = true,
                    .local_memory = true },
};
