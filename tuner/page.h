#pragma once
#include "tuner/tuning.h"

// The self-contained page of --report.
const char *page_text(const Tuning *t);
