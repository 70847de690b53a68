/* locks.c: bench-locks, what one thread takes to lock and unlock what no other wants; built with
 * VOLT_SIGHT=0 and with VOLT_SIGHT=1, in a program each, which differ in nothing else. One run is one
 * process and one line of JSON: the least of many short parts, so that what the machine does beside it
 * is left out. Between locking and unlocking the thread changes what the lock protects, one number, as
 * everybody does: on many processors the first plain store between two atomic operations costs 3 ns,
 * and all others together next to nothing.
 *
 *   usage: bench-locks ROW [--operations N]     of all parts together */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <volt/volt.h>

enum { PARTS = 400 };

/* each on a cache line of its own, so that both programs have them alike */
static VOLT_CACHE_ALIGNED volt_mutex mutex = VOLT_MUTEX_INIT;
static VOLT_CACHE_ALIGNED volt_mutex outer = VOLT_MUTEX_INIT;
static VOLT_CACHE_ALIGNED volt_rwlock rwlock = VOLT_RWLOCK_INIT;
static VOLT_CACHE_ALIGNED volt_sem sem = VOLT_SEM_INIT(4);
static VOLT_CACHE_ALIGNED volatile uint64_t number;

static void run_mutex(uint64_t n) {
  for (; n > 0; n--) {
    volt_mutex_lock(&mutex);
    number += 1;
    volt_mutex_unlock(&mutex);
  }
}

static void run_nested(uint64_t n) {
  for (; n > 0; n--) {
    volt_mutex_lock(&outer);
    volt_mutex_lock(&mutex);
    number += 1;
    volt_mutex_unlock(&mutex);
    volt_mutex_unlock(&outer);
  }
}

static void run_read(uint64_t n) {
  for (; n > 0; n--) {
    volt_rwlock_read(&rwlock);
    number += 1; /* there is no other thread */
    volt_rwlock_read_unlock(&rwlock);
  }
}

static void run_write(uint64_t n) {
  for (; n > 0; n--) {
    volt_rwlock_write(&rwlock);
    number += 1;
    volt_rwlock_write_unlock(&rwlock);
  }
}

static void run_sem(uint64_t n) {
  for (; n > 0; n--) {
    if (volt_sem_acquire(&sem, 1) != VOLT_OK) abort();
    number += 1; /* as above */
    volt_sem_release(&sem, 1);
  }
}

static const struct {
  const char *name;
  void (*run)(uint64_t n);
} rows[] = {{"mutex", run_mutex},
            {"nested", run_nested},
            {"read", run_read},
            {"write", run_write},
            {"sem", run_sem}};

int main(int argc, char **argv) {
  uint64_t operations = argc == 4 ? strtoull(argv[3], NULL, 10) : 4000000;
  for (unsigned i = 0; argc >= 2 && i < sizeof rows / sizeof rows[0]; i++) {
    if (strcmp(argv[1], rows[i].name) != 0) continue;
    uint64_t each = operations / PARTS + 1;
    uint64_t least_ns = UINT64_MAX;
    for (unsigned part = 0; part < PARTS; part++) {
      uint64_t since_ns = volt_now_ns();
      rows[i].run(each);
      uint64_t took_ns = volt_now_ns() - since_ns;
      if (took_ns < least_ns) least_ns = took_ns;
    }
    printf("{\"ns\": %.4f, \"sight\": %d}\n", (double)least_ns / (double)each, VOLT_SIGHT);
    return 0;
  }
  fputs("usage: bench-locks mutex|nested|read|write|sem [--operations N]\n", stderr);
  return 2;
}
