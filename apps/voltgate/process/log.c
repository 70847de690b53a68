/* log.c: what the program says.
 *
 * Two streams, the log and the access log, each a ring of bytes that holds whole lines. One lock
 * guards all; it is not held while a file is opened or written. The thread takes what is there,
 * writes it without the lock, and then moves the ring's end. A file is only changed while the
 * thread does not write (is_writing).
 *
 * The thread lets lines gather for 10 ms, so that a busy program wakes it a hundred times a second
 * and not for every line. A flush, the end and a ring that is half full make it hurry. What is no
 * file on a disk, a pipe, is written in pieces that poll() says have room. A reader that does not read
 * is waited for while no thread waits for us; else for a second, then lines are dropped: so it cannot stop
 * the program from ending, nor from changing its logs. */
#define _GNU_SOURCE
#include "process/log.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>
#include <volt/base.h>

#include "process/log_text.h"

enum { RING = 512 * 1024, PIECE = 4096, LINGER_MS = 10, LAST_CHANCE_MS = 1000 };
enum { LOG, ACCESS, STREAMS };

/* Where lines go to. */
struct target {
  int fd; /* -1: nowhere */
  bool is_ours, is_file;
  char *path; /* NULL: not ours */
};

struct stream {
  struct target to;
  uint64_t head, tail; /* bytes ever put, ever written */
  uint64_t dropped;    /* lines; not yet reported */
  char ring[RING];
};

static struct {
  pthread_mutex_t lock;
  pthread_cond_t work, done;
  pthread_t thread;
  bool is_started, is_stopping, is_writing, is_waiting, is_urgent;
  unsigned awaited; /* by so many threads */
  struct stream streams[STREAMS];
} logs = {.lock = PTHREAD_MUTEX_INITIALIZER,
          .done = PTHREAD_COND_INITIALIZER,
          .streams = {{.to = {.fd = STDERR_FILENO}}, {.to = {.fd = -1}}}};

static pthread_mutex_t log_changes = PTHREAD_MUTEX_INITIALIZER; /* one thread changes targets */

static atomic_int log_levels = LOG_INFO, log_formats[STREAMS]; /* hints: read without the lock */
static atomic_bool log_has_access;
static atomic_uint_fast64_t log_drops;

static uint64_t log_time(void) {
  struct timespec now;
  clock_gettime(CLOCK_REALTIME, &now);
  return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}

/* ---- files ---- */

/* Opens it, or takes standard error. Returns VOLT_OK, or what failed. */
static int log_open_target(const char *path, struct target *out) {
  struct stat about;
  *out = (struct target){.fd = -1};
  if (path == NULL) return VOLT_OK;
  if (strcmp(path, "-") == 0) {
    out->fd = STDERR_FILENO;
  } else {
    out->fd = open(path, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC | O_NOCTTY | O_NONBLOCK, 0640);
    if (out->fd < 0) return VOLT_ERRNO(errno);
    out->is_ours = true;
    out->path = strdup(path);
  }
  out->is_file = fstat(out->fd, &about) == 0 && S_ISREG(about.st_mode);
  return VOLT_OK;
}

static void log_close_target(struct target *t) {
  if (t->is_ours) close(t->fd);
  free(t->path);
}

static size_t log_count_lines(const char *at, size_t size) {
  size_t lines = 0;
  for (const char *end = at + size; (at = memchr(at, '\n', (size_t)(end - at))) != NULL; at++)
    lines++;
  return lines;
}

/* Waits until there is room in what is no file: as long as no other thread waits for that. */
static bool log_wait_for_room(int fd) {
  struct pollfd poll_fd = {.fd = fd, .events = POLLOUT};
  for (int waited = 0;; waited += LINGER_MS) {
    if (poll(&poll_fd, 1, LINGER_MS) > 0) return true;
    pthread_mutex_lock(&logs.lock);
    bool is_awaited = logs.is_stopping || logs.awaited > 0;
    pthread_mutex_unlock(&logs.lock);
    if (!is_awaited) waited = 0;
    if (waited >= LAST_CHANCE_MS) return false;
  }
}

/* Writes all of it. Returns the bytes that could not be. */
static size_t log_write_all(int fd, bool is_file, const char *at, size_t size) {
  while (size > 0) {
    if (!is_file && !log_wait_for_room(fd)) return size;
    ssize_t n = write(fd, at, !is_file && size > PIECE ? PIECE : size);
    if (n < 0 && (errno == EINTR || (errno == EAGAIN && !is_file))) continue;
    if (n <= 0) return size;
    at += n;
    size -= (size_t)n;
  }
  return 0;
}

