/* detail/holders.h: which task or thread holds what, in builds with VOLT_SIGHT=1. Not an interface.
 *
 * In such a build a mutex, and a rwlock that is locked for writing, know their holder, a semaphore
 * knows whether those give its permits back that took them, and each task and thread has a list of
 * what it holds. In all other builds the macros below are empty, and nothing of this is there.
 *
 * A party is a task or a thread. volt_party_here_ is that of the task that is polled on this
 * thread, or of the thread itself. Only the code that runs here writes to its list. A task whose
 * poll ends while it holds something keeps its list (src/rt/sched/task_run.h).
 *
 * The holder of an object is stored after the object is taken, and cleared before it is released. So
 * while it is a party, that party holds the object, or a thread is about to release it for that
 * party. While it is 0 nothing is known. A release that hands the object over stores the waiter's
 * ctx (VOLT_WHO_GRANTED_) until the waiter's own code has seen the grant.
 *
 * What another party releases than the one that took it is noted (volt_party_passed_()): from then
 * on the inspector does not believe what the lists say of that object. src/core/inspect/holders.c
 * has the rest, and src/sight/graph/graph.c what follows from it.
 *
 * All of this is stored relaxed, and read relaxed: no decision of the library depends on it. */
#ifndef VOLT_DETAIL_HOLDERS_H
#define VOLT_DETAIL_HOLDERS_H

#include "../base.h"
#include "atomic.h"

/* In an initialiser: a member, and those behind it that are there in such builds only. */
#if VOLT_SIGHT
#define VOLT_WITH_SIGHT_(value, ...) value, __VA_ARGS__
#else
#define VOLT_WITH_SIGHT_(value, ...) value
#endif

#if !VOLT_SIGHT

#define VOLT_HOLDER_
#define VOLT_TASK_HOLDS_
#define VOLT_WAITER_WHO_
#define VOLT_FUTURE_MADE_
#define VOLT_KEPT_BY_HOLDERS_
#define VOLT_TAKES_(taking, object, how, n) ((void)0)
#define volt_holder_init_(holder) ((void)0)
#define volt_holder_taken_(holder, taking) ((void)0)
#define volt_holder_took_(holder, object, n) ((void)0)
#define volt_holder_releasing_(holder, object, n) ((void)0)
#define volt_shared_took_(object, n) ((void)0)
#define volt_shared_releasing_(object, n) ((void)0)
#define volt_permits_init_(kept) ((void)0)
#define volt_permits_took_(object, n) ((void)0)
#define volt_permits_releasing_(object, n, kept) ((void)0)

#else

/* In the library of such a build: src/volt-sync-sight.version. */
#define VOLT_SIGHT_API_ VOLT_API
#define VOLT_SIGHT_INLINE_ VOLT_SIGHT_API_ inline

/* A program and a library of two different builds do not link: the first looks for this variable, and
 * for the second way round these functions have another name. */
#define volt_mutex_unlock_slow_ volt_mutex_unlock_slow_sight_
#define volt_rwlock_unlock_slow_ volt_rwlock_unlock_slow_sight_
#define volt_sem_release_slow_ volt_sem_release_slow_sight_
#define volt_frame_check_ volt_frame_check_sight_
#define volt_mutex_unlock volt_mutex_unlock_sight_ /* for programs that are not optimised */
#define volt_rwlock_read_unlock volt_rwlock_read_unlock_sight_
#define volt_rwlock_write_unlock volt_rwlock_write_unlock_sight_
#define volt_sem_release volt_sem_release_sight_

VOLT_BEGIN_DECLS
extern VOLT_SIGHT_API_ const char volt_sight_build_1;
VOLT_END_DECLS
static const char *const volt_sight_guard_ VOLT_KEPT_ = &volt_sight_build_1;

/* What holds an object: 0, not known; or, in the lowest two bits, what the rest is. */
enum {
  VOLT_WHO_TASK_ = 1,   /* the address of a task */
  VOLT_WHO_THREAD_ = 2, /* the number of a thread */
  VOLT_WHO_GRANTED_ = 3 /* the ctx of a waker: granted, and not seen by the waiter yet */
};

typedef struct volt_holder_ {
  VOLT_ATOMIC(uintptr_t) who;
  VOLT_ATOMIC(const char *) file; /* where it was taken; NULL: not known */
  VOLT_ATOMIC(uint32_t) line;
  VOLT_ATOMIC(uint32_t) since; /* in 2^20 ns; 0: not known */
  VOLT_ATOMIC(uint32_t) id;    /* of the object, in the order of locks; 0: none yet */
} volt_holder_;

