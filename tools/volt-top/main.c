/* main.c: volt-top: which tasks of a running process wait, where, and for what. volt-top.1 says how it
 * is used. */
#define _POSIX_C_SOURCE 200809L
#include <getopt.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ask.h"
#include "cold.h"
#include "common/options.h"
#include "screen.h"
#include "view.h"
#include "watched.h"

enum { PAGE_BYTES = 1 << 21 };

typedef enum mode { MODE_SCREEN, MODE_ONCE, MODE_COLD, MODE_LIST, MODE_DUMP, MODE_DEADLOCKS } mode;

typedef struct options {
  mode mode;
  pid_t process;
  const char *socket;
  unsigned tasks;
  unsigned period_ms;
  unsigned long older_ms;
} options;

static const char usage[] =
    "usage: volt-top [PID | --socket PATH] [--period MS]\n"
    "       volt-top [PID | --socket PATH] --once [--tasks N] [--older MS]\n"
    "       volt-top [PID | --socket PATH] --dump | --deadlocks\n"
    "       volt-top --cold PID [--tasks N] [--older MS]\n"
    "       volt-top --list\n"
    "Shows which tasks of a process wait, where, and for what. The process has called\n"
    "volt_sight_serve(); with --cold it need not. Without PID or PATH: the only process\n"
    "that there is. --pid PID is the same as PID. man volt-top has more.\n";

static _Noreturn void wrong(const char *what) {
  fprintf(stderr, "volt-top: %s\n%s", what, usage);
  exit(EXIT_USAGE);
}

static unsigned number_of(const char *text, unsigned least, unsigned most) {
  uint64_t value = 0;
  if (!number_read(text, least, most, &value)) {
    fprintf(stderr, "volt-top: not a number from %u to %u: %s\n", least, most, text);
    exit(EXIT_USAGE);
  }
  return (unsigned)value;
}

static void set_mode(options *o, mode to) {
  if (o->mode != MODE_SCREEN && o->mode != to)
    wrong("one of --once, --cold, --list, --dump, --deadlocks");
  o->mode = to;
}

static void take_option(options *o, int option) {
  switch (option) {
    case 'p': o->process = (pid_t)number_of(optarg, 1, INT_MAX); break;
    case 's': o->socket = optarg; break;
    case '1': set_mode(o, MODE_ONCE); break;
    case 'c':
      set_mode(o, MODE_COLD);
      o->process = (pid_t)number_of(optarg, 1, INT_MAX);
      break;
    case 'l': set_mode(o, MODE_LIST); break;
    case 'd': set_mode(o, MODE_DUMP); break;
    case 'k': set_mode(o, MODE_DEADLOCKS); break;
    case 'n': o->tasks = number_of(optarg, 1, FACTS_TASKS); break;
    case 'o': o->older_ms = number_of(optarg, 0, 1000000000); break;
    case 'i': o->period_ms = number_of(optarg, 100, 3600000); break;
    case 'h': printf("%s", usage); exit(EXIT_SUCCESS);
    default: fprintf(stderr, "%s", usage); exit(EXIT_USAGE);
  }
}

/* Without an option. */
static void take_process(options *o, const char *text) {
  if (o->process > 0) wrong("more than one PID");
  if (o->mode == MODE_LIST) wrong("--list is of all processes");
  o->process = (pid_t)number_of(text, 1, INT_MAX);
}

static options read_options(int argc, char **argv) {
  static const struct option known[] = {
      {"pid", required_argument, NULL, 'p'},   {"socket", required_argument, NULL, 's'},
      {"once", no_argument, NULL, '1'},        {"cold", required_argument, NULL, 'c'},
      {"list", no_argument, NULL, 'l'},        {"dump", no_argument, NULL, 'd'},
      {"deadlocks", no_argument, NULL, 'k'},   {"tasks", required_argument, NULL, 'n'},
      {"older", required_argument, NULL, 'o'}, {"period", required_argument, NULL, 'i'},
      {"help", no_argument, NULL, 'h'},        {NULL, 0, NULL, 0}};
  options o = {.tasks = 100, .period_ms = 1000};
  int option;
  while ((option = getopt_long(argc, argv, "p:h", known, NULL)) != -1) take_option(&o, option);
  if (optind < argc) take_process(&o, argv[optind++]);
  if (optind < argc) wrong("more than one PID");
  if (o.socket && o.process > 0) wrong("either a PID or --socket");
  return o;
}

/* ---- which process ---- */

typedef struct listed {
  unsigned count;
  char path[128];
} listed;

static void note_listed(void *ctx, const char *path, pid_t process) {
  listed *l = ctx;
  (void)process;
  l->count++;
  snprintf(l->path, sizeof l->path, "%s", path);
}

