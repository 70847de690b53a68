/* sight_serve_stress.c: clients of volt_sight_serve() ask for everything while runtimes begin, run a
 * mixed load, and are destroyed; some ask for nonsense, some leave in the middle, and the server moves
 * now and then. What must hold: each answer is whole lines of JSON and comes to its end, or its
 * connection does; the books of each runtime balance. */
#define _GNU_SOURCE /* mkdtemp */
#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>
#include <volt/name.h>
#include <volt/sight.h>

#include "rt_load.h"
#include "sight/answer/json.h"
#include "sight/answer/sight_serve.h"

enum { CLIENTS = 3, PLACES = 2 };

static char directory[] = "/tmp/volt-stress.XXXXXX";
static char path[PLACES][64];

/* ---- a client ---- */

typedef struct client {
  int fd;
  uint64_t task; /* one that was seen */
  size_t have;
  char line[8192];
} client;

static bool connect_to(client *c, unsigned place) {
  struct sockaddr_un address = {.sun_family = AF_UNIX};
  memcpy(address.sun_path, path[place], sizeof path[place]);
  c->have = 0;
  c->fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  STRESS_CHECK(c->fd >= 0);
  if (connect(c->fd, (const void *)&address, sizeof address) == 0) return true;
  STRESS_CHECK(errno == ENOENT || errno == ECONNREFUSED || errno == EAGAIN);
  close(c->fd);
  return false;
}

/* Returns false: the connection has ended. */
static bool next_line(client *c, char **end) {
  while ((*end = memchr(c->line, '\n', c->have)) == NULL) {
    struct pollfd asked = {.fd = c->fd, .events = POLLIN};
    STRESS_CHECK(c->have < sizeof c->line);
    STRESS_CHECK(poll(&asked, 1, 60000) == 1);
    ssize_t n = recv(c->fd, c->line + c->have, sizeof c->line - c->have, 0);
    if (n <= 0) return false;
    c->have += (size_t)n;
  }
  return true;
}

/* Returns whether it is the last. */
static bool read_line(client *c, const char *at, size_t size) {
  volt_json_reader_ r = {.at = at, .end = at + size};
  volt_json_member_ m;
  char what[24] = "";
  unsigned members = 0;
  for (; volt_json_next_(&r, &m); members++) {
    if (volt_json_is_(&m, "a")) STRESS_CHECK(volt_json_text_of_(&m, what, sizeof what));
    if (volt_json_is_(&m, "task")) STRESS_CHECK(volt_json_address_of_(&m, &c->task));
  }
  STRESS_CHECK(!r.is_malformed && members > 1 && what[0]);
  return strcmp(what, "end") == 0 || strcmp(what, "error") == 0;
}

/* Returns false: the connection has ended. */
static bool read_answer(client *c, stress_worker *w) {
  bool is_last = false;
  while (!is_last) {
    char *end;
    if (!next_line(c, &end)) return false;
    is_last = read_line(c, c->line, (size_t)(end - c->line));
    c->have -= (size_t)(end + 1 - c->line);
    memmove(c->line, end + 1, c->have);
  }
  stress_count_entry();
  w->acquired += 1;
  return true;
}

static void write_request(client *c, stress_worker *w, char *to, size_t max) {
  static const char *const requests[] = {
      "{\"volt\":1,\"q\":\"hello\"}",
      "{\"volt\":1,\"q\":\"stats\"}",
      "{\"volt\":1,\"q\":\"workers\"}",
      "{\"volt\":1,\"q\":\"threads\"}",
      "{\"volt\":1,\"q\":\"tasks\",\"limit\":7}",
      "{\"volt\":1,\"q\":\"tasks\"}",
      "{\"volt\":1,\"q\":\"objects\"}",
      "{\"volt\":1,\"q\":\"dump\"}",
      "{\"volt\":1,\"q\":\"dump\",\"each\":true,\"stacks\":true}",
      "{\"volt\":1,\"q\":\"nothing\"}",
      "{\"volt\":1,"};
  enum { REQUESTS = sizeof requests / sizeof requests[0] };
  uint32_t which = stress_below(w, REQUESTS + 2);
  if (which < REQUESTS) {
    snprintf(to, max, "%s\n", requests[which]);
  } else {
    snprintf(to, max, "{\"volt\":1,\"q\":\"task\",\"task\":\"0x%llx\"}\n",
             (unsigned long long)c->task);
  }
}

/* One connection. */
static void ask_around(client *c, stress_worker *w) {
  char request[128];
  if (!connect_to(c, stress_below(w, PLACES))) return;
  for (unsigned i = 1 + stress_below(w, 8); i > 0 && !stress_stopping(); i--) {
    write_request(c, w, request, sizeof request);
    size_t size = strlen(request);
    if (stress_below(w, 16) == 0) size = stress_below(w, (uint32_t)size); /* and leaves */
    if (send(c->fd, request, size, MSG_NOSIGNAL) < 0) break;
    if (size == 0 || request[size - 1] != '\n' || !read_answer(c, w)) break;
    stress_progress(w, "asked");
  }
  close(c->fd);
}

/* ---- what is looked at ---- */

static void life(stress_worker *w) {
  rt_load load;
  rt_load_begin(&load, 2, 1 + stress_below(w, UINT32_MAX));
  STRESS_CHECK(volt_name(&load.sem, "permits") == VOLT_OK);
  for (unsigned i = stress_below(w, 60); i > 0; i--) {
    load_task *t = rt_load_new(&load, 3);
    STRESS_CHECK(rt_load_spawn(&load, NULL, t) == VOLT_OK);
    volt_task_detach(&t->task);
  }
  for (unsigned i = stress_below(w, 200); i > 0; i--) stress_dawdle(w);
  w->gave_up += rt_load_destroy(&load);
  rt_load_check(&load);
  volt_unname(&load.sem);
  stress_progress(w, "destroyed");
}

static void live(stress_worker *w) {
  while (!stress_stopping()) {
    life(w);
    if (stress_below(w, 8) > 0) continue;
    STRESS_CHECK(volt_sight_serve(path[stress_below(w, PLACES)]) == VOLT_OK);
  }
}

static void body(stress_worker *w, void *arg) {
  (void)arg;
  if (w->index == 0) {
    live(w);
    return;
  }
  client c = {.fd = -1};
  while (!stress_stopping()) ask_around(&c, w);
}

int main(void) {
  STRESS_CHECK(mkdtemp(directory) != NULL);
  for (unsigned i = 0; i < PLACES; i++) snprintf(path[i], sizeof path[i], "%s/%u", directory, i);
  stress_begin("volt-top's server", NULL, NULL);
  STRESS_CHECK(volt_sight_serve(path[0]) == VOLT_OK);
  while (stress_time_left()) stress_round(1 + CLIENTS, 300000000, body, NULL);
  volt_sight_disable();
  STRESS_CHECK(rmdir(directory) == 0); /* no socket is left */
  return stress_end();
}
