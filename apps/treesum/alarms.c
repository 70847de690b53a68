/* alarms.c: a thread that sleeps until a timer is due; a timer that starts itself again, for the
 * progress; a timer for each file, mostly cancelled. */
#define _GNU_SOURCE
#include "alarms.h"

#include <string.h>

#include "common/program.h"

/* Called by volt_timers on any thread, also on that of the alarms. */
static void tell(void *ctx) {
  struct alarms *alarms = ctx;
  volt_sem_release(&alarms->changed, 1);
}

static void *drive(void *ctx) {
  struct alarms *alarms = ctx;
  for (;;) {
    uint64_t until_ns = volt_timers_earliest_ns(&alarms->timers);
    int result = volt_sem_acquire_until(&alarms->changed, 1, until_ns);
    if (result == VOLT_ECLOSED) return NULL;
    volt_timers_expire(&alarms->timers, volt_now_ns());
  }
}

void alarms_start(struct alarms *alarms) {
  volt_sem_init(&alarms->changed, 0);
  volt_timers_init(&alarms->timers, (volt_waker){tell, alarms});
  int error = pthread_create(&alarms->thread, NULL, drive, alarms);
  if (error != 0) fatal("cannot start a thread: %s", strerror(error));
}

void alarms_stop(struct alarms *alarms) {
  volt_sem_close(&alarms->changed);
  pthread_join(alarms->thread, NULL);
}

void alarms_destroy(struct alarms *alarms) {
  volt_timers_destroy(&alarms->timers);
  volt_sem_destroy(&alarms->changed);
}

/* ---- the progress ---- */

static void show_again(void *ctx);

static void start_again(struct progress_timer *p) {
  volt_timer_start(p->timers, &p->next, volt_deadline_ns(progress_interval_ns(p->progress)),
                   (volt_waker){show_again, p});
}

static void show_again(void *ctx) {
  struct progress_timer *p = ctx;
  progress_show(p->progress);
  start_again(p);
}

void progress_timer_start(struct progress_timer *p, const struct progress *progress,
                          volt_timers *timers) {
  *p = (struct progress_timer){.progress = progress, .timers = timers};
  start_again(p);
}

void progress_timer_stop(struct progress_timer *p) {
  volt_timer_cancel(p->timers, &p->next);
}

/* ---- slow files ---- */

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
