/* resources.c: what the process uses. */
#define _GNU_SOURCE
#include "admin/resources.h"

#include <dirent.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

static uint64_t resources_clock_ms(clockid_t clock) {
  struct timespec now;
  if (clock_gettime(clock, &now) != 0) return 0;
  return (uint64_t)now.tv_sec * 1000 + (uint64_t)now.tv_nsec / 1000000;
}

/* The 22nd field of /proc/self/stat is the start, in ticks since the system's. The second may have
 * spaces and parentheses, so the others are counted from its last one. */
static uint64_t resources_read_start_ms(void) {
  char text[1024];
  int file = open("/proc/self/stat", O_RDONLY | O_CLOEXEC);
  ssize_t size = file < 0 ? -1 : read(file, text, sizeof text - 1);
  if (file >= 0) close(file);
  if (size <= 0) return 0;
  text[size] = '\0';
  char *at = strrchr(text, ')');
  for (int field = 2; at != NULL && field < 22; field++) at = strchr(at + 1, ' ');
  long per_second = sysconf(_SC_CLK_TCK);
  uint64_t now = resources_clock_ms(CLOCK_REALTIME), up = resources_clock_ms(CLOCK_BOOTTIME);
  if (at == NULL || per_second <= 0 || now < up) return 0;
  return now - up + strtoull(at + 1, NULL, 10) * 1000 / (uint64_t)per_second;
}

void resources_open(struct resources *r) {
  r->descriptors = open("/proc/self/fd", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  r->memory = open("/proc/self/statm", O_RDONLY | O_CLOEXEC);
  r->start_ms = resources_read_start_ms();
}

void resources_close(struct resources *r) {
  if (r->descriptors >= 0) close(r->descriptors);
  if (r->memory >= 0) close(r->memory);
  r->descriptors = r->memory = -1;
}

/* Since Linux 6.2 the directory's size says it; before, its entries are counted. */
static uint64_t resources_count_descriptors(int directory) {
  struct stat status;
  if (directory < 0 || fstat(directory, &status) != 0) return UINT64_MAX;
  if (status.st_size > 0) return (uint64_t)status.st_size;
  int number = dup(directory);
  DIR *entries = number >= 0 ? fdopendir(number) : NULL;
  if (entries == NULL) {
    if (number >= 0) close(number);
    return UINT64_MAX;
  }
  uint64_t count = 0;
  rewinddir(entries); /* the copy shares the position */
  for (struct dirent *e; (e = readdir(entries)) != NULL;) count += e->d_name[0] != '.';
  closedir(entries);
  return count - 1; /* but the copy */
}

static uint64_t resources_read_resident(int file) {
  char text[128];
  ssize_t size = file < 0 ? -1 : pread(file, text, sizeof text - 1, 0);
  if (size <= 0) return UINT64_MAX;
  text[size] = '\0';
  uint64_t pages;
  if (sscanf(text, "%*u %" SCNu64, &pages) != 1) return UINT64_MAX;
  return pages * (uint64_t)sysconf(_SC_PAGESIZE);
}

void resources_read(const struct resources *r, struct resources_values *values) {
  struct rlimit limit;
  struct timespec used;
  *values = (struct resources_values){.open_fds = resources_count_descriptors(r->descriptors),
                                      .max_fds = UINT64_MAX,
                                      .resident_bytes = resources_read_resident(r->memory),
                                      .cpu_ns = UINT64_MAX};
  if (getrlimit(RLIMIT_NOFILE, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY) {
    values->max_fds = limit.rlim_cur;
  }
  if (clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &used) == 0) {
    values->cpu_ns = (uint64_t)used.tv_sec * 1000000000u + (uint64_t)used.tv_nsec;
  }
}
