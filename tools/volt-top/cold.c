/* cold.c: facts from the memory of a process.
 *
 * The library has a struct of numbers: where the list of runtimes begins, and at which offsets their
 * parts are (numbers.h). From there on lists are followed.
 *
 * The process runs meanwhile, so nothing holds still. Each link of a list must lead back to the one
 * before; if one does not, the list is begun anew, three times at most. A task is read twice, before
 * and after what it awaits; if it has changed, it is shown as torn. All loops are bounded, because what
 * is read may be anything. */
#define _POSIX_C_SOURCE 200809L
#include "cold.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "numbers.h"
#include "page.h"

enum {
  TRIES = 3,
  WORKERS_MAX = 64,
  DEPTH_MAX = 16,
  TASKS_MAX = 50000000,
  NAMES_MAX = 1 << 20,
  THREADS_MAX = 100000,
  STAMP_BITS = 20
};

/* An object that has a name. */
typedef struct named {
  uint64_t object, name;
} named;

/* A task, before it is looked at in detail. */
typedef struct found_task {
  uint64_t task, rt, age_ns;
} found_task;

typedef struct cold {
  numbers n;
  facts *f;
  uint64_t now_ns; /* by the clock of the runtime */
  uint64_t older_ns;
  found_task *task;
  size_t tasks, room;
  uint64_t fibers; /* of a runtime */
  named *names;    /* by address */
  size_t name_count;
} cold;

static uint64_t value_of(cold *c, const char *name) {
  return numbers_of(&c->n, name);
}

static uint64_t word(cold *c, uint64_t at, const char *name) {
  return numbers_word(&c->n, at, name);
}

static uint32_t half(cold *c, uint64_t at, const char *name) {
  return numbers_half(&c->n, at, name);
}

static void text(cold *c, uint64_t at, char *to, size_t max) {
  remote_text(&c->n.r, at, to, max);
}

/* The first line of a file; "" if there is none. */
static void read_line(const char *path, char *to, size_t max) {
  FILE *file = fopen(path, "re");
  to[0] = '\0';
  if (file && fgets(to, (int)max, file)) to[strcspn(to, "\n")] = '\0';
  if (file) fclose(file);
}

/* ---- names ---- */

static int compare_named(const void *a, const void *b) {
  const named *first = a, *second = b;
  return (first->object > second->object) - (first->object < second->object);
}

/* Without them objects are shown by their addresses. */
static void read_names(cold *c) {
  size_t slots = (size_t)value_of(c, "name slots"), size = (size_t)value_of(c, "sizeof name");
  if (c->n.names == 0 || slots > NAMES_MAX || size > 256 || size < 16) return;
  char *table = malloc(slots * size);
  c->names = malloc(slots * sizeof *c->names);
  bool is_read = table && c->names && remote_read(&c->n.r, c->n.names, table, slots * size);
  size_t object = (size_t)value_of(c, "name.object"), name = (size_t)value_of(c, "name.name");
  for (size_t i = 0; is_read && i < slots && object + 8 <= size && name + 8 <= size; i++) {
    named *to = &c->names[c->name_count];
    memcpy(&to->object, table + i * size + object, 8);
    memcpy(&to->name, table + i * size + name, 8);
    if (to->object > 1) c->name_count++; /* 0: free; 1: taken */
  }
  free(table);
  if (c->name_count > 0) qsort(c->names, c->name_count, sizeof *c->names, compare_named);
}

static void read_name(cold *c, uint64_t object, char *to, size_t max) {
  named wanted = {.object = object};
  const named *found = NULL;
  if (object != 0 && c->name_count > 0) {
    found = bsearch(&wanted, c->names, c->name_count, sizeof wanted, compare_named);
  }
  to[0] = '\0';
  if (found) text(c, found->name, to, max);
}

/* ---- what a task awaits ---- */

typedef struct site {
  char function[FACTS_TEXT], file[FACTS_TEXT];
} site;

static site site_of(cold *c, uint64_t poll, uint64_t frame) {
  site s = {"", ""};
  int32_t offset = (int32_t)half(c, frame, "frame.site");
  uint64_t at = offset != 0 ? poll + (uint64_t)(int64_t)offset : 0;
  if (at == 0) return s;
  text(c, word(c, at, "site.function"), s.function, sizeof s.function);
  text(c, word(c, at, "site.file"), s.file, sizeof s.file);
  return s;
}

