/* view.c: facts as text. */
#include "view.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define INVERSE "\x1b[7m"
#define BOLD "\x1b[1m"

/* ---- what rows have in common ---- */

static const fact_task *task_at(const facts *f, uint64_t task) {
  for (unsigned i = 0; i < f->tasks; i++) {
    if (f->task[i].task == task) return &f->task[i];
  }
  return NULL;
}

static const char *runtime_name(const facts *f, uint64_t rt) {
  for (unsigned i = 0; i < f->runtimes; i++) {
    if (f->runtime[i].rt == rt) return f->runtime[i].name;
  }
  return "?";
}

/* The part of a path behind the last slash. */
static const char *base_of(const char *path) {
  const char *slash = strrchr(path, '/');
  return slash ? slash + 1 : path;
}

static page_text colon(uint64_t line) {
  page_text t = {""};
  if (line > 0) snprintf(t.text, sizeof t.text, ":%u", (unsigned)line);
  return t;
}

static void put_site(page *p, const char *file, uint64_t line) {
  if (!file[0]) return;
  page_put(p, "%s%s", base_of(file), colon(line).text);
}

static void put_wait(page *p, const fact_wait *w) {
  if (!w->operation[0]) return;
  page_put(p, "%s", w->operation);
  if (w->name[0]) {
    page_put(p, " of '%s'", w->name);
  } else if (w->object != 0) {
    page_put(p, " of %s 0x%" PRIx64, w->kind, w->object);
  }
  if (w->is_granted) page_put(p, ", granted and not polled");
}

/* ---- rows ---- */

static void put_task_head(page *p) {
  page_put(p, "%8s  %-7s %-24s %-22s %6s  %s", "AGE", "STATE", "FUNCTION", "AT", "POLLS",
           "WAITS FOR");
}

static void put_task(page *p, const facts *f, const fact_task *t) {
  char at[64];
  snprintf(at, sizeof at, "%.30s%s", base_of(t->file), colon(t->line).text);
  page_put(p, "%8s  %-7s %-24.24s %-22.22s %6s  ", page_duration(t->age_ns).text, t->how,
           t->function, at, page_count(t->polls).text);
  bool waits = strcmp(t->how, "waits") == 0;
  const char *between = "";
  if (waits && t->has_registrations && t->registrations == 0) {
    page_put(p, "NOTHING CAN WAKE IT");
    between = "; ";
  }
  if (t->is_torn) {
    page_put(p, "%storn: it moved meanwhile", between);
    between = "; ";
  }
  if (strcmp(t->how, "runs") == 0) {
    page_put(p, "%son %s-w%" PRIu64, between, runtime_name(f, t->rt), t->worker);
    between = "; ";
  }
  if (t->wait.operation[0]) page_put(p, "%s", between);
  put_wait(p, &t->wait);
  if (t->is_cancelled) page_put(p, " (cancelled)");
}

static void put_object_head(page *p) {
  page_put(p, "%-24s %-12s %8s %7s %8s %9s %8s %8s %8s %8s  %s", "OBJECT", "KIND", "OLDEST",
           "TASKS", "THREADS", "WAITS", "P50", "P99", "LONGEST", "HELD P99", "STATE");
}

static void put_object(page *p, const fact_object *o) {
  char name[FACTS_NAME];
  const char *none = "-";
  snprintf(name, sizeof name, "0x%" PRIx64, o->object);
  page_put(p, "%-24.24s %-12.12s %8s %7s %8s ", o->name[0] ? o->name : name,
           o->kind[0] ? o->kind : none, o->oldest_ns > 0 ? page_duration(o->oldest_ns).text : none,
           page_count(o->tasks).text, page_count(o->threads).text);
  const fact_times *w = &o->waits;
  page_put(p, "%9s %8s %8s %8s %8s  ", w->is_known ? page_count(w->count).text : none,
           w->is_known ? page_duration(w->p50_ns).text : none,
           w->is_known ? page_duration(w->p99_ns).text : none,
           w->is_known ? page_duration(w->longest_ns).text : none,
           o->holds.is_known ? page_duration(o->holds.p99_ns).text : none);
  page_put(p, "%s%s%s", o->state, o->state[0] && o->holder[0] ? ", " : "", o->holder);
}

static void put_worker_head(page *p) {
  page_put(p, "%-16s %7s %7s %6s %6s %6s %6s %6s  %s", "WORKER", "THREAD", "POLLS/S", "QUEUED",
           "STEALS", "MOVED", "SLEEPS", "WOKEN", "DOES");
}

