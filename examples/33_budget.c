/* 33_budget.c: eight threads run 96 jobs that need cores, memory and a connection, all or nothing.
 * Small jobs may pass a large one that waits, four at most, with what it leaves; a job that asks for
 * more than there is gets an error with words.
 *
 *   cc -std=c11 33_budget.c $(pkg-config --cflags --libs volt-sync)
 *
 * prints: a job of 20 GiB: memory: 20480 asked for, the limit is 16384
 * prints: 96 jobs, 0 of them over a limit; held at the end: 0 cores, 0 MiB, 0 connections */
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <volt/volt.h>

enum { CORES, MEMORY, CONNECTIONS, KINDS };
enum { THREADS = 8, JOBS_EACH = 12, GIB = 1024 /* memory is counted in MiB */ };

static const uint64_t limits[KINDS] = {8, 16 * GIB, 4};
static volt_budget machine;
static atomic_ullong in_use[KINDS];
static atomic_int jobs, over_a_limit;

static const volt_amounts kinds_of_jobs[] = {
    {{[CORES] = 1, [MEMORY] = GIB}},
    {{[CORES] = 2, [MEMORY] = 4 * GIB, [CONNECTIONS] = 1}},
    {{[MEMORY] = 256, [CONNECTIONS] = 1}},
    {{[CORES] = 8, [MEMORY] = 16 * GIB, [CONNECTIONS] = 4}}, /* everything */
};

static void must(int error, const char *what) { /* 0: success, of volt and of pthreads */
  if (error == 0) return;
  fprintf(stderr, "%s: error %d\n", what, error);
  exit(EXIT_FAILURE);
}

static void run(const volt_amounts *job) {
  for (int i = 0; i < KINDS; i++) {
    if (atomic_fetch_add(&in_use[i], job->of[i]) + job->of[i] > limits[i])
      atomic_fetch_add(&over_a_limit, 1);
  }
  atomic_fetch_add(&jobs, 1);
  for (int i = 0; i < KINDS; i++) atomic_fetch_sub(&in_use[i], job->of[i]);
}

static void *worker(void *number) {
  for (int i = 0; i < JOBS_EACH; i++) {
    const volt_amounts *job = &kinds_of_jobs[(*(int *)number + i) % 4];
    must(volt_budget_acquire(&machine, job), "acquire");
    run(job);
    volt_budget_release(&machine, job);
  }
  return NULL;
}

int main(void) {
  static const volt_amounts too_large = {{[MEMORY] = 20 * GIB}};
  pthread_t threads[THREADS];
  int numbers[THREADS];
  char why[80];

  volt_budget_init_bypass(&machine, KINDS, limits, 4);
  volt_budget_name_kind(&machine, MEMORY, "memory");
  if (volt_budget_acquire(&machine, &too_large) == VOLT_EINVAL) {
    (void)volt_budget_explain(&machine, &too_large, why, sizeof why);
    printf("a job of 20 GiB: %s\n", why);
  }
  for (int i = 0; i < THREADS; i++) {
    numbers[i] = i;
    must(pthread_create(&threads[i], NULL, worker, &numbers[i]), "pthread_create");
  }
  for (int i = 0; i < THREADS; i++) pthread_join(threads[i], NULL);
  printf(
      "%d jobs, %d of them over a limit; held at the end: %llu cores, %llu MiB, %llu connections\n",
      jobs, over_a_limit, (unsigned long long)volt_budget_held(&machine, CORES),
      (unsigned long long)volt_budget_held(&machine, MEMORY),
      (unsigned long long)volt_budget_held(&machine, CONNECTIONS));
  volt_budget_destroy(&machine);
  return EXIT_SUCCESS;
}
