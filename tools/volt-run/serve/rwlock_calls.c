/* rwlock_calls.c: read-write locks: volt_rwlock. A thread that reads it reads again at once, also before a writer that
 * waits, as glibc's default lock lets it: its own reads are counted, and only the last one gives the lock back. */
#define _GNU_SOURCE
#include <errno.h>
#include <limits.h>

#include "serve/calls.h"
#include "serve/serve.h"

enum { RWLOCK_READS = 64 }; /* locks that a thread reads at once, and may read again */

struct rwlock_read {
  uint64_t mark; /* of the lock */
  uint32_t
      foreign; /* of the lock, when it was taken: if that has changed, this count may be another thread's */
  uint32_t times;
};

#define RWLOCK_OF_THREAD static __thread __attribute__((tls_model("initial-exec")))

RWLOCK_OF_THREAD struct rwlock_read rwlock_reads[RWLOCK_READS];
RWLOCK_OF_THREAD uint32_t rwlock_read_count;

static struct served *rwlock_of(const pthread_rwlock_t *l) {
  if (__builtin_expect(l->__data.__shared != 0, 0)) return NULL;
  struct served *s = served_find(l, SERVED_RWLOCK_PLACE);
  return __builtin_expect(s != NULL, 1)
             ? s
             : served_begin_life(l, SERVED_RWLOCK_PLACE, BOOKS_RWLOCK, false);
}

/* Where this thread's reads of it are counted. NULL: nowhere. */
static struct rwlock_read *rwlock_find_read(const struct served *s) {
  uint64_t mark = volt_load_relaxed(&s->life.mark); /* it does not change while the lock is used */
  for (uint32_t i = rwlock_read_count; i-- > 0;) {
    if (rwlock_reads[i].mark == mark) return &rwlock_reads[i];
  }
  return NULL;
}

bool served_reads(const struct served *s) {
  return rwlock_find_read(s) != NULL;
}

static void rwlock_forget_read(struct rwlock_read *r) {
  *r = rwlock_reads[--rwlock_read_count];
}

static bool rwlock_is_mine(const struct served *s) {
  return volt_load_relaxed(&s->owner) == served_self(); /* only this thread writes that */
}

static void rwlock_is_written(struct served *s) {
  volt_store_relaxed(&s->owner, served_self()); /* the lock orders it */
}

static void rwlock_is_read(struct served *s) {
  struct rwlock_read *r = rwlock_find_read(s);
  if (!r && rwlock_read_count == RWLOCK_READS) return;
  if (!r) r = &rwlock_reads[rwlock_read_count++];
  r->mark = volt_load_relaxed(&s->life.mark);
  r->foreign = volt_load_relaxed(&s->foreign); /* a hint */
  r->times = 1;
}

/* Returns 0, EBUSY; EAGAIN. */
static int rwlock_try_read(struct served *s) {
  struct rwlock_read *r = rwlock_find_read(s);
  if (r &&
      r->foreign == volt_load_relaxed(&s->foreign)) { /* a hint: POSIX forbids what changes it */
    if (r->times == UINT32_MAX) return EAGAIN;
    r->times++;
    return 0;
  }
  if (volt_rwlock_try_read(&s->is.rwlock) != VOLT_OK) return EBUSY;
  rwlock_is_read(s);
  return 0;
}

static int rwlock_try_write(struct served *s) {
  if (volt_rwlock_try_write(&s->is.rwlock) != VOLT_OK) return EBUSY;
  rwlock_is_written(s);
  return 0;
}

static int rwlock_try(struct served *s, bool reads) {
  int result = reads ? rwlock_try_read(s) : rwlock_try_write(s);
  if (result != EBUSY || !served_has_forked()) return result;
  return reads ? rwlock_try_read(s) : rwlock_try_write(s);
}

static void rwlock_starts_read(struct queued *q, void *lock) {
  volt_future_made(volt_rwlock_read_future(&q->future, (volt_rwlock *)lock));
}

static void rwlock_starts_write(struct queued *q, void *lock) {
  volt_future_made(volt_rwlock_write_future(&q->future, (volt_rwlock *)lock));
}

static int rwlock_queue(struct queued *q, struct served *s, bool reads) {
  if (rwlock_is_mine(s)) return EDEADLK;
  served_check_fork();
  queued_begin(q, s, 0, reads ? rwlock_is_read : rwlock_is_written);
  queued_start(q, reads ? rwlock_starts_read : rwlock_starts_write, &s->is.rwlock);
  return queued_poll(q);
}

void serve_begin_rwlock(const pthread_rwlock_t *l) {
  (void)rwlock_of(l);
}

int serve_queue_rwlock(struct queued *q, pthread_rwlock_t *l, bool reads) {
  struct served *s = served_objects ? rwlock_of(l) : NULL;
  return s ? rwlock_queue(q, s, reads) : ENOSYS;
}