enum { VOLT_HELD_MAX_ = 8, VOLT_HOLDS_SAMPLE_ = 64 };

/* How it is held: in the lowest two bits of the address. */
enum { VOLT_HELD_ALONE_ = 0, VOLT_HELD_READ_ = 1, VOLT_HELD_PERMITS_ = 2 };

typedef struct volt_held_ {
  VOLT_ATOMIC(uintptr_t) object; /* and how */
  VOLT_ATOMIC(const char *) file;
  VOLT_ATOMIC(uint32_t) line;
  VOLT_ATOMIC(uint32_t) n;     /* permits */
  VOLT_ATOMIC(uint64_t) since; /* in ns, of one in VOLT_HOLDS_SAMPLE_; else 0 */
} volt_held_;

typedef struct volt_party_ {
  uintptr_t who;
  const char *file; /* where it locks or unlocks at this moment */
  uint32_t line;
  const void *at;  /* the object that it names there; NULL: none */
  uint32_t stamp;  /* the time of this poll, in 2^20 ns; 0: a thread */
  uint32_t sample; /* how many more it takes before one is timed */
  VOLT_ATOMIC(uint32_t) count;
  volt_held_ held[VOLT_HELD_MAX_]; /* the last one taken is the last */
} volt_party_;

VOLT_BEGIN_DECLS

/* That of this thread: VOLT_PARTY_HERE_. */
#if defined(__GNUC__) || defined(__clang__)
extern VOLT_SIGHT_API_ __thread volt_party_ *volt_party_here_;
#else
extern VOLT_SIGHT_API_ _Thread_local volt_party_ *volt_party_here_;
#endif
VOLT_SIGHT_API_ volt_party_ **volt_party_slot_(void);

/* A fiber that moves is on another thread after a wait, and compilers keep the address of a thread's
 * variable over a call; on some processors that of the thread itself. Code of an x86-64 program needs
 * neither of the two: it has an instruction for that. All other code asks the library each time. */
#if defined(__x86_64__) && (!defined(__PIC__) || defined(__PIE__))
#define VOLT_PARTY_HERE_ volt_party_here_
#else
#define VOLT_PARTY_HERE_ (*volt_party_slot_())
#endif

/* Whether a party that holds something notes what it locks next: lock_order.c. */
extern VOLT_SIGHT_API_ VOLT_ATOMIC(uint32_t) volt_lock_order_is_on_;

/* This thread locks something for the first time: make volt_party_here_. */
VOLT_SIGHT_API_ volt_party_ *volt_party_begin_(void);

/* The rare ways of the inline functions below. */
VOLT_SIGHT_API_ bool volt_party_took_slow_(volt_party_ *p, uintptr_t object, uint32_t n);
VOLT_SIGHT_API_ void volt_party_releasing_slow_(uintptr_t holder, uintptr_t object, uint32_t n,
                                                VOLT_ATOMIC(uint32_t) *kept);
VOLT_SIGHT_API_ void volt_holder_releasing_slow_(volt_holder_ *holder, const void *object,
                                                 uint32_t n);
VOLT_SIGHT_API_ void volt_party_wants_(const void *object);
VOLT_SIGHT_API_ void volt_party_blocks_(const char *call);

VOLT_SIGHT_INLINE_ volt_party_ *volt_party_now_(void) {
  volt_party_ *p = VOLT_PARTY_HERE_;
  return VOLT_LIKELY(p != NULL) ? p : volt_party_begin_();
}

/* What follows in this party, on *object, stands at file:line. */
VOLT_SIGHT_INLINE_ void volt_party_is_at_(const void *object, const char *file, uint32_t line) {
  volt_party_ *p = volt_party_now_();
  p->file = file;
  p->line = line;
  p->at = object;
}

/* The same; and it will lock *object, or wait for it. */
VOLT_SIGHT_INLINE_ void volt_party_locks_at_(const void *object, const char *file, uint32_t line) {
  volt_party_is_at_(object, file, line);
  if (VOLT_UNLIKELY(volt_load_relaxed(&VOLT_PARTY_HERE_->count) != 0) &&
      volt_load_relaxed(&volt_lock_order_is_on_) !=
          0) { /* relaxed: a switch, which orders nothing */
    volt_party_wants_(object);
  }
}