/* ---- the ring; the caller has the lock ---- */

static void log_hurry(void) {
  logs.is_urgent = true;
  pthread_cond_signal(&logs.work);
}

static void log_put_line(unsigned which, const struct log_text *t) {
  struct stream *s = &logs.streams[which];
  uint64_t used = s->head - s->tail;
  if (s->to.fd < 0) return;
  if (used + t->size > RING) {
    s->dropped++;
    atomic_fetch_add_explicit(&log_drops, 1, memory_order_relaxed);
    return;
  }
  size_t at = s->head % RING, until_end = RING - at;
  size_t first = t->size < until_end ? t->size : until_end;
  memcpy(s->ring + at, t->at, first);
  memcpy(s->ring, t->at + first, t->size - first);
  s->head += t->size;
  if (used + t->size > RING / 2 && !logs.is_urgent) {
    log_hurry();
  } else if (logs.is_waiting) {
    logs.is_waiting = false;
    pthread_cond_signal(&logs.work);
  }
}

/* Puts the line, or writes it at once if there is no thread. */
static void log_say(unsigned which, const struct log_text *t) {
  pthread_mutex_lock(&logs.lock);
  bool is_started = logs.is_started;
  if (is_started) log_put_line(which, t);
  pthread_mutex_unlock(&logs.lock);
  if (!is_started && which == LOG) {
    ssize_t n = write(STDERR_FILENO, t->at, t->size);
    (void)n; /* no way is left to say it */
  }
}

/* ---- the thread ---- */

/* Writes what the stream has. It has the lock, and gives it up meanwhile. */
static void log_write_stream(struct stream *s) {
  size_t lost = 0, at = s->tail % RING, size = (size_t)(s->head - s->tail);
  size_t first = size < RING - at ? size : RING - at;
  int fd = s->to.fd;
  bool is_file = s->to.is_file;
  if (size == 0) return;
  logs.is_writing = true;
  pthread_mutex_unlock(&logs.lock);
  size_t left = log_write_all(fd, is_file, s->ring + at, first);
  lost += log_count_lines(s->ring + at + first - left, left);
  left = log_write_all(fd, is_file, s->ring, size - first);
  lost += log_count_lines(s->ring + size - first - left, left);
  pthread_mutex_lock(&logs.lock);
  logs.is_writing = false;
  s->tail += size;
  s->dropped += lost;
  atomic_fetch_add_explicit(&log_drops, lost, memory_order_relaxed);
}

/* Reports lines that were dropped, once there is room again. */
static void log_report_dropped(unsigned which) {
  static struct log_text t; /* of the thread */
  uint64_t dropped = logs.streams[which].dropped;
  char words[96];
  if (dropped == 0 || logs.streams[LOG].head - logs.streams[LOG].tail > RING / 2) return;
  snprintf(words, sizeof words, "%llu lines of the %s were dropped", (unsigned long long)dropped,
           which == LOG ? "log" : "access log");
  log_text_begin(&t, (enum log_format)atomic_load_explicit(&log_formats[LOG], memory_order_relaxed),
                 log_time());
  log_text_string(&t, "level", "warn", NULL);
  log_text_string(&t, "msg", words, NULL);
  log_text_end(&t);
  logs.streams[which].dropped = 0;
  log_put_line(LOG, &t);
}

static bool log_all_is_reported(void) {
  return logs.streams[LOG].dropped == 0 && logs.streams[ACCESS].dropped == 0;
}

static bool log_is_empty(void) {
  return logs.streams[LOG].head == logs.streams[LOG].tail &&
         logs.streams[ACCESS].head == logs.streams[ACCESS].tail;
}

/* Waits for lines, and then a little for more of them. */
static void log_wait_for_lines(void) {
  while (log_is_empty() && !logs.is_stopping && !logs.is_urgent) {
    logs.is_waiting = true;
    pthread_cond_wait(&logs.work, &logs.lock);
  }
  logs.is_waiting = false;
  struct timespec until;
  clock_gettime(CLOCK_MONOTONIC, &until);
  until.tv_nsec += LINGER_MS * 1000000L;
  if (until.tv_nsec >= 1000000000L) until.tv_nsec -= 1000000000L, until.tv_sec++;
  while (!logs.is_urgent && !logs.is_stopping) {
    if (pthread_cond_timedwait(&logs.work, &logs.lock, &until) == ETIMEDOUT) break;
  }
}

