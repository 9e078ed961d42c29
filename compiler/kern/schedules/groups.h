// Kernels of groups, for GPUs: what groups.c chooses from.
#pragma once
#include "kern/plan.h"
#include "kern/recipes/recipe.h"

// Points that each go through rows (schedules/group_rows.c).  checks: what the host is
// to ask in any case, or NULL.
const KernPlan *kern_schedule_group_rows(Compiler *c, const KernSeg *seg,
                                         const Kern *kern, const Term *checks);
// Points that each sum up what they make of their row and of each of many rows
// (schedules/group_pairs.c).
const KernPlan *kern_schedule_group_pairs(Compiler *c, const KernSeg *seg,
                                          const Kern *kern, const Term *checks);
// Points that read what those of the next rows read (schedules/group_strips.c).
// straight: only those whose loops are of constant width.
const KernPlan *kern_schedule_group_strips(Compiler *c, const KernSeg *seg,
                                           const Kern *kern, const Term *checks,
                                           bool straight);
// Stages the loops of the kernel as it is that touch words apart, `steps` columns at a time.
void kern_stage_apart(Recipe *r, int steps);
// Is all staged that neighbouring points touch apart, in as much local memory as groups may have?
bool kern_is_staged(const Kern *kern);
// Points whose loops read the same, one or the other `otherwise`
// (schedules/group_shared.c).
const KernPlan *kern_schedule_group_shared(Compiler *c, const KernSeg *seg,
                                           const Kern *kern, const Term *checks);