static void print_listed(void *ctx, const char *path, pid_t process) {
  facts *f = ctx;
  wire w = {.fd = -1};
  f->program[0] = '\0';
  bool answers = wire_open(&w, path, 0) && ask_all(f, &w, 0, 0, 0, 0);
  page p = {.at = (char[512]){""}, .max = 512};
  page_put(&p, "%7d  %-24s %s%s", (int)process, f->program, path,
           answers ? "" : "  does not answer");
  page_end_line(&p);
  fwrite(p.at, 1, p.size, stdout);
  wire_close(&w);
}

/* The path of the socket; exits if there is none. */
static const char *find_socket(const options *o) {
  static listed l;
  if (o->socket) return o->socket;
  if (o->process > 0) {
    if (wire_find(o->process, l.path)) return l.path;
    watched_become(o->process);
    fprintf(stderr,
            "volt-top: process %d does not serve volt-top: volt_sight_serve(); or try --cold %d\n",
            (int)o->process, (int)o->process);
    exit(EXIT_FAILURE);
  }
  wire_list(note_listed, &l);
  if (l.count == 1) return l.path;
  fprintf(stderr,
          l.count == 0 ? "volt-top: no process serves volt-top; or try --cold PID\n"
                       : "volt-top: %u processes serve volt-top: --list, --pid PID\n",
          l.count);
  exit(EXIT_FAILURE);
}

/* ---- what is printed ---- */

static int print_page(const facts *f) {
  page p = {.at = malloc(PAGE_BYTES), .max = PAGE_BYTES};
  if (!p.at) return EXIT_FAILURE;
  view_once(&p, f);
  bool is_written = fwrite(p.at, 1, p.size, stdout) == p.size && fflush(stdout) == 0;
  free(p.at);
  return is_written ? EXIT_SUCCESS : EXIT_FAILURE;
}

static int fail(const char *why) {
  fprintf(stderr, "volt-top: %s\n", why);
  return EXIT_FAILURE;
}

static int run_cold(const options *o, facts *f) {
  char why[200];
  if (!cold_read(f, o->process, o->tasks, o->older_ms, why, sizeof why)) return fail(why);
  view_sort(f, VIEW_BY_OLDEST);
  return print_page(f);
}

static int run_once(const options *o, facts *f) {
  wire w = {.fd = -1};
  unsigned what = ASK_TASKS | ASK_OBJECTS | ASK_THREADS;
  bool is_whole =
      wire_open(&w, find_socket(o), o->process) && ask_all(f, &w, what, o->tasks, o->older_ms, 0);
  wire_close(&w);
  if (!is_whole) return fail(w.why);
  view_sort(f, VIEW_BY_OLDEST);
  return print_page(f);
}

/* The text line by line: what is not ASCII is shown as ?. */
static int print_text(const facts *f) {
  static char line[4096];
  for (const char *at = f->text; *at;) {
    size_t size = strcspn(at, "\n");
    page p = {.at = line, .max = sizeof line};
    page_put(&p, "%.*s", (int)(size < 1000 ? size : 1000), at);
    page_end_line(&p);
    fwrite(p.at, 1, p.size, stdout);
    at += size + (at[size] == '\n');
  }
  return fflush(stdout) == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}

static int run_text(const options *o, facts *f, const char *q) {
  wire w = {.fd = -1};
  bool is_whole = wire_open(&w, find_socket(o), o->process) && ask_text(f, &w, q);
  wire_close(&w);
  return is_whole ? print_text(f) : fail(w.why);
}

/* A build that does not know holders finds some deadlocks. That it finds none says little. */
static int run_deadlocks(const options *o, facts *f) {
  int result = run_text(o, f, "deadlocks");
  if (result != EXIT_SUCCESS || strstr(f->text, "deadlock:\n")) return result;
  if (!f->knows_holders) return fail(VIEW_NO_HOLDERS);
  printf("no deadlock\n");
  return fflush(stdout) == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}

int main(int argc, char **argv) {
  options o = read_options(argc, argv);
  facts *f = calloc(1, sizeof *f);
  if (!f) return fail("there is no memory");
  int result = EXIT_SUCCESS;
  switch (o.mode) {
    case MODE_SCREEN: result = screen_run(find_socket(&o), o.process, o.period_ms); break;
    case MODE_ONCE: result = run_once(&o, f); break;
    case MODE_COLD: result = run_cold(&o, f); break;
    case MODE_LIST: wire_list(print_listed, f); break;
    case MODE_DUMP: result = run_text(&o, f, "dump"); break;
    case MODE_DEADLOCKS: result = run_deadlocks(&o, f); break;
  }
  free(f);
  return result;
}
