// Shared by the two halves of `dead`: marking what is used, dropping what is not.
#pragma once
#include "core/core.h"

// The variables on which the results of a body depend: Var -> itself.
const Map *dead_live(const Body *body);