static uint64_t line_of(cold *c, uint64_t frame) {
  uint32_t step = half(c, frame, "frame.step");
  return step < 0x7f000000 ? step : 0; /* what is above is no line */
}

/* The future within that one, if it is a timeout or an async function; or 0. */
static uint64_t inner_of(cold *c, uint64_t future, const char *operation) {
  if (strcmp(operation, "volt_timeout") == 0) {
    return word(c, future - value_of(c, "timeout.future"), "timeout.inner");
  }
  if (strcmp(operation, "volt_async") == 0) {
    uint64_t async = future - value_of(c, "async.future");
    return word(c, async + value_of(c, "async.frame"), "frame.awaiting");
  }
  return 0;
}

static void read_kind(const cold *c, uint32_t kind, fact_wait *w) {
  snprintf(w->kind, sizeof w->kind, "%.19s", numbers_kind(&c->n, kind));
}

/* A fiber that waits in a blocking call does so by a future of the library's own: the call says for what. */
static void read_call(cold *c, uint64_t call, fact_wait *w) {
  text(c, word(c, call, "call.name"), w->operation, sizeof w->operation);
  read_kind(c, half(c, call, "call.kind"), w);
  w->object = word(c, call, "call.object");
}

static void read_wait(cold *c, uint64_t future, fact_wait *w) {
  for (unsigned depth = 0; future != 0 && depth < DEPTH_MAX; depth++) {
    uint64_t ops = word(c, future, "future.ops");
    text(c, word(c, ops, "ops.operation"), w->operation, sizeof w->operation);
    read_kind(c, half(c, ops, "ops.kind"), w);
    w->object = word(c, future, "future.object");
    if (strcmp(w->operation, "volt_park_until") == 0) {
      read_call(c, word(c, future, "fiber_futex.call"), w);
      break;
    }
    future = inner_of(c, future, w->operation);
  }
  if (!w->kind[0]) w->object = 0; /* of a composed future it is something else */
  read_name(c, w->object, w->name, sizeof w->name);
}

static void read_function(cold *c, uint64_t task, fact_task *to) {
  to->poll = word(c, task, "task.poll");
  to->is_fiber = to->poll == c->n.fiber_poll;
  site s = site_of(c, to->poll, task + value_of(c, "task.frame"));
  memcpy(to->function, s.function, sizeof to->function);
  memcpy(to->file, s.file, sizeof to->file);
  uint64_t code = to->poll;
  if (to->is_fiber) {
    text(c, word(c, task, "fiber.name"), to->function, sizeof to->function);
    code = word(c, task, "fiber.fn");
  }
  if (!to->function[0]) remote_code(&c->n.r, code, to->function, sizeof to->function);
}

static bool runs(cold *c, uint64_t task, uint64_t *worker) {
  for (unsigned i = 0; i < c->f->workers; i++) {
    *worker = c->f->worker[i].worker;
    if (c->f->worker[i].task == task) return true;
  }
  return false;
}

static const char *how_of(cold *c, const fact_task *t, uint64_t state, uint64_t *worker) {
  if (state & value_of(c, "task is complete")) return "ends";
  if (!(state & value_of(c, "task is active"))) return "waits";
  return runs(c, t->task, worker) ? "runs" : "queued";
}

static void read_task(cold *c, const found_task *found) {
  if (c->f->tasks == FACTS_TASKS) return;
  fact_task *to = &c->f->task[c->f->tasks++];
  *to = (fact_task){.task = found->task, .rt = found->rt, .age_ns = found->age_ns};
  uint64_t frame = found->task + value_of(c, "task.frame");
  uint64_t state = word(c, found->task, "task.state");
  uint64_t awaiting = word(c, frame, "frame.awaiting");
  to->polls = half(c, found->task, "task.polls");
  to->is_cancelled = (state & value_of(c, "task is asked")) != 0;
  snprintf(to->how, sizeof to->how, "%s", how_of(c, to, state, &to->worker));
  to->has_registrations = strcmp(to->how, "waits") == 0;
  uint64_t one = value_of(c, "task registration");
  to->registrations = one > 0 ? state / one : 0;
  to->line = line_of(c, frame);
  read_function(c, found->task, to);
  if (to->has_registrations) read_wait(c, awaiting, &to->wait);
  to->is_torn = word(c, found->task, "task.state") != state ||
                half(c, found->task, "task.polls") != to->polls ||
                word(c, frame, "frame.awaiting") != awaiting;
}

