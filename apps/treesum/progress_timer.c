/* progress_timer.c: a timer that starts itself again. */
#include "progress_timer.h"

static void show_again(void *ctx);

static void start(struct progress_timer *p) {
  volt_timer_start(p->timers, &p->next, volt_deadline_ns(progress_interval_ns(p->progress)),
                   (volt_waker){show_again, p});
}

static void show_again(void *ctx) {
  struct progress_timer *p = ctx;
  progress_show(p->progress);
  start(p);
}

void progress_timer_start(struct progress_timer *p, const struct progress *progress,
                          volt_timers *timers) {
  *p = (struct progress_timer){.progress = progress, .timers = timers};
  start(p);
}

void progress_timer_stop(struct progress_timer *p) {
  volt_timer_cancel(p->timers, &p->next);
}