/* The same, of a call that may wait for as long as it takes. Debug builds: a task that is no fiber
 * must not make it. */
VOLT_SIGHT_INLINE_ void volt_party_blocks_at_(const char *call, const void *object,
                                              const char *file, uint32_t line) {
  volt_party_locks_at_(object, file, line);
  if (VOLT_UNLIKELY((VOLT_PARTY_HERE_->who & 3) == VOLT_WHO_TASK_)) volt_party_blocks_(call);
}

/* This party is about to take n permits of an object: what it needs for that. Loads wait for the
 * compare-and-swap before them, so they come before it, and the entry of the list is written before it
 * counts. object: its address, and how. */
typedef struct volt_taking_ {
  volt_party_ *party;
  uintptr_t object, who;
  const char *file;
  uint32_t n, line, stamp, sample, count;
} volt_taking_;

VOLT_SIGHT_INLINE_ volt_taking_ volt_party_takes_(uintptr_t object, uint32_t n) {
  volt_party_ *p = volt_party_now_();
  uint32_t count = volt_load_relaxed(&p->count); /* its own, as all of the list */
  const volt_taking_ t = {p, object, p->who, p->file, n, p->line, p->stamp, p->sample - 1, count};
  if (VOLT_LIKELY(count < VOLT_HELD_MAX_)) {
    volt_held_ *held = &p->held[count];
    volt_store_relaxed(&held->object, object);
    volt_store_relaxed(&held->file, t.file);
    volt_store_relaxed(&held->line, t.line);
    volt_store_relaxed(&held->n, n);
    volt_store_relaxed(&held->since, 0);
  }
  return t;
}

/* It has taken them. Returns false if there is no room in its list. */
VOLT_SIGHT_INLINE_ bool volt_party_took_(const volt_taking_ *t) {
  t->party->sample = t->sample;
  if (VOLT_UNLIKELY(t->count >= VOLT_HELD_MAX_ || t->sample == 0)) {
    return volt_party_took_slow_(t->party, t->object, t->n);
  }
  volt_store_relaxed(&t->party->count, t->count + 1);
  return true;
}

/* Take n permits of an object off, if they are the last entry and not timed. */
VOLT_SIGHT_INLINE_ bool volt_party_pop_(volt_party_ *p, uintptr_t object, uint32_t n) {
  if (VOLT_UNLIKELY(p == NULL)) return false;
  uint32_t count = volt_load_relaxed(&p->count); /* its own, as all of the list */
  if (VOLT_UNLIKELY(count == 0)) return false;
  const volt_held_ *held = &p->held[count - 1];
  bool is_last = volt_load_relaxed(&held->object) == object && volt_load_relaxed(&held->n) == n;
  if (VOLT_UNLIKELY(!is_last || volt_load_relaxed(&held->since) != 0)) return false;
  volt_store_relaxed(&p->count, count - 1);
  return true;
}

/* ---- what one party has alone: a mutex, a rwlock for writing ---- */

VOLT_SIGHT_INLINE_ void volt_holder_init_(volt_holder_ *holder) {
  volt_store_relaxed(&holder->who, 0);
  volt_store_relaxed(&holder->since, 0);
  volt_store_relaxed(&holder->id, 0);
}

VOLT_SIGHT_INLINE_ void volt_holder_taken_(volt_holder_ *holder, const volt_taking_ *t) {
  uintptr_t who = volt_party_took_(t) ? t->who : 0;
  volt_store_relaxed(&holder->file, t->file);
  volt_store_relaxed(&holder->line, t->line);
  volt_store_relaxed(&holder->since, t->stamp);
  volt_store_relaxed(&holder->who, who);
}

VOLT_SIGHT_INLINE_ void volt_holder_took_(volt_holder_ *holder, const void *object, uint32_t n) {
  const volt_taking_ t = volt_party_takes_((uintptr_t)object, n);
  volt_holder_taken_(holder, &t);
}

/* Before it is released. */
VOLT_SIGHT_INLINE_ void volt_holder_releasing_(volt_holder_ *holder, const void *object,
                                               uint32_t n) {
  if (VOLT_UNLIKELY(!volt_party_pop_(VOLT_PARTY_HERE_, (uintptr_t)object, n))) {
    volt_holder_releasing_slow_(holder, object, n);
  }
  volt_store_relaxed(&holder->who, 0);
}

/* ---- what several share: a rwlock for reading ---- */

