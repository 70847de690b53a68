/* ask.c: facts from a process that answers: each line of docs/sight-protocol.md is read here. */
#define _POSIX_C_SOURCE 200809L
#include "ask.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

/* ---- members ---- */

/* The member of a line. Returns false: it is not there. */
static bool find(volt_json_reader_ r, const char *key, volt_json_member_ *m) {
  while (volt_json_next_(&r, m)) {
    if (volt_json_is_(m, key)) return true;
  }
  return false;
}

static uint64_t number(volt_json_reader_ r, const char *key) {
  volt_json_member_ m;
  uint64_t value = 0;
  if (find(r, key, &m) && !volt_json_number_of_(&m, &value))
    (void)volt_json_address_of_(&m, &value);
  return value;
}

static bool is_true(volt_json_reader_ r, const char *key) {
  volt_json_member_ m;
  bool value = false;
  return find(r, key, &m) && volt_json_condition_of_(&m, &value) && value;
}

static bool is_there(volt_json_reader_ r, const char *key) {
  volt_json_member_ m;
  return find(r, key, &m);
}

static void text(volt_json_reader_ r, const char *key, char *to, size_t max) {
  volt_json_member_ m;
  to[0] = '\0';
  if (find(r, key, &m)) (void)volt_json_text_of_(&m, to, max);
}

#define TEXT(r, key, to) text((r), (key), (to), sizeof(to))

static void read_wait(volt_json_reader_ r, fact_wait *w) {
  TEXT(r, "operation", w->operation);
  TEXT(r, "kind", w->kind);
  TEXT(r, "name", w->name);
  w->object = number(r, "object");
  w->is_granted = is_true(r, "granted");
}

/* ---- lines ---- */

static void read_hello(facts *f, volt_json_reader_ r) {
  TEXT(r, "program", f->program);
  TEXT(r, "library", f->library);
  f->pid = number(r, "pid");
  f->knows_holders = is_true(r, "owners");
}

static void read_runtime(facts *f, volt_json_reader_ r) {
  if (f->runtimes == FACTS_RUNTIMES) return;
  fact_runtime *to = &f->runtime[f->runtimes++];
  TEXT(r, "name", to->name);
  to->rt = number(r, "rt");
  to->workers = number(r, "workers");
  to->parked = number(r, "parked");
  to->live = number(r, "live");
  to->spawned = number(r, "spawned");
  to->injected = number(r, "injected");
  to->blocking_threads = number(r, "blocking_threads");
  to->blocking_queued = number(r, "blocking_queued");
  to->fibers = number(r, "fibers");
}

static void read_worker(facts *f, volt_json_reader_ r) {
  if (f->workers == FACTS_WORKERS) return;
  fact_worker *to = &f->worker[f->workers++];
  to->rt = number(r, "rt");
  to->worker = number(r, "worker");
  to->tid = number(r, "tid");
  to->task = number(r, "task");
  to->looked_ns = number(r, "looked_ns");
  to->queued = number(r, "queued");
  to->homed = number(r, "homed");
  to->polls = number(r, "polls");
  to->steals = number(r, "steals");
  to->parks = number(r, "parks");
  to->woken = number(r, "woken");
  to->moved = number(r, "moved");
  to->is_parked = is_true(r, "parked");
  TEXT(r, "instance", to->instance);
}

static void read_task(facts *f, volt_json_reader_ r) {
  if (f->tasks == FACTS_TASKS) return;
  fact_task *to = &f->task[f->tasks++];
  to->is_torn = false;
  to->rt = number(r, "rt");
  to->task = number(r, "task");
  to->age_ns = number(r, "age_ns");
  to->polls = number(r, "polls");
  to->worker = number(r, "worker");
  to->poll = number(r, "poll");
  to->has_registrations = is_there(r, "registrations");
  to->registrations = number(r, "registrations");
  to->is_fiber = is_true(r, "fiber");
  to->is_cancelled = is_true(r, "cancelled");
  TEXT(r, "how", to->how);
  TEXT(r, is_there(r, "fiber_name") ? "fiber_name" : "function", to->function);
  TEXT(r, "file", to->file);
  to->line = number(r, "line");
  if (!to->function[0]) TEXT(r, "code", to->function);
  if (!to->function[0]) { /* of a version that does not say it */
    uint64_t code = to->is_fiber ? number(r, "fiber_fn") : to->poll;
    snprintf(to->function, sizeof to->function, "0x%" PRIx64, code);
  }
  read_wait(r, &to->wait);
}

static void read_stop(facts *f, volt_json_reader_ r) {
  if (f->stops == FACTS_STOPS) return;
  fact_stop *to = &f->stop[f->stops++];
  to->depth = number(r, "depth");
  TEXT(r, "function", to->function);
  TEXT(r, "file", to->file);
  to->line = number(r, "line");
  TEXT(r, "state", to->state);
  TEXT(r, "owner", to->holder);
  to->wanted = number(r, "wanted");
  to->waiters = number(r, "waiters");
  to->place = number(r, "place");
  to->has_left = is_there(r, "left_ns");
  to->left_ns = number(r, "left_ns");
  to->is_ready = is_true(r, "ready");
  to->for_write = is_true(r, "write");
  to->calls = is_true(r, "calls");
  read_wait(r, &to->wait);
}

