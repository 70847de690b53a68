/* semaphore_calls.c: semaphores: volt_sem. A handler of a signal may post: where the queue is changed, signals are
 * blocked (R6 in objects.c). */
#define _GNU_SOURCE
#include <errno.h>
#include <limits.h>
#include <signal.h>

#include "serve/calls.h"
#include "serve/serve.h"

/* As glibc has it: the value, the number of threads that wait, and whether processes share it. */
static const int *semaphore_words(const sem_t *s) {
  return (const int *)(const void *)s;
}

static struct served *semaphore_of(const sem_t *sem) {
  if (semaphore_words(sem)[2] != 0) return NULL; /* shared, or with a name */
  struct served *s = served_find(sem, SERVED_SEMAPHORE_PLACE);
  if (__builtin_expect(s != NULL, 1)) return s;
  if (!served_is_mark(volt_load_relaxed(served_place_of(sem, SERVED_SEMAPHORE_PLACE)))) return NULL;
  s = served_begin_life(sem, SERVED_SEMAPHORE_PLACE, BOOKS_SEMAPHORE,
                        false); /* a copy of another one */
  if (s) volt_sem_init(&s->is.semaphore, (uint32_t)semaphore_words(sem)[0]);
  return s;
}

static int semaphore_fail(int error) {
  errno = error;
  return -1;
}

int served_sem_trywait(sem_t *sem) {
  struct served *s = semaphore_of(sem);
  if (!s) return glibc.sem_trywait(sem);
  bool has_it = volt_sem_try_acquire(&s->is.semaphore, 1) == VOLT_OK;
  if (!has_it && served_has_forked()) has_it = volt_sem_try_acquire(&s->is.semaphore, 1) == VOLT_OK;
  return has_it ? 0 : semaphore_fail(EAGAIN);
}

static void semaphore_starts(struct queued *q, void *semaphore) {
  volt_future_made(volt_sem_acquire_future(&q->future, (volt_sem *)semaphore, 1));
}

static int semaphore_queue(struct queued *q, struct served *s) {
  served_check_fork();
  queued_begin(q, s, QUEUED_BY_CANCEL | QUEUED_BY_SIGNAL, NULL);
  queued_start(q, semaphore_starts, &s->is.semaphore);
  return queued_poll(q);
}

int serve_queue_semaphore(struct queued *q, sem_t *sem) {
  struct served *s = served_objects ? semaphore_of(sem) : NULL;
  return s ? semaphore_queue(q, s) : ENOSYS;
}

/* until: NULL: for ever. */
static int semaphore_wait(struct served *s, clockid_t clock, const struct timespec *until) {
  pthread_testcancel();
  if (volt_sem_try_acquire(&s->is.semaphore, 1) == VOLT_OK) return 0;
  struct queued q;
  int result = semaphore_queue(&q, s);
  if (result == EINPROGRESS) result = queued_wait(&q, clock, until);
  return result == 0 ? 0 : semaphore_fail(result);
}

int served_sem_wait(sem_t *sem) {
  struct served *s = semaphore_of(sem);
  return s ? semaphore_wait(s, CLOCK_MONOTONIC, NULL) : glibc.sem_wait(sem);
}

int served_sem_timedwait(sem_t *sem, const struct timespec *until) {
  struct served *s = semaphore_of(sem);
  if (!s) return glibc.sem_timedwait(sem, until);
  if (queued_check_time(CLOCK_REALTIME, until) != 0) return semaphore_fail(EINVAL);
  return semaphore_wait(s, CLOCK_REALTIME, until);
}

int served_sem_clockwait(sem_t *sem, clockid_t clock, const struct timespec *until) {
  struct served *s = semaphore_of(sem);
  if (!s) return glibc.sem_clockwait(sem, clock, until);
  if (queued_check_time(clock, until) != 0) return semaphore_fail(EINVAL);
  return semaphore_wait(s, clock, until);
}

/* Threads wait for it, or are about to. */
static void semaphore_hand_over(struct served *s) {
  sigset_t all, before;
  int state;
  served_check_fork();
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &state);
  volt_sem_release(&s->is.semaphore, 1);
  pthread_setcancelstate(state, &state);
  pthread_sigmask(SIG_SETMASK, &before, NULL);
}

int served_sem_post(sem_t *sem) {
  struct served *s = semaphore_of(sem);
  if (!s) return glibc.sem_post(sem);
  volt_fifo_ *q = &s->is.semaphore.queue;
  uint64_t word = volt_load_relaxed(&q->word); /* a guess: the CAS decides */
  while (!(word & (VOLT_WORD_QUEUED_ | VOLT_WORD_LOCKED_))) {
    if (VOLT_WORD_VALUE_(word) == SEM_VALUE_MAX) return semaphore_fail(EOVERFLOW);
    /* permits:F1 <-> permits:A1, permits:T1: as volt_sem_release(), which a handler may meet in its slow path */
    if (volt_cas_weak_acq_rel(&q->word, &word, word + VOLT_WORD_ONE_)) return 0;
  }
  semaphore_hand_over(s);
  return 0;
}

int served_sem_getvalue(sem_t *sem, int *value) {
  struct served *s = semaphore_of(sem);
  if (!s) return glibc.sem_getvalue(sem, value);
  *value = (int)volt_sem_available(&s->is.semaphore);
  return 0;
}

int served_sem_init(sem_t *sem, int shared, unsigned value) {
  if (served_is_in_use(sem, SERVED_SEMAPHORE_PLACE)) return semaphore_fail(EBUSY);
  int result = glibc.sem_init(sem, shared, value);
  if (result != 0) return result;
  served_end_life(sem, SERVED_SEMAPHORE_PLACE); /* glibc leaves there what was there */
  struct served *s =
      shared ? NULL : served_begin_life(sem, SERVED_SEMAPHORE_PLACE, BOOKS_SEMAPHORE, true);
  if (s) volt_sem_init(&s->is.semaphore, value);
  return 0;
}

int served_sem_destroy(sem_t *sem) {
  struct served *s = semaphore_words(sem)[2] ? NULL : served_find(sem, SERVED_SEMAPHORE_PLACE);
  if (s && !served_is_awaited(&s->is.queue)) served_end_life(sem, SERVED_SEMAPHORE_PLACE);
  return glibc.sem_destroy(sem);
}
