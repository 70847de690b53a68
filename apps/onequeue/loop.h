/* loop.h: an event loop: a server that asks for permits on behalf of its clients.
 *
 * One thread, one epoll, and never a wait elsewhere. Each client is a socket. It sends a byte and
 * gets a byte:
 *
 *   LOOP_ACQUIRE   the loop asks for a permit, and answers LOOP_GRANTED when it has it
 *   LOOP_PING      it answers LOOP_PONG, at once: also while the client, and others, wait
 *
 * A client that hangs up while it waits gives up its place. How the semaphore wakes the loop: a
 * volt_loop writes to an eventfd, which is one more descriptor of the epoll, and knows when no
 * write is on its way any more, so that the eventfd can be closed. */
#ifndef ONEQUEUE_LOOP_H
#define ONEQUEUE_LOOP_H

#include <pthread.h>
#include <volt/volt.h>

#include "served.h"

enum { LOOP_ACQUIRE = 'a', LOOP_GRANTED = 'A', LOOP_PING = 'p', LOOP_PONG = 'P' };

struct loop_client {
  int client_end; /* for the client, who closes it; the other end is the loop's, as is the rest */
  int loop_end;   /* -1: it has hung up */
  unsigned arrival;
  volt_future permit;
  bool waiting;
};

struct loop {
  volt_sem *permits;
  struct served *served;
  int epoll, wake;
  volt_loop waker;
  struct loop_client clients[MOST_WAITERS];
  unsigned count;
  volt_sem ended; /* a permit: the thread has to end */
  pthread_t thread;
};

/* Start a loop with so many clients. Permits that they get are told to served, as arrival i of
 * arrivals for client i. */
void loop_start(struct loop *loop, volt_sem *permits, struct served *served,
                const unsigned *arrivals, unsigned count);

/* As a client: send a byte; wait for the answer; hang up, once. */
void loop_send(struct loop *loop, unsigned client, char byte);
char loop_answer(struct loop *loop, unsigned client);
void loop_hang_up(struct loop *loop, unsigned client);

/* Every client has hung up: end the thread and free everything. */
void loop_stop(struct loop *loop);

#endif
