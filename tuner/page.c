// Draws the page; filled in by --report.
#include "tuner/driver.h"
const char *tuning_page(const Tuning *t) { return tuning_file_text(t); }
