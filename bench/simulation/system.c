/* system.c: what src/core/os/futex.c, src/core/park/locals.c and src/rt/sched/thread.c ask of the operating
 * system, and the clock and the allocator, on the simulated machine. It stands in for these files. */
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "../../src/core/hooks/numbers.h"
#include "../../src/core/os/futex.h"
#include "../../src/core/park/blocker.h"
#include "../../src/core/park/locals.h"
#include "../../src/rt/sched/thread.h"
#include "machine.h"
#include "network.h"

int volt_futex_wait32_(VOLT_ATOMIC(uint32_t) *word, uint32_t seen, uint64_t deadline_ns) {
  bool in_time = sim_sleep((const uint32_t *)(void *)word, seen, deadline_ns);
  return in_time ? VOLT_OK : VOLT_ETIMEDOUT;
}

void volt_futex_wake32_(VOLT_ATOMIC(uint32_t) *word, int count) {
  sim_wake((const uint32_t *)(void *)word, count);
}

void volt_yield_(void) {
  sim_yield();
}

void **volt_thread_slot_(void) {
  return &sim_own()->slot;
}

void **volt_thread_calls_(void) {
  return &sim_own()->calls;
}

uint64_t *volt_thread_random_(void) {
  return &sim_own()->random;
}

uint32_t volt_thread_number_(void) {
  static uint32_t threads;
  if (sim_own()->number == 0) sim_own()->number = ++threads;
  return sim_own()->number - 1;
}

/* No inspector looks at these threads. */
struct volt_sleeper_slot_ *volt_thread_sleeper_(void) {
  return NULL;
}

const volt_debugger_ *volt_debugger_of_sync_(void) {
  return NULL;
}

struct volt_sleeper_list_ *volt_sleepers_of_process_(void) {
  return NULL;
}

int32_t volt_thread_id_(void) {
  return (int32_t)volt_thread_number_();
}

volt_blocker_ **volt_thread_blocker_(void) {
  return (volt_blocker_ **)(void *)&sim_own()->blocker;
}

volt_fifo_ *volt_fiber_futex_queue_(const void *address) {
  static volt_fifo_ none; /* no fiber runs here */
  (void)address;
  return &none;
}

_Static_assert(sizeof(volt_here_) <= sizeof((sim_locals *)0)->here, "there is room");

volt_here_ *volt_thread_here_(void) {
  return (volt_here_ *)(void *)sim_own()->here;
}

bool volt_thread_start_(volt_thread_ *thread, void *(*main)(void *arg), void *arg) {
  *thread = (volt_thread_)sim_start(main, arg);
  return true;
}

void volt_thread_join_(volt_thread_ thread) {
  sim_join((sim_thread *)thread);
}

volt_thread_ volt_thread_self_(void) {
  return (volt_thread_)sim_self();
}

void volt_thread_detach_self_(void) {
}

void volt_thread_name_self_(char name[VOLT_THREAD_NAME_], const char *prefix, char kind,
                            unsigned index) {
  (void)prefix;
  snprintf(name, VOLT_THREAD_NAME_, "%c%u", kind, index);
}

void volt_thread_blocked_signals_(volt_signals_ *signals) {
  memset(signals, 0, sizeof *signals);
}

void volt_thread_block_signals_(const volt_signals_ *signals) {
  (void)signals;
}

bool volt_thread_pin_(volt_thread_ thread, int cpu) {
  (void)thread;
  (void)cpu;
  return false;
}

unsigned volt_thread_cpus_(void) {
  return 1;
}

/* The numbers are those of the workers of the only runtime. */

int volt_eventfd_open_(void) {
  static int count;
  return count++;
}

void volt_eventfd_add_(int eventfd) {
  net_ring((unsigned)eventfd);
}

void volt_eventfd_clear_(int eventfd) {
  (void)eventfd;
}

uint64_t volt_thread_process_(void) {
  return 1;
}

/* ---- the library's sources are compiled with these names for clock_gettime, malloc and free ---- */

int sim_clock_gettime(int clock, struct timespec *now);
int sim_clock_gettime(int clock, struct timespec *now) {
  (void)clock;
  uint64_t ns = sim_now_ns();
  now->tv_sec = (time_t)(ns / 1000000000u);
  now->tv_nsec = (long)(ns % 1000000000u);
  return 0;
}

void *sim_malloc(size_t bytes);
void *sim_malloc(size_t bytes) {
  return sim_alloc(bytes);
}

void sim_free(void *memory);
void sim_free(void *memory) {
  (void)memory;
}
