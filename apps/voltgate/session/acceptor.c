/* acceptor.c: accepts: memory and descriptors first, then the client, then its place in the queue.
 *
 * A client that cannot be served is not accepted: it waits in the kernel's backlog, and costs us
 * nothing. The place in the gate's queue is taken here, by one task for each listener, before the
 * session is spawned: workers that run sessions in another order change nothing.
 *
 * It waits until the listener is ready, and then accepts by a call of its own. A future of accept would lose a client
 * with io_uring: there the system accepts, and where the task is cancelled before it has seen that, the future closes
 * what came. A restart cancels this task, and the client would have been one of the successor's.
 *
 * Descriptors are a semaphore of the program's: what is kept back for servers is not in it. A tcp
 * client takes one (its server's is kept back), and so does one of a permit gate, which has no server; a
 * client of another protocol takes two. */
#include "session/acceptor.h"

#include <errno.h>
#include <poll.h>

#include "gate/host.h"
#include "process/log.h"
#include "session/session.h"

uint32_t acceptor_cost(enum protocol protocol) {
  return protocol == PROTOCOL_TCP || protocol == PROTOCOL_PERMIT ? 1 : 2;
}

/* ---- what it says ----
 *
 * That accept pauses is said once; that it goes on, when it has not paused for a while: a gate that is
 * short of descriptors pauses for each client. */

#define ACCEPTOR_CALM_NS UINT64_C(1000000000)

static void acceptor_is_short(struct acceptor *self, const char *why) {
  if (!self->is_short) log_line(LOG_WARN, self->gate->name, "accept pauses: %s", why);
  self->is_short = true;
}

static void acceptor_has_paused(struct acceptor *self) {
  self->calm_ns = volt_rt_now_ns(self->gate->rt) + ACCEPTOR_CALM_NS;
}

static void acceptor_is_calm(struct acceptor *self) {
  if (!self->is_short || volt_rt_now_ns(self->gate->rt) < self->calm_ns) return;
  log_line(LOG_INFO, self->gate->name, "accept goes on");
  self->is_short = false;
}

/* ---- its steps ---- */

static volt_future *acceptor_wait_for_descriptors(struct acceptor *self) {
  acceptor_is_short(self, "all descriptors for clients are in use");
  return volt_sem_acquire_future(&self->descriptors, &self->gate->host->descriptors, self->cost);
}

static bool acceptor_try_descriptors(struct acceptor *self) {
  if (!self->has_descriptors) {
    self->has_descriptors =
        volt_sem_try_acquire(&self->gate->host->descriptors, self->cost) == VOLT_OK;
  }
  return self->has_descriptors;
}

static bool acceptor_has_memory(struct acceptor *self) {
  if (!self->next) self->next = session_new(self);
  return self->next != NULL;
}

static int acceptor_accept(struct acceptor *self) {
  self->has_waited = false;
  return volt_fd_try_accept(&self->listener, &self->next->client.fd);
}

/* Until a client comes. If it has to say that accept goes on, it wakes up for that, too. */
static volt_future *acceptor_wait(struct acceptor *self) {
  volt_future *ready = volt_fd_ready_future(&self->op, &self->listener, POLLIN);
  self->has_waited = true;
  if (!self->is_short) return ready;
  return volt_timeout_future(&self->timeout, ready, volt_rt_timers(self->gate->rt), self->calm_ns);
}

static volt_future *acceptor_pause(struct acceptor *self) {
  acceptor_is_short(self, volt_strerror(self->result));
  return volt_accept_pause_future(&self->pause, self->gate->rt, self->result);
}

static void acceptor_spawn(struct acceptor *self) {
  struct session *s = self->next;
  self->next = NULL;
  self->has_descriptors = false;
  session_begin(s);
  if (volt_group_spawn(self->sessions, self->gate->rt, &s->task) != VOLT_OK) session_abandon(s);
}

static void acceptor_close(struct acceptor *self) {
  volt_fd_close(&self->listener);
  if (self->next) session_drop(self->next);
  if (self->has_descriptors) volt_sem_release(&self->gate->host->descriptors, self->cost);
}

static int acceptor_poll(volt_task *t, volt_ctx *ctx) {
  struct acceptor *self = volt_container_of(t, struct acceptor, task);
  VOLT_TASK_BEGIN(self);
  for (;;) {
    if (!acceptor_try_descriptors(self)) {
      VOLT_AWAIT(self, acceptor_wait_for_descriptors(self));
      self->has_descriptors = true;
      acceptor_has_paused(self);
    }
    self->result = VOLT_ERRNO(ENOMEM);
    if (acceptor_has_memory(self)) {
      VOLT_AWAIT_TRY(self, self->result, acceptor_accept(self), acceptor_wait(self));
    }
    if (self->result == VOLT_ECANCELED) VOLT_RETURN(self, VOLT_OK);
    acceptor_is_calm(self);
    if (self->result == VOLT_OK) {
      if (!self->has_waited) acceptor_spawn(self); /* else a client may be there now */
    } else if (self->result != VOLT_ETIMEDOUT) {
      VOLT_AWAIT(self, acceptor_pause(self));
      acceptor_has_paused(self);
    }
  }
  VOLT_FINALLY(self);
  acceptor_close(self);
  VOLT_TASK_END(self);
}

struct acceptor *acceptor_new(struct gate *gate, volt_group *sessions, volt_fd *listener) {
  struct acceptor *self = VOLT_TASK_NEW(gate->rt, struct acceptor, acceptor_poll);
  if (!self) return NULL;
  volt_address at;
  self->gate = gate;
  self->sessions = sessions;
  self->protocol = gate_settings(gate)->protocol;
  self->cost = acceptor_cost(self->protocol);
  self->listener = *listener;
  *listener = (volt_fd){.number = -1};
  link_keep_alive(&self->listener);
  self->port = volt_fd_local(&self->listener, &at) == VOLT_OK ? volt_address_port(&at) : 0;
  return self;
}

void acceptor_drop(struct acceptor *self) {
  volt_fd_close(&self->listener);
  volt_task_detach(&self->task);
}
