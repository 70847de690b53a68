/* chaos.c: what a build with VOLT_CHAOS does before each atomic operation: mostly nothing; sometimes
 * it lets other threads run, and sometimes it naps, so that a thread is away between any two of its
 * steps for as long as others need for hundreds of theirs.
 *
 * Part of the library in that build and no other. Which operations those are follows from the seed
 * and from the order in which threads begin: a run can be repeated as far as the scheduler allows.
 *
 * From the environment: VOLT_CHAOS_YIELDS (default 20) and VOLT_CHAOS_NAPS (default 2), in how many
 * of 1,000 operations; VOLT_CHAOS_NAP_NS (default 200,000), the longest nap. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE /* syscall, pthread_once */
#endif
#include "chaos.h"

#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "rng.h"

static struct {
  _Atomic(uint64_t) seed;
  _Atomic(uint64_t) threads; /* so far */
  uint32_t yields;
  uint32_t naps;
  uint32_t nap_ns;
} chaos;

static uint32_t number_from(const char *name, uint32_t otherwise) {
  const char *text = getenv(name);
  if (!text || !*text) return otherwise;
  char *end;
  unsigned long value = strtoul(text, &end, 10);
  if (*end == '\0' && value < 1000000000) return (uint32_t)value;
  fprintf(stderr, "%s=%s is not a number below 10^9\n", name, text);
  exit(2);
}

static void read_environment(void) {
  chaos.yields = number_from("VOLT_CHAOS_YIELDS", 20);
  chaos.naps = number_from("VOLT_CHAOS_NAPS", 2);
  chaos.nap_ns = number_from("VOLT_CHAOS_NAP_NS", 200000);
}

static void begin(void) {
  static pthread_once_t once = PTHREAD_ONCE_INIT;
  (void)pthread_once(&once, read_environment);
}

void volt_chaos_begin(uint64_t seed) {
  begin();
  atomic_store(&chaos.seed, seed);
  printf("chaos: VOLT_CHAOS_YIELDS=%u, VOLT_CHAOS_NAPS=%u, VOLT_CHAOS_NAP_NS=%u\n", chaos.yields,
         chaos.naps, chaos.nap_ns);
}

/* As long as the longest nap, half as long, a quarter, ... */
static void nap(rng *random) {
  struct timespec time = {0, (long)(chaos.nap_ns >> rng_below(random, 8))};
  int saved = errno;
  (void)syscall(SYS_nanosleep, &time, NULL); /* unlike nanosleep() no place to cancel the thread */
  errno = saved;
}

void volt_chaos_(void) {
  static _Thread_local bool has_begun;
  static _Thread_local rng random;
  if (!has_begun) {
    has_begun = true;
    begin();
    random = rng_seeded(atomic_load(&chaos.seed) ^ (atomic_fetch_add(&chaos.threads, 1) << 40));
  }
  uint32_t dice = rng_below(&random, 1000);
  if (dice < chaos.naps) {
    nap(&random);
  } else if (dice < chaos.naps + chaos.yields) {
    (void)sched_yield();
  }
}