static void *log_run(void *unused) {
  (void)unused;
  pthread_mutex_lock(&logs.lock);
  for (;;) {
    log_wait_for_lines();
    logs.is_urgent = false;
    log_report_dropped(LOG);
    log_report_dropped(ACCESS);
    bool is_last = logs.is_stopping && log_all_is_reported(); /* not while a ring is full */
    log_write_stream(&logs.streams[LOG]);
    log_write_stream(&logs.streams[ACCESS]);
    pthread_cond_broadcast(&logs.done);
    if (is_last && log_is_empty()) break;
  }
  logs.is_started = logs.is_stopping = logs.is_urgent = false; /* lines go out at once again */
  pthread_mutex_unlock(&logs.lock);
  return NULL;
}

/* Starts the thread; signals are not its business. */
static int log_start_thread(void) {
  sigset_t all, before;
  pthread_condattr_t attributes;
  pthread_condattr_init(&attributes);
  pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
  pthread_cond_init(&logs.work, &attributes);
  pthread_condattr_destroy(&attributes);
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  int e = pthread_create(&logs.thread, NULL, log_run, NULL);
  pthread_sigmask(SIG_SETMASK, &before, NULL);
  if (e != 0) return VOLT_ERRNO(e);
  pthread_mutex_lock(&logs.lock);
  logs.is_started = true;
  pthread_mutex_unlock(&logs.lock);
  return VOLT_OK;
}

/* ---- start, change, end ---- */

/* Waits until what is in the rings now is written. The caller has the lock. */
static void log_drain(void) {
  uint64_t log = logs.streams[LOG].head, access = logs.streams[ACCESS].head;
  while (logs.is_started && (logs.streams[LOG].tail < log || logs.streams[ACCESS].tail < access)) {
    log_hurry();
    pthread_cond_wait(&logs.done, &logs.lock);
  }
}

/* The stream writes to another target from now on; what it has goes to the old one. */
static void log_change_target(struct stream *s, const struct target *to) {
  pthread_mutex_lock(&logs.lock);
  logs.awaited++;
  log_drain();
  while (logs.is_writing) pthread_cond_wait(&logs.done, &logs.lock);
  logs.awaited--;
  struct target old = s->to;
  s->to = *to;
  pthread_mutex_unlock(&logs.lock);
  log_close_target(&old);
}

static int log_start_with(const struct log_settings *const settings[STREAMS], const char **what) {
  struct target targets[STREAMS];
  for (unsigned i = 0; i < STREAMS; i++) {
    int result = log_open_target(settings[i]->path, &targets[i]);
    if (result == VOLT_OK) continue;
    *what = settings[i]->path;
    while (i-- > 0) log_close_target(&targets[i]);
    return result;
  }
  int result = logs.is_started ? VOLT_OK : log_start_thread();
  if (result != VOLT_OK) {
    for (unsigned i = 0; i < STREAMS; i++) log_close_target(&targets[i]);
    *what = "a thread for the log";
    return result;
  }
  for (unsigned i = 0; i < STREAMS; i++) {
    log_change_target(&logs.streams[i], &targets[i]);
    atomic_store_explicit(&log_formats[i], settings[i]->format, memory_order_relaxed);
  }
  atomic_store_explicit(&log_levels, settings[LOG]->level, memory_order_relaxed);
  atomic_store_explicit(&log_has_access, settings[ACCESS]->path != NULL, memory_order_relaxed);
  return VOLT_OK;
}

int log_start(const struct log_settings *log, const struct log_settings *access,
              const char **what) {
  const struct log_settings *const settings[STREAMS] = {log, access};
  pthread_mutex_lock(&log_changes);
  int result = log_start_with(settings, what);
  pthread_mutex_unlock(&log_changes);
  return result;
}

int log_reopen(const char **what) {
  int result = VOLT_OK;
  pthread_mutex_lock(&log_changes);
  for (unsigned i = 0; i < STREAMS; i++) {
    struct stream *s = &logs.streams[i]; /* its target changes under log_changes only */
    struct target next;
    if (!s->to.is_ours || s->to.path == NULL) continue;
    int opened = log_open_target(s->to.path, &next);
    if (opened == VOLT_OK) {
      log_change_target(s, &next);
    } else {
      result = opened;
      *what = s->to.path;
    }
  }
  pthread_mutex_unlock(&log_changes);
  return result;
}

void log_flush(void) {
  pthread_mutex_lock(&logs.lock);
  logs.awaited++;
  log_drain();
  logs.awaited--;
  pthread_mutex_unlock(&logs.lock);
}

