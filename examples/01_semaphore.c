/* 01_semaphore.c: eight threads share three database connections.
 * A volt_sem counts the free connections; threads get one in the order in which they ask.
 * Closing the semaphore ends the service: every later request gets VOLT_ECLOSED.
 *
 *   cc -std=c11 01_semaphore.c $(pkg-config --cflags --libs volt-sync)
 *
 * prints: 800 queries, 0 of them over the limit of 3; after the close: VOLT_ECLOSED */
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <volt/volt.h>

enum { CONNECTIONS = 3, CLIENTS = 8, QUERIES_EACH = 100 };

static volt_sem connections = VOLT_SEM_INIT(CONNECTIONS);
static atomic_int in_use, queries, over_the_limit;

static void must(int error, const char *what) { /* 0: success, of volt and of pthreads */
  if (error == 0) return;
  fprintf(stderr, "%s: error %d\n", what, error);
  exit(EXIT_FAILURE);
}

static void run_on_a_connection(void) {
  if (atomic_fetch_add(&in_use, 1) >= CONNECTIONS) atomic_fetch_add(&over_the_limit, 1);
  atomic_fetch_add(&queries, 1);
  atomic_fetch_sub(&in_use, 1);
}

/* Returns VOLT_OK, or VOLT_ECLOSED: the service has ended, and no connection was taken. */
static int query(void) {
  int result = volt_sem_acquire(&connections, 1);
  if (result != VOLT_OK) return result;
  run_on_a_connection();
  volt_sem_release(&connections, 1);
  return VOLT_OK;
}

static void *client(void *unused) {
  for (int i = 0; i < QUERIES_EACH; i++) must(query(), "query");
  return unused;
}

int main(void) {
  pthread_t clients[CLIENTS];
  for (int i = 0; i < CLIENTS; i++) {
    must(pthread_create(&clients[i], NULL, client, NULL), "pthread_create");
  }
  for (int i = 0; i < CLIENTS; i++) pthread_join(clients[i], NULL);

  volt_sem_close(&connections); /* would also wake every thread that still waits */
  const char *late = volt_strresult(query());
  volt_sem_destroy(&connections);
  printf("%d queries, %d of them over the limit of %d; after the close: %s\n", queries,
         over_the_limit, CONNECTIONS, late);
  return EXIT_SUCCESS;
}