static const fact_worker *same_worker(const facts *f, const fact_worker *w) {
  for (unsigned i = 0; f && i < f->workers; i++) {
    if (f->worker[i].rt == w->rt && f->worker[i].worker == w->worker) return &f->worker[i];
  }
  return NULL;
}

static page_text polls_a_second(const facts *f, const facts *before, const fact_worker *w) {
  const fact_worker *then = same_worker(before, w);
  page_text none = {"-"};
  if (!then || f->at_ns <= before->at_ns || w->polls < then->polls) return none;
  double seconds = (double)(f->at_ns - before->at_ns) / 1e9;
  return page_count((uint64_t)((double)(w->polls - then->polls) / seconds));
}

static void put_worker_does(page *p, const facts *f, const fact_worker *w) {
  if (w->is_parked) {
    page_put(p, "sleeps");
    return;
  }
  if (w->task == 0) {
    page_put(p, "looks for tasks");
    return;
  }
  const fact_task *t = task_at(f, w->task);
  page_put(p, "runs %s", t ? t->function : "");
  if (!t) page_put(p, "0x%" PRIx64, w->task);
  page_put(p, " for %s", page_duration(w->looked_ns).text);
  if (t && t->file[0]) {
    page_put(p, " (");
    put_site(p, t->file, t->line);
    page_put(p, t->line > 0 ? " or later)" : ")");
  }
  if (w->queued > 0) page_put(p, ", %s behind it", page_count(w->queued).text);
}

static void put_worker(page *p, const facts *f, const facts *before, const fact_worker *w) {
  char name[40];
  snprintf(name, sizeof name, "%.20s-w%" PRIu64, runtime_name(f, w->rt), w->worker);
  page_put(p, "%-16s %7" PRIu64 " %7s %6s %6s %6s %6s %6s  ", name, w->tid,
           polls_a_second(f, before, w).text, page_count(w->queued).text,
           page_count(w->steals).text, page_count(w->moved).text, page_count(w->parks).text,
           page_count(w->woken).text);
  put_worker_does(p, f, w);
}

static void put_thread_head(page *p) {
  page_put(p, "%8s  %8s %-16s %-30s %s", "AGE", "THREAD", "NAME", "CALL", "WAITS FOR");
}

static void put_thread(page *p, const fact_thread *t) {
  page_put(p, "%8s  %8" PRIu64 " %-16s %-30s ", page_duration(t->age_ns).text, t->tid, t->thread,
           t->call);
  put_wait(p, &t->wait);
  if (t->holder[0]) page_put(p, ", %s", t->holder);
}

static void put_head(page *p, view_table table) {
  switch (table) {
    case VIEW_TASKS: put_task_head(p); break;
    case VIEW_OBJECTS: put_object_head(p); break;
    case VIEW_WORKERS: put_worker_head(p); break;
    default: put_thread_head(p); break;
  }
}

static void put_row(page *p, view_table table, const facts *f, const facts *before, unsigned row) {
  switch (table) {
    case VIEW_TASKS: put_task(p, f, &f->task[row]); break;
    case VIEW_OBJECTS: put_object(p, &f->object[row]); break;
    case VIEW_WORKERS: put_worker(p, f, before, &f->worker[row]); break;
    default: put_thread(p, &f->thread[row]); break;
  }
}

static unsigned table_rows(view_table table, const facts *f) {
  switch (table) {
    case VIEW_TASKS: return f->tasks;
    case VIEW_OBJECTS: return f->objects;
    case VIEW_WORKERS: return f->workers;
    default: return f->threads;
  }
}

/* ---- the head of all ---- */

static void put_title(page *p, const facts *f) {
  uint64_t live = 0;
  for (unsigned i = 0; i < f->runtimes; i++) live += f->runtime[i].live;
  page_put(p, "volt-top: %s (%" PRIu64 ")%s%s%s, %u runtime%s, %s task%s", f->program, f->pid,
           f->library[0] ? ", volt " : "", f->library, f->is_cold ? ", read without its help" : "",
           f->runtimes, f->runtimes == 1 ? "" : "s", page_count(live).text, live == 1 ? "" : "s");
}

static void put_runtime(page *p, const fact_runtime *r) {
  page_put(p, "runtime '%s': %" PRIu64 " workers, %" PRIu64 " asleep; tasks: %s", r->name,
           r->workers, r->parked, page_count(r->live).text);
  if (r->spawned > 0) page_put(p, " of %s so far", page_count(r->spawned).text);
  page_put(p, ", fibers: %s; blocking pool: threads: %s, ", page_count(r->fibers).text,
           page_count(r->blocking_threads).text);
  page_put(p, "queued: %s", page_count(r->blocking_queued).text);
}

