/* socket_place.c: the socket of a process, so that its user and root alone get there.
 *
 * The mode of the socket is set before it is bound, and the file gets that mode as it is made: there
 * is no moment at which it has another, and the umask, which is the whole process's, stays as it
 * is. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE /* secure_getenv, struct ucred */
#endif
#include "socket_place.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

enum { SOCKET_BACKLOG = 8 };

bool volt_socket_directory_(unsigned i, uid_t user, char path[VOLT_SOCKET_PATH_]) {
  const char *runtime = i == 0 && user == geteuid() ? secure_getenv("XDG_RUNTIME_DIR") : NULL;
  int size = 0;
  if (i == 0 && runtime && runtime[0] == '/') {
    size = snprintf(path, VOLT_SOCKET_PATH_, "%s/volt", runtime);
  } else if (i == 1) {
    size = snprintf(path, VOLT_SOCKET_PATH_, "/run/user/%ju/volt", (uintmax_t)user);
  } else if (i == 2) {
    size = snprintf(path, VOLT_SOCKET_PATH_, "/tmp/volt-%ju", (uintmax_t)user);
  }
  if (size <= 0 || size >= VOLT_SOCKET_PATH_) path[0] = '\0';
  return i <= 2;
}

/* Make it, unless it is there. What is there is looked at, also if another process has made it. */
static int socket_make_directory(const char *path) {
  struct stat is;
  if (mkdir(path, 0700) != 0 && errno != EEXIST) return errno;
  if (lstat(path, &is) != 0) return errno;
  if (S_ISLNK(is.st_mode)) return ELOOP;
  if (!S_ISDIR(is.st_mode)) return ENOTDIR;
  return is.st_uid == geteuid() && (is.st_mode & 077) == 0 ? 0 : EACCES;
}

int volt_socket_place_(pid_t process, char path[VOLT_SOCKET_PATH_]) {
  char directory[VOLT_SOCKET_PATH_];
  int error = ENOENT;
  for (unsigned i = 0; volt_socket_directory_(i, geteuid(), directory); i++) {
    if (!directory[0]) continue;
    error = socket_make_directory(directory);
    if (error == ENOENT) continue; /* the one above is not there: the next */
    if (error != 0) return error;
    volt_socket_sweep_(directory);
    int size = snprintf(path, VOLT_SOCKET_PATH_, "%s/%jd.sock", directory, (intmax_t)process);
    return size < VOLT_SOCKET_PATH_ ? 0 : ENAMETOOLONG;
  }
  return error;
}

static int socket_address(struct sockaddr_un *to, const char *path) {
  size_t size = strlen(path);
  if (path[0] != '/') return EINVAL;
  if (size >= sizeof to->sun_path) return ENAMETOOLONG;
  *to = (struct sockaddr_un){.sun_family = AF_UNIX};
  memcpy(to->sun_path, path, size + 1);
  return 0;
}

/* Whether this user and root alone can remove or have made what is at the path. */
static int socket_check_directory(const char *path) {
  char directory[VOLT_SOCKET_PATH_];
  struct stat is;
  size_t size = (size_t)(strrchr(path, '/') - path);
  memcpy(directory, path, size);
  strcpy(directory + size, size == 0 ? "/" : "");
  if (stat(directory, &is) != 0) return errno;
  if (!S_ISDIR(is.st_mode)) return ENOTDIR;
  bool is_ours = is.st_uid == geteuid() || is.st_uid == 0;
  bool is_open = (is.st_mode & 022) != 0 && (is.st_mode & S_ISVTX) == 0;
  return is_ours && !is_open ? 0 : EACCES;
}

int volt_socket_connect_(const char *path, int *fd) {
  struct sockaddr_un address;
  int error = socket_address(&address, path);
  if (error != 0) return error;
  *fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  if (*fd < 0) return errno;
  if (connect(*fd, (const void *)&address, sizeof address) == 0) return 0;
  error = errno;
  close(*fd);
  return error;
}

/* Remove a socket of this user's at which no process listens. */
static int socket_remove_stale(const char *path) {
  struct stat is;
  int fd;
  if (lstat(path, &is) != 0) return errno == ENOENT ? 0 : errno;
  if (!S_ISSOCK(is.st_mode) || is.st_uid != geteuid()) return EADDRINUSE;
  int error = volt_socket_connect_(path, &fd);
  if (error == 0) close(fd);
  if (error != ECONNREFUSED) return EADDRINUSE;
  return unlink(path) == 0 || errno == ENOENT ? 0 : errno;
}

/* s->fd is a socket. */
static int socket_bind_new(volt_socket_ *s, const struct sockaddr_un *address) {
  struct stat is = {0};
  if (fchmod(s->fd, 0600) != 0) return errno;
  if (bind(s->fd, (const void *)address, sizeof *address) != 0) return errno;
  int error = lstat(s->path, &is) != 0 ? errno : 0;
  if (error == 0 && (!S_ISSOCK(is.st_mode) || (is.st_mode & 0777 & ~0600u) != 0)) error = EACCES;
  if (error == 0 && listen(s->fd, SOCKET_BACKLOG) != 0) error = errno;
  if (error != 0) unlink(s->path); /* this thread has made it just now */
  s->device = is.st_dev;
  s->inode = is.st_ino;
  return error;
}

pid_t volt_socket_process_(const char *name) {
  char *end;
  long process = strtol(name, &end, 10);
  bool is_one = process > 0 && process <= INT_MAX && strcmp(end, ".sock") == 0;
  return is_one ? (pid_t)process : 0;
}

void volt_socket_sweep_(const char *directory) {
  char path[VOLT_SOCKET_PATH_];
  DIR *d = opendir(directory);
  if (!d) return;
  for (struct dirent *entry; (entry = readdir(d)) != NULL;) {
    pid_t process = volt_socket_process_(entry->d_name);
    bool has_ended = process > 0 && kill(process, 0) != 0 && errno == ESRCH;
    int size = has_ended ? snprintf(path, sizeof path, "%s/%.20s", directory, entry->d_name) : 0;
    if (size > 0 && size < VOLT_SOCKET_PATH_) (void)socket_remove_stale(path);
  }
  closedir(d);
}

int volt_socket_listen_(volt_socket_ *s, const char *path) {
  struct sockaddr_un address;
  int error = socket_address(&address, path);
  if (error == 0) error = socket_check_directory(path);
  if (error == 0) error = socket_remove_stale(path);
  if (error != 0) return error;
  memcpy(s->path, address.sun_path, sizeof s->path);
  s->fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  if (s->fd < 0) return errno;
  error = socket_bind_new(s, &address);
  if (error != 0) close(s->fd);
  return error;
}

void volt_socket_remove_(const volt_socket_ *s) {
  struct stat is;
  bool is_there = lstat(s->path, &is) == 0 && is.st_dev == s->device && is.st_ino == s->inode;
  if (is_there) unlink(s->path);
}

void volt_socket_end_(volt_socket_ *s) {
  volt_socket_remove_(s);
  close(s->fd);
}

void volt_socket_forget_(volt_socket_ *s) {
  close(s->fd);
}

int volt_socket_peer_(int fd, uid_t *user, pid_t *process) {
  struct ucred peer;
  socklen_t size = sizeof peer;
  if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &size) != 0) return errno;
  *user = peer.uid;
  if (process) *process = peer.pid;
  return 0;
}
