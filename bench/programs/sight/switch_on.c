/* switch_on.c: part of bench-tasks and bench-threads. If BENCH_SIGHT is in the environment, it is the
 * flags of volt_sight_enable(), which is called before main(): so a row is measured with and without. */
#include <stdio.h>
#include <stdlib.h>
#include <volt/sight.h>

__attribute__((constructor)) static void switch_on(void) {
  const char *flags = getenv("BENCH_SIGHT");
  if (!flags) return;
  volt_sight_config config = {.flags = (uint32_t)strtoul(flags, NULL, 10)};
  if (volt_sight_enable(&config) == VOLT_OK) return;
  fprintf(stderr, "BENCH_SIGHT=%s: volt_sight_enable() refuses it\n", flags);
  abort();
}