/* ---- one task ---- */

static void put_stop(page *p, const fact_stop *s) {
  page_put(p, "%*s", (int)(2 + 2 * (s->depth < 30 ? s->depth : 30)), "");
  if (s->file[0]) {
    put_site(p, s->file, s->line);
    page_put(p, " %s: ", s->function);
  }
  if (!s->wait.operation[0]) page_put(p, s->calls ? "awaits" : "lets others run");
  put_wait(p, &s->wait);
  if (s->is_ready) page_put(p, ": ready");
  if (s->for_write) page_put(p, ", to write");
  if (s->wanted > 0) page_put(p, ", %" PRIu64 " wanted", s->wanted);
  if (s->state[0]) page_put(p, " (%s)", s->state);
  if (s->holder[0]) page_put(p, ", %s", s->holder);
  if (s->place > 0)
    page_put(p, ", number %" PRIu64 " of %" PRIu64 " in line", s->place, s->waiters);
  if (s->has_left) page_put(p, ", %s left", page_duration(s->left_ns).text);
}

void view_tree(page *p, const facts *f) {
  const fact_task *t = &f->task[0];
  if (f->tasks == 0) {
    page_put(p, "the task has ended");
    page_end_line(p);
    return;
  }
  page_put(p, "task 0x%" PRIx64 " %s, %s for %s, poll %" PRIu64, t->task, t->function, t->how,
           page_duration(t->age_ns).text, t->polls);
  if (t->is_cancelled) page_put(p, ", cancelled");
  page_end_line(p);
  for (unsigned i = 0; i < f->stops; i++) {
    put_stop(p, &f->stop[i]);
    page_end_line(p);
  }
}

/* ---- a screen ---- */

static void put_lines_of_text(page *p, const view *v, const char *text, unsigned room) {
  unsigned row = 0;
  for (const char *at = text; *at && room > 0; row++) {
    size_t size = strcspn(at, "\n");
    if (row >= v->first) {
      page_put(p, "%.*s", (int)(size < 1000 ? size : 1000), at);
      page_end_line(p);
      room--;
    }
    at += size + (at[size] == '\n');
  }
}

static unsigned lines_of(const char *text) {
  unsigned lines = 0;
  for (const char *at = text; *at; at++) lines += *at == '\n';
  return lines;
}

unsigned view_rows(const view *v, const facts *f) {
  if (v->table == VIEW_TREE) return 1;
  return v->table == VIEW_TEXT ? lines_of(f->text) : table_rows(v->table, f);
}

/* The chosen row stays on the screen. */
static void scroll(view *v, const facts *f, unsigned room) {
  unsigned rows = view_rows(v, f);
  if (v->table == VIEW_TEXT) {
    if (v->first >= rows) v->first = rows > 0 ? rows - 1 : 0;
    return;
  }
  if (v->chosen >= rows) v->chosen = rows > 0 ? rows - 1 : 0;
  if (v->chosen < v->first) v->first = v->chosen;
  if (v->chosen >= v->first + room) v->first = v->chosen - room + 1;
}

static void put_table(page *p, const view *v, const facts *f, const facts *before, unsigned room) {
  unsigned rows = view_rows(v, f);
  page_control(p, INVERSE);
  page_put(p, "  ");
  put_head(p, v->table);
  page_put(p, "%*s", p->width > p->column ? (int)(p->width - p->column) : 0, "");
  page_end_line(p);
  for (unsigned row = v->first; row < rows && row < v->first + room - 1; row++) {
    if (row == v->chosen) page_control(p, BOLD);
    page_put(p, "%s", row == v->chosen ? "> " : "  ");
    put_row(p, v->table, f, before, row);
    page_end_line(p);
  }
}

static void put_keys(page *p, const view *v) {
  static const char *const orders[] = {"oldest", "wait", "hold"};
  page_control(p, INVERSE);
  if (v->table < VIEW_TABLES) {
    page_put(p, " t tasks  o objects  w workers  h threads  Enter more  d deadlocks  ");
    if (v->table == VIEW_OBJECTS) page_put(p, "s by %s  ", orders[v->order]);
  } else {
    page_put(p, " Esc back  ");
  }
  page_put(p, "p %s  q quit", v->is_paused ? "go on" : "pause");
  page_put(p, "%*s", p->width > p->column ? (int)(p->width - p->column) : 0, "");
  page_control(p, "\x1b[0m"); /* no newline: it would scroll */
}

