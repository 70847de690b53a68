/* spins.c: threads that contend for one mutex: what a turn costs, and the longest wait for one.
 *
 * usage: spins THREADS INSIDE OUTSIDE MILLISECONDS    spins with the lock held, and without it
 *
 * Prints nanoseconds a turn and the longest wait in microseconds. spins.sh builds it with other
 * settings of how long a blocking call looks before it queues; with -DUSE_PTHREAD on a
 * pthread_mutex_t. */
#define _GNU_SOURCE /* nanosleep */
#include <inttypes.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <volt/mutex.h>

enum { MAX_THREADS = 64 };

static struct {
#if defined(USE_PTHREAD)
  VOLT_CACHE_ALIGNED pthread_mutex_t mutex;
#else
  VOLT_CACHE_ALIGNED volt_mutex mutex;
#endif
  uint64_t turns; /* guarded by the mutex */
  VOLT_CACHE_ALIGNED VOLT_ATOMIC(uint32_t) is_over;
  unsigned long inside, outside;
} shared
#if defined(USE_PTHREAD)
    = {.mutex = PTHREAD_MUTEX_INITIALIZER}
#endif
;

static void lock(void) {
#if defined(USE_PTHREAD)
  pthread_mutex_lock(&shared.mutex);
#else
  volt_mutex_lock(&shared.mutex);
#endif
}

static void unlock(void) {
#if defined(USE_PTHREAD)
  pthread_mutex_unlock(&shared.mutex);
#else
  volt_mutex_unlock(&shared.mutex);
#endif
}

static void spin(unsigned long times) {
  for (volatile unsigned long i = 0; i < times; i++) {
  }
}

/* Returns its longest wait in nanoseconds. */
static void *contend(void *arg) {
  uint64_t *longest_ns = arg;
  while (volt_load_relaxed(&shared.is_over) == 0) { /* a flag alone */
    uint64_t before_ns = volt_now_ns();
    lock();
    uint64_t waited_ns = volt_now_ns() - before_ns;
    shared.turns += 1;
    spin(shared.inside);
    unlock();
    if (waited_ns > *longest_ns) *longest_ns = waited_ns;
    spin(shared.outside);
  }
  return NULL;
}

static unsigned long number(const char *text, unsigned long most) {
  char *end;
  unsigned long n = strtoul(text, &end, 10);
  if (end == text || *end != '\0' || n > most) {
    fprintf(stderr, "spins: not a number up to %lu: %s\n", most, text);
    exit(2);
  }
  return n;
}

int main(int argc, char **argv) {
  if (argc != 5) {
    fprintf(stderr, "usage: spins THREADS INSIDE OUTSIDE MILLISECONDS\n");
    return 2;
  }
  unsigned long threads = number(argv[1], MAX_THREADS);
  shared.inside = number(argv[2], 1000000);
  shared.outside = number(argv[3], 1000000);
  unsigned long ms = number(argv[4], 60000);
  pthread_t thread[MAX_THREADS];
  uint64_t longest_ns[MAX_THREADS] = {0};
  uint64_t began_ns = volt_now_ns();
  for (unsigned long i = 0; i < threads; i++) {
    if (pthread_create(&thread[i], NULL, contend, &longest_ns[i]) != 0) abort();
  }
  struct timespec pause = {(time_t)(ms / 1000), (long)(ms % 1000) * 1000000};
  nanosleep(&pause, NULL);
  volt_store_relaxed(&shared.is_over, 1); /* a flag alone */
  uint64_t longest = 0;
  for (unsigned long i = 0; i < threads; i++) {
    pthread_join(thread[i], NULL);
    if (longest_ns[i] > longest) longest = longest_ns[i];
  }
  uint64_t took_ns = volt_now_ns() - began_ns;
  if (shared.turns == 0) shared.turns = 1;
  printf("%.1f %.1f\n", (double)took_ns / (double)shared.turns, (double)longest / 1000);
  return 0;
}
