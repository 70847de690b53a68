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

#include "server.h"

#define INDEX "index.html"
#define PATH_LIMIT 4096       /* of a file; the system's PATH_MAX */
#define SLICE (1024 * 1024)   /* of a file, sent by one operation */
#define PROGRESS 1024         /* bytes that a client takes at least within one timeout */
#define LINGER_NS 1000000000u /* how long a client that was refused may go on sending */
#define LINGER_BYTES (1 << 20)

/* A buffer, and all that a connection needs only while it works. */
struct work {
  struct session session;
  struct find find;
  volt_op reading; /* of a file, without sendfile */
  char path[PATH_LIMIT];
  char status[STATUS_MAX];
  char out[SESSION_OUT_BYTES];
  char in[];
};

struct connection {
  volt_task task;
  struct stream stream;
  volt_timeout timeout;
  volt_future waiting;
  volt_async async; /* lingers */
  struct server *server;
  struct door *door;
  struct work *work;    /* NULL: it is idle */
  struct file *file;    /* that is being sent */
  uint64_t at, left;    /* the part of it that is left */
  int64_t now;          /* as of the last look at the clocks, since 1970 */
  uint64_t now_ns;      /* the same, on the runtime's clock */
  uint64_t deadline_ns; /* when the request at hand has to be whole */
  size_t sent;          /* of the session's out */
  uint32_t requests;    /* that were answered */
  int result;
  enum session_step step;
  bool has_kept;   /* a part of what a send has committed, perhaps */
  bool is_ending;  /* the server stops */
  bool is_over;    /* nothing more is read or sent */
  bool is_failing; /* nothing more can be sent */
  bool is_cut;     /* an answer that was begun does not come whole */
};

size_t connection_buffer_bytes(const struct options *options) {
  return sizeof(struct work) + options->limits.head_bytes + SESSION_BODY_ROOM;
}

/* ---- time ---- */

/* After each wait that may be long. */
static void look_at_clocks(struct connection *self) {
  struct timespec now;
  clock_gettime(CLOCK_REALTIME_COARSE, &now);
  self->now = now.tv_sec;
  self->now_ns = volt_rt_now_ns(self->server->rt);
}

static uint64_t after(const struct connection *self, unsigned seconds) {
  return self->now_ns + seconds * UINT64_C(1000000000);
}

/* The operation, with a deadline; once the server stops, at most with the server's. */
static volt_future *until(struct connection *self, uint64_t deadline_ns, volt_future *operation) {
  if (self->is_ending && self->server->stop_ns < deadline_ns) deadline_ns = self->server->stop_ns;
  return volt_timeout_future(&self->timeout, operation, self->server->timers, deadline_ns);
}

/* Whether the last await was ended because the server stops. The task is cancelled once, so it is
 * awaited again. */
static bool is_interrupted(struct connection *self) {
  if (self->result != VOLT_ECANCELED) return false;
  self->is_ending = true;
  return true;
}

/* The connection is lost, or the client is too slow. */
static void fail(struct connection *self) {
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
  look_at_clocks(self);
  self->deadline_ns = after(self, self->server->options->request_s);
  if (!self->stream.by->takes_first) return;
  size_t room;
  *session_room(&work->session, &room) = self->stream.first;
  session_received(&work->session, 1);
}

static void count_answers(struct connection *self) {
  uint32_t *classes = self->work->session.classes;
  for (int first = 2; first <= 5; first++) {
    if (classes[first] == 0) continue;
    count(&self->server->counters, (enum counter)(COUNT_2XX + first - 2), classes[first]);
    classes[first] = 0;
  }
}

static void give_buffer(struct connection *self) {
  if (self->work == NULL) return;
  count_answers(self);
  self->requests = self->work->session.requests;
  pool_give(&self->server->memory, self->work);
  self->work = NULL;
  volt_sem_release(&self->server->buffers, 1);
}

/* ---- reading ---- */

/* Once the server stops, what has come already is all that is awaited. */
static volt_future *wake(struct connection *self) {
  uint64_t deadline_ns = after(self, self->server->options->idle_s);
  return until(self, self->is_ending ? 0 : deadline_ns, self->stream.by->wake(&self->stream));
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
  self->deadline_ns = after(self, self->server->options->request_s);
}

static volt_future *receive(struct connection *self) {
  size_t room;
  char *to = session_room(&self->work->session, &room);
  return until(self, self->deadline_ns, self->stream.by->receive(&self->stream, to, room));
}

/* Something was received, or not. */
static void received(struct connection *self) {
  struct session *s = &self->work->session;
  if (s->end > 0) look_at_clocks(self); /* it was not there when the buffer was taken */
  if (self->result == VOLT_OK) {
    session_received(s, *self->stream.n);
    if (*self->stream.n == 0) self->is_over = true; /* all that was whole has been answered */
  } else if (self->result == VOLT_ETIMEDOUT && !self->is_ending) {
    count(&self->server->counters, COUNT_TIMEOUTS, 1);
    session_time_out(s, self->now);
  } else {
    fail(self);
  }
}

/* ---- answering ---- */

