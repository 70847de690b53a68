/* 05_select.c: a worker waits for the next job or for the shutdown, whichever comes first.
 * Any futures can be branches of a select; exactly one takes effect, the others are cancelled.
 * VOLT_SELECT_BIASED prefers the first branch, so jobs that were sent before the shutdown are done.
 *
 *   cc -std=c11 05_select.c $(pkg-config --cflags --libs volt-sync)
 *
 * prints: 5 jobs done, then stopped by the token; 0 jobs left */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <volt/volt.h>

enum { JOBS = 5, CAPACITY = 8 };

VOLT_CHAN_DECLARE(jobs, int);

static jobs queue;
static uint64_t memory[2 * CAPACITY]; /* 16 bytes for an int in its place */
static volt_token shutdown_token = VOLT_TOKEN_INIT;

struct worker {
  int done;
  int result; /* why it has ended */
};

static void must(int error, const char *what) { /* 0: success, of volt and of pthreads */
  if (error == 0) return;
  fprintf(stderr, "%s: error %d\n", what, error);
  exit(EXIT_FAILURE);
}

/* Returns VOLT_OK and a job in *job, VOLT_ECANCELED at the shutdown, or what else is wrong. */
static int next_job(int *job) {
  volt_future recv, stop;
  volt_select select;
  volt_future *either[] = {jobs_recv_future(&recv, &queue, job),
                           volt_token_wait_future(&stop, &shutdown_token)};
  volt_future *first = volt_select_future(&select, either, 2, VOLT_SELECT_BIASED);
  int result = volt_future_wait(first);
  return volt_select_winner(&select) == 1 ? VOLT_ECANCELED : result;
}

static void *work(void *arg) {
  struct worker *self = arg;
  int job;
  while ((self->result = next_job(&job)) == VOLT_OK) self->done += 1;
  return NULL;
}

int main(void) {
  pthread_t thread;
  struct worker worker = {.done = 0};
  must(jobs_init(&queue, CAPACITY, memory, sizeof memory), "channel");
  must(pthread_create(&thread, NULL, work, &worker), "pthread_create");
  for (int i = 0; i < JOBS; i++) must(jobs_send(&queue, i), "send");
  volt_token_cancel(&shutdown_token);
  pthread_join(thread, NULL);

  printf("%d jobs done, then %s; %u jobs left\n", worker.done,
         worker.result == VOLT_ECANCELED ? "stopped by the token" : volt_strerror(worker.result),
         volt_chan_len(&queue.chan));
  volt_token_destroy(&shutdown_token);
  volt_chan_destroy(&queue.chan, NULL, NULL);
  return EXIT_SUCCESS;
}
