/* resources.h: what the process uses. The files of /proc are opened once, because a sandbox may
 * forbid to open them later. */
#ifndef VOLTGATE_ADMIN_RESOURCES_H
#define VOLTGATE_ADMIN_RESOURCES_H

#include <stdint.h>

struct resources {
  int descriptors;   /* /proc/self/fd, or -1 */
  int memory;        /* /proc/self/statm, or -1 */
  uint64_t start_ms; /* of the process, since 1970; 0: not known */
};

/* Values that are not known are UINT64_MAX. */
struct resources_values {
  uint64_t open_fds, max_fds;
  uint64_t resident_bytes;
  uint64_t cpu_ns; /* user and system */
};

void resources_open(struct resources *r);
void resources_close(struct resources *r);

/* Threads: one at a time. It may read a directory: not on a worker. */
void resources_read(const struct resources *r, struct resources_values *values);

#endif
