/* locals.c: what the sync library keeps for each thread and for the process, from when the library is
 * loaded; what of it a thread leaves behind that ends, and what becomes of it in the child of a fork(). */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE /* syscall */
#endif
#include "locals.h"

#include <pthread.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "../hooks/counters.h"
#include "../hooks/numbers.h"
#include "../inspect/holders.h"
#include "../inspect/lock_order.h"
#include "../inspect/sleepers.h"
#include "../os/at_fork.h"
#include "../os/hash.h"
#include "../wait/fifo.h"
#include "blocker.h"

/* ---- variables of this thread ----
 *
 * A fiber asks on one thread, waits, and asks on another one. So no compiler may know what these return, not
 * even one that sees all of volt as one: it would keep the address over the wait. */

VOLT_NOINLINE void **volt_thread_slot_(void) {
  static _Thread_local void *slot;
  void **here = &slot;
  VOLT_FORGET_AGAIN_(here);
  return here;
}

VOLT_NOINLINE void **volt_thread_calls_(void) {
  static _Thread_local void *innermost;
  void **here = &innermost;
  VOLT_FORGET_AGAIN_(here);
  return here;
}

VOLT_NOINLINE uint64_t *volt_thread_random_(void) {
  static _Thread_local uint64_t state;
  uint64_t *here = &state;
  VOLT_FORGET_AGAIN_(here);
  return here;
}

VOLT_NOINLINE volt_blocker_ **volt_thread_blocker_(void) {
  static _Thread_local volt_blocker_ *blocker;
  volt_blocker_ **here = &blocker;
  VOLT_FORGET_AGAIN_(here);
  return here;
}

/* ---- where a thread says for what it sleeps ---- */

static volt_sleeper_list_ sleeper_list; /* all-zero: empty */
static pthread_key_t sleeper_key;       /* its value in a thread: the slot */
/* 1 from the load of the library until it is unloaded or the program ends. It becomes 0 before the key is
 * deleted, so that threads that still run do not use it (counters.c R3). */
static VOLT_ATOMIC(uint32_t) sleeper_has_key;

enum { SLEEPER_UNUSED = 0, SLEEPER_USED, SLEEPER_ENDED };
typedef struct sleeper_of_thread {
  volt_sleeper_slot_ slot;
  int stage;
} sleeper_of_thread;

static sleeper_of_thread *locals_sleeper_of(void) {
  static _Thread_local sleeper_of_thread own;
  return &own;
}

static void locals_sleeper_ends(void *own) {
  sleeper_of_thread *of = (sleeper_of_thread *)own;
  of->stage = SLEEPER_ENDED;
  volt_sleeper_unlink_(&sleeper_list, &of->slot);
#if VOLT_SIGHT
  volt_party_thread_ends_(volt_load_relaxed(&of->slot.party)); /* its own */
#endif
}

static int32_t locals_sleeper_tid(void) {
  return (int32_t)syscall(SYS_gettid);
}

static void locals_sleepers_after_fork(void) {
  sleeper_of_thread *own = locals_sleeper_of();
  own->slot.tid = locals_sleeper_tid();
  volt_sleepers_forget_(&sleeper_list, own->stage == SLEEPER_USED ? &own->slot : NULL);
}

const volt_debugger_ *volt_debugger_of_sync_(void) {
  return &volt_debugger_sync_;
}

/* The library is unloaded, or the program ends: threads that end later have no slot any more. */
static VOLT_AT_UNLOAD_ void locals_sleepers_unload(void) {
  /* relaxed, no data: the key was made as the library was loaded */
  bool has_key = volt_exchange_relaxed(&sleeper_has_key, 0) != 0;
  volt_sleepers_close_(&sleeper_list);
  if (has_key) (void)pthread_key_delete(sleeper_key);
}

VOLT_NOINLINE volt_sleeper_slot_ *volt_thread_sleeper_(void) {
  sleeper_of_thread *own = locals_sleeper_of();
  if (own->stage == SLEEPER_UNUSED && volt_load_relaxed(&sleeper_has_key)) {
    own->stage = SLEEPER_ENDED; /* meanwhile: with many keys, the next call allocates */
    own->slot.tid = locals_sleeper_tid();
    own->slot.number = volt_thread_number_();
    if (pthread_setspecific(sleeper_key, own) == 0) own->stage = SLEEPER_USED;
  }
  return own->stage == SLEEPER_USED ? &own->slot : NULL;
}

volt_sleeper_list_ *volt_sleepers_of_process_(void) {
  return &sleeper_list;
}

VOLT_NOINLINE uint32_t volt_thread_number_(void) {
  static VOLT_ATOMIC(uint32_t) threads;
  static _Thread_local uint32_t number; /* 1 more than what it returns; 0: none yet */
  if (number == 0) number = volt_fetch_add_relaxed(&threads, 1) + 1; /* it orders nothing */
  return number - 1;
}

/* ---- of the process ---- */

enum { FIBER_FUTEX_BITS = 9 };
static volt_fifo_ fiber_futex_queues[1u << FIBER_FUTEX_BITS]; /* all-zero: empty */

/* No fiber runs in the child. */
static void fiber_futex_after_fork(void) {
  for (unsigned i = 0; i < 1u << FIBER_FUTEX_BITS; i++) volt_fifo_init_(&fiber_futex_queues[i], 0);
}

volt_fifo_ *volt_fiber_futex_queue_(const void *address) {
  return &fiber_futex_queues[volt_hash_(address) >> (64 - FIBER_FUTEX_BITS)];
}

/* ---- as the library is loaded, and in the child of a fork() ---- */

/* Locks may be held by threads that the child does not have: each is made anew. */
static void locals_after_fork(void) {
  locals_sleepers_after_fork();
  fiber_futex_after_fork();
  volt_count_forget_();
#if VOLT_SIGHT
  volt_party_forget_();
  volt_lock_order_forget_();
#endif
}

/* Not when a thread sleeps: what this calls allocates, and the allocator may be what sleeps. */
static VOLT_AT_LOAD_(VOLT_FORK_SYNC_) void locals_load(void) {
  volt_debugger_sync_.sleepers = &sleeper_list;
  volt_store_relaxed(&sleeper_has_key, pthread_key_create(&sleeper_key, locals_sleeper_ends) == 0);
  volt_at_fork_(NULL, NULL, locals_after_fork);
}
