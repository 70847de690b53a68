/* wire.c: a connection to a process that serves volt-top. */
#define _GNU_SOURCE /* MSG_NOSIGNAL, POLLRDHUP */
#include "wire.h"

#include <dirent.h>
#include <errno.h>
#include <poll.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "../../src/sight/answer/socket_place.h"

enum { WITHIN_MS = 2000 };

static bool fail(wire *w, const char *format, ...) __attribute__((format(printf, 2, 3)));

static bool fail(wire *w, const char *format, ...) {
  va_list args;
  va_start(args, format);
  vsnprintf(w->why, sizeof w->why, format, args);
  va_end(args);
  wire_close(w);
  return false;
}

void wire_close(wire *w) {
  if (w->fd >= 0) close(w->fd);
  w->fd = -1;
  w->have = 0;
}

/* A socket in a directory that all may write to may be anybody's. */
static bool is_right_peer(wire *w, pid_t process) {
  struct stat is;
  uid_t user;
  pid_t peer;
  int error = volt_socket_peer_(w->fd, &user, &peer);
  if (error != 0) return fail(w, "%s: %s", w->path, strerror(error));
  if (process > 0 && peer != process && peer != 0) {
    return fail(w, "%s is of process %jd", w->path, (intmax_t)peer);
  }
  bool is_owner = lstat(w->path, &is) == 0 && is.st_uid == user;
  if (!is_owner || (user != geteuid() && geteuid() != 0)) {
    return fail(w, "%s is of another user", w->path);
  }
  return true;
}

bool wire_open(wire *w, const char *path, pid_t process) {
  w->have = 0;
  snprintf(w->path, sizeof w->path, "%s", path);
  int error = volt_socket_connect_(path, &w->fd);
  if (error == EINVAL) return fail(w, "%s: the path of a socket is absolute", path);
  if (error != 0) {
    w->fd = -1;
    return fail(w, "%s: %s", path, strerror(error));
  }
  return is_right_peer(w, process);
}

/* ---- where ---- */

static uid_t user_of(pid_t process) {
  char path[32];
  struct stat is;
  snprintf(path, sizeof path, "/proc/%jd", (intmax_t)process);
  return stat(path, &is) == 0 ? is.st_uid : geteuid();
}

bool wire_find(pid_t process, char path[128]) {
  char directory[VOLT_SOCKET_PATH_];
  struct stat is;
  uid_t user = user_of(process);
  for (unsigned i = 0; volt_socket_directory_(i, user, directory); i++) {
    if (!directory[0]) continue;
    snprintf(path, 128, "%s/%jd.sock", directory, (intmax_t)process);
    if (lstat(path, &is) == 0 && S_ISSOCK(is.st_mode)) return true;
  }
  return false;
}

static unsigned list_directory(const char *directory,
                               void (*fn)(void *ctx, const char *path, pid_t process), void *ctx) {
  unsigned count = 0;
  volt_socket_sweep_(directory);
  DIR *d = opendir(directory);
  if (!d) return 0;
  for (struct dirent *entry; (entry = readdir(d)) != NULL;) {
    char path[VOLT_SOCKET_PATH_ + 32];
    wire w = {.fd = -1};
    pid_t process = volt_socket_process_(entry->d_name);
    snprintf(path, sizeof path, "%s/%.20s", directory, entry->d_name);
    if (process == 0 || !wire_open(&w, path, 0)) continue; /* it may have ended */
    wire_close(&w);
    fn(ctx, path, process);
    count++;
  }
  closedir(d);
  return count;
}

unsigned wire_list(void (*fn)(void *ctx, const char *path, pid_t process), void *ctx) {
  char directory[VOLT_SOCKET_PATH_], before[VOLT_SOCKET_PATH_] = "";
  unsigned count = 0;
  for (unsigned i = 0; volt_socket_directory_(i, geteuid(), directory); i++) {
    if (!directory[0] || strcmp(directory, before) == 0) continue; /* the first two may be one */
    count += list_directory(directory, fn, ctx);
    memcpy(before, directory, sizeof before);
  }
  return count;
}

/* ---- asking ---- */

