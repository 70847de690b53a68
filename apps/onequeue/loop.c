/* loop.c: the event loop. */
#define _GNU_SOURCE
#include "onequeue.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#define EVENTS_AT_ONCE 8

static void check(bool right, const char *what) {
  if (right) return;
  perror(what);
  _Exit(EXIT_FAILURE);
}

/* ---- the loop's thread ---- */

/* On the thread that releases a permit: it does not say whose future is ready, only that the loop
 * has to look. */
static void wake_loop(void *ctx) {
  const struct loop *loop = ctx;
  uint64_t one = 1;
  check(write(loop->wake, &one, sizeof one) == sizeof one, "eventfd");
}

static void answer(struct loop_client *client, char byte) {
  check(send(client->loop_end, &byte, 1, MSG_NOSIGNAL) == 1, "send");
}

static void look_for_permit(struct loop *loop, struct loop_client *client) {
  int result = volt_loop_poll(&loop->waker, &client->permit);
  if (result == VOLT_PENDING) return;
  client->waiting = false;
  if (result == VOLT_OK) answer(client, LOOP_GRANTED);
  if (result == VOLT_OK) served_add(loop->served, client->arrival);
}

static void woken(struct loop *loop) {
  uint64_t wakes;
  check(read(loop->wake, &wakes, sizeof wakes) == sizeof wakes, "eventfd");
  for (unsigned i = 0; i < loop->count; i++) {
    if (loop->clients[i].waiting) look_for_permit(loop, &loop->clients[i]);
  }
}

/* What it waits for is cancelled: the others in the queue move up. */
static void hung_up(struct loop_client *client) {
  if (client->waiting) volt_future_cancel(&client->permit);
  client->waiting = false;
  close(client->loop_end); /* which takes it out of the epoll */
  client->loop_end = -1;
}

static void serve(struct loop *loop, struct loop_client *client) {
  char byte;
  ssize_t bytes = recv(client->loop_end, &byte, 1, 0);
  if (bytes <= 0) {
    hung_up(client);
  } else if (byte == LOOP_PING) {
    answer(client, LOOP_PONG);
  } else if (byte == LOOP_ACQUIRE && !client->waiting) {
    client->waiting = true;
    volt_future_made(volt_sem_acquire_future(&client->permit, loop->permits, 1));
    look_for_permit(loop, client);
  }
}

static void *run(void *ctx) {
  struct loop *loop = ctx;
  struct epoll_event events[EVENTS_AT_ONCE];
  while (volt_sem_try_acquire(&loop->ended, 1) != VOLT_OK) {
    int count = epoll_wait(loop->epoll, events, EVENTS_AT_ONCE, -1);
    for (int i = 0; i < count; i++) {
      if (events[i].data.ptr == loop) {
        woken(loop);
      } else {
        serve(loop, events[i].data.ptr);
      }
    }
  }
  return NULL;
}

/* ---- begin, end ---- */

static void watch(struct loop *loop, int fd, void *about) {
  struct epoll_event event = {.events = EPOLLIN, .data = {.ptr = about}};
  check(epoll_ctl(loop->epoll, EPOLL_CTL_ADD, fd, &event) == 0, "epoll_ctl");
}

static void connect_client(struct loop *loop, struct loop_client *client, unsigned arrival) {
  int ends[2];
  check(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) == 0, "socketpair");
  *client = (struct loop_client){.client_end = ends[0], .loop_end = ends[1], .arrival = arrival};
  watch(loop, client->loop_end, client);
}

void loop_start(struct loop *loop, volt_sem *permits, struct served *served,
                const unsigned *arrivals, unsigned count) {
  *loop = (struct loop){.permits = permits, .served = served, .count = count};
  loop->epoll = epoll_create1(EPOLL_CLOEXEC);
  loop->wake = eventfd(0, EFD_CLOEXEC);
  check(loop->epoll >= 0 && loop->wake >= 0, "epoll");
  watch(loop, loop->wake, loop);
  volt_loop_init(&loop->waker, (volt_waker){wake_loop, loop});
  for (unsigned i = 0; i < count; i++) connect_client(loop, &loop->clients[i], arrivals[i]);
  volt_sem_init(&loop->ended, 0);
  check(pthread_create(&loop->thread, NULL, run, loop) == 0, "a thread");
}

void loop_stop(struct loop *loop) {
  volt_sem_release(&loop->ended, 1);
  wake_loop(loop);
  pthread_join(loop->thread, NULL);
  for (unsigned i = 0; i < loop->count; i++) {
    if (loop->clients[i].loop_end >= 0) hung_up(&loop->clients[i]);
  }
  /* a permit may have been seen before its wake has come: the releaser may be on its way here */
  volt_loop_close(&loop->waker);
  close(loop->wake);
  close(loop->epoll);
  volt_sem_destroy(&loop->ended);
}

/* ---- for clients ---- */

void loop_send(struct loop *loop, unsigned client, char byte) {
  check(send(loop->clients[client].client_end, &byte, 1, MSG_NOSIGNAL) == 1, "send");
}

char loop_answer(struct loop *loop, unsigned client) {
  char byte = 0;
  check(recv(loop->clients[client].client_end, &byte, 1, 0) == 1, "recv");
  return byte;
}

void loop_hang_up(struct loop *loop, unsigned client) {
  close(loop->clients[client].client_end);
}
