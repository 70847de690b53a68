/* alarms.c: a thread that sleeps until a timer is due. */
#define _GNU_SOURCE
#include "alarms.h"

#include <string.h>

#include "memory.h"

/* Called by volt_timers on whichever thread, also on that of the alarms. */
static void tell(void *ctx) {
  struct alarms *alarms = ctx;
  volt_sem_release(&alarms->changed, 1);
}

static void *drive(void *ctx) {
  struct alarms *alarms = ctx;
  for (;;) {
    uint64_t until_ns = volt_timers_earliest_ns(&alarms->timers);
    int result = volt_sem_acquire_blocking(&alarms->changed, 1, until_ns);
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
