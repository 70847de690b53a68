/* screen.c: keys, the size of the terminal, the time between two looks.
 *
 * The terminal shows another screen while this runs, and is as before in the end, also if a signal ends
 * it, or stops it for a while. A signal is noted, and a byte in a pipe ends the sleep. A process that
 * does not answer leaves its last screen, with a line that says so. */
#define _GNU_SOURCE /* pipe2 */
#include "screen.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <termios.h>
#include <time.h>
#include <unistd.h>

#include "ask.h"
#include "view.h"

enum { PAGE_BYTES = 1 << 19 };

static volatile sig_atomic_t screen_ends; /* by that signal */
static volatile sig_atomic_t screen_stops;
static volatile sig_atomic_t screen_changed;
static int screen_pipe[2] = {-1, -1};

static void note_signal(int number) {
  int saved = errno;
  if (number == SIGTSTP) {
    screen_stops = 1;
  } else if (number == SIGWINCH || number == SIGCONT) {
    screen_changed = 1;
  } else {
    screen_ends = number;
  }
  (void)!write(screen_pipe[1], "", 1);
  errno = saved;
}

/* ---- the terminal ---- */

typedef struct terminal {
  struct termios before;
} terminal;

static void write_all(const char *text, size_t size) {
  while (size > 0) {
    ssize_t n = write(STDOUT_FILENO, text, size);
    if (n < 0 && errno != EINTR) {
      screen_ends = SIGHUP; /* the terminal is gone */
      return;
    }
    if (n > 0) text += n, size -= (size_t)n;
  }
}

static void write_text(const char *text) {
  write_all(text, strlen(text));
}

static void enter(const terminal *t) {
  struct termios raw = t->before;
  raw.c_lflag &= ~(tcflag_t)(ICANON | ECHO);
  raw.c_cc[VMIN] = 0;
  raw.c_cc[VTIME] = 0;
  tcsetattr(STDIN_FILENO, TCSADRAIN, &raw);
  write_text("\x1b[?1049h\x1b[?25l\x1b[?7l\x1b[2J");
}

static void leave(const terminal *t) {
  write_text("\x1b[0m\x1b[?7h\x1b[?25h\x1b[?1049l");
  tcsetattr(STDIN_FILENO, TCSADRAIN, &t->before);
}

static bool begin(terminal *t) {
  static const int signals[] = {SIGWINCH, SIGCONT, SIGTSTP, SIGINT, SIGTERM, SIGHUP, SIGQUIT};
  struct sigaction action = {.sa_handler = note_signal};
  if (tcgetattr(STDIN_FILENO, &t->before) != 0 || !isatty(STDOUT_FILENO)) return false;
  if (pipe2(screen_pipe, O_CLOEXEC | O_NONBLOCK) != 0) return false;
  for (size_t i = 0; i < sizeof signals / sizeof signals[0]; i++) {
    sigaction(signals[i], &action, NULL);
  }
  signal(SIGPIPE, SIG_IGN);
  enter(t);
  return true;
}

/* With the terminal as it was, until this process goes on. */
static void stop(const terminal *t) {
  screen_stops = 0;
  leave(t);
  raise(SIGSTOP);
  enter(t);
  screen_changed = 1;
}

/* As the signal would have ended it. */
static void end_by_signal(int number) {
  signal(number, SIG_DFL);
  raise(number);
}

static void find_size(page *p, view *v) {
  struct winsize size;
  bool is_known =
      ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0 && size.ws_row > 0;
  p->width = is_known ? size.ws_col : 80;
  v->height = is_known ? size.ws_row : 24;
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
  find_size(&l->page, &l->view);
  view_screen(&l->page, &l->view, l->now, l->has_before ? l->before : NULL);
  write_all(l->page.at, l->page.size);
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
    case 12: write_text("\x1b[2J"); return OUT_LOOK;
    default: return OUT_NOTHING;
  }
}

/* The next key of those that were typed; *at moves behind it. An arrow is ESC [ A, or ESC O A. */
static int next_key(const char **at, const char *end) {
  char key = *(*at)++;
  if (key != 27 || *at == end || (**at != '[' && **at != 'O')) return key;
  (*at)++;
  char last = *at < end ? *(*at)++ : 0;
  if (last >= '0' && last <= '9' && *at < end) (*at)++; /* ESC [ 5 ~ */
  switch (last) {
    case 'A': return 'k';
    case 'B': return 'j';
    case '5': return 'b';
    case '6': return ' ';
    case 'H': return 'g';
    case 'F': return 'G';
    default: return 0;
  }
}

static outcome read_keys(looking *l) {
  char typed[64];
  outcome most = OUT_NOTHING;
  ssize_t n = read(STDIN_FILENO, typed, sizeof typed);
  if (n == 0 || (n < 0 && errno != EINTR && errno != EAGAIN)) return OUT_QUIT; /* it was closed */
  for (const char *at = typed; n > 0 && at < typed + n;) {
    outcome result = press(l, next_key(&at, typed + n));
    if (result > most) most = result;
  }
  return most;
}

/* ---- the loop ---- */

/* Sleep until a key, a signal, or the time. */
static outcome wait_for(looking *l, uint64_t deadline_ns) {
  char bytes[64];
  uint64_t now = now_ns();
  uint64_t left_ms = deadline_ns > now ? (deadline_ns - now + 999999) / 1000000 : 0;
  struct pollfd asked[2] = {{.fd = STDIN_FILENO, .events = POLLIN},
                            {.fd = screen_pipe[0], .events = POLLIN}};
  int ready = poll(asked, 2, (int)left_ms);
  while (read(screen_pipe[0], bytes, sizeof bytes) > 0) continue;
  if (ready > 0 && asked[0].revents) return read_keys(l);
  return OUT_NOTHING;
}

static void loop(looking *l, const terminal *t) {
  uint64_t at_ns = 0;
  outcome next = OUT_LOOK;
  while (!screen_ends && next != OUT_QUIT) {
    if (screen_stops) stop(t);
    if (screen_changed) {
      screen_changed = 0;
      enter(t); /* as it is again after a SIGSTOP */
      next = next < OUT_DRAW ? OUT_DRAW : next;
    }
    bool is_due = now_ns() >= at_ns;
    if (next == OUT_LOOK || (is_due && !l->view.is_paused)) {
      look(l);
      next = OUT_DRAW;
    }
    if (is_due) at_ns = now_ns() + l->view.period_ns;
    if (next == OUT_DRAW && !screen_ends) draw(l);
    next = screen_ends ? OUT_QUIT : wait_for(l, at_ns);
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
  terminal t;
  l = (looking){.path = path, .process = process, .wire = {.fd = -1, .stop = &screen_ends}};
  l.view.period_ns = (uint64_t)period_ms * 1000000;
  if (!allocate(&l) || !begin(&t)) {
    fprintf(stderr, "volt-top: this is no terminal: volt-top --once prints\n");
    return 2;
  }
  loop(&l, &t);
  leave(&t);
  wire_close(&l.wire);
  free(l.now);
  free(l.before);
  free(l.page.at);
  if (screen_ends) end_by_signal(screen_ends);
  return 0;
}
