/* serve.h: volt's locks in place of glibc's, for those that watch. Without it served_objects is NULL, and each of
 * these is one comparison. */
#ifndef SERVE_SERVE_H
#define SERVE_SERVE_H

#include "serve/queue.h"

/* The functions that ours call from now on, given glibc's: volt's if volt-run was asked for it. Called once, at the
 * first call of any of ours. */
void serve_begin(struct real *functions);

/* Before an order with it is put down: if its memory was used again, the books know it from then on. */
void serve_begin_mutex(const pthread_mutex_t *m);
void serve_begin_rwlock(const pthread_rwlock_t *l);

static inline bool serve_makes_order(const struct books_thread *self) {
  return served_objects && atomic_load_explicit(&self->held_count, memory_order_relaxed) > 0;
}
static inline void serve_know_mutex(const struct books_thread *self, const pthread_mutex_t *m) {
  if (__builtin_expect(serve_makes_order(self), 0)) serve_begin_mutex(m);
}
static inline void serve_know_rwlock(const struct books_thread *self, const pthread_rwlock_t *l) {
  if (__builtin_expect(serve_makes_order(self), 0)) serve_begin_rwlock(l);
}

/* Whether a wait for a condition gives the mutex back however often its thread has locked it. */
bool serve_gives_back_all(const pthread_mutex_t *m);

/* Queue the thread that calls, which has tried and found it busy.
 * Returns ENOSYS: it is glibc's; 0: it has it now; EINPROGRESS: it is queued, and queued_wait() or queued_attempt() have
 * to follow; or why it may not have it. */
int serve_queue_mutex(struct queued *q, pthread_mutex_t *m);
int serve_queue_rwlock(struct queued *q, pthread_rwlock_t *l, bool reads);
int serve_queue_semaphore(struct queued *q, sem_t *s);

/* What the watched call does then. Returns as queued_wait(). how: as for wait_begin(). */
int serve_watched_wait(struct queued *q, struct books_thread *self, uint32_t lock, unsigned how,
                       uintptr_t at);

#endif