/* ---- lists of tasks ---- */

static bool add_task(cold *c, uint64_t task, uint64_t rt) {
  if (c->tasks == c->room) {
    size_t room = c->room > 0 ? c->room * 2 : 4096;
    found_task *more = realloc(c->task, room * sizeof *more);
    if (!more) return false;
    c->task = more;
    c->room = room;
  }
  uint32_t waited = (uint32_t)(c->now_ns >> STAMP_BITS) - half(c, task, "task.since");
  bool is_new = half(c, task, "task.polls") == 0;
  uint64_t age_ns = is_new ? 0 : (uint64_t)waited << STAMP_BITS;
  if (age_ns > c->now_ns) age_ns = 0; /* polled since this look began */
  if (age_ns >= c->older_ns) c->task[c->tasks++] = (found_task){task, rt, age_ns};
  return true;
}

/* A fiber that has begun and not ended. */
static bool is_fiber(cold *c, uint64_t task) {
  if (word(c, task, "task.poll") != c->n.fiber_poll) return false;
  uint32_t stage = half(c, task, "fiber.stage");
  return stage != value_of(c, "stage new") && stage != value_of(c, "stage ended");
}

/* Returns false: a link has moved. */
static bool try_list(cold *c, uint64_t head, uint64_t rt) {
  uint64_t next = value_of(c, "link.next"), prev = value_of(c, "link.prev");
  uint64_t before = head, at = remote_u64(&c->n.r, head + next);
  for (size_t steps = 0; at != head; steps++) {
    if (at == 0 || steps == TASKS_MAX || remote_u64(&c->n.r, at + prev) != before) return false;
    uint64_t task = at - value_of(c, "task.entry");
    bool is_task = word(c, task, "task.poll") != 0; /* else it is an inspector's place */
    if (is_task && word(c, task, "task.rt") != rt) return false;
    if (is_task && !add_task(c, task, rt)) return false;
    if (is_task) c->fibers += is_fiber(c, task);
    before = at;
    at = remote_u64(&c->n.r, at + next);
  }
  return true;
}

/* What was found at the last try stays. */
static void read_list(cold *c, uint64_t head, uint64_t rt) {
  size_t before = c->tasks;
  uint64_t fibers = c->fibers;
  for (unsigned i = 0; i < TRIES; i++) {
    c->tasks = before;
    c->fibers = fibers;
    if (try_list(c, head, rt)) return;
  }
  c->f->is_partial = true;
}

/* ---- runtimes ---- */

static void read_worker(cold *c, uint64_t rt, uint64_t index) {
  if (c->f->workers == FACTS_WORKERS) return;
  fact_worker *to = &c->f->worker[c->f->workers++];
  uint64_t at = rt + value_of(c, "rt.worker") + index * value_of(c, "sizeof worker");
  *to = (fact_worker){.rt = rt, .worker = index};
  to->task = word(c, at, "worker.running");
  to->polls = word(c, at, "worker.polls");
  to->parks = word(c, at, "worker.parks");
  to->woken = word(c, at, "worker.woken");
  to->moved = word(c, at, "worker.moved");
  to->tid = half(c, at, "worker.tid");
  uint64_t looked_ns = word(c, at, "worker.looked_ns");
  to->looked_ns = looked_ns < c->f->at_ns ? c->f->at_ns - looked_ns : 0;
  to->is_parked = word(c, rt, "rt.idle") >> index & 1;
  to->queued = half(c, at, "worker.ring.tail") - half(c, at, "worker.ring.head");
  if (to->queued > value_of(c, "worker ring")) to->queued = 0; /* read while it moved */
}