static long long now_ms(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return (long long)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

static bool wait_for(wire *w, short events, long long deadline_ms) {
  struct pollfd asked = {.fd = w->fd, .events = events};
  long long left = deadline_ms - now_ms();
  int ready = poll(&asked, 1, left > 0 ? (int)left : 0);
  if (w->stop && *w->stop) return fail(w, "interrupted");
  if (ready < 0 && errno == EINTR) return true; /* look again */
  return ready > 0 || fail(w, "%s does not answer", w->path);
}

static bool send_all(wire *w, const char *text, size_t size, long long deadline_ms) {
  while (size > 0) {
    ssize_t n = send(w->fd, text, size, MSG_NOSIGNAL | MSG_DONTWAIT);
    if (n < 0 && errno != EAGAIN && errno != EINTR) {
      return fail(w, "%s: %s", w->path, strerror(errno));
    }
    if (n < 0 && !wait_for(w, POLLOUT, deadline_ms)) return false;
    if (n > 0) text += n, size -= (size_t)n;
  }
  return true;
}

/* The next line, which ends at *end in w->in. Returns false: there is none. */
static bool receive_line(wire *w, char **end, long long deadline_ms) {
  while ((*end = memchr(w->in, '\n', w->have)) == NULL) {
    if (w->have == sizeof w->in) return fail(w, "%s: this is no answer", w->path);
    ssize_t n = recv(w->fd, w->in + w->have, sizeof w->in - w->have, MSG_DONTWAIT);
    if (n == 0) return fail(w, "%s has closed the connection", w->path);
    if (n < 0 && errno != EAGAIN && errno != EINTR) {
      return fail(w, "%s: %s", w->path, strerror(errno));
    }
    if (n < 0 && !wait_for(w, POLLIN, deadline_ms)) return false;
    if (n > 0) w->have += (size_t)n;
  }
  return true;
}

typedef struct last_line {
  bool is_last;
  char error[32], text[WIRE_WHY], cursor[64];
} last_line;

static void read_last(last_line *last, volt_json_reader_ r) {
  volt_json_member_ m;
  last->is_last = true;
  while (volt_json_next_(&r, &m)) {
    if (volt_json_is_(&m, "error")) (void)volt_json_text_of_(&m, last->error, sizeof last->error);
    if (volt_json_is_(&m, "text")) (void)volt_json_text_of_(&m, last->text, sizeof last->text);
    if (volt_json_is_(&m, "cursor"))
      (void)volt_json_text_of_(&m, last->cursor, sizeof last->cursor);
  }
}

/* Returns false: it is no line of the protocol. */
static bool take_line(const char *line, size_t size, wire_line *fn, void *ctx, last_line *last) {
  volt_json_reader_ r = {.at = line, .end = line + size}, all = r;
  volt_json_member_ m;
  char what[24] = "";
  uint64_t version = 0;
  while (volt_json_next_(&r, &m)) {
    if (volt_json_is_(&m, "volt")) (void)volt_json_number_of_(&m, &version);
    if (volt_json_is_(&m, "a")) (void)volt_json_text_of_(&m, what, sizeof what);
  }
  if (r.is_malformed || version != VOLT_JSON_VERSION_) return false;
  if (strcmp(what, "end") == 0 || strcmp(what, "error") == 0) {
    read_last(last, all);
  } else {
    fn(ctx, what, all);
  }
  return true;
}

bool wire_ask(wire *w, const char *request, wire_line *fn, void *ctx, char more[64]) {
  long long deadline_ms = now_ms() + WITHIN_MS;
  last_line last = {.is_last = false};
  if (w->fd < 0) return fail(w, "%s: not connected", w->path);
  if (!send_all(w, request, strlen(request), deadline_ms)) return false;
  if (!send_all(w, "\n", 1, deadline_ms)) return false;
  while (!last.is_last) {
    char *end;
    if (!receive_line(w, &end, deadline_ms)) return false;
    if (!take_line(w->in, (size_t)(end - w->in), fn, ctx, &last)) {
      return fail(w, "%s: this is no volt of version %d", w->path, VOLT_JSON_VERSION_);
    }
    w->have -= (size_t)(end + 1 - w->in);
    memmove(w->in, end + 1, w->have);
  }
  if (more) memcpy(more, last.cursor, sizeof last.cursor);
  if (!last.error[0]) return true;
  snprintf(w->why, sizeof w->why, "%s: %.100s", last.error, last.text); /* connected still */
  return false;
}