static void answer(struct connection *self, int status, const struct resource *resource,
                   const char *content) {
  struct session *s = &self->work->session;
  struct response response;
  struct counters *counters = &self->server->counters;
  session_answer(s, status, resource, self->now, &response);
  count(counters, COUNT_BYTES, response.count);
  if (response.count == 0) return;
  if (content != NULL) {
    put_text(&s->out, (struct text){content + response.first, (size_t)response.count});
  } else {
    self->at = response.first;
    self->left = response.count;
  }
}

/* Whether the path is one of those that the server answers itself; then it was answered. */
static bool answer_own(struct connection *self) {
  static const char hello[] = "Hello, world!\n";
  const struct options *options = self->server->options;
  const struct request *r = &self->work->session.request;
  struct resource resource = {.modified = NO_DATE};
  if (r->is_directory) return false;
  if (options->has_hello && strcmp(r->path, "hello") == 0) {
    resource.type = "text/plain; charset=utf-8";
    resource.size = sizeof hello - 1;
    answer(self, 200, &resource, hello);
    return true;
  }
  if (options->has_status && strcmp(r->path, "status") == 0) {
    char *text = self->work->status;
    struct writer to = {text, text + STATUS_MAX, false};
    server_write_status(&to, self->server);
    resource.type = "application/json";
    resource.size = (uint64_t)(to.at - text);
    resource.is_live = true;
    answer(self, 200, &resource, text);
    return true;
  }
  return false;
}

static void answer_file(struct connection *self, struct file *file) {
  answer(self, 200, &file->resource, file->is_in_memory ? file->content : NULL);
  if (self->left > 0) {
    self->file = file; /* until it is sent */
  } else {
    file_release(&self->server->files, file);
  }
}

/* The file that a path means: of a directory, its index. NULL: there can be none. */
static const char *file_path(struct connection *self) {
  const struct request *r = &self->work->session.request;
  char *path = self->work->path;
  if (!r->is_directory) return strlen(r->path) < PATH_LIMIT ? r->path : NULL;
  struct writer to = {path, path + PATH_LIMIT - 1, false};
  put_string(&to, r->path);
  if (to.at > path) PUT(&to, "/");
  PUT(&to, INDEX);
  *to.at = '\0';
  return to.is_cut ? NULL : path;
}

/* Answers without waiting, if that is possible. */
static bool answer_at_once(struct connection *self) {
  struct server *server = self->server;
  if (answer_own(self)) return true;
  const char *path = server->has_files ? file_path(self) : NULL;
  if (path == NULL) {
    answer(self, 404, NULL, NULL);
    return true;
  }
  struct file *file = files_try(&server->files, path, self->now_ns);
  if (file == NULL) return false;
  count(&server->counters, COUNT_CACHED, 1);
  answer_file(self, file);
  return true;
}

static volt_future *find(struct connection *self) {
  count(&self->server->counters, COUNT_OPENED, 1);
  return find_future(&self->work->find, &self->server->files, file_path(self), self->now,
                     self->now_ns);
}