/* until: NULL: for ever. */
static int rwlock_lock(struct served *s, bool reads, clockid_t clock,
                       const struct timespec *until) {
  if (until && queued_check_time(clock, until) != 0) return EINVAL;
  int result = rwlock_try(s, reads);
  if (result != EBUSY) return result;
  struct queued q;
  result = rwlock_queue(&q, s, reads);
  return result == EINPROGRESS ? queued_wait(&q, clock, until) : result;
}

int served_pthread_rwlock_rdlock(pthread_rwlock_t *l) {
  struct served *s = rwlock_of(l);
  return s ? rwlock_lock(s, true, CLOCK_MONOTONIC, NULL) : glibc.pthread_rwlock_rdlock(l);
}

int served_pthread_rwlock_wrlock(pthread_rwlock_t *l) {
  struct served *s = rwlock_of(l);
  return s ? rwlock_lock(s, false, CLOCK_MONOTONIC, NULL) : glibc.pthread_rwlock_wrlock(l);
}

int served_pthread_rwlock_tryrdlock(pthread_rwlock_t *l) {
  struct served *s = rwlock_of(l);
  return s ? rwlock_try(s, true) : glibc.pthread_rwlock_tryrdlock(l);
}

int served_pthread_rwlock_trywrlock(pthread_rwlock_t *l) {
  struct served *s = rwlock_of(l);
  return s ? rwlock_try(s, false) : glibc.pthread_rwlock_trywrlock(l);
}

int served_pthread_rwlock_timedrdlock(pthread_rwlock_t *l, const struct timespec *until) {
  struct served *s = rwlock_of(l);
  return s ? rwlock_lock(s, true, CLOCK_REALTIME, until)
           : glibc.pthread_rwlock_timedrdlock(l, until);
}

int served_pthread_rwlock_timedwrlock(pthread_rwlock_t *l, const struct timespec *until) {
  struct served *s = rwlock_of(l);
  return s ? rwlock_lock(s, false, CLOCK_REALTIME, until)
           : glibc.pthread_rwlock_timedwrlock(l, until);
}

int served_pthread_rwlock_clockrdlock(pthread_rwlock_t *l, clockid_t clock,
                                      const struct timespec *until) {
  struct served *s = rwlock_of(l);
  return s ? rwlock_lock(s, true, clock, until) : glibc.pthread_rwlock_clockrdlock(l, clock, until);
}

int served_pthread_rwlock_clockwrlock(pthread_rwlock_t *l, clockid_t clock,
                                      const struct timespec *until) {
  struct served *s = rwlock_of(l);
  return s ? rwlock_lock(s, false, clock, until)
           : glibc.pthread_rwlock_clockwrlock(l, clock, until);
}

static void rwlock_give_back(struct served *s) {
  if (volt_load_relaxed(&s->owner)) { /* the caller holds it, or it is held by none */
    volt_store_relaxed(&s->owner, 0); /* before the next one has it */
    volt_rwlock_write_unlock(&s->is.rwlock);
  } else if (volt_rwlock_readers(&s->is.rwlock) > 0) {
    volt_rwlock_read_unlock(&s->is.rwlock);
  }
}

/* Threads wait for it, or are about to. */
static void rwlock_hand_over(struct served *s) {
  int state;
  served_check_fork();
  pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &state);
  rwlock_give_back(s);
  pthread_setcancelstate(state, &state);
}

int served_pthread_rwlock_unlock(pthread_rwlock_t *l) {
  struct served *s = rwlock_of(l);
  if (!s) return glibc.pthread_rwlock_unlock(l);
  if (!volt_load_relaxed(&s->owner)) { /* readers have it */
    struct rwlock_read *r = rwlock_find_read(s);
    if (r && --r->times > 0) return 0;
    if (r) {
      rwlock_forget_read(r);
    } else {
      volt_fetch_add_relaxed(&s->foreign, 1); /* a hint */
    }
  }
  if (served_is_awaited(&s->is.queue)) {
    rwlock_hand_over(s);
  } else {
    rwlock_give_back(s);
  }
  return 0;
}

int served_pthread_rwlock_init(pthread_rwlock_t *l, const pthread_rwlockattr_t *attributes) {
  if (served_is_in_use(l, SERVED_RWLOCK_PLACE)) return EBUSY;
  int result = glibc.pthread_rwlock_init(l, attributes);
  if (result == 0 && l->__data.__shared == 0)
    (void)served_begin_life(l, SERVED_RWLOCK_PLACE, BOOKS_RWLOCK, true);
  return result;
}

/* As glibc: also of one that a thread holds, which may have ended. */
int served_pthread_rwlock_destroy(pthread_rwlock_t *l) {
  struct served *s = l->__data.__shared ? NULL : served_find(l, SERVED_RWLOCK_PLACE);
  if (s && !served_is_awaited(&s->is.queue)) served_end_life(l, SERVED_RWLOCK_PLACE);
  return glibc.pthread_rwlock_destroy(l);
}
