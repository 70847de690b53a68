/* connection.c: a connection as a task.
 *
 * While no request is on its way a connection has no buffer: it waits until something has come,
 * and takes a buffer then. Buffers are bounded by a semaphore, first come first served, so
 * memory is bounded whatever the number of connections. A handshake of TLS needs no buffer.
 *
 * Stopping: the server cancels the task once. An operation that a cancel ends has moved nothing, or
 * says what it has moved. So the connection notes that it is to end, and goes on where it was:
 * what it has begun to answer is answered whole, with "Connection: close", and an idle connection
 * ends at once. All waits end by the server's stop_ns. */
#define _GNU_SOURCE
#include <sys/socket.h>
#include <time.h>

#include "connection.h"

#define LINGER_NS 1000000000u /* how long a client that was refused may go on sending */
#define LINGER_BYTES (1 << 20)

size_t connection_buffer_bytes(const struct options *options) {
  return sizeof(struct work) + options->limits.head_bytes + SESSION_BODY_ROOM;
}

/* ---- time ---- */

/* After each wait that may be long. */
void connection_look_at_clocks(struct connection *self) {
  struct timespec now;
  clock_gettime(CLOCK_REALTIME_COARSE, &now);
  self->now = now.tv_sec;
  self->now_ns = volt_rt_now_ns(self->server->rt);
}

uint64_t connection_after(const struct connection *self, unsigned seconds) {
  return self->now_ns + seconds * UINT64_C(1000000000);
}

/* The operation, with a deadline; once the server stops, at most with the server's. */
volt_future *connection_until(struct connection *self, uint64_t deadline_ns,
                              volt_future *operation) {
  if (self->is_ending && self->server->stop_ns < deadline_ns) deadline_ns = self->server->stop_ns;
  return volt_timeout_future(&self->timeout, operation, self->server->timers, deadline_ns);
}

/* Whether the last await was ended because the server stops. The task is cancelled once, so it is
 * awaited again. */
bool connection_is_interrupted(struct connection *self) {
  if (self->result != VOLT_ECANCELED) return false;
  self->is_ending = true;
  return true;
}

/* The connection is lost, or the client is too slow. */
void connection_fail(struct connection *self) {
  bool is_late = self->result == VOLT_ETIMEDOUT;
  count(&self->server->counters, is_late ? COUNT_TIMEOUTS : COUNT_FAILURES, 1);
  if (is_late && self->is_ending) {
    atomic_fetch_add_explicit(&self->server->cut_off, 1, memory_order_relaxed);
  }
  self->is_over = self->is_failing = true;
}

/* ---- buffers ---- */

static void take_buffer(struct connection *self) {
  struct work *work = self->work = pool_take(&self->server->memory);
  session_begin(&work->session, &self->door->terms, work->in, self->server->in_bytes, work->out,
                self->requests);
  self->sent = 0;
  connection_look_at_clocks(self);
  self->deadline_ns = connection_after(self, self->server->options->request_s);
  if (!self->stream.by->takes_first) return;
  size_t room;
  *session_room(&work->session, &room) = self->stream.first;
  session_received(&work->session, 1);
}

void connection_count_answers(struct connection *self) {
  uint32_t *classes = self->work->session.classes;
  for (int first = 2; first <= 5; first++) {
    if (classes[first] == 0) continue;
    count(&self->server->counters, (enum counter)(COUNT_2XX + first - 2), classes[first]);
    classes[first] = 0;
  }
}

static void give_buffer(struct connection *self) {
  if (self->work == NULL) return;
  connection_count_answers(self);
  self->requests = self->work->session.requests;
  pool_give(&self->server->memory, self->work);
  self->work = NULL;
  volt_sem_release(&self->server->buffers, 1);
}

/* ---- reading ---- */

/* Once the server stops, what has come already is all that is awaited. */
static volt_future *wake(struct connection *self) {
  uint64_t deadline_ns = connection_after(self, self->server->options->idle_s);
  return connection_until(self, self->is_ending ? 0 : deadline_ns,
                          self->stream.by->wake(&self->stream));
}

