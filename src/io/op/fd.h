/* fd.h: a descriptor, and the list of the operations that wait for it. */
#ifndef VOLT_IO_OP_FD_H
#define VOLT_IO_OP_FD_H

#include "op.h"

/* The I/O of a runtime; NULL: it does none. Then this says so on standard error, once. */
volt_io_ *volt_io_of_(volt_rt *rt);

/* Make *d a descriptor of io. number: a descriptor that does not block, which d now has; -1: none
 * yet. kind: of VOLT_FD_NONE_ and so on. */
void volt_fd_set_(volt_fd *d, volt_io_ *io, int number, unsigned kind);

/* *d, which has no number, has this one from now on. */
void volt_fd_take_number_(volt_fd *d, int number, unsigned kind);

/* Take the number away from *d, and then use d->io no more: the end of its runtime may free it. where:
 * for the message if *d is a copy. Returns the number; -1: there was none. */
int volt_fd_give_number_(volt_fd *d, const char *where);

/* The back end: d is ready for bits: of POLLIN, POLLOUT, POLLPRI, POLLRDHUP, POLLERR, POLLHUP.
 * Wakes the operations that wait for one of them. Any thread. */
void volt_fd_became_ready_(volt_fd *d, uint32_t bits);

/* Make the descriptor of that number non-blocking, if it can be. Returns its kind (of VOLT_FD_TCP_
 * and so on), or a negative errno. */
int volt_fd_prepare_(const volt_sys_ *sys, int number);

/* Under the lock: op begins on its descriptor. Returns VOLT_OK, or why it cannot. Aborts if another
 * operation has its place. */
int volt_op_enter_(volt_op *op);

/* Under the lock: op leaves its descriptor. It is not linked. Claims the closer if that is due. */
void volt_op_leave_(volt_op *op, volt_claims_ *claims);

/* Under the lock: if the descriptor is being closed and nothing is under way on it, claim the
 * closer. */
void volt_fd_claim_closer_(volt_fd *d, volt_claims_ *claims);

/* Under the lock: end an operation that waits for readiness, or was woken: result is VOLT_ECLOSED.
 * Does nothing if its owner holds it: that sees is_closing. */
void volt_op_close_(volt_op *op, volt_claims_ *claims);

/* As volt_fd_became_ready_(), but it leaves the grants to the caller, and does not wake more than
 * there is room for. Returns whether there may be more: then call it again. */
bool volt_fd_claim_ready_(volt_fd *d, uint32_t bits, volt_claims_ *claims);

/* Under the lock, which is free meanwhile: see that what op waits for is reported. was_called: its
 * call has said EAGAIN. A connect that did not begin then, because a unix listener has no room, is
 * reported in a while, because the system does not say when there is some.
 * Returns VOLT_OK; VOLT_EAGAIN: try again; else the result of op. */
int volt_op_watch_(volt_op *op, bool was_called);

/* Stop to watch it. Nothing is under way on it. */
void volt_fd_unwatch_(volt_fd *d);

/* Abort if something is under way on d. */
void volt_fd_check_idle_(volt_fd *d, const char *where);

#endif
