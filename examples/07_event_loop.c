/* 07_event_loop.c: a loop of one's own (epoll) waits for a semaphore, and goes on serving.
 * It polls a future; while that is VOLT_PENDING, the loop handles its other events.
 * When the permit is granted, volt calls a function of the loop's, which writes to an eventfd.
 *
 *   cc -std=c11 07_event_loop.c $(pkg-config --cflags --libs volt-sync)
 *
 * prints: 3 pings answered while waiting, then the connection: VOLT_OK */
#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>
#include <volt/volt.h>

enum { PINGS = 3 };

static volt_sem connections = VOLT_SEM_INIT(0); /* the client below has the only one */

static void must(bool succeeded, const char *what) {
  if (succeeded) return;
  perror(what);
  exit(EXIT_FAILURE);
}

/* Sends pings to the loop, waits for each answer, and then gives its connection back. */
static void *client(void *arg) {
  int fd = *(int *)arg;
  for (char i = 0; i < PINGS; i++) {
    char answer;
    must(write(fd, &i, 1) == 1 && read(fd, &answer, 1) == 1, "ping");
  }
  volt_sem_release(&connections, 1);
  return NULL;
}

static void wake_loop(void *arg) { /* called on the thread that releases */
  uint64_t one = 1;
  must(write(*(int *)arg, &one, sizeof one) == sizeof one, "eventfd");
}

static void watch(int epoll, int fd) {
  struct epoll_event event = {.events = EPOLLIN, .data.fd = fd};
  must(epoll_ctl(epoll, EPOLL_CTL_ADD, fd, &event) == 0, "epoll_ctl");
}

int main(void) {
  int sockets[2], pings = 0, epoll = epoll_create1(0), woken = eventfd(0, 0);
  must(socketpair(AF_UNIX, SOCK_STREAM, 0, sockets) == 0, "socketpair");
  must(epoll >= 0 && woken >= 0, "epoll, eventfd");
  watch(epoll, sockets[0]);
  watch(epoll, woken);
  pthread_t thread;
  must((errno = pthread_create(&thread, NULL, client, &sockets[1])) == 0, "pthread_create");

  volt_loop loop = VOLT_LOOP_INIT(wake_loop, &woken);
  volt_future permit; /* must not move while it waits */
  int result = volt_loop_poll(&loop, volt_sem_acquire_future(&permit, &connections, 1));
  while (result == VOLT_PENDING) {
    struct epoll_event event;
    must(epoll_wait(epoll, &event, 1, -1) == 1, "epoll_wait");
    if (event.data.fd == sockets[0]) {
      char ping;
      must(read(sockets[0], &ping, 1) == 1 && write(sockets[0], &ping, 1) == 1, "answer");
      pings += 1;
    } else {
      uint64_t count;
      must(read(woken, &count, sizeof count) == sizeof count, "eventfd");
      result = volt_loop_poll(&loop, &permit);
    }
  }
  volt_loop_close(&loop); /* no thread is in wake_loop() afterwards */
  pthread_join(thread, NULL);
  close(woken);
  printf("%d pings answered while waiting, then the connection: %s\n", pings,
         volt_strresult(result));
  return EXIT_SUCCESS;
}
