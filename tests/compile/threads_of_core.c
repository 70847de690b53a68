/* What gdb_waits.sh and tools/volt-top/tests look into: a program that has threads, and no runtime. Two threads have locked
 * two mutexes in different orders, two wait for a permit of `slots`, and one for a condition. Then it aborts;
 * or, with an argument, it prints "ready", and ends when its input does. With "free" no thread waits.
 *
 * It needs libvolt-sync alone. With -DWITH_SIGHT it is linked with libvolt-rt, too, and makes no runtime;
 * with the argument "serve" it serves volt-top. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE /* syscall */
#endif
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>
#include <volt/cond.h>
#include <volt/mutex.h>
#include <volt/name.h>
#include <volt/semaphore.h>
#if defined(WITH_SIGHT)
#include <volt/sight.h>
#endif

enum { THREADS = 5 };

volt_mutex left_lock = VOLT_MUTEX_INIT;
volt_mutex right_lock = VOLT_MUTEX_INIT;
volt_mutex cv_lock = VOLT_MUTEX_INIT;
volt_cond cv = VOLT_COND_INIT;
volt_sem slots = VOLT_SEM_INIT(0);
static volt_sem has_left = VOLT_SEM_INIT(0);
static volt_sem has_right = VOLT_SEM_INIT(0);

static void lock_both(volt_mutex *first, volt_mutex *second, volt_sem *to, volt_sem *from) {
  volt_mutex_lock(first);
  volt_sem_release(to, 1);
  if (volt_sem_acquire(from, 1) != VOLT_OK) abort();
  volt_mutex_lock(second); /* for ever */
}

static _Atomic int tid[THREADS];

static void *wait_for_ever(void *arg) {
  _Atomic int *own = arg;
  if (own == &tid[0]) volt_mutex_lock(&cv_lock);
  *own = (int)syscall(SYS_gettid);
  if (own == &tid[0]) {
    (void)!volt_cond_wait(&cv, &cv_lock);
  } else if (own == &tid[1]) {
    lock_both(&left_lock, &right_lock, &has_left, &has_right);
  } else if (own == &tid[2]) {
    lock_both(&right_lock, &left_lock, &has_right, &has_left);
  } else if (volt_sem_acquire(&slots, 1) != VOLT_OK) {
    abort();
  }
  return NULL;
}

/* Whether that thread sleeps in the kernel. */
static int sleeps(int thread) {
  char path[64], state = 0;
  snprintf(path, sizeof path, "/proc/self/task/%d/stat", thread);
  FILE *stat = thread != 0 ? fopen(path, "r") : NULL;
  if (stat && fscanf(stat, "%*d (%*[^)]) %c", &state) != 1) exit(1);
  if (stat) fclose(stat);
  return state == 'S';
}

static void stay(const char *how) {
  char byte;
#if defined(WITH_SIGHT)
  if (strcmp(how, "serve") == 0 && volt_sight_serve(NULL) != VOLT_OK) exit(1);
#else
  (void)how;
#endif
  printf("ready\n");
  fflush(stdout);
  (void)!read(STDIN_FILENO, &byte, 1);
  exit(0);
}

int main(int argc, char **argv) {
  pthread_t thread;
  if (volt_name(&slots, "slots") != VOLT_OK) return 1;
  if (argc > 1 && strcmp(argv[1], "free") == 0) stay(argv[1]);
  for (int i = 0; i < THREADS; i++) {
    if (pthread_create(&thread, NULL, wait_for_ever, (void *)&tid[i]) != 0) return 1;
  }
  while (volt_mutex_waiters(&left_lock) < 1 || volt_mutex_waiters(&right_lock) < 1 ||
         volt_sem_waiters(&slots) < 2) {
  }
  for (int i = 0; i < THREADS; i++) {
    while (!sleeps(tid[i])) { /* it has queued, and is about to */
    }
  }
  if (argc > 1) stay(argv[1]);
  abort();
}