static void read_runtime(cold *c, uint64_t rt) {
  fact_runtime *to = &c->f->runtime[c->f->runtimes++];
  uint64_t workers = half(c, rt, "rt.workers");
  uint64_t timers = rt + value_of(c, "rt.timers");
  bool is_virtual = half(c, timers, "timers.is_virtual") & 0xff;
  *to = (fact_runtime){.rt = rt, .workers = workers};
  c->now_ns = is_virtual ? word(c, timers, "timers.virtual_ns") : c->f->at_ns;
  text(c, rt + value_of(c, "rt.thread_prefix"), to->name, 16);
  to->blocking_threads = half(c, rt, "rt.blocking.threads");
  to->blocking_queued = word(c, rt, "rt.blocking.queued");
  uint64_t registry = word(c, rt, "rt.registry");
  c->fibers = 0;
  for (uint64_t i = 0; i < workers && i < WORKERS_MAX; i++) {
    read_worker(c, rt, i);
    to->parked += c->f->worker[c->f->workers - 1].is_parked;
  }
  for (uint64_t i = 0; i <= workers && i < WORKERS_MAX && registry != 0; i++) {
    uint64_t at = registry + i * value_of(c, "sizeof registry");
    to->live += word(c, at, "registry.count");
    read_list(c, at + value_of(c, "registry.running"), rt);
    read_list(c, at + value_of(c, "registry.cancelled"), rt);
  }
  to->fibers = c->fibers;
}

/* ---- threads that block ---- */

/* As the system has it. */
static void read_thread_name(cold *c, fact_thread *t) {
  char path[64];
  snprintf(path, sizeof path, "/proc/%jd/task/%ju/comm", (intmax_t)c->n.r.process,
           (uintmax_t)t->tid);
  read_line(path, t->thread, sizeof t->thread);
}

/* Its wait is odd while it sleeps; the same before and after: it has slept all the time. */
static void read_thread(cold *c, uint64_t slot) {
  uint32_t wait = half(c, slot, "slot.wait");
  if (wait % 2 == 0 || c->f->threads == FACTS_THREADS) return;
  fact_thread *to = &c->f->thread[c->f->threads];
  *to = (fact_thread){.tid = half(c, slot, "slot.tid")};
  uint64_t at = slot + value_of(c, "slot.words");
  uint64_t since_ns = word(c, at, "sleeper.since_ns");
  to->age_ns = since_ns < c->f->at_ns ? c->f->at_ns - since_ns : 0;
  to->wait.object = word(c, at, "sleeper.object");
  text(c, word(c, at, "sleeper.call"), to->call, sizeof to->call);
  read_thread_name(c, to);
  text(c, word(c, at, "sleeper.operation"), to->wait.operation, sizeof to->wait.operation);
  read_kind(c, half(c, at, "sleeper.kind"), &to->wait);
  read_name(c, to->wait.object, to->wait.name, sizeof to->wait.name);
  if (half(c, slot, "slot.wait") == wait) c->f->threads++;
}

/* ---- holders, in builds with VOLT_SIGHT=1 ---- */

/* The thread with that number, as the system calls it; 0: not known. */
static uint64_t thread_of(cold *c, uint64_t which) {
  uint64_t slot = word(c, c->n.sleepers, "sleeper.head");
  for (size_t i = 0; slot != 0 && i < THREADS_MAX; i++) {
    if (half(c, slot, "slot.number") == which) return half(c, slot, "slot.tid");
    slot = word(c, slot, "slot.next");
  }
  return 0;
}

/* As a dump says it. */
static void put_holder(cold *c, uint64_t holder, uint64_t who, page *p) {
  char file[FACTS_TEXT];
  uint64_t kind = who & 3, since = half(c, holder, "holder.since");
  if (kind == value_of(c, "who is a thread")) {
    page_put(p, "held by thread %" PRIu64, thread_of(c, who >> 2));
  } else {
    bool is_task = kind == value_of(c, "who is a task");
    page_put(p, "%s0x%" PRIx64, is_task ? "held by task " : "granted, and not polled since, to ",
             who & ~UINT64_C(3));
  }
  uint32_t held = (uint32_t)(c->f->at_ns >> STAMP_BITS) - (uint32_t)since;
  if (held >> 31) held = 0; /* since this look began */
  if (since != 0) page_put(p, " for %s", page_duration((uint64_t)held << STAMP_BITS).text);
  text(c, word(c, holder, "holder.file"), file, sizeof file);
  const char *slash = strrchr(file, '/');
  if (!file[0]) return;
  page_put(p, " (%s:%u)", slash ? slash + 1 : file, (unsigned)half(c, holder, "holder.line"));
}

