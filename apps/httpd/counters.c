/* counters.c: what a server has done so far. */
#include "counters.h"

unsigned counters_line(void) {
  static atomic_uint threads;
  static _Thread_local unsigned line = COUNTER_LINES;
  if (line == COUNTER_LINES) {
    unsigned number = atomic_fetch_add_explicit(&threads, 1, memory_order_relaxed);
    line = number < COUNTER_LINES ? number : COUNTER_LINES - 1;
  }
  return line;
}

uint64_t counters_sum(const struct counters *c, enum counter which) {
  uint64_t sum = 0;
  for (unsigned i = 0; i < COUNTER_LINES; i++) {
    sum += atomic_load_explicit(&c->lines[i].values[which], memory_order_relaxed);
  }
  return sum;
}

uint64_t counters_requests(const struct counters *c) {
  uint64_t sum = 0;
  for (int which = COUNT_2XX; which <= COUNT_5XX; which++) {
    sum += counters_sum(c, (enum counter)which);
  }
  return sum;
}

static void put_member(struct writer *to, const char *name, uint64_t value) {
  PUT(to, ",\n  \"");
  put_string(to, name);
  PUT(to, "\": ");
  put_number(to, value);
}

void counters_write(struct writer *to, const struct counters *c, const struct about *about) {
  static const struct {
    enum counter which;
    const char *name;
  } members[] = {{COUNT_ACCEPTED, "accepted"},          {COUNT_2XX, "responses_2xx"},
                 {COUNT_3XX, "responses_3xx"},          {COUNT_4XX, "responses_4xx"},
                 {COUNT_5XX, "responses_5xx"},          {COUNT_BYTES, "content_bytes"},
                 {COUNT_TIMEOUTS, "timeouts"},          {COUNT_FAILURES, "broken_off"},
                 {COUNT_TRUNCATED, "truncated"},        {COUNT_CACHED, "files_cached"},
                 {COUNT_OPENED, "files_opened"},        {COUNT_ACCEPT_ERRORS, "accept_errors"},
                 {COUNT_HANDSHAKES, "handshakes"},      {COUNT_RELOADS, "reloads"},
                 {COUNT_RELOAD_ERRORS, "reload_errors"}};
  /* Closed first: a connection that is accepted meanwhile makes the difference larger, not below
   * 0. */
  uint64_t closed = counters_sum(c, COUNT_CLOSED), accepted = counters_sum(c, COUNT_ACCEPTED);
  PUT(to, "{\n  \"server\": \"volt\",\n  \"io\": \"");
  put_string(to, about->io);
  PUT(to, "\",\n  \"state\": \"");
  put_string(to, about->is_stopping ? "stopping" : "running");
  PUT(to, "\"");
  put_member(to, "uptime_s", about->uptime_s);
  put_member(to, "workers", about->workers);
  put_member(to, "connections", accepted > closed ? accepted - closed : 0);
  put_member(to, "connections_max", about->connections_max);
  put_member(to, "requests", counters_requests(c));
  for (size_t i = 0; i < sizeof members / sizeof *members; i++) {
    put_member(to, members[i].name, counters_sum(c, members[i].which));
  }
  PUT(to, "\n}\n");
}
