/* remote.c: the memory of another process, by process_vm_readv(2): the process does not notice. */
#define _GNU_SOURCE /* process_vm_readv */
#include "remote.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/uio.h>

enum { PAGE = 4096, MAPS_MAX = 65536 };

static bool add_map(remote *r, const char *line) {
  remote_map m = {.from = 0};
  char permissions[8], path[256] = "";
  int found = sscanf(line, "%" SCNx64 "-%" SCNx64 " %7s %*s %*s %*s %255[^\n]", &m.from, &m.to,
                     permissions, path);
  if (found < 3 || path[0] != '/' || r->maps == MAPS_MAX) return true; /* of no file */
  m.is_data = permissions[0] == 'r' && permissions[1] == 'w' && permissions[3] == 'p';
  const char *slash = strrchr(path, '/');
  snprintf(m.file, sizeof m.file, "%.90s", slash + 1);
  remote_map *more = realloc(r->map, (r->maps + 1) * sizeof *more);
  if (!more) return false;
  r->map = more;
  r->map[r->maps++] = m;
  return true;
}

bool remote_open(remote *r, pid_t process) {
  char path[32], line[512];
  *r = (remote){.process = process};
  snprintf(path, sizeof path, "/proc/%jd/maps", (intmax_t)process);
  FILE *maps = fopen(path, "re");
  bool is_whole = maps != NULL;
  if (!maps) snprintf(r->why, sizeof r->why, "process %jd: %s", (intmax_t)process, strerror(errno));
  while (is_whole && fgets(line, sizeof line, maps)) is_whole = add_map(r, line);
  if (maps) fclose(maps);
  if (!is_whole) remote_close(r);
  return is_whole;
}

void remote_close(remote *r) {
  free(r->map);
  r->map = NULL;
  r->maps = 0;
}

bool remote_read(remote *r, uint64_t at, void *to, size_t size) {
  struct iovec here = {.iov_base = to, .iov_len = size};
  struct iovec there = {.iov_base = (void *)(uintptr_t)at, .iov_len = size};
  ssize_t n = process_vm_readv(r->process, &here, 1, &there, 1, 0);
  if (n == (ssize_t)size) return true;
  const char *what = n >= 0 ? "is there in part only" : strerror(errno);
  if (n < 0 && errno == EPERM) what = "not allowed: be root, or set kernel.yama.ptrace_scope to 0";
  snprintf(r->why, sizeof r->why, "memory of process %jd: %s", (intmax_t)r->process, what);
  return false;
}

uint64_t remote_u64(remote *r, uint64_t at) {
  uint64_t value;
  return remote_read(r, at, &value, sizeof value) ? value : 0;
}

void remote_text(remote *r, uint64_t at, char *to, size_t max) {
  size_t size = 0;
  to[0] = '\0';
  while (at != 0 && size + 1 < max) {
    size_t left = PAGE - at % PAGE; /* the next page may not be there */
    size_t some = left < max - 1 - size ? left : max - 1 - size;
    if (!remote_read(r, at, to + size, some)) break;
    to[size + some] = '\0';
    size_t found = strlen(to + size);
    size += found;
    at += found;
    if (found < some) break;
  }
  to[size] = '\0';
}

/* Where the file that has this address begins; or NULL. */
static const remote_map *file_of(const remote *r, uint64_t at) {
  const remote_map *found = NULL;
  for (size_t i = 0; i < r->maps && !found; i++) {
    if (at >= r->map[i].from && at < r->map[i].to) found = &r->map[i];
  }
  while (found && found > r->map && strcmp(found[-1].file, found->file) == 0) found--;
  return found;
}

void remote_code(const remote *r, uint64_t at, char *to, size_t max) {
  const remote_map *m = file_of(r, at);
  if (m) {
    snprintf(to, max, "%.60s+0x%" PRIx64, m->file, at - m->from);
  } else {
    snprintf(to, max, "0x%" PRIx64, at);
  }
}
