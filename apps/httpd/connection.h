/* connection.h: a connection, for those files that are its task. */
#ifndef HTTPD_CONNECTION_H
#define HTTPD_CONNECTION_H

#include "server.h"

#define PATH_LIMIT 4096 /* of a file; the system's PATH_MAX */

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
  bool has_kept;   /* bytes of the last send may be in the stream still (transport.h: commits) */
  bool is_ending;  /* the server stops */
  bool is_over;    /* nothing more is read or sent */
  bool is_failing; /* nothing more can be sent */
  bool is_cut;     /* an answer that was begun does not come whole */
};

/* ---- connection.c ---- */

/* After each wait that may be long. */
void connection_look_at_clocks(struct connection *self);

uint64_t connection_after(const struct connection *self, unsigned seconds);

/* The operation, with a deadline; once the server stops, at most with the server's. */
volt_future *connection_until(struct connection *self, uint64_t deadline_ns,
                              volt_future *operation);

/* Whether the last await was ended because the server stops. The task is cancelled once, so it is
 * awaited again. */
bool connection_is_interrupted(struct connection *self);

/* The connection is lost, or the client is too slow. */
void connection_fail(struct connection *self);

/* Add the answers that were sent to the server's counters. */
void connection_count_answers(struct connection *self);

/* ---- answer.c ---- */

/* Answers without waiting, if that is possible. */
bool answer_at_once(struct connection *self);

/* Else: a future of the file that is asked for, and the answer behind it. */
volt_future *answer_find(struct connection *self);
void answer_found(struct connection *self);

/* ---- sending.c: what each answer puts into the session's out, and the file behind it ---- */

/* Send what is in out. try: the head of a file, without waiting. went: behind either. */
bool sending_has_more(const struct connection *self);
volt_future *sending_out(struct connection *self);
int sending_try_head(struct connection *self);
void sending_went_out(struct connection *self);

/* Send a part of the file. */
volt_future *sending_file(struct connection *self);
void sending_file_went(struct connection *self);

/* Without sendfile: read a part of the file into out. */
bool sending_reads_file(const struct connection *self);
int sending_try_read(struct connection *self);
volt_future *sending_read(struct connection *self);
void sending_was_read(struct connection *self);

#endif
