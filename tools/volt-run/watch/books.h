/* books.h: what is known of a program's locks and threads. The library keeps it in one mapping, without an
 * allocation and without a lock; a report is made from a copy, by another program (snapshot.h). */
#ifndef WATCH_BOOKS_H
#define WATCH_BOOKS_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "watch/sizes.h"
#include "watch/slots.h"

/* Of a number that says nothing of which thread stands in the way of which: models leave it out of the interleavings. */
#ifndef BOOKS_SHOWN
#define BOOKS_SHOWN(T) _Atomic(T)
#endif

enum books_kind { BOOKS_MUTEX, BOOKS_RWLOCK, BOOKS_CONDITION, BOOKS_SEMAPHORE, BOOKS_BARRIER };

enum books_flags {
  /* A thread has given it back that did not hold it: who holds it is not known. */
  BOOKS_IS_UNKNOWN = 2,
  BOOKS_IS_BINARY = 4, /* of a semaphore: it began with one permit */
  /* Of a binary one: a thread has given back what it had taken, as with a mutex. */
  BOOKS_IS_OWNED = 8,
  BOOKS_PREFERS_WRITERS = 16, /* of a read-write lock: readers wait for a writer that waits */
  /* So many threads more that take it put down their stack: orders.c. */
  BOOKS_WANTS_STACK = 0x100,
  BOOKS_WANTS_STACKS = 0xff00
};

/* What a thread does that is in a call. */
enum books_how {
  BOOKS_RUNS,
  BOOKS_LOCKS_IT,     /* or it takes a permit */
  BOOKS_READS_IT,     /* shared */
  BOOKS_AWAITS_IT,    /* a condition, a barrier */
  BOOKS_JOINS,        /* the thread `joins` */
  BOOKS_IS_TIMED = 16 /* beside one of these: it ends by itself */
};

enum books_fault {
  BOOKS_NO_FAULT,
  BOOKS_FOREIGN_UNLOCK, /* a mutex, by a thread that did not lock it */
  BOOKS_HELD_DESTROY,
  BOOKS_AWAITED_DESTROY /* threads wait for it */
};

/* An object of the program. It stays in the books when it is destroyed; another one at its address has another
 * generation: an odd one, if a call has initialised it. Of an even one it is not certain that it is one object. */
struct books_lock {
  _Atomic(uintptr_t) address;
  _Atomic(uint32_t) next; /* in its bucket: does not change */
  uint16_t kind;
  _Atomic(uint16_t) flags;
  _Atomic(uint32_t) owner; /* books_tag() of the thread that holds it alone; 0: none is known */
  BOOKS_SHOWN(uint32_t) detail; /* 0: no thread has waited */
  _Atomic(uint64_t) acquires;
  BOOKS_SHOWN(uint32_t) waiters;
  _Atomic(uint32_t) generation;
  _Atomic(uintptr_t) made_at; /* where it was initialised, or first used */
  _Atomic(uintptr_t) taken_at;
  _Atomic(uint64_t) taken_ns; /* by its owner; 0: it was not noted, because no thread had waited */
};

/* Something that took long. */
struct books_moment {
  uint64_t ns;
  int32_t tid; /* of the thread; 0: there is none */
  uint32_t depth;
  char name[16];
  uintptr_t at; /* where the call returns to; of a hold: where it was taken */
  uintptr_t stack[BOOKS_DEPTH];
};

struct books_detail {
  uint32_t lock;
  atomic_flag is_busy;     /* of the moments */
  _Atomic(uint32_t) fault; /* the last */
  _Atomic(uint32_t) faults;
  _Atomic(uint64_t) waits; /* that had to wait */
  _Atomic(uint64_t) waited_ns;
  _Atomic(uint64_t) signals, signals_to_none, waits_again; /* of a condition */
  _Atomic(uint32_t) wait_times[BOOKS_TIMES], hold_times[BOOKS_TIMES];
  struct books_moment longest_wait, its_hold; /* the hold that ended before that wait did */
  struct books_moment longest_hold, last_hold;
  struct books_moment fault_at;
};

struct books_held {
  uint32_t lock;
  uint32_t generation; /* of the object: another one may be there by now */
  uint16_t how;
  uint16_t times; /* of a recursive one */
  uint32_t stack; /* with which it was taken, of those that are kept; 0: it was not kept */
  uintptr_t at;
};

