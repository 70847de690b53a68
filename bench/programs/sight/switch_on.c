#include "switch_on.h"

#include <stdio.h>
#include <stdlib.h>
#include <volt/counts.h>
#include <volt/sight.h>

static void refused(const char *what) {
  fprintf(stderr, "bench: %s\n", what);
  abort();
}

__attribute__((constructor)) static void switch_on(void) {
  const char *flags = getenv("BENCH_SIGHT");
  if (!flags) return;
  volt_sight_config config = {.flags = (uint32_t)strtoul(flags, NULL, 10)};
  if (volt_sight_enable(&config) != VOLT_OK) refused("volt_sight_enable() refuses BENCH_SIGHT");
}

void bench_sight_begin(const void *object) {
  if (!getenv("BENCH_SIGHT_NAMES")) return;
  if (volt_name(object, "object") != VOLT_OK) refused("volt_name() refuses the object");
}

void bench_sight_end(const void *object) {
  volt_histogram waits;
  if (!getenv("BENCH_SIGHT_NAMES")) return;
  if (volt_waits_of(object, &waits) != VOLT_OK) refused("the object has no histogram");
  volt_unname(object);
}
