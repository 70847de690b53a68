/* fake_driver.h: a driver whose operations complete when the test says so, and which counts what the
 * runtime asks of it. Each worker sleeps in an epoll instance that watches its doorbell and an
 * eventfd for what completes. It checks who calls it: each share is its worker's own. */
#ifndef VOLT_TEST_FAKE_DRIVER_H
#define VOLT_TEST_FAKE_DRIVER_H

#ifndef _GNU_SOURCE
#error fake_driver.h wants _GNU_SOURCE: ppoll
#endif
#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <time.h>
#include <unistd.h>

#include "require.h"
#include "rt/host/driver.h"

enum { FAKE_WORKERS = 8 };

/* Where workers sleep: must_sleep() says so. */
enum { FAKE_NEVER, FAKE_KEEPER, FAKE_ALWAYS };

/* Calls its waker once it has completed. */
typedef struct fake_op {
  volt_waker waker;
  struct fake_op *next;
} fake_op;

typedef struct fake_share {
  pthread_mutex_t lock;
  fake_op *first; /* completed, and not taken: under the lock */
  fake_op **end;
  int epoll;
  int event;
  int doorbell;
  pthread_t thread; /* from begin() on */
  VOLT_ATOMIC(uint32_t) begun, ended;
  VOLT_ATOMIC(uint32_t) looks, asked, sleeps, mails, mails_seen; /* counts, as the next ones */
  VOLT_ATOMIC(uint32_t) is_asleep, was_keeper;
  VOLT_ATOMIC(uint32_t) staged;      /* operations that its worker has not submitted yet */
  VOLT_ATOMIC(uint64_t) deadline_ns; /* of the last sleep() */
} fake_share;

typedef struct fake_driver {
  volt_driver_ base;
  volt_rt *rt;
  unsigned workers;
  bool by_hand;
  fake_share share[FAKE_WORKERS];
} fake_driver;

/* What the next runtime's driver does, and what the last one did. */
typedef struct fake_settings {
  VOLT_ATOMIC(uint32_t) sleeps;    /* FAKE_NEVER, ... */
  VOLT_ATOMIC(uint32_t) naps_only; /* sleep() returns at once, for no reason */
  VOLT_ATOMIC(uint32_t) wants_keeper;
  int result;                                    /* of create() */
  VOLT_ATOMIC(uint32_t) begun, ended, destroyed; /* so far */
  int doorbells[FAKE_WORKERS];
  uint32_t had_rung; /* of them, when the driver was made */
} fake_settings;

static fake_settings fake;

static inline fake_driver *fake_of(volt_rt *rt) {
  return volt_container_of(volt_rt_driver_(rt), fake_driver, base);
}

static inline void fake_count(VOLT_ATOMIC(uint32_t) *count) {
  (void)volt_fetch_add_relaxed(count, 1);
}

/* The share of the thread that calls. */
static inline fake_share *fake_own(volt_driver_ *base, unsigned worker) {
  fake_driver *d = volt_container_of(base, fake_driver, base);
  fake_share *s = &d->share[worker];
  REQUIRE(worker < d->workers && volt_rt_worker_here_(d->rt) == (int)worker);
  REQUIRE(volt_load_relaxed(&s->begun) == 1 && volt_load_relaxed(&s->ended) == 0);
  REQUIRE(d->by_hand || pthread_equal(s->thread, pthread_self()));
  return s;
}

static inline void fake_clear(int event) {
  uint64_t count;
  REQUIRE(read(event, &count, sizeof count) == sizeof count || errno == EAGAIN);
}

static inline bool fake_has_rung(int event) {
  struct pollfd fd = {event, POLLIN, 0};
  return poll(&fd, 1, 0) == 1;
}

static inline unsigned fake_take(fake_share *s) {
  volt_store_relaxed(&s->staged, 0);
  fake_clear(s->event);
  pthread_mutex_lock(&s->lock);
  fake_op *taken = s->first;
  s->first = NULL;
  s->end = &s->first;
  pthread_mutex_unlock(&s->lock);
  unsigned found = 0;
  for (; taken; found++) {
    fake_op *op = taken;
    taken = op->next; /* the op may be gone with its wake */
    op->waker.wake(op->waker.ctx);
  }
  uint32_t mails = volt_exchange_relaxed(&s->mails, 0);
  if (mails > 0) (void)volt_fetch_add_relaxed(&s->mails_seen, mails);
  return found + mails;
}

/* ---- the calls of the runtime ---- */

static inline void fake_begin(volt_driver_ *base, unsigned worker) {
  fake_driver *d = volt_container_of(base, fake_driver, base);
  fake_share *s = &d->share[worker];
  s->thread = pthread_self();
  REQUIRE(volt_load_relaxed(&s->begun) == 0);
  fake_count(&s->begun);
  fake_count(&fake.begun);
  (void)fake_own(base, worker);
}

static inline unsigned fake_check(volt_driver_ *base, unsigned worker) {
  fake_share *s = fake_own(base, worker);
  fake_count(&s->looks);
  fake_clear(s->doorbell); /* rung for nothing: it does not sleep */
  return fake_take(s);
}

static inline bool fake_must_sleep(volt_driver_ *base, unsigned worker, bool is_keeper) {
  fake_share *s = fake_own(base, worker);
  fake_count(&s->asked);
  volt_store_relaxed(&s->was_keeper, is_keeper);
  uint32_t how = volt_load_relaxed(&fake.sleeps);
  return how == FAKE_ALWAYS || (how == FAKE_KEEPER && is_keeper);
}

