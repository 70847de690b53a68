/* slow.c: a timer per file. */
#include "slow.h"

#include <stdlib.h>

#define NS_PER_MS UINT64_C(1000000)

/* On the thread that drives the timers. The timer itself is the worker's again, but the worker is
 * still here: it waits for `told`. */
static void name_file(void *ctx) {
  struct slow_watch *watch = ctx;
  const struct slow *slow = watch->slow;
  char *name = console_printable(watch->path);
  console_print(slow->console, "slow: %s (after %u ms)", name, slow->after_ms);
  free(name);
  volt_unpark(&watch->told); /* the last access to *watch and to the path */
}

void slow_watch_begin(struct slow_watch *watch, const struct slow *slow, const char *path) {
  *watch = (struct slow_watch){.slow = slow, .path = path};
  if (slow->after_ms == 0) return;
  uint64_t deadline_ns = volt_deadline_ns(slow->after_ms * NS_PER_MS);
  volt_timer_start(slow->timers, &watch->timer, deadline_ns, (volt_waker){name_file, watch});
}

bool slow_watch_end(struct slow_watch *watch) {
  if (volt_timer_cancel(watch->slow->timers, &watch->timer)) return false; /* or never started */
  volt_park_until(&watch->told, 1, VOLT_NO_DEADLINE);
  return true;
}
