/* remote.h: the memory of another process, which need not help, and may be stopped. */
#ifndef VOLT_TOP_REMOTE_H
#define VOLT_TOP_REMOTE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/* A part of its addresses that is of one file. */
typedef struct remote_map {
  uint64_t from, to;
  bool is_data; /* private, and may be written */
  char file[96];
} remote_map;

typedef struct remote {
  pid_t process;
  remote_map *map;
  size_t maps;
  char why[160];
} remote;

/* Returns false: r->why. */
bool remote_open(remote *r, pid_t process);
void remote_close(remote *r);

/* Copy bytes of it. Returns false: they are not there, or this user may not read them: r->why. */
bool remote_read(remote *r, uint64_t at, void *to, size_t size);
uint64_t remote_u64(remote *r, uint64_t at); /* 0: not there */

/* A string of it, cut to max - 1 bytes; "" if it is not there. */
void remote_text(remote *r, uint64_t at, char *to, size_t max);

/* Where code is, as "program+0x124f", for addr2line; or its address. */
void remote_code(const remote *r, uint64_t at, char *to, size_t max);

#endif
