/* systemd.c: the protocols of sd_listen_fds(3), sd_notify(3) and sd_watchdog_enabled(3), by hand. */
#define _GNU_SOURCE
#include "process/systemd.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>
#include <volt/base.h>

#include "common/options.h"

enum { FIRST_FD = 3 };

/* ---- listeners ---- */

static bool systemd_is_listening(int fd) {
  int yes = 0;
  socklen_t size = sizeof yes;
  return getsockopt(fd, SOL_SOCKET, SO_ACCEPTCONN, &yes, &size) == 0 && yes != 0;
}

/* Copies the next name of the list, which are parted by colons. */
static void systemd_take_name(const char **names, char *to, size_t room) {
  size_t size = *names != NULL ? strcspn(*names, ":") : 0;
  if (size == 0) {
    snprintf(to, room, "unknown");
  } else {
    snprintf(to, room, "%.*s", (int)(size < room ? size : room - 1), *names);
  }
  if (*names != NULL) *names = (*names)[size] == ':' ? *names + size + 1 : NULL;
}

static const char *systemd_prepare(int fd, char *words, size_t room) {
  int flags = fcntl(fd, F_GETFL);
  if (flags < 0) {
    snprintf(words, room, "LISTEN_FDS: descriptor %d is not open", fd);
    return words;
  }
  if (!systemd_is_listening(fd)) {
    snprintf(words, room, "LISTEN_FDS: descriptor %d is no socket that listens", fd);
    return words;
  }
  if (fcntl(fd, F_SETFL, flags | O_NONBLOCK) != 0 || fcntl(fd, F_SETFD, FD_CLOEXEC) != 0) {
    snprintf(words, room, "LISTEN_FDS: descriptor %d: %s", fd, strerror(errno));
    return words;
  }
  return NULL;
}

static const char *systemd_take_all(struct systemd_listeners *to, uint64_t count, const char *names,
                                    char *words, size_t room) {
  for (uint64_t i = 0; i < count; i++) {
    const char *wrong = systemd_prepare(FIRST_FD + (int)i, words, room);
    if (wrong != NULL) return wrong;
    to->at[i].fd = FIRST_FD + (int)i;
    systemd_take_name(&names, to->at[i].name, sizeof to->at[i].name);
  }
  to->count = (size_t)count;
  return NULL;
}

const char *systemd_take_listeners(struct systemd_listeners *to, char *words, size_t room) {
  const char *pid_text = getenv("LISTEN_PID"), *count_text = getenv("LISTEN_FDS"), *wrong = NULL;
  uint64_t pid = 0, count = 0;
  to->count = 0;
  if (pid_text == NULL || count_text == NULL) {
    /* there are none */
  } else if (!number_read(pid_text, 0, UINT64_MAX, &pid)) {
    snprintf(words, room, "LISTEN_PID is no number");
    wrong = words;
  } else if (pid != (uint64_t)getpid()) {
    /* they are another process's */
  } else if (!number_read(count_text, 0, SYSTEMD_LISTENERS, &count)) {
    snprintf(words, room, "LISTEN_FDS is no number up to %d", SYSTEMD_LISTENERS);
    wrong = words;
  } else {
    wrong = systemd_take_all(to, count, getenv("LISTEN_FDNAMES"), words, room);
  }
  unsetenv("LISTEN_PID");
  unsetenv("LISTEN_FDS");
  unsetenv("LISTEN_FDNAMES");
  return wrong;
}

int systemd_listener(struct systemd_listeners *from, const char *name) {
  for (size_t i = 0; i < from->count; i++) {
    int fd = from->at[i].fd;
    if (fd < 0 || strcmp(from->at[i].name, name) != 0) continue;
    from->at[i].fd = -1;
    return fd;
  }
  return -1;
}

/* ---- notifications ---- */

/* Written by systemd_start() before there are threads. */
static struct {
  int fd; /* connected; 0: there is no manager */
  uint64_t watchdog_ns;
} manager;

/* The address that NOTIFY_SOCKET says: a path, or @ and an abstract name. Returns its size, 0: none. */
static socklen_t systemd_notify_address(const char *text, struct sockaddr_un *at) {
  size_t size = text != NULL ? strlen(text) : 0;
  if (size < 2 || size >= sizeof at->sun_path || (text[0] != '/' && text[0] != '@')) return 0;
  at->sun_family = AF_UNIX;
  memcpy(at->sun_path, text, size);
  if (text[0] == '@') at->sun_path[0] = 0;
  return (socklen_t)(offsetof(struct sockaddr_un, sun_path) + size + (text[0] == '/'));
}

void systemd_start(void) {
  struct sockaddr_un at = {0};
  uint64_t pid = 0, microseconds = 0;
  socklen_t size = systemd_notify_address(getenv("NOTIFY_SOCKET"), &at);
  const char *for_pid = getenv("WATCHDOG_PID");
  if (manager.fd > 0) close(manager.fd);
  manager.fd = 0;
  manager.watchdog_ns = 0;
  if (size > 0) {
    int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (fd >= 0 && connect(fd, (const struct sockaddr *)&at, size) != 0) {
      close(fd);
      fd = -1;
    }
    manager.fd = fd > 0 ? fd : 0;
  }
  bool is_for_us =
      for_pid == NULL || (number_read(for_pid, 0, UINT64_MAX, &pid) && pid == (uint64_t)getpid());
  if (is_for_us && number_read(getenv("WATCHDOG_USEC"), 0, UINT64_MAX / 1000 - 1, &microseconds)) {
    manager.watchdog_ns = microseconds * 1000;
  }
  unsetenv("NOTIFY_SOCKET");
  unsetenv("WATCHDOG_USEC");
  unsetenv("WATCHDOG_PID");
}

__attribute__((format(printf, 1, 2))) static int systemd_notify(const char *format, ...) {
  char text[512];
  va_list list;
  if (manager.fd == 0) return VOLT_OK;
  va_start(list, format);
  int n = vsnprintf(text, sizeof text, format, list);
  va_end(list);
  size_t size = (size_t)n < sizeof text ? (size_t)n : sizeof text - 1;
  return send(manager.fd, text, size, MSG_NOSIGNAL) >= 0 ? VOLT_OK : VOLT_ERRNO(errno);
}

/* A status is one line: what would be another variable is not passed on. */
static int systemd_line_size(const char *status) {
  return (int)strcspn(status, "\r\n");
}

int systemd_ready(const char *status) {
  return systemd_notify("READY=1\nMAINPID=%ld\nSTATUS=%.*s\n", (long)getpid(),
                        systemd_line_size(status), status);
}

int systemd_reloading(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return systemd_notify("RELOADING=1\nMONOTONIC_USEC=%" PRIu64 "\n",
                        (uint64_t)now.tv_sec * 1000000 + (uint64_t)now.tv_nsec / 1000);
}

int systemd_stopping(void) {
  return systemd_notify("STOPPING=1\n");
}

int systemd_status(const char *status) {
  return systemd_notify("STATUS=%.*s\n", systemd_line_size(status), status);
}

int systemd_main_pid(uint64_t pid) {
  return systemd_notify("MAINPID=%" PRIu64 "\n", pid);
}

int systemd_watchdog(void) {
  return systemd_notify("WATCHDOG=1\n");
}

uint64_t systemd_watchdog_ns(void) {
  return manager.watchdog_ns / 2;
}
