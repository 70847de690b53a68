/* session.c: one connection without its descriptor.
 *
 * A request is parsed where it lies, and its texts point there until it is answered. Its body is
 * read to behind its head, again and again, and thrown away. A request that begins moves to the
 * front only when there is no room behind it. */
#include "session.h"

enum { STAGE_HEAD, STAGE_BODY, STAGE_FOUND, STAGE_END };

static void begin_request(struct session *s) {
  request_begin(&s->request);
  s->head_start = s->start;
  s->stage = STAGE_HEAD;
}

void session_begin(struct session *s, const struct terms *terms, char *in, size_t in_room,
                   char *out, uint32_t requests) {
  s->terms = terms;
  s->in = in;
  s->in_room = in_room;
  s->start = s->end = 0;
  s->out = (struct writer){.at = out, .end = out + SESSION_OUT_BYTES};
  s->out_start = out;
  s->requests = requests;
  memset(s->classes, 0, sizeof s->classes);
  s->is_ending = false;
  begin_request(s);
}

/* ---- answers ---- */

static void answer(struct session *s, const struct response *response,
                   const struct resource *resource, int64_t now) {
  response_write(&s->out, response, &s->request, s->terms, resource, now);
  s->requests++;
  s->classes[response->status / 100]++;
  if (response->closes) {
    s->stage = STAGE_END;
  } else {
    begin_request(s);
  }
}

/* The request cannot be read, or not to its end. */
static enum session_step refuse(struct session *s, int status, int64_t now) {
  struct response response = {.status = status, .closes = true};
  answer(s, &response, NULL, now);
  return SESSION_END;
}

static bool is_last(const struct session *s) {
  uint32_t most = s->terms->limits.requests;
  return s->is_ending || !request_persists(&s->request) || (most > 0 && s->requests + 1 >= most);
}

void session_answer(struct session *s, int status, const struct resource *resource, int64_t now,
                    struct response *response) {
  *response = (struct response){.status = status, .closes = is_last(s)};
  if (status == 200) response_decide(response, &s->request, resource, now);
  if (status == 301 && !response_can_redirect(&s->request)) response->status = 414;
  answer(s, response, status == 200 ? resource : NULL, now);
}

/* ---- steps ---- */

static size_t unread(const struct session *s) {
  return s->end - s->start;
}

/* What the head alone says against a request. Returns 0, or a status. */
static int status_of(const struct request *r) {
  if (r->is_expectation_unknown) return 417;
  if (r->method == METHOD_UNKNOWN) return 501;
  if (r->method > METHOD_OPTIONS) return 405;
  return 0;
}

static enum session_step next_in_head(struct session *s, int64_t now) {
  struct request *r = &s->request;
  switch (request_parse(r, s->in + s->start, unread(s), &s->terms->limits)) {
    case PARSED_PART: return SESSION_READ;
    case PARSED_REFUSED: return refuse(s, r->status, now);
    case PARSED_WHOLE: break;
  }
  int status = status_of(r);
  bool has_body = r->is_chunked || r->body_bytes > 0;
  /* A body that is not asked for may come all the same, or not: then the next request is lost. */
  if (status != 0 && has_body && r->says_continue) return refuse(s, status, now);
  s->start += r->head_bytes;
  s->body_start = s->start;
  s->stage = has_body ? STAGE_BODY : STAGE_FOUND;
  if (!has_body) return SESSION_READ;
  body_begin(&s->body, r, &s->terms->limits);
  if (r->says_continue && unread(s) == 0) PUT(&s->out, "HTTP/1.1 100 Continue\r\n\r\n");
  return SESSION_READ;
}

static enum session_step next_in_body(struct session *s, int64_t now) {
  size_t used;
  enum body_result result = body_read(&s->body, s->in + s->start, unread(s), &used);
  s->start += used;
  switch (result) {
    case BODY_PART: return SESSION_READ;
    case BODY_WRONG: return refuse(s, 400, now);
    case BODY_LARGE: return refuse(s, 413, now);
    case BODY_WHOLE: s->stage = STAGE_FOUND;
  }
  return SESSION_READ;
}

/* The request has come to its end. */
static enum session_step next_found(struct session *s, int64_t now) {
  struct response response;
  int status = status_of(&s->request);
  if (status == 0 && s->request.is_asterisk) status = 204;
  if (status == 0 && s->request.is_hidden) status = 404;
  if (status == 0 && s->terms->https_port != 0) status = response_to_https(&s->request);
  if (status == 0) return SESSION_FIND;
  session_answer(s, status, NULL, now, &response);
  return SESSION_READ;
}

enum session_step session_next(struct session *s, int64_t now) {
  for (;;) {
    int stage = s->stage;
    if (stage == STAGE_END) return SESSION_END;
    if (s->out.end - s->out.at < RESPONSE_HEAD_MAX) return SESSION_FLUSH;
    if (stage == STAGE_HEAD && unread(s) == 0) return SESSION_READ;
    enum session_step step = stage == STAGE_HEAD   ? next_in_head(s, now)
                             : stage == STAGE_BODY ? next_in_body(s, now)
                                                   : next_found(s, now);
    if (step != SESSION_READ || s->stage == stage) return step;
  }
}

/* ---- memory ---- */

/* The request at hand, and all that came after it, moves to the front. */
static void compact(struct session *s) {
  size_t by = s->head_start;
  memmove(s->in, s->in + by, s->end - by);
  request_move(&s->request, by);
  s->head_start = 0;
  s->start -= by;
  s->body_start -= by; /* means nothing before the head is whole */
  s->end -= by;
}

char *session_room(struct session *s, size_t *room) {
  if (s->stage == STAGE_BODY && unread(s) == 0) s->start = s->end = s->body_start;
  size_t wanted = s->terms->limits.head_bytes + SESSION_BODY_ROOM;
  if (unread(s) == 0 || s->in_room - s->head_start < wanted) compact(s);
  *room = s->in_room - s->end;
  return s->in + s->end;
}

void session_received(struct session *s, size_t count) {
  s->end += count;
}

struct text session_out(const struct session *s) {
  return (struct text){s->out_start, (size_t)(s->out.at - s->out_start)};
}

void session_sent(struct session *s) {
  s->out.at = s->out_start;
}

bool session_is_idle(const struct session *s) {
  return s->stage == STAGE_HEAD && unread(s) == 0;
}

bool session_is_in_head(const struct session *s) {
  return s->stage == STAGE_HEAD && unread(s) > 0;
}

void session_time_out(struct session *s, int64_t now) {
  if (s->stage == STAGE_HEAD && unread(s) == 0) return;
  if (s->stage != STAGE_END) refuse(s, 408, now);
}
