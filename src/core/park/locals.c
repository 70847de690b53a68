/* locals.c: what the sync library keeps for each thread and for the process, from when the library is
 * loaded; what of it a thread leaves behind that ends, and what becomes of it in the child of a fork(). */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE /* syscall */
#endif
#include "locals.h"

#include <pthread.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "../hooks/counting.h"
#include "../hooks/numbers.h"
#include "../inspect/blocked.h"
#include "../inspect/order.h"
#include "../inspect/owner.h"
#include "../os/at_fork.h"
#include "../os/hash.h"
#include "../wait/fifo.h"
#include "blocker.h"

void **volt_thread_slot_(void) {
  static _Thread_local void *slot;
  return &slot;
}

void **volt_thread_calls_(void) {
  static _Thread_local void *innermost;
  return &innermost;
}

uint64_t *volt_thread_random_(void) {
  static _Thread_local uint64_t state;
  return &state;
}

volt_blocker_ **volt_thread_blocker_(void) {
  static _Thread_local volt_blocker_ *here;
  return &here;
}

/* ---- where a thread says for what it sleeps ---- */

static volt_blocked_list_ blocked_list; /* all-zero: empty */
static pthread_key_t blocked_key;       /* its value in a thread: the slot */
/* 1 from the load of the library until it is unloaded or the program ends. It becomes 0 before the key is
 * deleted, so that threads that still run do not use it (counts.c R3). */
static VOLT_ATOMIC(uint32_t) blocked_has_key;

enum { BLOCKED_UNUSED = 0, BLOCKED_USED, BLOCKED_ENDED };
typedef struct blocked_of_thread {
  volt_blocked_slot_ slot;
  int stage;
} blocked_of_thread;

static blocked_of_thread *blocked_of(void) {
  static _Thread_local blocked_of_thread own;
  return &own;
}

static void blocked_ends(void *own) {
  blocked_of_thread *of = (blocked_of_thread *)own;
  of->stage = BLOCKED_ENDED;
  volt_blocked_unlink_(&blocked_list, &of->slot);
#if VOLT_SIGHT
  volt_party_thread_ends_(volt_load_relaxed(&of->slot.party)); /* its own */
#endif
}

static int32_t blocked_tid(void) {
  return (int32_t)syscall(SYS_gettid);
}

static void blocked_after_fork(void) {
  blocked_of_thread *own = blocked_of();
  own->slot.tid = blocked_tid();
  volt_blocked_forget_(&blocked_list, own->stage == BLOCKED_USED ? &own->slot : NULL);
}

const volt_debugger_ *volt_debugger_of_sync_(void) {
  return &volt_debugger_sync_;
}

/* The library is unloaded, or the program ends: threads that end later have no slot any more. */
static VOLT_AT_UNLOAD_ void blocked_unload(void) {
  /* relaxed, no data: the key was made as the library was loaded */
  bool has_key = volt_exchange_relaxed(&blocked_has_key, 0) != 0;
  volt_blocked_close_(&blocked_list);
  if (has_key) (void)pthread_key_delete(blocked_key);
}

volt_blocked_slot_ *volt_thread_blocked_(void) {
  blocked_of_thread *own = blocked_of();
  if (own->stage == BLOCKED_UNUSED && volt_load_relaxed(&blocked_has_key)) {
    own->stage = BLOCKED_ENDED; /* meanwhile: with many keys, the next call allocates */
    own->slot.tid = blocked_tid();
    own->slot.number = volt_thread_number_();
    if (pthread_setspecific(blocked_key, own) == 0) own->stage = BLOCKED_USED;
  }
  return own->stage == BLOCKED_USED ? &own->slot : NULL;
}

volt_blocked_list_ *volt_blocked_list_of_process_(void) {
  return &blocked_list;
}

uint32_t volt_thread_number_(void) {
  static VOLT_ATOMIC(uint32_t) threads;
  static _Thread_local uint32_t number; /* 1 more than what it returns; 0: none yet */
  if (number == 0) number = volt_fetch_add_relaxed(&threads, 1) + 1; /* it orders nothing */
  return number - 1;
}

/* ---- of the process ---- */

enum { PARKED_BITS = 9 };
static volt_fifo_ parked_queues[1u << PARKED_BITS]; /* all-zero: empty */

/* No fiber runs in the child. */
static void parked_after_fork(void) {
  for (unsigned i = 0; i < 1u << PARKED_BITS; i++) volt_fifo_init_(&parked_queues[i], 0);
}

volt_fifo_ *volt_parked_queue_(const void *address) {
  return &parked_queues[volt_hash_(address) >> (64 - PARKED_BITS)];
}

/* ---- as the library is loaded, and in the child of a fork() ---- */

/* Locks may be held by threads that the child does not have: each is made anew. */
static void locals_after_fork(void) {
  blocked_after_fork();
  parked_after_fork();
  volt_count_forget_();
#if VOLT_SIGHT
  volt_party_forget_();
  volt_order_forget_();
#endif
}

/* Not when a thread sleeps: what this calls allocates, and the allocator may be what sleeps. */
static VOLT_AT_LOAD_(VOLT_FORK_SYNC_) void locals_load(void) {
  volt_debugger_sync_.blocked = &blocked_list;
  volt_store_relaxed(&blocked_has_key, pthread_key_create(&blocked_key, blocked_ends) == 0);
  volt_at_fork_(NULL, NULL, locals_after_fork);
}