static void read_holder(cold *c, fact_object *o) {
  bool is_mutex = strcmp(o->kind, "mutex") == 0;
  if (!c->f->knows_holders || (!is_mutex && strcmp(o->kind, "rwlock") != 0)) return;
  uint64_t holder = o->object + value_of(c, is_mutex ? "mutex.holder" : "rwlock.holder");
  uint64_t who = word(c, holder, "holder.who");
  page p = {.at = o->holder, .max = sizeof o->holder - 1}; /* a 0 stays */
  if (who != 0) put_holder(c, holder, who, &p);
}

static void read_threads(cold *c) {
  uint64_t slot = word(c, c->n.sleepers, "sleeper.head");
  for (size_t i = 0; slot != 0 && i < THREADS_MAX; i++) {
    read_thread(c, slot);
    slot = word(c, slot, "slot.next");
  }
}

/* ---- together ---- */

static int compare_tasks(const void *a, const void *b) {
  const found_task *first = a, *second = b;
  if (first->age_ns != second->age_ns) return first->age_ns > second->age_ns ? -1 : 1;
  return (first->task > second->task) - (first->task < second->task);
}

static fact_object *object_at(facts *f, const fact_wait *w) {
  for (unsigned i = 0; i < f->objects; i++) {
    if (f->object[i].object == w->object) return &f->object[i];
  }
  if (f->objects == FACTS_OBJECTS) return NULL;
  fact_object *o = &f->object[f->objects++];
  *o = (fact_object){.object = w->object};
  memcpy(o->kind, w->kind, sizeof o->kind);
  memcpy(o->name, w->name, sizeof o->name);
  return o;
}

/* What the tasks and threads that are shown wait for. */
static void gather_objects(facts *f) {
  for (unsigned i = 0; i < f->tasks; i++) {
    const fact_task *t = &f->task[i];
    if (t->wait.object == 0 || t->is_torn) continue;
    fact_object *o = object_at(f, &t->wait);
    if (!o) continue;
    o->tasks++;
    if (t->age_ns > o->oldest_ns) o->oldest_ns = t->age_ns;
  }
  for (unsigned i = 0; i < f->threads; i++) {
    const fact_thread *t = &f->thread[i];
    fact_object *o = t->wait.object != 0 ? object_at(f, &t->wait) : NULL;
    if (!o) continue;
    o->threads++;
    if (t->age_ns > o->oldest_ns) o->oldest_ns = t->age_ns;
  }
}

static void read_all(cold *c, unsigned tasks) {
  facts *f = c->f;
  uint64_t rt = c->n.first;
  f->knows_holders = numbers_have(&c->n, "holder.who");
  read_names(c);
  while (rt != 0 && f->runtimes < FACTS_RUNTIMES) {
    read_runtime(c, rt);
    rt = word(c, rt, "rt.next");
  }
  if (c->tasks > 0) qsort(c->task, c->tasks, sizeof *c->task, compare_tasks);
  for (size_t i = 0; i < c->tasks && i < tasks; i++) read_task(c, &c->task[i]);
  if (c->tasks > f->tasks) f->is_partial = true;
  read_threads(c);
  gather_objects(f);
  for (unsigned i = 0; i < f->objects; i++) read_holder(c, &f->object[i]);
}

static void begin(facts *f, pid_t process) {
  struct timespec now;
  char path[32];
  clock_gettime(CLOCK_MONOTONIC, &now);
  memset(f, 0, sizeof *f);
  f->pid = (uint64_t)process;
  f->is_cold = true;
  f->at_ns = (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
  snprintf(path, sizeof path, "/proc/%jd/comm", (intmax_t)process);
  read_line(path, f->program, sizeof f->program);
}

bool cold_read(facts *f, pid_t process, unsigned tasks, uint64_t older_ms, char *why, size_t max) {
  cold c = {.f = f, .older_ns = older_ms * 1000000};
  begin(f, process);
  bool is_there = remote_open(&c.n.r, process) && numbers_find(&c.n);
  if (is_there) read_all(&c, tasks);
  if (c.n.missing) {
    snprintf(c.n.r.why, sizeof c.n.r.why, "the volt of process %jd is of another version: no %s",
             (intmax_t)process, c.n.missing);
    is_there = false;
  }
  snprintf(why, max, "%s", c.n.r.why);
  numbers_free(&c.n);
  free(c.task);
  free(c.names);
  remote_close(&c.n.r);
  return is_there;
}
