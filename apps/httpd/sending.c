/* sending.c: an answer on its way: the head, and the file behind it.
 *
 * With sendfile a file follows the head by calls of its own; without, it is read behind what is to be
 * sent, as far as there is room. */
#define _GNU_SOURCE
#include "connection.h"

#define SLICE (1024 * 1024) /* of a file, sent by one operation */
#define PROGRESS 1024       /* bytes that a client takes at least within one timeout */

static size_t unsent(const struct connection *self) {
  return session_out(&self->work->session).size - self->sent;
}

bool sending_has_more(const struct connection *self) {
  return !self->is_over && (unsent(self) > 0 || self->has_kept);
}

/* Whether a file follows with calls of its own. */
static bool sends_file(const struct connection *self) {
  return self->left > 0 && self->stream.by->has_sendfile;
}

volt_future *sending_out(struct connection *self) {
  struct text out = session_out(&self->work->session);
  return connection_until(
      self, connection_after(self, self->server->options->send_s),
      self->stream.by->send(&self->stream, out.at + self->sent, unsent(self), sends_file(self)));
}

/* The head of a file is sent at once, because the file follows it with a call of its own: io_uring
 * would bring the task here once more in between. */
int sending_try_head(struct connection *self) {
  struct text out = session_out(&self->work->session);
  if (!sends_file(self)) return VOLT_EAGAIN;
  return self->stream.by->try_send(&self->stream, out.at + self->sent, unsent(self), true);
}

/* Whether a client that has not taken all in time may go on: it takes a little at a time, and the server, if
 * it stops, still has time. */
static bool takes_some(const struct connection *self) {
  bool is_over = self->is_ending && self->now_ns >= self->server->stop_ns;
  return self->result == VOLT_ETIMEDOUT && *self->stream.n >= PROGRESS && !is_over;
}

/* A part has gone, or all. The clocks were looked at, unless all is well. */
static void went(struct connection *self) {
  bool goes_on = self->result == VOLT_OK || connection_is_interrupted(self) || takes_some(self);
  if (goes_on) return;
  connection_fail(self);
  self->is_cut = true;
}

void sending_went_out(struct connection *self) {
  self->sent += *self->stream.n;
  self->has_kept = self->stream.by->commits && self->result != VOLT_OK;
  if (self->result != VOLT_OK) connection_look_at_clocks(self);
  went(self);
  if (unsent(self) > 0) return;
  session_sent(&self->work->session);
  self->sent = 0;
  connection_count_answers(self);
}

static size_t slice(const struct connection *self) {
  return self->left < SLICE ? (size_t)self->left : SLICE;
}

volt_future *sending_file(struct connection *self) {
  return connection_until(
      self, connection_after(self, self->server->options->send_s),
      self->stream.by->send_file(&self->stream, &self->file->fd, self->at, slice(self)));
}

/* So many bytes of the file have gone, or were read. Its end was promised: where it has another one
 * now, the client must see that the rest does not come. */
static void took(struct connection *self, size_t n, bool is_truncated) {
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

void sending_file_went(struct connection *self) {
  size_t n = *self->stream.n;
  connection_look_at_clocks(self);
  bool is_truncated = self->result == VOLT_OK && n < slice(self);
  went(self);
  took(self, n, is_truncated);
}

/* ---- a file without sendfile: it is read behind what is to be sent, as far as there is room ---- */

bool sending_reads_file(const struct connection *self) {
  return !self->is_over && self->left > 0 && !self->stream.by->has_sendfile;
}

static size_t room_for_file(const struct connection *self) {
  const struct writer *out = &self->work->session.out;
  size_t room = (size_t)(out->end - out->at);
  return self->left < room ? (size_t)self->left : room;
}

int sending_try_read(struct connection *self) {
  return file_try_read(self->file, self->work->session.out.at, room_for_file(self), self->at,
                       &self->work->reading.n);
}

volt_future *sending_read(struct connection *self) {
  return volt_fd_read_future(&self->work->reading, &self->file->fd, self->work->session.out.at,
                             room_for_file(self), (int64_t)self->at);
}

/* The parts before have been sent, which may have taken long: the next has a time of its own. */
void sending_was_read(struct connection *self) {
  size_t n = self->work->reading.n;
  connection_look_at_clocks(self);
  self->work->session.out.at += n;
  took(self, n, n == 0 && !connection_is_interrupted(self));
}
