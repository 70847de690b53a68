/* snapshot.c: copies the books, and has volt-run make a report of the copy.
 *
 * Another process does both, which is begun as by a fork, so its books stand still, and nothing is opened in the
 * program. It has no signal for its parent at its end, so that no wait() of the program sees it. An execve() would give it
 * that signal, so volt-run is a child of that process, which waits for it. */
#define _GNU_SOURCE /* memfd_create, close_range */
#include "watch/snapshot.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "watch/circle.h"
#include "watch/names.h"

enum {
  SNAPSHOT_PATH = 4096,
  SNAPSHOT_ARGUMENTS = 16,
  SNAPSHOT_CLONE = (int)__WCLONE,
  SNAPSHOT_NO_RENDERER = 127
};

/* What volt-run has put into the environment. */
static struct {
  char renderer[SNAPSHOT_PATH], output[SNAPSHOT_PATH], json[SNAPSHOT_PATH], html[SNAPSHOT_PATH],
      top[16];
  char on_deadlock[16];
  char program[256];
  bool has_error; /* there was a standard error at the start, and it was this file: */
  dev_t error_device;
  ino_t error_file;
} settings;

static void setting(char *to, size_t size, const char *name) {
  const char *value = getenv(name);
  if (value && strlen(value) < size) strcpy(to, value);
}

void snapshot_begin(void) {
  setting(settings.renderer, sizeof settings.renderer, "VOLT_RUN_PROGRAM");
  setting(settings.output, sizeof settings.output, "VOLT_RUN_OUTPUT");
  setting(settings.json, sizeof settings.json, "VOLT_RUN_JSON");
  setting(settings.html, sizeof settings.html, "VOLT_RUN_HTML");
  setting(settings.top, sizeof settings.top, "VOLT_RUN_TOP");
  setting(settings.on_deadlock, sizeof settings.on_deadlock, "VOLT_RUN_ON_DEADLOCK");
  strncpy(settings.program, program_invocation_name, sizeof settings.program - 1);
  struct stat is;
  settings.has_error = fstat(2, &is) == 0;
  settings.error_device = settings.has_error ? is.st_dev : 0;
  settings.error_file = settings.has_error ? is.st_ino : 0;
}

/* ---- the copy ---- */

static bool put(int file, const void *from, size_t size) {
  for (const char *at = (const char *)from; size > 0;) {
    ssize_t n = write(file, at, size);
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return false;
    at += n;
    size -= (size_t)n;
  }
  return true;
}

static bool put_maps(int file) { /* of this process: they are those of the program */
  int maps = open("/proc/self/maps", O_RDONLY | O_CLOEXEC);
  static char text[4096]; /* of this process, whose stack may be small */
  ssize_t size = 0;
  while (maps >= 0 && (size = read(maps, text, sizeof text)) > 0 && put(file, text, (size_t)size)) {
  }
  if (maps >= 0) close(maps);
  return size == 0;
}

/* A count goes above what there is room for, for a moment. */
static uint32_t snapshot_count(const _Atomic uint32_t *counter, uint32_t most) {
  uint32_t count = atomic_load(counter);
  return count < most ? count : most;
}

static void snapshot_count_all(struct snapshot *s) {
  s->thread_count = snapshot_count(&watch_books->thread_count, BOOKS_THREADS);
  s->detail_count = snapshot_count(&watch_books->detail_count, BOOKS_DETAILS);
  s->lock_count = snapshot_count(&watch_books->lock_count, BOOKS_LOCKS);
  s->order_count = snapshot_count(&watch_books->order_count, BOOKS_ORDERS);
  s->stack_count = atomic_load(&watch_books->order_count) ? BOOKS_STACKS : 0;
  s->orders_left_out = atomic_load(&watch_books->orders_left_out);
  s->unwatched = atomic_load(&watch_books->unwatched);
  s->deadlocks = atomic_load(&watch_books->deadlocks);
}

static void snapshot_fill(struct snapshot *s, enum snapshot_why why, const struct circle *c) {
  memcpy(s->magic, SNAPSHOT_MAGIC, sizeof s->magic);
  s->size_of_thread = sizeof(struct books_thread);
  s->size_of_detail = sizeof(struct books_detail);
  s->size_of_lock = sizeof(struct books_lock);
  s->size_of_order = sizeof(struct books_order);
  s->size_of_stack = sizeof(struct books_stack);
  s->why = why;
  s->pid = (int32_t)getppid();
  snapshot_count_all(s);
  s->now_ns = books_now_ns();
  s->begun_ns = watch_books->begun_ns;
  s->is_served = watch_books->is_served;
  s->circle_count = c ? c->count : 0;
  memcpy(&s->slots, &watch_books->slots, sizeof s->slots);
  memcpy(s->program, settings.program, sizeof s->program);
  if (c) memcpy(s->circle_thread, c->thread, c->count * sizeof c->thread[0]);
  if (c) memcpy(s->circle_lock, c->lock, c->count * sizeof c->lock[0]);
}

