// How often each kind of expression stands in a program: what `structure` in a test block pins.
#pragma once
#include "core/core.h"

// The number of expressions that `node` names ("map", "redomap", "loop", "segmap1", "segred",
// "guards" ...), in functions and entry points; -1 if there is no such kind.
int test_count_nodes(const Core *core, const char *node);
