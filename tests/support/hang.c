/* hang.c: see hang.h. A timer of the kernel's waits: no thread does, which the tests would count, and a child of fork()
 * has none. Its signal begins a thread that dumps, because the thread that the signal comes to may have a lock that
 * the dump takes. If the dump does not end either, the second signal aborts. */
#define _GNU_SOURCE /* timer_create */
#include "hang.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>
#include <volt/sight.h>

#include "sanitizer.h"
#include "unit.h"

/* Sanitizers and emulators are slow. */
#if UNDER_ASAN || UNDER_TSAN || !defined(__x86_64__)
enum { HANGS_AFTER_SECONDS = 240 };
#else
enum { HANGS_AFTER_SECONDS = 120 };
#endif

enum { DUMP_SECONDS = 10, LINE = 256 };

static struct {
  timer_t timer;
  pid_t process; /* that has made it */
  time_t seconds;
  bool is_off;
  bool has_come;
  char said[LINE]; /* by the handler, which does not print */
} hang;

/* Valgrind and qemu keep the last of these signals for themselves; tests use the first. */
static int hang_signal(void) {
  return SIGRTMIN + 5;
}

static void hang_after(time_t seconds) {
  struct itimerspec once;
  memset(&once, 0, sizeof once);
  once.it_value.tv_sec = seconds;
  (void)timer_settime(hang.timer, 0, &once, NULL);
}

/* Whether a debugger has this process, which may have been stopped for long. */
static bool hang_is_traced(void) {
  char line[LINE];
  int tracer = 0;
  FILE *status = fopen("/proc/self/status", "r");
  while (status && fgets(line, sizeof line, status)) {
    if (sscanf(line, "TracerPid: %d", &tracer) == 1) break;
  }
  if (status) fclose(status);
  return tracer != 0;
}

static void *hang_dump(void *arg) {
  if (hang_is_traced()) {
    hang.has_come = false;
    hang_after(hang.seconds);
    return arg;
  }
  (void)volt_dump(NULL, 0, volt_dump_to_fd, (void *)(intptr_t)STDERR_FILENO);
  abort();
}

static void hang_handle(int number) {
  (void)number;
  int saved = errno;
  pthread_t thread;
  if (hang.has_come) abort();
  hang.has_come = true;
  hang_after(DUMP_SECONDS);
  if (write(STDERR_FILENO, hang.said, strlen(hang.said)) < 0) abort();
  if (pthread_create(&thread, NULL, hang_dump, NULL) != 0) abort();
  errno = saved;
}

static time_t hang_seconds(void) {
  const char *text = getenv("VOLT_TEST_HANG_SECONDS");
  return text && *text ? (time_t)atoi(text) : HANGS_AFTER_SECONDS;
}

/* Where there is no such timer, none is missed. */
static bool hang_make(void) {
  struct sigaction action;
  struct sigevent event;
  memset(&action, 0, sizeof action);
  action.sa_handler = hang_handle;
  action.sa_flags = SA_RESTART;
  memset(&event, 0, sizeof event);
  event.sigev_notify = SIGEV_SIGNAL;
  event.sigev_signo = hang_signal();
  return sigaction(hang_signal(), &action, NULL) == 0 &&
         timer_create(CLOCK_MONOTONIC, &event, &hang.timer) == 0;
}

void hang_never(void) {
  hang.is_off = true;
}

void hang_begin(const char *name) {
  hang.seconds = hang.is_off ? 0 : hang_seconds();
  if (hang.process != getpid()) {
    if (hang.seconds == 0 || !hang_make()) return;
    hang.process = getpid();
    hang.has_come = false;
  }
  hang_after(0); /* the handler does not read what is written here */
  (void)snprintf(hang.said, sizeof hang.said,
                 "\nHANGS: the test case %s has not ended after %ld s. What waits:\n", name,
                 (long)hang.seconds);
  hang_after(hang.seconds);
}

/* cmocka's, which says so that a case begins; one that stands in the program comes first. */
void print_message(const char *const format, ...) {
  va_list args;
  if (strncmp(format, "[ RUN ", 6) == 0) {
    va_start(args, format);
    hang_begin(va_arg(args, const char *));
    va_end(args);
  }
  va_start(args, format);
  vprint_message(format, args);
  va_end(args);
}
