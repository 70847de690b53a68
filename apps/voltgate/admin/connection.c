/* connection.c: a connection of the admin side, as a task.
 *
 * One request at a time: its head, its body, its answer; what came behind it stays for the next. An
 * answer that takes long is made on the blocking pool. When the admin side stops, or another client
 * needs the place (places.h), the task is cancelled, and ends at its next wait. */
#define _GNU_SOURCE
#include <errno.h>
#include <time.h>

#include "admin/server.h"

enum { SLICE = 256 * 1024, LINGER_BYTES = 1 << 20 };
#define SECOND UINT64_C(1000000000)

struct connection {
  volt_task task;
  volt_fd fd;
  union {
    volt_op op;
    volt_blocking blocking;
  };
  volt_timeout timeout;
  struct admin *admin;
  struct place *place;
  struct request request;
  struct answer answer;
  uint64_t deadline_ns;
  size_t end;  /* of what has come */
  size_t sent; /* of the body of the answer */
  size_t head_size;
  int result;
  enum parsed parsed;
  bool is_over;  /* nothing more is read */
  bool has_work; /* of the answer */
  char client[VOLT_ADDRESS_TEXT];
  char head[ANSWER_HEAD_MAX];
  char in[ADMIN_HEAD_MAX + ADMIN_BODY_MAX];
};

static const struct limits limits = {
    .head_bytes = ADMIN_HEAD_MAX, .fields = ADMIN_FIELDS, .body_bytes = ADMIN_BODY_MAX};

/* ---- time ---- */

static uint64_t connection_after(const struct connection *self, unsigned seconds) {
  return volt_rt_now_ns(self->admin->program->rt) + seconds * SECOND;
}

static volt_future *connection_until(struct connection *self, volt_future *operation) {
  return volt_timeout_future(&self->timeout, operation, self->admin->timers, self->deadline_ns);
}

/* ---- reading ---- */

static volt_future *connection_receive(struct connection *self) {
  return connection_until(self, volt_fd_recv_future(&self->op, &self->fd, self->in + self->end,
                                                    sizeof self->in - self->end, 0));
}

/* The answer to a request that cannot be read, and after which none can be found. */
static void connection_refuse(struct connection *self, int status, const char *words) {
  admin_answer_end(&self->answer);
  admin_answer_fail(&self->answer, status, words);
  self->parsed = PARSED_REFUSED;
  self->has_work = false;
}

static const char *connection_words_of(int status) {
  switch (status) {
    case 413: return "a body has 4096 bytes at most";
    case 414: return "the target is too long";
    case 431: return "the fields are too long, or too many";
    case 501: return "this method or coding is not known";
    case 505: return "this version of HTTP is not known";
    default: return "the request is malformed";
  }
}

/* Something was received, or not. */
static void connection_received(struct connection *self) {
  if (self->result == VOLT_OK && self->op.n > 0) {
    if (self->end == 0)
      self->deadline_ns = connection_after(self, ADMIN_REQUEST_S); /* it was idle */
    self->end += self->op.n;
  } else if (self->result == VOLT_ETIMEDOUT && self->end > 0) {
    connection_refuse(self, 408, "the request took too long");
  } else {
    self->is_over = true;
  }
}

static void connection_parse(struct connection *self) {
  self->parsed = request_parse(&self->request, self->in, self->end, &limits);
  if (self->parsed == PARSED_REFUSED) {
    connection_refuse(self, self->request.status, connection_words_of(self->request.status));
  } else if (self->parsed == PARSED_WHOLE && self->request.is_chunked) {
    connection_refuse(self, 411, "a body needs Content-Length");
  } else if (self->parsed == PARSED_WHOLE && self->request.is_expectation_unknown) {
    connection_refuse(self, 417, "this expectation is not known");
  }
}

static size_t connection_request_size(const struct connection *self) {
  return self->request.head_bytes + (size_t)self->request.body_bytes;
}

static bool connection_lacks_body(const struct connection *self) {
  return !self->is_over && self->parsed == PARSED_WHOLE &&
         self->end < connection_request_size(self);
}

static volt_future *connection_send_continue(struct connection *self) {
  static const char text[] = "HTTP/1.1 100 Continue\r\n\r\n";
  return connection_until(self,
                          volt_fd_send_future(&self->op, &self->fd, text, sizeof text - 1, 0));
}

/* ---- answering ---- */

static void connection_begin_answer(struct connection *self) {
  const struct text body = {self->in + self->request.head_bytes, (size_t)self->request.body_bytes};
  self->answer.client = self->client;
  self->has_work = admin_answer_begin(&self->answer, &self->admin->answers, &self->request, body);
  if (self->has_work) place_works(&self->admin->places, self->place);
}

static int connection_work(void *arg) {
  admin_answer_work(arg);
  return VOLT_OK;
}

/* From now on it is the client that is waited for. */
static void connection_await_client(struct connection *self) {
  place_waits(&self->admin->places, self->place);
}