/* An idle connection was woken. Whether there may be something to read. */
static bool may_read(struct connection *self) {
  if (self->result == VOLT_OK) return !self->stream.by->takes_first || *self->stream.n > 0;
  self->is_failing = self->result != VOLT_ETIMEDOUT; /* idle for too long: which is no fault */
  return false;
}

/* A request that begins has its own time to be whole. */
static void begin_deadline(struct connection *self) {
  if (self->requests == self->work->session.requests) return;
  self->requests = self->work->session.requests;
  self->deadline_ns = connection_after(self, self->server->options->request_s);
}

static volt_future *receive(struct connection *self) {
  size_t room;
  char *to = session_room(&self->work->session, &room);
  return connection_until(self, self->deadline_ns,
                          self->stream.by->receive(&self->stream, to, room));
}

/* Something was received, or not. */
static void received(struct connection *self) {
  struct session *s = &self->work->session;
  if (s->end > 0) connection_look_at_clocks(self); /* it was not there when the buffer was taken */
  if (self->result == VOLT_OK) {
    session_received(s, *self->stream.n);
    if (*self->stream.n == 0) self->is_over = true; /* all that was whole has been answered */
  } else if (self->result == VOLT_ETIMEDOUT && !self->is_ending) {
    count(&self->server->counters, COUNT_TIMEOUTS, 1);
    session_time_out(s, self->now);
  } else {
    connection_fail(self);
  }
}

/* What is next. An answer needs room for a file that is in memory. */
static enum session_step next_step(struct connection *self) {
  struct session *s = &self->work->session;
  if (volt_task_is_cancelled(&self->task)) self->is_ending = true;
  s->is_ending = self->is_ending;
  enum session_step step = session_next(s, self->now);
  size_t room = (size_t)(s->out.end - s->out.at);
  bool is_full = room < RESPONSE_HEAD_MAX + FILE_CONTENT_MAX;
  return step == SESSION_FIND && is_full ? SESSION_FLUSH : step;
}

/* ---- the end ---- */

/* Whether the client may be sending still: to close then would discard what it has not read. */
static bool is_lingering(const struct connection *self) {
  if (self->is_failing || self->work == NULL) return false;
  if (self->step != SESSION_END) return self->is_ending; /* it was promised that it may ask again */
  const struct session *s = &self->work->session;
  return s->end > s->start || s->request.status != 0 || request_persists(&s->request);
}

static volt_future *finish(struct connection *self) {
  return connection_until(self, self->deadline_ns, self->stream.by->finish(&self->stream));
}

static volt_future *drain(struct connection *self) {
  return connection_until(
      self, self->deadline_ns,
      self->stream.by->receive(&self->stream, self->work->in, self->server->in_bytes));
}

static bool is_drained(const struct connection *self) {
  size_t n = *self->stream.n;
  return self->result != VOLT_OK || n == 0 || n > self->left;
}

/* Say that nothing more is sent, and read what the client is sending still. */
static int linger_poll(volt_async *a, volt_ctx *ctx) {
  struct connection *self = volt_container_of(a, struct connection, async);
  VOLT_ASYNC_BEGIN(self);
  connection_look_at_clocks(self);
  self->deadline_ns = self->now_ns + LINGER_NS;
  if (self->stream.by->finish == NULL) {
    volt_fd_shutdown(&self->stream.fd, SHUT_WR);
  } else {
    do {
      VOLT_AWAIT_RESULT(self, self->result, finish(self));
    } while (connection_is_interrupted(self));
  }
  for (self->left = LINGER_BYTES;; self->left -= *self->stream.n) {
    do {
      VOLT_AWAIT_RESULT(self, self->result, drain(self));
    } while (connection_is_interrupted(self));
    if (is_drained(self)) break;
  }
  VOLT_ASYNC_END(self);
}

/* ---- the task ---- */

static void begin_stream(struct connection *self) {
  self->stream.by = self->door->by;
  self->result = self->stream.by->begin(&self->stream, self->door->context);
  if (self->result != VOLT_OK) connection_fail(self);
  connection_look_at_clocks(self);
}