void log_stop(void) {
  pthread_mutex_lock(&log_changes);
  pthread_mutex_lock(&logs.lock);
  bool was_started = logs.is_started;
  logs.is_stopping = was_started;
  if (was_started) log_hurry();
  pthread_mutex_unlock(&logs.lock);
  if (was_started) {
    pthread_join(logs.thread, NULL);
    atomic_store_explicit(&log_has_access, false, memory_order_relaxed);
    for (unsigned i = 0; i < STREAMS; i++) log_close_target(&logs.streams[i].to);
    logs.streams[LOG].to = (struct target){.fd = STDERR_FILENO};
    logs.streams[ACCESS].to = (struct target){.fd = -1};
    pthread_cond_destroy(&logs.work);
  }
  pthread_mutex_unlock(&log_changes);
}

/* ---- lines ---- */

bool log_wants(enum log_level level) {
  return (int)level <= atomic_load_explicit(&log_levels, memory_order_relaxed);
}

bool log_wants_access(void) {
  return atomic_load_explicit(&log_has_access, memory_order_relaxed);
}

uint64_t log_dropped(void) {
  return atomic_load_explicit(&log_drops, memory_order_relaxed);
}

static enum log_format log_format_of(unsigned which) {
  return (enum log_format)atomic_load_explicit(&log_formats[which], memory_order_relaxed);
}

static void log_say_line(enum log_level level, const char *gate, const char *words) {
  static const char *const levels[] = {"error", "warn", "info", "debug"};
  struct log_text t;
  log_text_begin(&t, log_format_of(LOG), log_time());
  log_text_string(&t, "level", levels[level], NULL);
  if (gate != NULL) log_text_string(&t, "gate", gate, NULL);
  log_text_string(&t, "msg", words, NULL);
  log_text_end(&t);
  log_say(LOG, &t);
}

void log_line(enum log_level level, const char *gate, const char *format, ...) {
  char words[2048];
  va_list list;
  if (!log_wants(level)) return;
  va_start(list, format);
  vsnprintf(words, sizeof words, format, list);
  va_end(list);
  log_say_line(level, gate, words);
}

/* Whether a line of the log would be seen on standard error anyway. */
static bool log_is_on_stderr(void) {
  pthread_mutex_lock(&logs.lock);
  bool is = logs.streams[LOG].to.fd == STDERR_FILENO;
  pthread_mutex_unlock(&logs.lock);
  return is;
}

void log_notice(const char *gate, const char *format, ...) {
  char words[2048], line[2304];
  va_list list;
  va_start(list, format);
  vsnprintf(words, sizeof words, format, list);
  va_end(list);
  int size = gate != NULL ? snprintf(line, sizeof line, "voltgate: gate %.200s: %s\n", gate, words)
                          : snprintf(line, sizeof line, "voltgate: %s\n", words);
  struct pollfd room = {.fd = STDERR_FILENO, .events = POLLOUT}; /* its reader may not read */
  ssize_t n = poll(&room, 1, LAST_CHANCE_MS) > 0 ? write(STDERR_FILENO, line, (size_t)size) : 0;
  (void)n; /* no way is left to say it */
  if (!log_is_on_stderr() && log_wants(LOG_INFO)) log_say_line(LOG_INFO, gate, words);
}

static void log_add_string(struct log_text *t, const char *key, const char *value) {
  if (value != NULL) log_text_string(t, key, value, NULL);
}

static void log_add_time(struct log_text *t, const char *key, uint64_t ns, uint64_t thousandth_ns) {
  if (ns != UINT64_MAX) log_text_thousandths(t, key, ns / thousandth_ns);
}

void log_access(const struct access *a) {
  struct log_text t;
  if (!log_wants_access()) return;
  log_text_begin(&t, log_format_of(ACCESS), log_time());
  log_add_string(&t, "gate", a->gate);
  log_add_string(&t, "client", a->client);
  log_add_string(&t, "tenant", a->tenant);
  log_add_string(&t, "user", a->user);
  log_add_string(&t, "database", a->database);
  log_add_time(&t, "wait_ms", a->wait_ns, 1000);
  log_add_time(&t, "hold_ms", a->hold_ns, 1000);
  log_text_number(&t, "permits", a->permits);
  log_text_number(&t, "up", a->up);
  log_text_number(&t, "down", a->down);
  log_add_time(&t, "age_s", a->age_ns, 1000000);
  if (a->end != NULL) log_text_string(&t, "end", a->end, a->detail);
  log_text_end(&t);
  log_say(ACCESS, &t);
}