void view_screen(page *p, view *v, const facts *f, const facts *before) {
  unsigned room = v->height > 5 ? v->height - 4 : 2;
  page_begin(p);
  page_control(p, "\x1b[H");
  p->height = v->height > 1 ? v->height - 1 : 1; /* the last line is for the keys */
  put_title(p, f);
  if (v->is_paused) page_put(p, ", PAUSED");
  page_end_line(p);
  if (v->lost) {
    page_put(p, "%s", v->lost);
  } else if (v->object != 0 && v->table == VIEW_TASKS) {
    page_put(p, "tasks that wait for 0x%" PRIx64 " (Esc: all)", v->object);
  } else if (f->runtimes > 0) {
    put_runtime(p, &f->runtime[0]);
  } else {
    page_put(p, "this process has no runtime now, so it has no tasks: h shows threads");
  }
  page_end_line(p);
  scroll(v, f, room - 1);
  if (v->table == VIEW_TREE) {
    view_tree(p, f);
  } else if (v->table == VIEW_TEXT && !f->text[0]) {
    page_put(p, f->knows_holders ? "no deadlock" : VIEW_NO_HOLDERS);
    page_end_line(p);
  } else if (v->table == VIEW_TEXT) {
    put_lines_of_text(p, v, f->text, room);
  } else {
    put_table(p, v, f, before, room);
  }
  p->height = 0;
  page_control(p, "\x1b[J");
  char last[24];
  snprintf(last, sizeof last, "\x1b[%uH", v->height);
  page_control(p, last);
  put_keys(p, v);
}

/* ---- everything ---- */

static void put_whole_table(page *p, const facts *f, view_table table, const char *title) {
  unsigned rows = table_rows(table, f);
  if (rows == 0) return;
  page_end_line(p);
  page_put(p, "%s", title);
  page_end_line(p);
  put_head(p, table);
  page_end_line(p);
  for (unsigned row = 0; row < rows; row++) {
    put_row(p, table, f, NULL, row);
    page_end_line(p);
  }
}

/* Whether a lock is shown that a task or a thread waits for. */
static bool has_locks(const facts *f) {
  for (unsigned i = 0; i < f->objects; i++) {
    const fact_object *o = &f->object[i];
    bool is_lock = strcmp(o->kind, "mutex") == 0 || strcmp(o->kind, "rwlock") == 0;
    if (is_lock && o->tasks + o->threads > 0) return true;
  }
  return false;
}

/* So that an empty page is not read as: all is well. */
static void put_no_runtime(page *p, const facts *f) {
  page_put(p, "this process has no runtime now, so it has no tasks%s",
           f->threads > 0 ? "" : "; no thread of it sleeps in a call of volt");
  page_end_line(p);
}

void view_once(page *p, const facts *f) {
  page_begin(p);
  put_title(p, f);
  page_end_line(p);
  for (unsigned i = 0; i < f->runtimes; i++) {
    put_runtime(p, &f->runtime[i]);
    page_end_line(p);
  }
  if (f->runtimes == 0) put_no_runtime(p, f);
  put_whole_table(p, f, VIEW_WORKERS, "WORKERS");
  put_whole_table(p, f, VIEW_OBJECTS, "OBJECTS");
  if (!f->knows_holders && has_locks(f)) {
    page_put(p, VIEW_NO_HOLDERS);
    page_end_line(p);
  }
  put_whole_table(p, f, VIEW_TASKS, "TASKS, the oldest first");
  put_whole_table(p, f, VIEW_THREADS, "THREADS THAT BLOCK");
  if (f->is_partial) {
    page_put(p, "not all is shown");
    page_end_line(p);
  }
}

/* ---- order ---- */

static uint64_t weight(const fact_object *o, view_order order) {
  if (order == VIEW_BY_WAIT) return o->waits.is_known ? o->waits.p99_ns : 0;
  if (order == VIEW_BY_HOLD) return o->holds.is_known ? o->holds.p99_ns : 0;
  return o->oldest_ns;
}

static view_order sorted_by;

static int compare(const void *a, const void *b) {
  const fact_object *first = a, *second = b;
  uint64_t x = weight(first, sorted_by), y = weight(second, sorted_by);
  if (x != y) return x > y ? -1 : 1;
  if (first->tasks != second->tasks) return first->tasks > second->tasks ? -1 : 1;
  return first->object < second->object ? -1 : 1;
}

void view_sort(facts *f, view_order order) {
  sorted_by = order;
  qsort(f->object, f->objects, sizeof f->object[0], compare);
}
