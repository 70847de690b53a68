/* screen.c: keys, and the time between two looks. A process that does not answer leaves its last screen,
 * with a line that says so. */
#define _POSIX_C_SOURCE 200809L
#include "screen.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "ask.h"
#include "common/term.h"
#include "view.h"

enum { PAGE_BYTES = 1 << 19 };

/* As the signal would have ended it. */
static void end_by_signal(int number) {
  signal(number, SIG_DFL);
  raise(number);
}

/* ---- what is shown ---- */

typedef struct looking {
  const char *path;
  pid_t process;
  wire wire;
  view view;
  page page;
  facts *now, *before; /* before: the look before, for rates */
  bool has_before;
  uint64_t task; /* VIEW_TREE */
  char lost[WIRE_WHY + 32];
} looking;

static uint64_t now_ns(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}

static bool connect_again(looking *l) {
  if (l->wire.fd >= 0) return true;
  char path[128];
  const char *at = l->path;
  if (l->process > 0 && wire_find(l->process, path)) at = path;
  return wire_open(&l->wire, at, l->process);
}

static bool ask_what_is_shown(looking *l, facts *f) {
  const view *v = &l->view;
  if (v->table == VIEW_TREE) return ask_task(f, &l->wire, l->task);
  if (v->table == VIEW_TEXT) return ask_text(f, &l->wire, "deadlocks");
  unsigned tasks = v->table == VIEW_TASKS ? FACTS_TASKS : 100; /* else for the names of functions */
  unsigned what = ASK_TASKS;
  if (v->table == VIEW_OBJECTS) what |= ASK_OBJECTS;
  if (v->table == VIEW_THREADS) what |= ASK_THREADS;
  return ask_all(f, &l->wire, what, tasks, 0, v->table == VIEW_TASKS ? v->object : 0);
}

static void note_lost(looking *l) {
  snprintf(l->lost, sizeof l->lost, "%s", l->wire.why);
  l->view.lost = l->lost;
}

static void look(looking *l) {
  facts *f = l->before;
  bool is_gone = connect_again(l) && !ask_what_is_shown(l, f) && l->wire.fd >= 0;
  if (l->wire.fd < 0) {
    note_lost(l);
    return;
  }
  if (is_gone && l->view.table != VIEW_TREE) {
    note_lost(l); /* it says why */
    return;
  }
  if (is_gone) f->tasks = 0;
  l->view.lost = NULL;
  l->before = l->now;
  l->now = f;
  l->has_before = l->before->pid == f->pid;
  if (l->view.table == VIEW_OBJECTS) view_sort(f, l->view.order);
}

static void draw(looking *l) {
  term_size(&l->page.width, &l->view.height);
  view_screen(&l->page, &l->view, l->now, l->has_before ? l->before : NULL);
  term_write(l->page.at, l->page.size);
}

/* ---- keys ---- */

typedef enum outcome { OUT_NOTHING, OUT_DRAW, OUT_LOOK, OUT_QUIT } outcome;

static outcome show(looking *l, view_table table) {
  l->view.table = table;
  l->view.chosen = 0;
  l->view.first = 0;
  l->view.object = 0;
  return OUT_LOOK;
}

static outcome move(looking *l, int by) {
  view *v = &l->view;
  unsigned *at = v->table == VIEW_TEXT ? &v->first : &v->chosen;
  unsigned rows = view_rows(v, l->now);
  long to = (long)*at + by;
  *at = to < 0 ? 0 : to >= (long)rows ? (rows > 0 ? rows - 1 : 0) : (unsigned)to;
  return OUT_DRAW;
}

static outcome open_row(looking *l) {
  view *v = &l->view;
  if (v->table == VIEW_TASKS && v->chosen < l->now->tasks) {
    uint64_t object = v->object;
    l->task = l->now->task[v->chosen].task;
    outcome result = show(l, VIEW_TREE);
    v->object = object;
    return result;
  }
  if (v->table == VIEW_OBJECTS && v->chosen < l->now->objects) {
    uint64_t object = l->now->object[v->chosen].object;
    outcome result = show(l, VIEW_TASKS);
    v->object = object;
    return result;
  }
  if (v->table == VIEW_WORKERS && v->chosen < l->now->workers &&
      l->now->worker[v->chosen].task != 0) {
    l->task = l->now->worker[v->chosen].task;
    return show(l, VIEW_TREE);
  }
  return OUT_NOTHING;
}

