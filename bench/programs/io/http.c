/* http.c: an HTTP server loaded by wrk. wrk compares nothing: so one answer is compared here first,
 * and what wrk calls an error ends the run. */
#define _GNU_SOURCE
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "io.h"

enum { ANSWER_BYTES = 2 << 20, SAID_BYTES = 8192, PATH_BYTES = 512 };

/* Reads one answer of status 200; its body, which is as long as Content-Length says. */
size_t io_http_get(io_conn *c, const char *path, char **body) {
  static char answer[ANSWER_BYTES + 1];
  char request[PATH_BYTES];
  size_t have = 0, whole = 0, head = 0;
  int n = snprintf(request, sizeof request, "GET %s HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n", path);
  io_conn_write(c, request, (size_t)n);
  while (whole == 0 || have < whole) {
    size_t got = io_conn_read(c, answer + have, ANSWER_BYTES - have);
    if (got == 0) io_fail("GET %s: no whole answer", path);
    have += got;
    answer[have] = '\0';
    char *end = whole ? NULL : strstr(answer, "\r\n\r\n");
    if (!end) continue;
    char *length = strcasestr(answer, "\r\ncontent-length:");
    if (!length || length > end) io_fail("GET %s: no Content-Length", path);
    head = (size_t)(end + 4 - answer);
    whole = head + strtoul(length + 17, NULL, 10);
  }
  if (strncmp(answer, "HTTP/1.1 200", 12) != 0) io_fail("GET %s: %.40s", path, answer);
  if (have != whole) io_fail("GET %s: more than an answer", path);
  if (body) *body = answer + head;
  return whole - head;
}

/* BENCH_DIR has the files that the servers serve. */
static void compare(const io_options *o, const io_children *children) {
  static char file[ANSWER_BYTES];
  char name[PATH_BYTES], *body;
  const char *directory = getenv("BENCH_DIR");
  snprintf(name, sizeof name, "%s/www%s", directory ? directory : "", o->path);
  FILE *from = fopen(name, "r");
  if (!from) io_fail("there is no %s", name);
  size_t size = fread(file, 1, sizeof file, from);
  fclose(from);
  io_conn c = {.number = 0};
  if (!io_conn_open(&c, children->port, o->tls, 0)) io_fail("a connection is refused");
  if (io_http_get(&c, o->path, &body) != size || memcmp(file, body, size) != 0) {
    io_fail("wrong bytes have come back: GET %s", o->path);
  }
  io_conn_close(&c);
}

/* Runs wrk for so long: how many requests it has made, in how many seconds. */
static uint64_t load(const io_options *o, const io_children *children, unsigned seconds,
                     double *wall_seconds, double *client_ns) {
  char command[PATH_BYTES], said[SAID_BYTES];
  unsigned long long requests;
  snprintf(command, sizeof command, "exec wrk -t1 -c%u -d%us http%s://127.0.0.1:%u%s",
           (unsigned)o->tasks, seconds, o->tls ? "s" : "", (unsigned)children->port, o->path);
  io_child_read(command, said, sizeof said, client_ns);
  const char *line = strstr(said, " requests in ");
  while (line && line > said && line[-1] != '\n') line--;
  if (!line || sscanf(line, "%llu requests in %lfs", &requests, wall_seconds) != 2) {
    io_fail("not what wrk says: %s", said);
  }
  if (strstr(said, "Socket errors") || strstr(said, "Non-2xx") || requests == 0) {
    io_fail("errors: %s", said);
  }
  return requests;
}

void io_http(const io_options *o, const io_children *children, io_said *said) {
  double seconds, client_ns;
  unsigned whole = (o->operations + 999) / 1000;
  if (!o->path) io_fail("http: --path is missing");
  compare(o, children);
  load(o, children, 1, &seconds, &client_ns);
  io_clocks from = io_clocks_now(children);
  said->operations = load(o, children, whole, &seconds, &client_ns);
  io_clocks to = io_clocks_now(children);
  io_clocks_say(said, &from, &to);
  said->wall_ns = seconds * 1e9;
  said->client_idle = client_ns < said->wall_ns ? 1 - client_ns / said->wall_ns : 0;
}
