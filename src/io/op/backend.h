/* backend.h: a back end, and the I/O of one runtime, as operations know them. What a back end reports:
 * volt_fd_became_ready_() (fd.h), volt_op_ended_() and volt_op_cancel_ended_() (op.h). */
#ifndef VOLT_IO_OP_BACKEND_H
#define VOLT_IO_OP_BACKEND_H

#include <volt/io.h>

#include "../../rt/host/driver.h"
#include "../sys/sys.h"

typedef struct volt_io_ volt_io_;

/* A back end. All-const, beside its volt_driver_ops_. */
typedef struct volt_io_ops_ {
  /* An operation on d waits for readiness for the first time: from now on call
   * volt_fd_became_ready_() each time that d becomes ready for something, and once at first for
   * what it is ready for already.
   * *mark: what d->watched becomes, not 0. Returns VOLT_OK or VOLT_ERRNO(e). Any thread; the lock
   * of d is not held, but one thread at a time calls it for d. */
  int (*watch)(volt_io_ *io, volt_fd *d, uint32_t *mark);

  /* d is about to be closed, or given back, and d->watched is its mark. After the return no thread
   * calls volt_fd_became_ready_(d), nor is one in it. Any thread. */
  void (*unwatch)(volt_io_ *io, volt_fd *d);

  /* d is watched, and mark is its mark. After so many ticks (nap.h) each operation that waits
   * for it calls again. Returns VOLT_OK or VOLT_ENOMEM. Any thread; no lock is held. NULL: what
   * an operation waits for is always reported. */
  int (*nap)(volt_io_ *io, volt_fd *d, uint32_t mark, uint32_t ticks);

  /* Whether this back end can do op as WHOLE. NULL: none. */
  bool (*does_whole)(volt_io_ *io, const volt_op *op);

  /* Do op: on the worker op->home, whose thread this is. It is in the list, WAITING. The back end
   * calls volt_op_ended_() on that thread, not within this call. */
  void (*submit)(volt_io_ *io, volt_op *op);

  /* End op early, if that can be: on any thread. is_asked and ends_due were set under the lock,
   * once for each submit(); the lock is not held, and io lives until this has returned. The back end
   * calls volt_op_cancel_ended_() once, on the worker op->home, before or after volt_op_ended_(). */
  void (*cancel)(volt_io_ *io, volt_op *op);
} volt_io_ops_;

/* The I/O of one runtime: the first part of each back end's own struct. */
struct volt_io_ {
  volt_driver_ driver; /* first */
  VOLT_PLAIN(volt_rt *) rt;
  const volt_io_ops_ *ops;
  VOLT_PLAIN(const volt_sys_ *) sys;
  struct volt_watch_table *numbers; /* whose they are; NULL: the back end knows by itself */
};

static inline volt_io_ *volt_io_of_driver_(volt_driver_ *driver) {
  return volt_container_of(driver, volt_io_, driver);
}

#endif
