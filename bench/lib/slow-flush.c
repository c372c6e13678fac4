// A disk that takes its time: loaded before the C library, it makes each flush of a file last BENCH_FLUSH_US longer.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdlib.h>
#include <time.h>

typedef int (*flush_function)(int);

static int flush_later(const char *name, int file) {
  const char *given = getenv("BENCH_FLUSH_US");
  const long microseconds = given ? atol(given) : 0;
  const struct timespec pause = {microseconds / 1000000, (microseconds % 1000000) * 1000};
  if (microseconds > 0) nanosleep(&pause, NULL);
  return ((flush_function)dlsym(RTLD_NEXT, name))(file);
}

int fsync(int file) { return flush_later("fsync", file); }
int fdatasync(int file) { return flush_later("fdatasync", file); }
