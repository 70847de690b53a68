/* session.h: one connection without its descriptor: bytes come in, answers go out.
 *
 * The caller moves the bytes and finds the resources, the session does the rest:
 *
 *   for (;;) switch (session_next(&s)) {
 *     case SESSION_READ:    send s.out; receive to session_room(); session_received()
 *     case SESSION_FIND:    find s.request.path; session_answer(); send what it says
 *     case SESSION_FLUSH:   send s.out, session_sent()
 *     case SESSION_END:     send s.out, close
 *   }
 *
 * Answers to requests that came together are gathered in `out`, and sent together. */
#ifndef HTTPD_SESSION_H
#define HTTPD_SESSION_H

#include "body.h"
#include "response.h"

#define SESSION_OUT_BYTES 16384

/* Room in a session's input beside the head, for a body that is thrown away. */
#define SESSION_BODY_ROOM 2048

struct session {
  const struct terms *terms;
  char *in; /* the caller's, of in_room bytes */
  size_t in_room;
  size_t head_start; /* of the request at hand */
  size_t body_start; /* behind its head */
  size_t start;      /* of what was not read yet */
  size_t end;        /* of what has come */
  struct request request;
  struct body body;
  struct writer out;
  char *out_start;
  uint32_t requests;   /* so far, on this connection */
  uint32_t classes[6]; /* answers of 2xx at [2], and so on; the caller may set them to 0 */
  int stage;
  bool is_ending; /* no request after this one; the caller may set it at any time */
};

enum session_step {
  SESSION_READ,  /* wants more bytes, once `out` is sent */
  SESSION_FIND,  /* wants the resource of request.path */
  SESSION_FLUSH, /* wants room in `out` */
  SESSION_END    /* wants to be closed, once `out` is sent */
};

/* Begin with memory of the caller's, empty.
 * terms: the caller's. in_room: terms->limits.head_bytes + SESSION_BODY_ROOM at least. out:
 *   SESSION_OUT_BYTES.
 * requests: that were answered before on the same connection. */
void session_begin(struct session *s, const struct terms *terms, char *in, size_t in_room,
                   char *out, uint32_t requests);

/* Say what is next. now: the time in seconds. */
enum session_step session_next(struct session *s, int64_t now);

/* After SESSION_READ: where the next bytes go, and how many there is room for: never 0. */
char *session_room(struct session *s, size_t *room);
void session_received(struct session *s, size_t count);

/* After SESSION_FIND: write the head of the answer.
 * status: 200: it is the resource that decides; else the answer, and resource may be NULL.
 * response: what is to be sent after the head, to `out` or behind it. */
void session_answer(struct session *s, int status, const struct resource *resource, int64_t now,
                    struct response *response);

/* What is to be sent, and that it was. */
struct text session_out(const struct session *s);
void session_sent(struct session *s);

/* Whether no byte of a request has come that was not answered: the memory may be taken away. */
bool session_is_idle(const struct session *s);

/* Whether a request is on its way and its head is not whole. */
bool session_is_in_head(const struct session *s);

/* Answer 408, if a request was begun; to be followed by the end. */
void session_time_out(struct session *s, int64_t now);

#endif