/* A stack that is kept. */
struct books_stack {
  _Atomic(uint32_t) state; /* 0: there is none; 1: it is written; 2: it does not change */
  uint32_t depth;
  uint64_t key;
  uintptr_t at[BOOKS_DEPTH];
};

/* That a lock was taken while others were held (orders.c). Numbers of locks go with their generation. */
struct books_order {
  _Atomic(uint32_t) is_whole; /* the rest does not change then, but for `threads` */
  uint32_t lock, generation;
  uint16_t how;
  uint16_t held_count;
  uint64_t key; /* of the lock and those that were held, and how */
  struct books_held held[BOOKS_ORDER_HELD];
  _Atomic(uint32_t) held_stack[BOOKS_ORDER_HELD]; /* of these; 0: it is not known yet */
  _Atomic(uint32_t) tries;                        /* to know them */
  /* Tags of the first ones that have done it; 0: none. */
  _Atomic(uint32_t) threads[BOOKS_ORDER_THREADS];
  int32_t tid; /* of the first */
  uint32_t stack;
  uintptr_t at;
  char name[16];
};

struct books_thread {
  _Atomic(int32_t) tid;      /* 0: not used; in a copy below 0: it has ended */
  uint32_t number;           /* from 1 on */
  _Atomic(uint32_t) life;    /* counts the threads that had this place */
  _Atomic(uint32_t) changes; /* counts the begins and ends of waits */
  uintptr_t handle;          /* pthread_self() */
  char name[16];
  _Atomic(uint32_t) how;
  _Atomic(uint32_t) waits_for; /* a lock; 0: none */
  _Atomic(uint32_t)
      comes_back_by; /* the mutex without which its wait for a condition cannot end; 0: none */
  _Atomic(uintptr_t) joins;
  _Atomic(uint64_t) since_ns;
  _Atomic(uintptr_t) at;
  BOOKS_SHOWN(uint32_t) depth; /* of the stack of this wait; 0: it was not taken */
  uintptr_t stack[BOOKS_DEPTH];
  _Atomic(uint32_t) checks;   /* whether it is in a circle: circle.c */
  _Atomic(uint32_t) reported; /* `changes` of the wait that a deadlock was reported for */
  uint64_t waits, waited_ns;
  uint32_t last_condition; /* it waited for, and has not unlocked since */
  _Atomic(uint32_t) held_count;
  struct books_held held[BOOKS_HELD];
  uint32_t cached[BOOKS_CACHED];
  _Atomic(uint32_t) is_joined; /* it has ended, and another thread knows */
};

/* All of it: one mapping, of which the used part has memory. Locks, details and orders are numbered from 1. */
struct books {
  _Atomic(uint32_t) lock_count, detail_count, thread_count;
  _Atomic(uint32_t) turn;  /* where the next search for a place that is used again begins */
  _Atomic(uint32_t) begun; /* threads, in all */
  _Atomic(uint32_t) order_count, orders_left_out;
  _Atomic(uint64_t) unwatched; /* calls on objects for which there was no room */
  _Atomic(uint64_t) deadlocks;
  uint64_t begun_ns;
  uint32_t is_served; /* volt's locks do the work: set before any of them is used */
  struct slots slots; /* of waits for what is no condition */
  _Atomic(uint32_t) bucket[BOOKS_BUCKETS];
  struct books_thread thread[BOOKS_THREADS + 1];
  struct books_detail detail[BOOKS_DETAILS + 1];
  struct books_lock lock[BOOKS_LOCKS + 1] __attribute__((aligned(BOOKS_LINE)));
  _Atomic(uint32_t) order_slot[BOOKS_ORDER_SLOTS]; /* numbers of orders by their keys */
  struct books_order order[BOOKS_ORDERS + 1];
  _Atomic(uint32_t) stacks_wanted; /* in all, of locks that were held */
  struct books_stack stack[BOOKS_STACKS + 1];
  uint32_t order_cached[BOOKS_THREADS + 1]
                       [BOOKS_ORDERS_CACHED]; /* parts of keys: a thread has put them down */
};

#define BOOKS_OF_THREAD __thread __attribute__((tls_model("initial-exec"), visibility("hidden")))

/* NULL: nothing is watched. */
extern struct books *watch_books __attribute__((visibility("hidden")));

/* Of the thread that calls: its place, and whether it is within a call of ours. */
extern BOOKS_OF_THREAD struct books_thread *books_own;
extern BOOKS_OF_THREAD uint32_t books_paused;