VOLT_SIGHT_INLINE_ void volt_shared_took_(const void *object, uint32_t n) {
  const volt_taking_ t = volt_party_takes_((uintptr_t)object | VOLT_HELD_READ_, n);
  (void)volt_party_took_(&t);
}

VOLT_SIGHT_INLINE_ void volt_shared_releasing_(const void *object, uint32_t n) {
  uintptr_t held = (uintptr_t)object | VOLT_HELD_READ_;
  if (VOLT_LIKELY(volt_party_pop_(VOLT_PARTY_HERE_, held, n))) return;
  volt_party_releasing_slow_(UINTPTR_MAX, held, n, NULL);
}

/* ---- permits of a semaphore: one entry for all that a party holds of it ---- */

VOLT_SIGHT_INLINE_ void volt_permits_init_(VOLT_ATOMIC(uint32_t) *kept) {
  volt_store_relaxed(kept, 0);
}

VOLT_SIGHT_INLINE_ void volt_permits_taken_(const volt_taking_ *t) {
  if (t->n == 0) return;
  if (t->count > 0) {
    volt_held_ *last = &t->party->held[t->count - 1];
    if (volt_load_relaxed(&last->object) == t->object) { /* its own, as all of the list */
      volt_store_relaxed(&last->n, volt_load_relaxed(&last->n) + t->n);
      return;
    }
  }
  (void)volt_party_took_(t);
}

VOLT_SIGHT_INLINE_ void volt_permits_took_(const void *object, uint32_t n) {
  const volt_taking_ t = volt_party_takes_((uintptr_t)object | VOLT_HELD_PERMITS_, n);
  volt_permits_taken_(&t);
}

/* kept: of the semaphore. */
VOLT_SIGHT_INLINE_ void volt_permits_releasing_(const void *object, uint32_t n,
                                                VOLT_ATOMIC(uint32_t) *kept) {
  uintptr_t held = (uintptr_t)object | VOLT_HELD_PERMITS_;
  if (n == 0) return;
  if (VOLT_LIKELY(volt_load_relaxed(kept) != 0 && volt_party_pop_(VOLT_PARTY_HERE_, held, n)))
    return;
  volt_party_releasing_slow_(UINTPTR_MAX, held, n, kept);
}

/* ---- awaits ---- */

/* The party that is to be woken by a waker: a task's waker is known by its ctx. */
VOLT_SIGHT_INLINE_ uintptr_t volt_party_of_(const void *ctx) {
  const volt_party_ *p = VOLT_PARTY_HERE_;
  uintptr_t task = (uintptr_t)ctx | VOLT_WHO_TASK_;
  return p && ctx && p->who == task ? task : 0;
}

typedef struct volt_awaits_ {
  const char *file;
  uint32_t line;
} volt_awaits_;

VOLT_SIGHT_INLINE_ volt_awaits_ volt_party_awaits_(const char *file, uint32_t line) {
  volt_party_ *p = volt_party_now_();
  volt_awaits_ outside = {p->file, p->line};
  p->file = file;
  p->line = line;
  p->at = NULL;
  return outside;
}

/* In a fiber whose poll has waited, the party may have another list than before. */
VOLT_SIGHT_INLINE_ void volt_party_awaited_(volt_awaits_ outside) {
  volt_party_ *p = volt_party_now_();
  p->file = outside.file;
  p->line = outside.line;
}

VOLT_END_DECLS

#define VOLT_TAKES_(taking, object, how, n) \
  const volt_taking_ taking = volt_party_takes_((uintptr_t)(object) | VOLT_HELD_##how##_, (n))
#define VOLT_HOLDER_ volt_holder_ holder;
/* That it was made, and not merely found in memory: src/core/future/future.c. */
#define VOLT_FUTURE_MADE_ uintptr_t made;
/* The task that waits with it; 0: it is not known whose it is. */
#define VOLT_WAITER_WHO_ VOLT_PLAIN(uintptr_t) who;
/* What a task that waits holds; where it stood; and its number, which no other task has had. */
#define VOLT_TASK_HOLDS_ \
  volt_party_ *held;     \
  const char *held_file; \
  uint32_t held_line;    \
  uint32_t born;
/* 1: a party has given permits back that it had taken, so they are held and not passed on. */
#define VOLT_KEPT_BY_HOLDERS_ VOLT_ATOMIC(uint32_t) kept;

#endif
#endif