static outcome go_back(looking *l) {
  uint64_t object = l->view.object;
  if (l->view.table == VIEW_TASKS && object != 0) return show(l, VIEW_OBJECTS);
  if (l->view.table < VIEW_TABLES) return OUT_NOTHING;
  outcome result = show(l, VIEW_TASKS);
  l->view.object = object;
  return result;
}

static outcome press(looking *l, int key) {
  view *v = &l->view;
  int rows = v->height > 8 ? (int)v->height - 6 : 2;
  switch (key) {
    case 'q':
    case 'Q':
    case 4: return OUT_QUIT;
    case 't': return show(l, VIEW_TASKS);
    case 'o': return show(l, VIEW_OBJECTS);
    case 'w': return show(l, VIEW_WORKERS);
    case 'h': return show(l, VIEW_THREADS);
    case 'd': return show(l, VIEW_TEXT);
    case '\t': return show(l, (view_table)((v->table + 1) % VIEW_TABLES));
    case '\r':
    case '\n': return open_row(l);
    case 27:
    case 127: return go_back(l);
    case 'p': v->is_paused = !v->is_paused; return OUT_DRAW;
    case 's': v->order = (view_order)((v->order + 1) % VIEW_ORDERS); return OUT_LOOK;
    case 'k': return move(l, -1);
    case 'j': return move(l, 1);
    case 'b': return move(l, -rows);
    case ' ': return move(l, rows);
    case 'g': return move(l, -1000000);
    case 'G': return move(l, 1000000);
    case 12: term_clear(); return OUT_LOOK;
    default: return OUT_NOTHING;
  }
}

static outcome read_keys(looking *l) {
  outcome most = OUT_NOTHING;
  for (int key; (key = term_key()) >= 0;) {
    outcome result = press(l, key);
    if (result > most) most = result;
  }
  return most;
}

/* ---- the loop ---- */

/* Sleep until a key, a signal, or the time. */
static outcome wait_for(looking *l, uint64_t deadline_ns) {
  uint64_t now = now_ns();
  switch (term_wait(deadline_ns > now ? deadline_ns - now : 0)) {
    case TERM_KEYS: return read_keys(l);
    case TERM_CLOSED: return OUT_QUIT;
    case TERM_TIME:
    case TERM_SIGNAL: break;
  }
  return OUT_NOTHING;
}

static void loop(looking *l) {
  uint64_t at_ns = 0;
  outcome next = OUT_LOOK;
  while (!term_ending && next != OUT_QUIT) {
    if (term_has_changed() && next < OUT_DRAW) next = OUT_DRAW;
    bool is_due = now_ns() >= at_ns;
    if (next == OUT_LOOK || (is_due && !l->view.is_paused)) {
      look(l);
      next = OUT_DRAW;
    }
    if (is_due) at_ns = now_ns() + l->view.period_ns;
    if (next == OUT_DRAW && !term_ending) draw(l);
    next = term_ending ? OUT_QUIT : wait_for(l, at_ns);
  }
}

static bool allocate(looking *l) {
  l->now = calloc(1, sizeof *l->now);
  l->before = calloc(1, sizeof *l->before);
  l->page = (page){.at = malloc(PAGE_BYTES), .max = PAGE_BYTES};
  return l->now && l->before && l->page.at;
}

int screen_run(const char *path, pid_t process, unsigned period_ms) {
  static looking l;
  l = (looking){.path = path, .process = process, .wire = {.fd = -1, .stop = &term_ending}};
  l.view.period_ns = (uint64_t)period_ms * 1000000;
  signal(SIGPIPE, SIG_IGN);
  if (!allocate(&l) || !term_begin()) {
    fprintf(stderr, "volt-top: this is no terminal: volt-top --once prints\n");
    return 2;
  }
  loop(&l);
  term_end();
  wire_close(&l.wire);
  free(l.now);
  free(l.before);
  free(l.page.at);
  if (term_ending) end_by_signal(term_ending);
  return 0;
}
