/* objects.h: the objects of volt that stand for a program's mutexes, conditions and so on. objects.c says how one is
 * found. */
#ifndef SERVE_OBJECTS_H
#define SERVE_OBJECTS_H

#include <volt/barrier.h>
#include <volt/cond.h>
#include <volt/mutex.h>
#include <volt/rwlock.h>
#include <volt/semaphore.h>

#include "serve/life.h"
#include "watch/books.h"
#include "watch/real.h"

/* One, by its number in the books. */
struct served {
  struct served_life life;
  VOLT_ATOMIC(uint32_t)
  owner;          /* served_self() of the thread that has it alone; 0: none has run yet */
  uint32_t times; /* of a recursive mutex: how often its owner has locked it */
  union {
    volt_fifo_ queue; /* each begins with it */
    volt_mutex mutex;
    volt_rwlock rwlock;
    volt_sem semaphore;
    volt_barrier barrier;
  } is;
  volt_cond condition;              /* of its own, so that it is never made anew (objects.c R4) */
  VOLT_ATOMIC(uint32_t) on_the_way; /* of a semaphore: posts whose threads have not run yet */
  VOLT_ATOMIC(uint32_t)
  foreign; /* of a read-write lock: given back by threads that did not read it */
  VOLT_ATOMIC(uint32_t)
  users;         /* of a mutex: threads that wait for a condition with it; its owner changes it */
  uint8_t kind;  /* enum books_kind */
  uint8_t clock; /* of a condition */
} __attribute__((aligned(128)));

/* How many callers may pass the oldest one that waits: of mutexes and read-write locks. */
extern uint32_t served_bypass;

/* By number. NULL: glibc's locks do the work. */
extern struct served *served_objects;

/* glibc's functions. Those of `real` are ours when glibc's locks do not do the work. */
extern struct real glibc;

/* Where its mark is. */
enum {
  SERVED_MUTEX_PLACE = 24,
  SERVED_RWLOCK_PLACE = 16,
  SERVED_CONDITION_PLACE = 0,
  SERVED_SEMAPHORE_PLACE = 16,
  SERVED_BARRIER_PLACE = 24
};

static inline served_place *served_place_of(const void *object, size_t offset) {
  return (served_place *)(void *)((uintptr_t)object + offset);
}

/* The one that stands for this object. NULL: none does yet, or it is glibc's. */
static inline struct served *served_find(const void *object, size_t offset) {
  uint64_t mark = served_mark_in(served_place_of(object, offset));
  uint32_t number = (uint32_t)mark;
  if (!served_is_mark(mark) || number > BOOKS_LOCKS) return NULL;
  struct served *s = &served_objects[number];
  bool is_it = served_life_is(&s->life, mark, (uintptr_t)object);
  return __builtin_expect(is_it, 1) ? s : NULL;
}

/* Begin a life of the object, in the state that a new one has. is_new: what was there before has ended; if not, another
 * thread may have begun it meanwhile. Returns NULL: there is no room, and it is glibc's. */
struct served *served_begin_life(const void *object, size_t offset, enum books_kind kind,
                                 bool is_new);

/* The program has destroyed it. */
static inline void served_end_life(const void *object, size_t offset) {
  volt_store_relaxed(served_place_of(object, offset), 0); /* no other thread uses it */
}

/* Whether threads wait for it, so that it must not be initialised. */
bool served_is_in_use(const void *object, size_t offset);

uint32_t served_new_thread(void);

extern BOOKS_OF_THREAD uint32_t served_thread;

/* A number that no other thread of this process has, or has had; the same in the child of a fork. */
static inline uint32_t served_self(void) {
  return __builtin_expect(served_thread != 0, 1) ? served_thread : served_new_thread();
}

/* Whether threads wait for it, or a thread is about to change the queue. A hint. */
static inline bool served_is_awaited(volt_fifo_ *q) {
  return volt_load_relaxed(&q->word) & (VOLT_WORD_QUEUED_ | VOLT_WORD_LOCKED_);
}

/* ---- forks: child.c ---- */

/* It is 0 in the child of a fork that has not come to served_forked() yet. */
extern VOLT_ATOMIC(uint32_t) *served_is_here;

void served_watch_forks(void);

/* In the child: no other thread is there, so none waits. */
void served_forked(void);

/* How many forks have made this process: those that its threads have met. */
extern uint32_t served_forks;

static inline void served_check_fork(void) {
  if (__builtin_expect(volt_load_relaxed(served_is_here) == 0, 0)) served_forked();
}

/* The same, for a call that tries, and has found it busy: whether it has to try again. */
static inline bool served_has_forked(void) {
  bool is_child = volt_load_relaxed(served_is_here) == 0; /* as above */
  served_check_fork();
  return is_child;
}

/* In the child: the mutex that stands for those of conditions of glibc's. */
void served_forked_stand_in(void);

/* Whether this thread reads the lock. */
bool served_reads(const struct served *s);

/* A mutex for a condition whose waiters come with one that is glibc's. */
volt_mutex *served_gate(const struct served *condition);
enum { SERVED_GATES = 64 };
extern volt_mutex served_gates[SERVED_GATES];

#endif
