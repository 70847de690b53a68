/* slow_timer.c: a timer per file. */
#include "slow_timer.h"

/* On the thread that drives the timers. The timer itself is the worker's again, but the worker is
 * still here: it waits for `told`. */
static void name_file(void *ctx) {
  struct slow_timer *s = ctx;
  slow_name(s->slow, s->path);
  volt_unpark(&s->told); /* the last access to *s and to the path */
}

void slow_timer_begin(struct slow_timer *s, const struct slow *slow, volt_timers *timers,
                      const char *path) {
  *s = (struct slow_timer){.slow = slow, .path = path, .timers = timers};
  if (slow->after_ms == 0) return;
  volt_timer_start(timers, &s->timer, slow_deadline_ns(slow), (volt_waker){name_file, s});
}

void slow_timer_end(struct slow_timer *s) {
  bool cancelled = volt_timer_cancel(s->timers, &s->timer); /* or never started */
  if (!cancelled) volt_park_until(&s->told, 1, VOLT_NO_DEADLINE);
}
