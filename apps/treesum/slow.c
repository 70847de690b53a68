/* slow.c: what is said of slow files. */
#include "slow.h"

#include <stdlib.h>

#define NS_PER_MS UINT64_C(1000000)

uint64_t slow_deadline_ns(const struct slow *slow) {
  return volt_deadline_ns(slow->after_ms * NS_PER_MS);
}

void slow_name(const struct slow *slow, const char *path) {
  char *name = console_printable(path);
  console_print(slow->console, "slow: %s (after %u ms)", name, slow->after_ms);
  free(name);
  tally_add(slow->tally, (struct counts){.slow = 1});
}
