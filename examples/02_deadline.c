/* 02_deadline.c: a request has one deadline, however many things it waits for.
 * A deadline of volt is a time, not a duration: it is computed once and passed to each wait.
 * VOLT_ETIMEDOUT means that nothing was taken, so each wait cleans up only what came before it.
 *
 *   cc -std=c11 02_deadline.c $(pkg-config --cflags --libs volt-sync)
 *
 * prints: no connection: VOLT_ETIMEDOUT
 * prints: no reply: VOLT_ETIMEDOUT, free connections: 1
 * prints: in time: VOLT_OK, reply 42, free connections: 1 */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <volt/volt.h>

VOLT_CHAN_DECLARE(replies, int);

static volt_sem connections = VOLT_SEM_INIT(0); /* the only one is in use at first */
static replies from_database;
static uint64_t memory[16]; /* of the channel */

static void must(int error, const char *what) { /* 0: success, of volt and of pthreads */
  if (error == 0) return;
  fprintf(stderr, "%s: error %d\n", what, error);
  exit(EXIT_FAILURE);
}

/* Ask the database; wait until deadline_ns at most, for everything together. */
static int ask(int *reply, uint64_t deadline_ns) {
  int result = volt_sem_acquire_until(&connections, 1, deadline_ns);
  if (result != VOLT_OK) return result;
  result = replies_recv_until(&from_database, reply, deadline_ns);
  volt_sem_release(&connections, 1);
  return result;
}

static void *database(void *unused) {
  must(replies_send(&from_database, 42), "reply");
  return unused;
}

int main(void) {
  int reply = 0;
  must(replies_init(&from_database, 1, memory, sizeof memory), "channel");

  int result = ask(&reply, volt_deadline_ms(20));
  printf("no connection: %s\n", volt_strresult(result));

  volt_sem_release(&connections, 1); /* the connection is free from here on */
  result = ask(&reply, volt_deadline_ms(20));
  printf("no reply: %s, free connections: %u\n", volt_strresult(result),
         volt_sem_available(&connections));

  pthread_t thread;
  must(pthread_create(&thread, NULL, database, NULL), "pthread_create");
  result = ask(&reply, volt_deadline_s(60));
  pthread_join(thread, NULL);
  printf("in time: %s, reply %d, free connections: %u\n", volt_strresult(result), reply,
         volt_sem_available(&connections));

  volt_chan_destroy(&from_database.chan, NULL, NULL);
  volt_sem_destroy(&connections);
  return EXIT_SUCCESS;
}
