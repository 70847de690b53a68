/* signals.c: signals.h. */
#define _GNU_SOURCE
#include "common/signals.h"

#include <string.h>
#include <unistd.h>

#include "common/program.h"

static void *watch(void *ctx) {
  struct signals *signals = ctx;
  for (;;) {
    int signal = sigwaitinfo(&signals->watched, NULL);
    if (signal < 0) continue; /* EINTR */
    if (volt_sem_try_acquire(&signals->ended, 1) == VOLT_OK) return NULL;
    if (signals->caught != 0) _exit(128 + signal);
    signals->caught = signal;
    signals->stop(signals->ctx, signal);
  }
}

void signals_watch(struct signals *signals, void (*stop)(void *ctx, int signal), void *ctx) {
  *signals = (struct signals){.stop = stop, .ctx = ctx};
  volt_sem_init(&signals->ended, 0);
  sigemptyset(&signals->watched);
  sigaddset(&signals->watched, SIGINT);
  sigaddset(&signals->watched, SIGTERM);
  signal(SIGINT, SIG_DFL); /* a shell starts background jobs with SIGINT ignored */
  signal(SIGTERM, SIG_DFL);
  pthread_sigmask(SIG_BLOCK, &signals->watched, &signals->mask_before);
  int error = pthread_create(&signals->thread, NULL, watch, signals);
  if (error != 0) fatal("cannot start a thread: %s", strerror(error));
}

int signals_unwatch(struct signals *signals) {
  volt_sem_release(&signals->ended, 1);
  pthread_kill(signals->thread, SIGTERM); /* to look at it; one from outside does as well */
  pthread_join(signals->thread, NULL);
  volt_sem_destroy(&signals->ended);
  pthread_sigmask(SIG_SETMASK, &signals->mask_before, NULL);
  return signals->caught;
}