static void connection_write_head(struct connection *self) {
  struct timespec now;
  clock_gettime(CLOCK_REALTIME_COARSE, &now);
  bool closes = self->parsed != PARSED_WHOLE || !request_persists(&self->request);
  self->is_over = closes;
  self->head_size = admin_answer_head(&self->answer, self->head, now.tv_sec, closes);
  self->sent = 0;
}

static size_t connection_unsent(const struct connection *self) {
  return admin_answer_body(&self->answer).size - self->sent;
}

static volt_future *connection_send_head(struct connection *self) {
  self->deadline_ns = connection_after(self, ADMIN_REQUEST_S);
  return connection_until(self,
                          volt_fd_send_future(&self->op, &self->fd, self->head, self->head_size,
                                              connection_unsent(self) > 0 ? MSG_MORE : 0));
}

/* A client that does not read keeps its answer in memory, and its place: for so long at most. */
static volt_future *connection_send_body(struct connection *self) {
  size_t size = connection_unsent(self) < SLICE ? connection_unsent(self) : SLICE;
  self->deadline_ns = connection_after(self, ADMIN_REQUEST_S);
  return connection_until(
      self, volt_fd_send_future(&self->op, &self->fd,
                                admin_answer_body(&self->answer).at + self->sent, size, 0));
}

/* The next request moves to the front. */
static void connection_end_request(struct connection *self) {
  admin_answer_end(&self->answer);
  if (self->is_over) return;
  size_t used = connection_request_size(self);
  memmove(self->in, self->in + used, self->end - used);
  self->end -= used;
  request_begin(&self->request);
  connection_await_client(self);
  self->deadline_ns = connection_after(self, self->end > 0 ? ADMIN_REQUEST_S : ADMIN_IDLE_S);
}

/* ---- the task ---- */

/* What the client sends behind a request that was refused is read and thrown away for a second:
 * closing before would take the answer from it. */
static volt_future *connection_drain(struct connection *self) {
  return connection_until(self,
                          volt_fd_recv_future(&self->op, &self->fd, self->in, sizeof self->in, 0));
}

static int connection_poll(volt_task *t, volt_ctx *ctx) {
  struct connection *self = volt_container_of(t, struct connection, task);
  VOLT_TASK_BEGIN(self);
  self->deadline_ns = connection_after(self, ADMIN_REQUEST_S);
  while (!self->is_over) {
    connection_parse(self);
    while (self->parsed == PARSED_PART && !self->is_over) {
      VOLT_AWAIT_RESULT(self, self->result, connection_receive(self));
      connection_received(self);
      if (self->parsed == PARSED_PART && !self->is_over) connection_parse(self);
    }
    if (self->is_over) break;
    if (connection_lacks_body(self) && self->request.says_continue)
      VOLT_AWAIT(self, connection_send_continue(self));
    while (connection_lacks_body(self)) {
      VOLT_AWAIT_RESULT(self, self->result, connection_receive(self));
      connection_received(self);
    }
    if (self->is_over) break;
    if (self->parsed == PARSED_WHOLE) connection_begin_answer(self);
    if (self->has_work) {
      VOLT_AWAIT(self, volt_blocking_future(&self->blocking, self->admin->program->rt,
                                            connection_work, &self->answer));
    }
    connection_write_head(self);
    connection_await_client(self);
    VOLT_AWAIT(self, connection_send_head(self));
    while (connection_unsent(self) > 0) {
      VOLT_AWAIT(self, connection_send_body(self));
      self->sent += self->op.n;
    }
    connection_end_request(self);
  }
  if (self->parsed != PARSED_REFUSED) VOLT_RETURN(self, VOLT_OK);
  volt_fd_shutdown(&self->fd, SHUT_WR);
  self->deadline_ns = connection_after(self, 1);
  for (self->sent = 0; self->sent < LINGER_BYTES; self->sent += self->op.n) {
    VOLT_AWAIT(self, connection_drain(self));
    if (self->op.n == 0) break;
  }
  VOLT_FINALLY(self);
  admin_answer_end(&self->answer);
  volt_fd_close(&self->fd);
  place_leave(&self->admin->places, self->place);
  VOLT_TASK_END(self);
}

/* ---- make one ---- */

struct connection *connection_new(struct admin *admin) {
  struct connection *c = VOLT_TASK_NEW(admin->program->rt, struct connection, connection_poll);
  if (c == NULL) return NULL;
  c->admin = admin;
  request_begin(&c->request);
  return c;
}

volt_fd *connection_fd(struct connection *c) {
  return &c->fd;
}

void connection_begin(struct connection *c, struct place *place) {
  c->place = place;
  volt_address peer = {.size = 0};
  if (volt_fd_peer(&c->fd, &peer) != VOLT_OK) peer.size = 0;
  volt_address_text(&peer, c->client);
}

volt_task *connection_task(struct connection *c) {
  return &c->task;
}
