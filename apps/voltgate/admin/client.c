/* client.c: ask a running voltgate by HTTP.
 *
 * The connection is kept for the next question. If the server has closed it meanwhile, the question
 * is asked once more on a new one, unless a part of an answer has come. */
#define _GNU_SOURCE
#include "admin/client.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <strings.h>
#include <volt/net.h>

enum { HEAD_MAX = 8192 };

static bool admin_client_fail(struct client_link *link, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

static bool admin_client_fail(struct client_link *link, const char *format, ...) {
  va_list args;
  va_start(args, format);
  vsnprintf(link->why, sizeof link->why, format, args);
  va_end(args);
  if (link->is_open) volt_fd_close(&link->fd);
  link->is_open = false;
  return false;
}

/* ---- a connection ---- */

static bool admin_client_open_link(struct client_link *link, uint64_t deadline_ns) {
  const char *admin = link->settings->admin;
  if (link->rt == NULL) {
    volt_rt_config config = {.flags = VOLT_RT_BY_HAND, .workers = 1, .io = volt_io_epoll()};
    int result = volt_rt_create(&link->rt, &config);
    if (result != VOLT_OK)
      return admin_client_fail(link, "cannot start: %s", volt_strerror(result));
  }
  volt_dial *dial = calloc(1, sizeof *dial);
  if (dial == NULL) return admin_client_fail(link, "no memory");
  int result = volt_rt_run_until(link->rt, volt_dial_future(dial, link->rt, &link->fd, admin, NULL),
                                 deadline_ns);
  free(dial);
  if (result != VOLT_OK)
    return admin_client_fail(link, "no voltgate at %s: %s", admin, volt_strerror(result));
  link->is_open = true;
  return true;
}

/* The field Host: what the server takes for an address of its own. */
static void admin_client_put_host(struct output *to, const char *admin) {
  output_string(to, strncmp(admin, "unix:", 5) == 0 ? "localhost" : admin);
}

static bool admin_client_send_question(struct client_link *link, const char *method,
                                       const char *path, const char *body, uint64_t deadline_ns) {
  struct output text = {.size = 0};
  volt_op op;
  output_string(&text, method);
  OUTPUT(&text, " ");
  output_string(&text, path);
  OUTPUT(&text, " HTTP/1.1\r\nHost: ");
  admin_client_put_host(&text, link->settings->admin);
  if (link->settings->token != NULL) {
    OUTPUT(&text, "\r\nAuthorization: Bearer ");
    output_string(&text, link->settings->token);
  }
  if (body != NULL) {
    OUTPUT(&text, "\r\nContent-Length: ");
    output_number(&text, strlen(body));
  }
  OUTPUT(&text, "\r\n\r\n");
  if (body != NULL) output_string(&text, body);
  int result =
      text.is_cut
          ? VOLT_ENOMEM
          : volt_rt_run_until(link->rt, volt_fd_send_future(&op, &link->fd, text.at, text.size, 0),
                              deadline_ns);
  output_free(&text);
  return result == VOLT_OK || admin_client_fail(link, "%s", volt_strerror(result));
}

/* ---- an answer ---- */

/* The value of a field of the head, or NULL. name: with its colon. */
static const char *admin_client_field(const char *head, const char *name) {
  for (const char *line = strstr(head, "\r\n"); line != NULL; line = strstr(line + 2, "\r\n")) {
    if (strncasecmp(line + 2, name, strlen(name)) == 0) {
      const char *value = line + 2 + strlen(name);
      return value + strspn(value, " \t");
    }
  }
  return NULL;
}

static bool admin_client_receive(struct client_link *link, char *to, size_t room, size_t *n,
                                 uint64_t deadline_ns) {
  volt_op op;
  int result =
      volt_rt_run_until(link->rt, volt_fd_recv_future(&op, &link->fd, to, room, 0), deadline_ns);
  *n = result == VOLT_OK ? op.n : 0;
  if (result == VOLT_OK) return true;
  return admin_client_fail(link, "no answer: %s", volt_strerror(result));
}

/* Reads the head, and with it perhaps the beginning of the body. has_begun: a byte has come. */
static bool admin_client_read_head(struct client_link *link, char head[HEAD_MAX + 1], size_t *size,
                                   size_t *head_size, bool *has_begun, uint64_t deadline_ns) {
  for (*size = 0;;) {
    size_t n;
    if (*size == HEAD_MAX)
      return admin_client_fail(link, "this is no voltgate: its answer is no HTTP");
    if (!admin_client_receive(link, head + *size, HEAD_MAX - *size, &n, deadline_ns)) return false;
    if (n == 0) return admin_client_fail(link, "the connection was closed before the answer came");
    *has_begun = true;
    *size += n;
    head[*size] = '\0';
    char *end = strstr(head, "\r\n\r\n");
    if (end == NULL) continue;
    *head_size = (size_t)(end - head) + 4;
    end[2] = '\0'; /* a zero behind the last line of the head */
    return true;
  }
}

static bool admin_client_read_body(struct client_link *link, const char *more, size_t more_size,
                                   size_t size, uint64_t deadline_ns) {
  char piece[16384];
  link->answer.size = 0;
  output_bytes(&link->answer, more, more_size < size ? more_size : size);
  while (link->answer.size < size) {
    size_t n, left = size - link->answer.size;
    if (!admin_client_receive(link, piece, left < sizeof piece ? left : sizeof piece, &n,
                              deadline_ns)) {
      return false;
    }
    if (n == 0) return admin_client_fail(link, "the answer has ended too early");
    output_bytes(&link->answer, piece, n);
    if (link->answer.is_cut) return admin_client_fail(link, "no memory");
  }
  return true;
}

static bool admin_client_read_answer(struct client_link *link, bool *has_begun,
                                     uint64_t deadline_ns) {
  char head[HEAD_MAX + 1];
  size_t size = 0, head_size = 0;
  if (!admin_client_read_head(link, head, &size, &head_size, has_begun, deadline_ns)) return false;
  int version, status, used = 0;
  if (sscanf(head, "HTTP/1.%1d %3d%n", &version, &status, &used) != 2 || used != 12) {
    return admin_client_fail(link, "this is no voltgate: its answer is no HTTP");
  }
  const char *length = admin_client_field(head, "content-length:"),
             *connection = admin_client_field(head, "connection:");
  char *end = NULL;
  unsigned long long body = length != NULL ? strtoull(length, &end, 10) : 0;
  if (length == NULL || end == length || body > CLIENT_ANSWER_MAX) {
    return admin_client_fail(link, "this is no voltgate: its answer has no length");
  }
  link->status = status;
  if (!admin_client_read_body(link, head + head_size, size - head_size, (size_t)body,
                              deadline_ns)) {
    return false;
  }
  if (connection != NULL && strncasecmp(connection, "close", 5) == 0) {
    volt_fd_close(&link->fd);
    link->is_open = false;
  }
  return true;
}

/* ---- a question ---- */

bool admin_client_ask(struct client_link *link, const char *method, const char *path,
                      const char *body, uint64_t within_ns) {
  uint64_t deadline_ns = volt_now_ns() + within_ns;
  bool was_open = link->is_open, has_begun = false;
  if (!was_open && !admin_client_open_link(link, deadline_ns)) return false;
  bool is_answered = admin_client_send_question(link, method, path, body, deadline_ns) &&
                     admin_client_read_answer(link, &has_begun, deadline_ns);
  if (is_answered || !was_open || has_begun || volt_now_ns() >= deadline_ns) return is_answered;
  return admin_client_open_link(link, deadline_ns) &&
         admin_client_send_question(link, method, path, body, deadline_ns) &&
         admin_client_read_answer(link, &has_begun, deadline_ns);
}

void admin_client_encode(struct output *to, const char *name) {
  static const char digits[] = "0123456789ABCDEF";
  for (; *name != '\0'; name++) {
    unsigned char byte = (unsigned char)*name;
    bool is_plain = (byte >= 'a' && byte <= 'z') || (byte >= 'A' && byte <= 'Z') ||
                    (byte >= '0' && byte <= '9') || byte == '-' || byte == '_';
    if (is_plain) {
      output_bytes(to, name, 1);
    } else {
      output_bytes(to, (char[]){'%', digits[byte >> 4], digits[byte & 15]}, 3);
    }
  }
}

void admin_client_close(struct client_link *link) {
  if (link->is_open) volt_fd_close(&link->fd);
  link->is_open = false;
  output_free(&link->answer);
  volt_rt_destroy(link->rt);
  link->rt = NULL;
}

/* ---- an answer, as JSON ---- */

#if VOLTGATE_JANSSON
json_t *admin_client_json(const char *bytes, size_t size) {
  json_t *value = json_loadb(bytes, size, JSON_REJECT_DUPLICATES, NULL);
  if (json_is_object(value)) return value;
  json_decref(value);
  return NULL;
}

json_t *admin_client_json_at(const json_t *object, const char *path) {
  const json_t *at = object;
  while (at != NULL) {
    char name[64];
    size_t size = strcspn(path, ".");
    if (size >= sizeof name) return NULL;
    memcpy(name, path, size);
    name[size] = '\0';
    at = json_object_get(at, name);
    if (path[size] == '\0') break;
    path += size + 1;
  }
  return (json_t *)at;
}

double admin_client_json_number_at(const json_t *object, const char *path) {
  return json_number_value(admin_client_json_at(object, path));
}

const char *admin_client_json_text_at(const json_t *object, const char *path) {
  const char *text = json_string_value(admin_client_json_at(object, path));
  return text != NULL ? text : "";
}
#endif
