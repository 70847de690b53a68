/* futex.c: sleep and wake by address, and the variables of a thread, on Linux. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE /* syscall */
#endif
#include "futex.h"

#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <pthread.h>
#include <sched.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "../hooks/counting.h"
#include "../hooks/numbers.h"
#include "../hooks/probe.h"
#include "../inspect/blocked.h"
#include "../inspect/order.h"
#include "../inspect/owner.h"
#include "../wait/fifo.h"
#include "at_fork.h"
#include "blocker.h"
#include "check.h"

/* As in <linux/futex.h>, which not every system has. */
enum { WAKE_PRIVATE = 1 | 128, WAIT_BITSET_PRIVATE = 9 | 128 };
static const uint32_t match_any = UINT32_MAX;

/* Where time_t is wider than long, another system call takes such times. */
#ifdef SYS_futex_time64
static const long sys_futex = sizeof(time_t) > sizeof(long) ? SYS_futex_time64 : SYS_futex;
#else
static const long sys_futex = SYS_futex;
#endif

/* CLOCK_MONOTONIC counts from the start of the machine, so 32 bits last for 68 years. */
static time_t futex_seconds(uint64_t ns) {
  uint64_t seconds = ns / 1000000000u;
  return sizeof(time_t) < 8 && seconds > INT32_MAX ? INT32_MAX : (time_t)seconds;
}

int volt_futex_wait32_(VOLT_ATOMIC(uint32_t) *word, uint32_t seen, uint64_t deadline_ns) {
  struct timespec deadline;
  struct timespec *until = NULL;
  if (deadline_ns != VOLT_NO_DEADLINE) {
    deadline.tv_sec = futex_seconds(deadline_ns);
    deadline.tv_nsec = (long)(deadline_ns % 1000000000u);
    until = &deadline;
  }
  int saved = errno;
  int result = VOLT_OK;
  VOLT_PROBE3(thread__sleep, word, seen, deadline_ns);
  /* WAIT_BITSET, because its timeout is absolute, on CLOCK_MONOTONIC */
  long rc = syscall(sys_futex, word, WAIT_BITSET_PRIVATE, seen, until, NULL, match_any);
  if (rc != 0) {
    VOLT_CHECK(errno == EAGAIN || errno == EINTR || errno == ETIMEDOUT, "futex",
               "wait at %#" PRIxPTR " failed with errno %d", (uintptr_t)word, errno);
    if (errno == ETIMEDOUT) result = VOLT_ETIMEDOUT;
  }
  VOLT_PROBE2(thread__wake, word, result);
  errno = saved;
  return result;
}

void volt_futex_wake32_(VOLT_ATOMIC(uint32_t) *word, int count) {
  int saved = errno;
  /* the address may be unmapped by now, which is not an error here */
  (void)syscall(sys_futex, word, WAKE_PRIVATE, count, NULL, NULL, 0);
  errno = saved;
}

void volt_yield_(void) {
  (void)sched_yield();
}

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
/* From the load of the library on, until it is unloaded or the program ends: threads that run still
 * find that there is no key, before it is deleted (counts.c R3) */
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
  uint64_t mixed = (uint64_t)(uintptr_t)address * UINT64_C(0x9e3779b97f4a7c15);
  return &parked_queues[mixed >> (64 - PARKED_BITS)];
}

/* ---- as the library is loaded, and in the child of a fork() ---- */

/* Locks may be held by threads that the child does not have: each is made anew. */
static void futex_after_fork(void) {
  blocked_after_fork();
  parked_after_fork();
  volt_count_forget_();
#if VOLT_SIGHT
  volt_party_forget_();
  volt_order_forget_();
#endif
}

/* Not when a thread sleeps: what this calls allocates, and the allocator may be what sleeps. */
static VOLT_AT_LOAD_(VOLT_FORK_SYNC_) void futex_load(void) {
  volt_debugger_sync_.blocked = &blocked_list;
  volt_store_relaxed(&blocked_has_key, pthread_key_create(&blocked_key, blocked_ends) == 0);
  volt_at_fork_(NULL, NULL, futex_after_fork);
}
