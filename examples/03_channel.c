/* 03_channel.c: two producers, three workers, and a bounded queue of jobs between them.
 * A producer that finds the channel full waits; so the queue never grows (backpressure).
 * The last producer that ends closes the channel; the workers take what is left, and end.
 *
 *   cc -std=c11 03_channel.c $(pkg-config --cflags --libs volt-sync)
 *
 * prints: 2000 jobs done, sum of their numbers 1999000 */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <volt/volt.h>

enum { PRODUCERS = 2, WORKERS = 3, CAPACITY = 16, JOBS_EACH = 1000 };

struct job {
  int number;
};

/* the type jobs, with jobs_init(), jobs_send_until(), ... */
VOLT_CHAN_DECLARE(jobs, struct job);

static jobs queue;

static void must(int error, const char *what) { /* 0: success, of volt and of pthreads */
  if (error == 0) return;
  fprintf(stderr, "%s: error %d\n", what, error);
  exit(EXIT_FAILURE);
}

static void *produce(void *first) {
  for (int i = 0; i < JOBS_EACH; i++) {
    struct job job = {.number = *(int *)first + i};
    must(jobs_send(&queue, job), "send");
  }
  volt_chan_drop_sender(&queue.chan);
  return NULL;
}

struct worker {
  pthread_t thread;
  int done;
  long sum;
};

static void *work(void *arg) {
  struct worker *self = arg;
  struct job job;
  while (jobs_recv(&queue, &job) == VOLT_OK) {
    self->done += 1;
    self->sum += job.number;
  }
  return NULL; /* VOLT_ECLOSED: there will be no more jobs */
}

int main(void) {
  pthread_t producers[PRODUCERS];
  struct worker workers[WORKERS] = {{.done = 0}}, all = {.done = 0};
  int first[PRODUCERS] = {0, JOBS_EACH};
  void *memory = malloc(jobs_bytes(CAPACITY));
  must(jobs_init(&queue, CAPACITY, memory, jobs_bytes(CAPACITY)), "channel");

  /* all are counted before one can end */
  for (int i = 0; i < PRODUCERS; i++) must(volt_chan_add_sender(&queue.chan), "sender");
  for (int i = 0; i < WORKERS; i++) {
    must(pthread_create(&workers[i].thread, NULL, work, &workers[i]), "pthread_create");
  }
  for (int i = 0; i < PRODUCERS; i++) {
    must(pthread_create(&producers[i], NULL, produce, &first[i]), "pthread_create");
  }
  for (int i = 0; i < PRODUCERS; i++) pthread_join(producers[i], NULL);
  for (int i = 0; i < WORKERS; i++) {
    pthread_join(workers[i].thread, NULL);
    all.done += workers[i].done;
    all.sum += workers[i].sum;
  }
  volt_chan_destroy(&queue.chan, NULL, NULL);
  free(memory);
  printf("%d jobs done, sum of their numbers %ld\n", all.done, all.sum);
  return EXIT_SUCCESS;
}