/* The same in one word, for what each call asks first: books_own, if there are books, glibc's functions are found, and
 * the thread is not within a call of ours. NULL: books_look() knows. */
extern BOOKS_OF_THREAD struct books_thread *books_at_once;

/* A thread, and which of those that had its place. */
static inline uint32_t books_tag(const struct books_thread *t) {
  return t->number | atomic_load_explicit(&t->life, memory_order_relaxed) << 16;
}

static inline struct books_lock *books_lock(uint32_t number) {
  return &watch_books->lock[number];
}

/* NULL: no thread has waited for it. */
static inline struct books_detail *books_detail_of(const struct books_lock *l) {
  uint32_t number = atomic_load_explicit(&l->detail, memory_order_acquire);
  return number ? &watch_books->detail[number] : NULL;
}

/* Map them. Returns false: there is no memory. */
bool books_begin(void);

struct books_thread *books_new_thread(void);

/* The thread that calls, which is put down if it is new. NULL: it is not watched, or it is within a call of
 * ours. */
struct books_thread *books_look(void);

static inline struct books_thread *books_self(void) {
  struct books_thread *own = books_at_once;
  return __builtin_expect(own != NULL, 1) ? own : books_look();
}

/* The number of the thread that holds it alone; 0: none is known, or that thread has ended. */
uint32_t books_owner(const struct books_lock *l);

/* Another thread has joined the one with this handle. */
void books_joined(uintptr_t handle);

/* Whether each other thread that has ever taken a lock has been joined. */
bool books_is_alone(const struct books_thread *self);

/* In the child of a fork: only the thread that calls is there. */
void books_forked(void);

/* The number of the object at this address, which is put down if it is new. 0: there is no room.
 * at: where the call returns to. */
uint32_t books_search(struct books_thread *self, const void *object, enum books_kind kind,
                      uintptr_t at);

/* The multiplication moves what makes addresses differ to the upper bits. */
static inline uint32_t *books_cached(struct books_thread *self, const void *object) {
  uint32_t hash = (uint32_t)(uintptr_t)object * UINT32_C(0x9e3779b1);
  return &self->cached[(hash >> 22) % BOOKS_CACHED];
}

/* Whether this number is that of the object. Of 0 it is not. */
static inline bool books_is(uint32_t number, const void *object, enum books_kind kind) {
  const struct books_lock *l = books_lock(number);
  return atomic_load_explicit(&l->address, memory_order_relaxed) == (uintptr_t)object &&
         l->kind == kind;
}

static inline uint32_t books_find(struct books_thread *self, const void *object,
                                  enum books_kind kind, uintptr_t at) {
  uint32_t number = *books_cached(self, object);
  return __builtin_expect(books_is(number, object, kind), 1) ? number
                                                             : books_search(self, object, kind, at);
}

/* The same, without a thread. */
uint32_t books_number(const void *object, enum books_kind kind, uintptr_t at);

/* The object was initialised by a call, of those that are destroyed by a call, too. */
static inline bool books_was_made(uint32_t generation) {
  return generation & 1;
}

/* The object of this number is no more. */
void books_destroyed(uint32_t number);

/* Another object of this number begins. at: where; 0: it is not known. */
void books_renew(uint32_t number, enum books_kind kind, uintptr_t at);

/* An object begins at this address. */
void books_made(struct books_thread *self, const void *object, enum books_kind kind, uintptr_t at);

/* The details of a lock, which are made. NULL: there is no room. */
struct books_detail *books_detail(uint32_t lock);

/* Nothing of ours is watched that the calling thread does in between. */
void books_pause(void);
void books_resume(void);

uint64_t books_now_ns(void);

/* Take the stack of the thread that calls, from the caller of the watched function on. at: where that
 * call returns to. Returns its depth. */
uint32_t books_stack(uintptr_t *stack, uintptr_t at);

/* The part of a histogram that has this time, and the longest time of that part. */
static inline uint32_t books_time_part(uint64_t ns) {
  if (ns < 2) return 0;
  uint32_t power = 63u - (uint32_t)__builtin_clzll(ns);
  uint32_t part = 2 * power + (uint32_t)(ns >> (power - 1) & 1);
  return part < BOOKS_TIMES ? part : BOOKS_TIMES - 1;
}
static inline uint64_t books_time_end(uint32_t part) {
  uint64_t half = UINT64_C(1) << part / 2;
  return part % 2 ? half * 2 : half + half / 2;
}

#endif