static inline bool fake_wants_keeper(volt_driver_ *base) {
  (void)base;
  return volt_load_relaxed(&fake.wants_keeper);
}

static inline bool fake_has_mail(volt_driver_ *base, unsigned worker) {
  return volt_load_relaxed(&fake_own(base, worker)->mails) > 0;
}

static inline unsigned fake_sleep(volt_driver_ *base, unsigned worker, uint64_t deadline_ns) {
  fake_share *s = fake_own(base, worker);
  fake_count(&s->sleeps);
  volt_store_relaxed(&s->deadline_ns, deadline_ns);
  unsigned found = fake_take(s);
  if (found > 0 || volt_load_relaxed(&fake.naps_only)) return found; /* the doorbell stays rung */
  struct pollfd fd = {s->epoll, POLLIN, 0};
  uint64_t now_ns = volt_now_ns();
  uint64_t left_ns = deadline_ns > now_ns ? deadline_ns - now_ns : 0;
  struct timespec left = {(time_t)(left_ns / 1000000000), (long)(left_ns % 1000000000)};
  volt_store_release(&s->is_asleep, 1);
  (void)ppoll(&fd, 1, deadline_ns == VOLT_NO_DEADLINE ? NULL : &left, NULL);
  volt_store_release(&s->is_asleep, 0);
  fake_clear(s->doorbell);
  return fake_take(s);
}

static inline void fake_end(volt_driver_ *base, unsigned worker) {
  fake_share *s = fake_own(base, worker);
  REQUIRE(!s->first);
  fake_count(&s->ended);
  fake_count(&fake.ended);
}

static inline int fake_descriptor(volt_driver_ *base) {
  return volt_container_of(base, fake_driver, base)->share[0].epoll;
}

static inline void fake_free(fake_driver *d) {
  for (unsigned i = 0; i < d->workers; i++) {
    close(d->share[i].epoll);
    close(d->share[i].event);
    pthread_mutex_destroy(&d->share[i].lock);
  }
  free(d);
}

static inline void fake_destroy(volt_driver_ *base) {
  fake_driver *d = volt_container_of(base, fake_driver, base);
  for (unsigned i = 0; i < d->workers; i++) {
    REQUIRE(volt_load_relaxed(&d->share[i].begun) == volt_load_relaxed(&d->share[i].ended));
  }
  fake_count(&fake.destroyed);
  fake_free(d);
}

static inline void fake_watch(int epoll, int fd) {
  struct epoll_event event = {.events = EPOLLIN, .data.fd = fd};
  REQUIRE(epoll_ctl(epoll, EPOLL_CTL_ADD, fd, &event) == 0);
}

static inline int fake_create(volt_driver_ **out, volt_rt *rt, const volt_rt_config *config,
                              const int *doorbell) {
  static const volt_driver_ops_ ops = {
      .name = "fake",
      .begin = fake_begin,
      .check = fake_check,
      .must_sleep = fake_must_sleep,
      .wants_keeper = fake_wants_keeper,
      .has_mail = fake_has_mail,
      .sleep = fake_sleep,
      .end = fake_end,
      .descriptor = fake_descriptor,
      .destroy = fake_destroy,
  };
  if (fake.result != VOLT_OK) return fake.result;
  fake_driver *d = (fake_driver *)calloc(1, sizeof *d);
  REQUIRE(d && config->workers <= FAKE_WORKERS);
  d->base.ops = &ops;
  d->rt = rt;
  d->workers = config->workers;
  d->by_hand = config->flags & VOLT_RT_BY_HAND;
  for (unsigned i = 0; i < d->workers; i++) {
    fake_share *s = &d->share[i];
    pthread_mutex_init(&s->lock, NULL);
    s->end = &s->first;
    s->epoll = epoll_create1(EPOLL_CLOEXEC);
    s->event = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
    s->doorbell = fake.doorbells[i] = doorbell[i];
    fake_watch(s->epoll, s->event);
    fake_watch(s->epoll, s->doorbell);
    fake.had_rung += fake_has_rung(s->doorbell);
  }
  *out = &d->base;
  return VOLT_OK;
}

static const volt_io_kind fake_kind = {fake_create};

/* ---- the calls of the test ---- */

/* The operation completes on that worker: its waker is called there. Threads: any. */
static inline void fake_complete(volt_rt *rt, unsigned worker, fake_op *op) {
  fake_share *s = &fake_of(rt)->share[worker];
  const uint64_t one = 1;
  op->next = NULL;
  pthread_mutex_lock(&s->lock);
  *s->end = op;
  s->end = &op->next;
  REQUIRE(write(s->event, &one, sizeof one) == sizeof one); /* in the lock: the share is there */
  pthread_mutex_unlock(&s->lock);
}

/* An operation that this worker submits when it looks at the driver, or sleeps there. */
static inline void fake_stage(volt_rt *rt) {
  volt_driver_ *base = volt_rt_driver_(rt);
  fake_count(&fake_own(base, (unsigned)volt_rt_worker_here_(rt))->staged);
}

/* How many this worker has staged, and not submitted. */
static inline uint32_t fake_staged(volt_rt *rt) {
  volt_driver_ *base = volt_rt_driver_(rt);
  return volt_load_relaxed(&fake_own(base, (unsigned)volt_rt_worker_here_(rt))->staged);
}

/* Threads: any. */
static inline void fake_mail(volt_rt *rt, unsigned worker) {
  fake_count(&fake_of(rt)->share[worker].mails);
  volt_rt_mail_left_(rt, worker);
}

#endif