static void read_thread(facts *f, volt_json_reader_ r) {
  if (f->threads == FACTS_THREADS) return;
  fact_thread *to = &f->thread[f->threads++];
  to->tid = number(r, "tid");
  to->age_ns = number(r, "age_ns");
  TEXT(r, "thread", to->thread);
  TEXT(r, "call", to->call);
  TEXT(r, "owner", to->holder);
  read_wait(r, &to->wait);
}

static void read_object(facts *f, volt_json_reader_ r) {
  if (f->objects == FACTS_OBJECTS) {
    f->left_out++;
    return;
  }
  fact_object *to = &f->object[f->objects++];
  to->object = number(r, "object");
  to->tasks = number(r, "tasks");
  to->threads = number(r, "threads");
  to->oldest_ns = number(r, "oldest_ns");
  TEXT(r, "name", to->name);
  TEXT(r, "kind", to->kind);
  TEXT(r, "state", to->state);
  TEXT(r, "owner", to->holder);
  to->waits = (fact_times){number(r, "waits") > 0, number(r, "waits"), number(r, "waits_p50_ns"),
                           number(r, "waits_p99_ns"), number(r, "waits_longest_ns")};
  to->holds = (fact_times){number(r, "holds") > 0, number(r, "holds"), number(r, "holds_p50_ns"),
                           number(r, "holds_p99_ns"), number(r, "holds_longest_ns")};
}

static void read_text(facts *f, volt_json_reader_ r) {
  char piece[VOLT_JSON_TEXT_ + 1];
  TEXT(r, "text", piece);
  size_t size = strlen(piece);
  if (f->text_size + size >= sizeof f->text) return;
  memcpy(f->text + f->text_size, piece, size + 1);
  f->text_size += size;
}

static void read_line(void *ctx, const char *what, volt_json_reader_ r) {
  static const struct {
    const char *what;
    void (*read)(facts *f, volt_json_reader_ r);
  } table[] = {{"hello", read_hello},   {"runtime", read_runtime}, {"worker", read_worker},
               {"task", read_task},     {"stop", read_stop},       {"thread", read_thread},
               {"object", read_object}, {"text", read_text}};
  for (size_t i = 0; i < sizeof table / sizeof table[0]; i++) {
    if (strcmp(table[i].what, what) == 0) table[i].read((facts *)ctx, r); /* else it is new */
  }
}

/* ---- requests ---- */

static bool ask(facts *f, wire *w, const char *q) {
  char request[64];
  snprintf(request, sizeof request, "{\"volt\":1,\"q\":\"%s\"}", q);
  return wire_ask(w, request, read_line, f, NULL);
}

static bool ask_tasks(facts *f, wire *w, unsigned tasks, uint64_t older_ms, uint64_t object) {
  char request[256], wanted[40] = "", more[64];
  if (object != 0) snprintf(wanted, sizeof wanted, ",\"object\":\"0x%" PRIx64 "\"", object);
  snprintf(request, sizeof request,
           "{\"volt\":1,\"q\":\"tasks\",\"limit\":%u,\"older_ms\":%" PRIu64 "%s}",
           tasks < 1 ? 1 : tasks, older_ms, wanted);
  bool is_whole = wire_ask(w, request, read_line, f, more);
  if (is_whole && more[0]) f->is_partial = true;
  return is_whole;
}

static bool ask_objects(facts *f, wire *w) {
  char request[128], more[64] = "";
  do {
    char cursor[80] = "";
    if (more[0]) snprintf(cursor, sizeof cursor, ",\"cursor\":\"%s\"", more);
    snprintf(request, sizeof request, "{\"volt\":1,\"q\":\"objects\"%s}", cursor);
    if (!wire_ask(w, request, read_line, f, more)) return false;
  } while (more[0] && f->objects < FACTS_OBJECTS);
  return true;
}

static void begin(facts *f) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  f->at_ns = (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
  f->runtimes = f->workers = f->tasks = f->objects = f->threads = f->stops = 0;
  f->left_out = 0;
  f->is_partial = f->is_cold = false;
}

bool ask_all(facts *f, wire *w, unsigned what, unsigned tasks, uint64_t older_ms, uint64_t object) {
  begin(f);
  if (!ask(f, w, "hello") || !ask(f, w, "stats") || !ask(f, w, "workers")) return false;
  if ((what & ASK_TASKS) && !ask_tasks(f, w, tasks, older_ms, object)) return false;
  if ((what & ASK_OBJECTS) && !ask_objects(f, w)) return false;
  if (!(what & ASK_THREADS) || ask(f, w, "threads")) return true;
  return w->fd >= 0; /* a version that does not know them */
}

bool ask_task(facts *f, wire *w, uint64_t task) {
  char request[80];
  begin(f);
  snprintf(request, sizeof request, "{\"volt\":1,\"q\":\"task\",\"task\":\"0x%" PRIx64 "\"}", task);
  return ask(f, w, "hello") && wire_ask(w, request, read_line, f, NULL);
}

bool ask_text(facts *f, wire *w, const char *q) {
  begin(f);
  f->text_size = 0;
  f->text[0] = '\0';
  return ask(f, w, "hello") && ask(f, w, q);
}
