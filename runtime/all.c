// All parts in paste order, for linters and unit tests, which define the prefix and the program,
// and RT_WORKERS (with RT_THREADS, too, where they are threads) for those that only programs for
// several workers have.
#ifndef RT_NAME
#  define RT_NAME(x) fl_##x
#endif
// clang-format off
#include "contract.h"
#ifdef RT_WORKERS
#include "workers.h"
#endif
#include "api.h"
#include "util.h"
#include "scalar.h"
#include "values.h"
#include "context.h"
#include "device.h"
#include "pocl.h"
#include "opencl.h"
#include "cuda.h"
#include "backends.h"
#include "pretend.h"
#include "cache.h"
#include "memory.h"
#include "profile.h"
#include "build.h"
#include "kernels.h"
#include "decision.h"
#include "tuning.h"
#include "replay.h"
#include "trace.h"
#include "entry.h"
#include "script.h"
#include "io.h"
#include "inflate.h"
#include "ahead.h"
#include "race.h"
#include "helper.h"
#include "rehearsal.h"
#include "server_values.h"
#include "server_records.h"
#include "server.h"
#include "cli.h"
#ifdef RT_WORKERS
#include "gather.h"
#include "deliver.h"
#include "columns.h"
#include "price.h"
#include "divided.h"
#ifdef RT_THREADS
#include "transport_threads.h"
#else
#include "transport_mpi.h"
#endif
#endif
// clang-format on
