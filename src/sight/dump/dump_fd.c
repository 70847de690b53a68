/* dump_fd.c: a dump goes to a descriptor.
 *
 * What reads the other end of a pipe may stand still, or be gone, just when a program is in
 * trouble. So the writer waits for room for a limited time, and it writes at most what a pipe takes
 * as one piece once poll() has said that there is room: such a write returns. A pipe that has no
 * reader any more would kill the program by SIGPIPE. The writer blocks that signal meanwhile, and
 * takes its own from the thread again, but none that was pending before. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE /* sigtimedwait */
#endif
#include "dump_fd.h"

#include <errno.h>
#include <limits.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <time.h>
#include <unistd.h>
#include <volt/sight.h>

enum { DUMP_PATIENCE_MS = 5000 };

/* Waits until fd takes something; false: it has taken nothing for so long, or never will. A signal
 * does not end the wait, and does not make it longer. */
static bool dump_has_room(int fd, int patience_ms) {
  if (fd < 0) return false; /* poll() would wait */
  struct pollfd ask = {.fd = fd, .events = POLLOUT};
  uint64_t until_ns = volt_now_ns() + (uint64_t)patience_ms * 1000000;
  for (;;) {
    int ready = poll(&ask, 1, patience_ms);
    if (ready >= 0) return ready == 1 && !(ask.revents & POLLNVAL);
    uint64_t now_ns = volt_now_ns();
    if (errno != EINTR || now_ns >= until_ns) return false;
    patience_ms = (int)((until_ns - now_ns + 999999) / 1000000);
  }
}

static bool dump_write_all(int fd, const char *text, size_t length, int patience_ms) {
  while (length > 0) {
    if (!dump_has_room(fd, patience_ms)) return false;
    ssize_t written = write(fd, text, length < PIPE_BUF ? length : PIPE_BUF);
    if (written < 0 && errno != EINTR && errno != EAGAIN) return false;
    if (written < 0) continue;
    text += written;
    length -= (size_t)written;
  }
  return true;
}

bool volt_dump_write_(int fd, const char *text, size_t length, int patience_ms) {
  int saved = errno;
  sigset_t pipe_signal, before, pending;
  sigemptyset(&pipe_signal);
  sigaddset(&pipe_signal, SIGPIPE);
  sigpending(&pending);
  bool was_pending = sigismember(&pending, SIGPIPE) == 1;
  pthread_sigmask(SIG_BLOCK, &pipe_signal, &before);
  bool done = dump_write_all(fd, text, length, patience_ms);
  const struct timespec at_once = {0, 0};
  if (!done && errno == EPIPE && !was_pending) sigtimedwait(&pipe_signal, NULL, &at_once);
  pthread_sigmask(SIG_SETMASK, &before, NULL);
  errno = saved;
  return done;
}

bool volt_dump_to_fd(void *fd, const char *text, size_t length) {
  return volt_dump_write_((int)(intptr_t)fd, text, length, DUMP_PATIENCE_MS);
}
