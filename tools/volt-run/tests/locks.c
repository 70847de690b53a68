/* locks.c: WHAT N: takes a lock and gives it back, N times, with one thread; overhead.py counts the instructions. WHAT is
 * mutex, read, write, semaphore; second: a mutex, while another one is held; waited: a mutex for which a thread has waited. */
#define _GNU_SOURCE
#include <pthread.h>
#include <semaphore.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER, outer = PTHREAD_MUTEX_INITIALIZER;
static pthread_rwlock_t rwlock = PTHREAD_RWLOCK_INITIALIZER;
static sem_t semaphore;

static void do_mutex(void) {
  pthread_mutex_lock(&mutex);
  pthread_mutex_unlock(&mutex);
}

static void do_read(void) {
  pthread_rwlock_rdlock(&rwlock);
  pthread_rwlock_unlock(&rwlock);
}

static void do_write(void) {
  pthread_rwlock_wrlock(&rwlock);
  pthread_rwlock_unlock(&rwlock);
}

static void do_semaphore(void) {
  sem_wait(&semaphore);
  sem_post(&semaphore);
}

static void *comes_and_goes(void *ctx) {
  (void)ctx;
  do_mutex();
  return NULL;
}

static const struct what {
  const char *name;
  void (*run)(void);
} whats[] = {{"mutex", do_mutex}, {"waited", do_mutex}, {"second", do_mutex},
             {"read", do_read},   {"write", do_write},  {"semaphore", do_semaphore}};

/* Another thread has waited, for as long as it takes to be seen: 0.1 s is most often enough. */
static void have_it_waited_for(void) {
  pthread_t other;
  pthread_mutex_lock(&mutex);
  if (pthread_create(&other, NULL, comes_and_goes, NULL) != 0) exit(1);
  usleep(100000);
  pthread_mutex_unlock(&mutex);
  pthread_join(other, NULL);
}

/* So that glibc counts with other threads, as in a program that has some. */
static void have_another_thread(void) {
  pthread_t other;
  if (pthread_create(&other, NULL, comes_and_goes, NULL) != 0) exit(1);
  pthread_join(other, NULL);
}

int main(int argc, char **argv) {
  for (size_t i = 0; argc == 3 && i < sizeof whats / sizeof whats[0]; i++) {
    if (strcmp(whats[i].name, argv[1]) != 0) continue;
    long count = strtol(argv[2], NULL, 10);
    sem_init(&semaphore, 0, 1);
    have_another_thread();
    if (strcmp(argv[1], "waited") == 0) have_it_waited_for();
    if (strcmp(argv[1], "second") == 0) pthread_mutex_lock(&outer);
    for (long n = 0; n < count; n++) whats[i].run();
    return 0;
  }
  fputs("locks: mutex|waited|second|read|write|semaphore N\n", stderr);
  return 2;
}