static volt_future *shake_hands(struct connection *self) {
  return connection_until(self, connection_after(self, self->server->options->handshake_s),
                          self->stream.by->handshake(&self->stream));
}

/* Half a handshake cannot go on when the server stops. */
static void shook_hands(struct connection *self) {
  if (self->result == VOLT_OK) {
    count(&self->server->counters, COUNT_HANDSHAKES, 1);
  } else if (connection_is_interrupted(self)) {
    self->is_over = true;
  } else {
    connection_fail(self);
  }
}

static bool has_handshake(const struct connection *self) {
  return !self->is_over && self->stream.by->handshake != NULL;
}

/* What has begun and does not come whole must not look as if it had. */
static void end_stream(struct connection *self) {
  const struct transport *by = self->stream.by;
  (self->is_cut ? by->cut_off : by->close)(&self->stream);
}

static int connection_poll(volt_task *t, volt_ctx *ctx) {
  struct connection *self = volt_container_of(t, struct connection, task);
  VOLT_TASK_BEGIN(self);
  begin_stream(self);
  if (has_handshake(self)) {
    VOLT_AWAIT_RESULT(self, self->result, shake_hands(self));
    shook_hands(self);
  }
  while (!self->is_over) {
    connection_look_at_clocks(self);
    do {
      VOLT_AWAIT_RESULT(self, self->result, wake(self));
    } while (connection_is_interrupted(self));
    if (!may_read(self)) break;
    do {
      VOLT_AWAIT_TRY(self, self->result, volt_sem_try_acquire(&self->server->buffers, 1),
                     volt_sem_acquire_future(&self->waiting, &self->server->buffers, 1));
    } while (connection_is_interrupted(self));
    take_buffer(self);
    do {
      begin_deadline(self);
      do {
        VOLT_AWAIT_RESULT(self, self->result, receive(self));
      } while (connection_is_interrupted(self));
      received(self);
      while (!self->is_over) {
        self->step = next_step(self);
        if (self->step == SESSION_FIND && !answer_at_once(self)) {
          VOLT_AWAIT_RESULT(self, self->result, answer_find(self));
          answer_found(self);
        }
        if (self->step == SESSION_FIND && self->left == 0) continue; /* there may be more in hand */
        do {
          if (sending_reads_file(self)) {
            VOLT_AWAIT_TRY(self, self->result, sending_try_read(self), sending_read(self));
            sending_was_read(self);
          }
          while (sending_has_more(self)) {
            VOLT_AWAIT_TRY(self, self->result, sending_try_head(self), sending_out(self));
            sending_went_out(self);
          }
        } while (sending_reads_file(self));
        while (!self->is_over && self->left > 0) {
          VOLT_AWAIT_RESULT(self, self->result, sending_file(self));
          sending_file_went(self);
        }
        if (self->step == SESSION_END) self->is_over = true;
        if (self->step == SESSION_READ) break;
      }
    } while (!self->is_over && !session_is_idle(&self->work->session));
    if (self->is_ending) self->is_over = true; /* what was begun is answered */
    if (!is_lingering(self)) {
      give_buffer(self);
      continue;
    }
    VOLT_AWAIT_RESULT(self, self->result, volt_async_future(&self->async, linger_poll));
  }
  VOLT_FINALLY(self);
  if (self->file != NULL) file_release(&self->server->files, self->file);
  give_buffer(self);
  end_stream(self);
  count(&self->server->counters, COUNT_CLOSED, 1);
  volt_sem_release(&self->door->places, 1);
  VOLT_TASK_END(self);
}

/* ---- make one ---- */

struct connection *connection_new(struct door *door) {
  struct connection *c = VOLT_TASK_NEW(door->server->rt, struct connection, connection_poll);
  if (c == NULL) return NULL;
  c->server = door->server;
  c->door = door;
  return c;
}

volt_fd *connection_fd(struct connection *c) {
  return &c->stream.fd;
}

volt_task *connection_task(struct connection *c) {
  return &c->task;
}