static int snapshot_copy(enum snapshot_why why, const struct circle *c) {
  static struct snapshot s; /* of this process, whose stack may be small */
  snapshot_fill(&s, why, c);
  int file = memfd_create("volt-run", MFD_CLOEXEC);
  bool is_done = file >= 0 && put(file, &s, sizeof s) &&
                 put(file, &watch_books->thread[1], s.thread_count * sizeof(struct books_thread)) &&
                 put(file, &watch_books->detail[1], s.detail_count * sizeof(struct books_detail)) &&
                 put(file, &watch_books->lock[1], s.lock_count * sizeof(struct books_lock)) &&
                 put(file, &watch_books->order[1], s.order_count * sizeof(struct books_order)) &&
                 put(file, &watch_books->stack[1], s.stack_count * sizeof(struct books_stack)) &&
                 put_maps(file);
  if (!is_done && file >= 0) close(file);
  return is_done ? file : -1;
}

/* ---- the report ---- */

/* Whether standard error is what it was: the program may have closed it, and opened a file of its own. */
static bool snapshot_has_error(void) {
  struct stat is;
  return settings.has_error && fstat(2, &is) == 0 && is.st_dev == settings.error_device &&
         is.st_ino == settings.error_file;
}

static void render(int file) {
  const char *arguments[SNAPSHOT_ARGUMENTS] = {settings.renderer, "--render", "3"};
  int n = 3;
  (void)dup2(file, 3); /* without FD_CLOEXEC */
  if (file == 3) (void)fcntl(3, F_SETFD, 0);
  if (settings.output[0]) arguments[n++] = "--output", arguments[n++] = settings.output;
  if (settings.json[0]) arguments[n++] = "--json", arguments[n++] = settings.json;
  if (settings.html[0]) arguments[n++] = "--html", arguments[n++] = settings.html;
  if (settings.top[0]) arguments[n++] = "--top", arguments[n++] = settings.top;
  static const char *const environment[] = {NULL};
  execve(settings.renderer, (char *const *)arguments, (char *const *)environment);
}

/* Returns false: volt-run could not be begun. */
static bool render_in_child(int file) {
  int status = 0;
  long child = syscall(SYS_clone, 0UL, 0UL, 0UL, 0UL, 0UL);
  if (child == 0) {
    render(file);
    _exit(SNAPSHOT_NO_RENDERER);
  }
  while (child > 0 && waitpid((pid_t)child, &status, __WALL) < 0 && errno == EINTR) {
  }
  return child > 0 && !(WIFEXITED(status) && WEXITSTATUS(status) == SNAPSHOT_NO_RENDERER);
}

static void snapshot_say(const char *words) {
  (void)!write(2, words, strlen(words));
}

/* In the new process, in which all signals are blocked: no handler of the program runs there. Its limits are not for
 * this process either. */
static void snapshot_child(enum snapshot_why why, const struct circle *c) {
  static const char words[] =
      "volt-run: a report could not be made: there is no memory or no volt-run\n";
  struct rlimit limit;
  bool has_error = snapshot_has_error();
  (void)signal(SIGXFSZ, SIG_IGN);

  if (getrlimit(RLIMIT_FSIZE, &limit) == 0) {
    limit.rlim_cur = limit.rlim_max;
    (void)setrlimit(RLIMIT_FSIZE, &limit);
  }
  (void)close_range(3, ~0u, 0);
  if (!has_error) (void)close(2);
  if (!has_error && !settings.output[0] && !settings.json[0] && !settings.html[0]) _exit(0);
  uint32_t threads = snapshot_count(&watch_books->thread_count, BOOKS_THREADS);
  names_put(watch_books->thread, threads, getppid()); /* of this process's copy */
  int file = snapshot_copy(why, c);
  if (file >= 0 && render_in_child(file)) _exit(0);
  if (has_error) snapshot_say(words);
  _exit(127);
}

/* A program that has given up system calls may be ended by one of ours. */
static bool snapshot_may_call(void) {
  return prctl(PR_GET_SECCOMP) <= 0;
}

void snapshot_report(enum snapshot_why why, const struct circle *c) {
  int error = errno, state, status = 0;
  sigset_t all, before;
  if (!settings.renderer[0] || !snapshot_may_call()) return;
  pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &state);
  books_pause();
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  long child = syscall(SYS_clone, 0UL, 0UL, 0UL, 0UL, 0UL); /* a fork without a signal at its end */
  if (child == 0) snapshot_child(why, c);
  if (child < 0 && why == SNAPSHOT_DEADLOCK && snapshot_has_error()) {
    snapshot_say(
        "volt-run: there is a deadlock, and a report of it could not be made: there is no "
        "process\n");
  }
  while (child > 0 && waitpid((pid_t)child, &status, SNAPSHOT_CLONE) < 0 && errno == EINTR) {
  }
  if (child > 0 && WIFSIGNALED(status) && snapshot_has_error())
    snapshot_say("volt-run: a report could not be made: its process was ended by a signal\n");
  pthread_sigmask(SIG_SETMASK, &before, NULL);
  books_resume();
  pthread_setcancelstate(state, &state);
  errno = error;
}

void snapshot_of_deadlock(const struct circle *c) {
  atomic_fetch_add(&watch_books->deadlocks, 1);
  snapshot_report(SNAPSHOT_DEADLOCK, c);
  if (strcmp(settings.on_deadlock, "abort") == 0) {
    const struct rlimit none = {0, 0};
    (void)setrlimit(RLIMIT_CORE, &none);
    abort();
  }
  if (strcmp(settings.on_deadlock, "core") == 0) abort();
}