static void answer_found(struct connection *self) {
  struct find *found = &self->work->find;
  int status = found->status;
  look_at_clocks(self);
  if (status == 301 && self->work->session.request.is_directory) status = 404; /* of an index */
  if (status == 200) {
    answer_file(self, found->file);
  } else {
    answer(self, status, NULL, NULL);
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

/* ---- sending ---- */

static size_t unsent(const struct connection *self) {
  return session_out(&self->work->session).size - self->sent;
}

static bool has_to_send(const struct connection *self) {
  return !self->is_over && (unsent(self) > 0 || self->has_kept);
}

/* Whether a file follows with calls of its own. */
static bool sends_file(const struct connection *self) {
  return self->left > 0 && self->stream.by->has_sendfile;
}

static volt_future *send_out(struct connection *self) {
  struct text out = session_out(&self->work->session);
  return until(
      self, after(self, self->server->options->send_s),
      self->stream.by->send(&self->stream, out.at + self->sent, unsent(self), sends_file(self)));
}

/* The head of a file is sent at once, because the file follows it with a call of its own: io_uring
 * would bring the task here once more in between. */
static int try_send_head(struct connection *self) {
  struct text out = session_out(&self->work->session);
  if (!sends_file(self)) return VOLT_EAGAIN;
  return self->stream.by->try_send(&self->stream, out.at + self->sent, unsent(self), true);
}

/* A part has gone, or all. A client that takes a little at a time is not too slow. */
static void went(struct connection *self) {
  bool goes_on =
      self->result == VOLT_OK || is_interrupted(self) ||
      (self->result == VOLT_ETIMEDOUT && *self->stream.n >= PROGRESS && !self->is_ending);
  if (goes_on) return;
  fail(self);
  self->is_cut = true;
}

static void sent_out(struct connection *self) {
  self->sent += *self->stream.n;
  self->has_kept = self->stream.by->commits && self->result != VOLT_OK;
  if (self->result != VOLT_OK) look_at_clocks(self);
  went(self);
  if (unsent(self) > 0) return;
  session_sent(&self->work->session);
  self->sent = 0;
  count_answers(self);
}

static size_t slice(const struct connection *self) {
  return self->left < SLICE ? (size_t)self->left : SLICE;
}

static volt_future *send_file(struct connection *self) {
  return until(self, after(self, self->server->options->send_s),
               self->stream.by->send_file(&self->stream, &self->file->fd, self->at, slice(self)));
}

/* So many bytes of the file have gone, or were read. Its end was promised: where it has another one
 * now, the client must see that the rest does not come. */
static void file_went(struct connection *self, size_t n, bool is_truncated) {
  self->at += n;
  self->left -= n;
  if (is_truncated) {
    count(&self->server->counters, COUNT_TRUNCATED, 1);
    self->is_over = self->is_failing = self->is_cut = true;
  }
  if (self->left > 0 && !self->is_over) return;
  file_release(&self->server->files, self->file);
  self->file = NULL;
  self->left = 0;
}

static void sent_file(struct connection *self) {
  size_t n = *self->stream.n;
  look_at_clocks(self);
  bool is_truncated = self->result == VOLT_OK && n < slice(self);
  went(self);
  file_went(self, n, is_truncated);
}

/* ---- a file without sendfile: it is read behind what is to be sent, as far as there is room ---- */

static bool reads_file(const struct connection *self) {
  return !self->is_over && self->left > 0 && !self->stream.by->has_sendfile;
}

static size_t room_for_file(const struct connection *self) {
  const struct writer *out = &self->work->session.out;
  size_t room = (size_t)(out->end - out->at);
  return self->left < room ? (size_t)self->left : room;
}

static int try_read_file(struct connection *self) {
  return file_try_read(self->file, self->work->session.out.at, room_for_file(self), self->at,
                       &self->work->reading.n);
}

static volt_future *read_file(struct connection *self) {
  return volt_fd_read_future(&self->work->reading, &self->file->fd, self->work->session.out.at,
                             room_for_file(self), (int64_t)self->at);
}

static void was_read(struct connection *self) {
  size_t n = self->work->reading.n;
  self->work->session.out.at += n;
  file_went(self, n, n == 0 && !is_interrupted(self));
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
  return until(self, self->deadline_ns, self->stream.by->finish(&self->stream));
}

static volt_future *drain(struct connection *self) {
  return until(self, self->deadline_ns,
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
  look_at_clocks(self);
  self->deadline_ns = self->now_ns + LINGER_NS;
  if (self->stream.by->finish == NULL) {
    volt_fd_shutdown(&self->stream.fd, SHUT_WR);
  } else {
    do {
      VOLT_AWAIT_RESULT(self, self->result, finish(self));
    } while (is_interrupted(self));
  }
  for (self->left = LINGER_BYTES;; self->left -= *self->stream.n) {
    do {
      VOLT_AWAIT_RESULT(self, self->result, drain(self));
    } while (is_interrupted(self));
    if (is_drained(self)) break;
  }
  VOLT_ASYNC_END(self);
}

/* ---- the task ---- */

static void begin_stream(struct connection *self) {
  self->stream.by = self->door->by;
  self->result = self->stream.by->begin(&self->stream, self->door->context);
  if (self->result != VOLT_OK) fail(self);
  look_at_clocks(self);
}

static volt_future *shake_hands(struct connection *self) {
  return until(self, after(self, self->server->options->handshake_s),
               self->stream.by->handshake(&self->stream));
}

/* Half a handshake cannot go on when the server stops. */
static void shook_hands(struct connection *self) {
  if (self->result == VOLT_OK) {
    count(&self->server->counters, COUNT_HANDSHAKES, 1);
  } else if (is_interrupted(self)) {
    self->is_over = true;
  } else {
    fail(self);
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
    look_at_clocks(self);
    do {
      VOLT_AWAIT_RESULT(self, self->result, wake(self));
    } while (is_interrupted(self));
    if (!may_read(self)) break;
    do {
      VOLT_AWAIT_TRY(self, self->result, volt_sem_try_acquire(&self->server->buffers, 1),
                     volt_sem_acquire_future(&self->waiting, &self->server->buffers, 1));
    } while (is_interrupted(self));
    take_buffer(self);
    do {
      begin_deadline(self);
      do {
        VOLT_AWAIT_RESULT(self, self->result, receive(self));
      } while (is_interrupted(self));
      received(self);
      while (!self->is_over) {
        self->step = next_step(self);
        if (self->step == SESSION_FIND && !answer_at_once(self)) {
          VOLT_AWAIT_RESULT(self, self->result, find(self));
          answer_found(self);
        }
        if (self->step == SESSION_FIND && self->left == 0) continue; /* there may be more in hand */
        do {
          if (reads_file(self)) {
            VOLT_AWAIT_TRY(self, self->result, try_read_file(self), read_file(self));
            was_read(self);
          }
          while (has_to_send(self)) {
            VOLT_AWAIT_TRY(self, self->result, try_send_head(self), send_out(self));
            sent_out(self);
          }
        } while (reads_file(self));
        while (!self->is_over && self->left > 0) {
          VOLT_AWAIT_RESULT(self, self->result, send_file(self));
          sent_file(self);
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
