/* onequeue.h: three ways to wait for one semaphore: an event loop, a plain thread, a task; and the
 * order in which they were served. */
#ifndef ONEQUEUE_ONEQUEUE_H
#define ONEQUEUE_ONEQUEUE_H

#include <pthread.h>
#include <volt/runtime.h>
#include <volt/volt.h>

/* ---- the order: waiters.c ----
 *
 * The permits are released one by one, and the next when the one before has been recorded, so no
 * other thread writes meanwhile: the semaphore is all the synchronisation there is. */

#define MOST_WAITERS 64

struct served {
  volt_sem unseen; /* a permit for each entry that has not been seen */
  unsigned count;
  unsigned order[MOST_WAITERS]; /* by number of arrival */
};

void served_init(struct served *served);

/* Record that this one has got a permit. Does not wait: from any thread. */
void served_add(struct served *served, unsigned arrival);

/* Wait for the next one. Returns its arrival. */
unsigned served_next(struct served *served);

void served_destroy(struct served *served);

/* ---- a plain thread, and a task, that wait for one permit: waiters.c ---- */

struct waiting_thread {
  volt_sem *permits;
  struct served *served;
  unsigned arrival;
  pthread_t thread;
};

/* Start a thread that acquires a permit, blocking, and records it. */
void waiting_thread_start(struct waiting_thread *w, volt_sem *permits, struct served *served,
                          unsigned arrival);

/* Returns when it has ended. */
void waiting_thread_join(struct waiting_thread *w);

struct waiting_task {
  volt_task task;
  volt_future permit;
  volt_sem *permits;
  struct served *served;
  unsigned arrival;
};

/* Spawn a task that awaits a permit and records it. */
struct waiting_task *waiting_task_start(volt_rt *rt, volt_sem *permits, struct served *served,
                                        unsigned arrival);

/* Returns when it has ended, and frees it. */
void waiting_task_join(struct waiting_task *w);

/* End the program if result is not VOLT_OK. what: that failed. */
void must(int result, const char *what);

/* ---- an event loop: a server that asks for permits on behalf of its clients: loop.c ----
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

enum { LOOP_ACQUIRE = 'a', LOOP_GRANTED = 'A', LOOP_PING = 'p', LOOP_PONG = 'P' };

struct loop_client {
  int client_end; /* for the client, which closes it; the other end is the loop's, as is the rest */
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

/* Start a loop with so many clients. Permits that they get are recorded in *served: client i as
 * arrivals[i]. */
void loop_start(struct loop *loop, volt_sem *permits, struct served *served,
                const unsigned *arrivals, unsigned count);

/* As a client: send a byte; wait for the answer; hang up, once. */
void loop_send(struct loop *loop, unsigned client, char byte);
char loop_answer(struct loop *loop, unsigned client);
void loop_hang_up(struct loop *loop, unsigned client);

/* Every client has hung up: end the thread and free everything. */
void loop_stop(struct loop *loop);

#endif
