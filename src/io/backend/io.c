/* io.c: which back end a runtime gets. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <volt/io.h>

#include "../../rt/host/driver.h"
#include "kinds.h"

#if defined(__has_include)
#if __has_include(<valgrind/valgrind.h>)
#include <valgrind/valgrind.h>
#endif
#endif
#ifndef RUNNING_ON_VALGRIND
#define RUNNING_ON_VALGRIND 0
#endif

/* Whether the system has no io_uring, or does not allow it here: a container, an old kernel, a
 * limit of memory. */
static bool io_is_refused(int result) {
  switch (volt_errno(result)) {
    case EPERM:
    case EACCES:
    case ENOSYS:
    case ENOMEM:
    case EINVAL: return true;
    default: return false;
  }
}

static int io_auto_create(volt_driver_ **out, volt_rt *rt, const volt_rt_config *config,
                          const int *doorbell) {
  const char *wish = getenv("VOLT_IO");
  if (wish && strcmp(wish, "epoll") == 0) return volt_epoll_create_(out, rt, config, doorbell);
  if (wish && strcmp(wish, "uring") == 0) return volt_uring_create_(out, rt, config, doorbell);
  if (wish) return VOLT_EINVAL;
  /* there a thread in io_uring_enter() may keep all others from running */
  if (RUNNING_ON_VALGRIND) return volt_epoll_create_(out, rt, config, doorbell);
  /* with a ring for each worker a second one costs more: docs/design.md */
  bool is_alone = config->workers == 1 || config->flags & VOLT_RT_BY_HAND;
  if (!is_alone) return volt_epoll_create_(out, rt, config, doorbell);
  int result = volt_uring_create_(out, rt, config, doorbell);
  return io_is_refused(result) ? volt_epoll_create_(out, rt, config, doorbell) : result;
}

const volt_io_kind *volt_io_auto(void) {
  static const volt_io_kind kind = {io_auto_create};
  return &kind;
}

const volt_io_kind *volt_io_uring(void) {
  static const volt_io_kind kind = {volt_uring_create_};
  return &kind;
}

const volt_io_kind *volt_io_epoll(void) {
  static const volt_io_kind kind = {volt_epoll_create_};
  return &kind;
}
