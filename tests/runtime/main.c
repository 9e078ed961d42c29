// The small program as an executable, for tests/runtime/executable.py.
#include "program.h"

int main(int argc, char **argv) { return rt_main(argc, argv); }
