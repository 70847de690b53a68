/* sandbox.h: what the process may ask of the kernel from now on: Landlock (files, TCP ports) and
 * seccomp (system calls). */
#ifndef VOLTGATE_PROCESS_SANDBOX_H
#define VOLTGATE_PROCESS_SANDBOX_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "config/settings.h"

enum { SANDBOX_PATHS = 128, SANDBOX_PORTS = 256 };

/* What the program will need. All-zero: nothing but what every gate needs. A path that does not
 * exist yet is allowed by its directory. Paths are the caller's until sandbox_enter() returns. */
struct sandbox_needs {
  const char
      *reads[SANDBOX_PATHS]; /* files, and all below directories: configuration, certificates */
  size_t read_count;
  const char *writes[SANDBOX_PATHS]; /* files that are opened again to append: logs */
  size_t write_count;
  const char *sockets[SANDBOX_PATHS]; /* unix sockets that are bound and removed: their paths */
  size_t socket_count;
  uint16_t connects[SANDBOX_PORTS]; /* TCP ports of servers */
  size_t connect_count;
  uint16_t binds[SANDBOX_PORTS]; /* TCP ports that a reload may listen on */
  size_t bind_count;
  bool any_connect, any_bind; /* ports are not restricted: a reload may bring others */
  bool uses_uring;
};

enum sandbox_result {
  SANDBOX_ENTERED, /* all of it */
  SANDBOX_IN_PART, /* what is missing says what there is not */
  SANDBOX_FAILED   /* the same; nothing can be relied on: end, if it is required */
};

/* Enter it. There is no way out. Call it before other threads are started: Landlock confines the
 * calling thread and those it starts; seccomp confines all there are.
 * missing: words about what this kernel or build does not have; "" for SANDBOX_ENTERED. */
enum sandbox_result sandbox_enter(const struct sandbox_needs *needs, char *missing, size_t room);

#endif
