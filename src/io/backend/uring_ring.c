/* uring_ring.c: one ring: what is staged goes to the system, what has completed comes back. See
 * uring.c.
 *
 * Invariants
 *   I1  an SQE that was staged is the system's: it is submitted again until the system takes it,
 *       and never taken back
 *   I2  in_flight is how many operations and cancels have been staged whose CQE has not been taken
 *   I3  what has to be watched is in is_armed, with an SQE staged or submitted, or in to_arm
 *
 * Races
 *   R1  Interleaving: a CQE is taken, and what it wakes looks at this ring again before this look
 *       goes on. Harmless: a CQE is copied, and its entry given back, before a task is woken.
 *   R2  Interleaving: the CQ is full as operations complete. Prevented by: the system keeps what
 *       does not fit (IORING_FEAT_NODROP), and says so in a flag that volt_uring_is_due_() reads.
 *       While it does, an enter may be refused with EBUSY; the CQ is emptied, and it is made again.
 *   R3  Interleaving: the doorbell rings as its poll has ended (no IORING_CQE_F_MORE). Prevented
 *       by: it is watched again before the next sleep, and the counter, which is never read, is not
 *       zero then: so the new poll completes at once. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE /* liburing.h */
#endif
#include <errno.h>
#include <poll.h>

#include "../../core/os/check.h"
#include "../../core/park/spin.h"
#include "../op/op.h"
#include "epoll_set.h"
#include "uring.h"

static const char uring_ring_name[] = "io_uring";

const volt_uring_calls_ volt_uring_real_ = {
    .queue_init_params = io_uring_queue_init_params,
    .submit_and_get_events = io_uring_submit_and_get_events,
    .submit_and_wait_timeout = io_uring_submit_and_wait_timeout,
};

/* ---- begin ---- */

/* Whether the system knows the operations that uring_sqe.c asks for. SENDMSG_ZC is not one of them:
 * it came with Linux 6.1. */
static bool uring_ring_is_new_enough(struct io_uring *ring) {
  static const uint8_t ops[] = {
      IORING_OP_POLL_ADD, IORING_OP_ASYNC_CANCEL, IORING_OP_RECV,       IORING_OP_SEND,
      IORING_OP_RECVMSG,  IORING_OP_SENDMSG,      IORING_OP_ACCEPT,     IORING_OP_CONNECT,
      IORING_OP_READ,     IORING_OP_WRITE,        IORING_OP_READV,      IORING_OP_WRITEV,
      IORING_OP_FSYNC,    IORING_OP_OPENAT,       IORING_OP_SENDMSG_ZC,
  };
  struct io_uring_probe *probe = io_uring_get_probe_ring(ring);
  if (!probe) return false;
  bool all = ring->features & IORING_FEAT_EXT_ARG && ring->features & IORING_FEAT_NODROP;
  for (size_t i = 0; i < sizeof ops; i++) all = all && io_uring_opcode_supported(probe, ops[i]);
  io_uring_free_probe(probe);
  return all;
}

int volt_uring_ring_init_(volt_uring_share_ *s, const volt_uring_setup_ *setup, bool by_hand) {
  struct io_uring_params params = {.cq_entries = setup->cq};
  params.flags = IORING_SETUP_CQSIZE | IORING_SETUP_SUBMIT_ALL;
  if (!by_hand) {
    params.flags |= IORING_SETUP_R_DISABLED | IORING_SETUP_SINGLE_ISSUER |
                    IORING_SETUP_DEFER_TASKRUN | IORING_SETUP_TASKRUN_FLAG;
  }
  int error = setup->calls->queue_init_params(setup->sq, &s->ring, &params);
  if (error != 0) return error;
  if (!uring_ring_is_new_enough(&s->ring)) error = -EINVAL;
  if (error == 0) error = io_uring_ring_dontfork(&s->ring);
  if (error != 0) io_uring_queue_exit(&s->ring);
  return error;
}

void volt_uring_enable_(volt_uring_share_ *s) {
  /* as io_uring_enable_rings(), which the shared library of liburing 2.3 does not export */
  int error = io_uring_register((unsigned)s->ring.ring_fd, IORING_REGISTER_ENABLE_RINGS, NULL, 0);
  VOLT_CHECK(error == 0, uring_ring_name, "worker %u of %p: its ring cannot be enabled: %d",
             s->index, (void *)s->uring->io.rt, error);
  s->is_registered = io_uring_register_ring_fd(&s->ring) == 1; /* else it is slower */
}

void volt_uring_disable_(volt_uring_share_ *s) {
  if (s->is_registered) io_uring_unregister_ring_fd(&s->ring); /* this thread alone can */
  s->is_registered = false;
}

/* ---- to the system ---- */

/* An enter has returned result. Returns whether it was refused, and has to be made again. */
static bool uring_ring_was_refused(volt_uring_share_ *s, int result) {
  s->counts.enters += 1;
  if (result >= 0 || result == -ETIME) {
    s->spins = 0;
    return false;
  }
  VOLT_CHECK(result == -EINTR || result == -EAGAIN || result == -EBUSY, uring_ring_name,
             "worker %u of %p: io_uring_enter() has returned %d with %u operations under way",
             s->index, (void *)s->uring->io.rt, result, s->in_flight);
  s->counts.refused += 1;
  return true;
}

void volt_uring_enter_(volt_uring_share_ *s) {
  uring_ring_was_refused(s, s->calls->submit_and_get_events(&s->ring)); /* again at the next look */
}

struct io_uring_sqe *volt_uring_sqe_(volt_uring_share_ *s) {
  struct io_uring_sqe *sqe = io_uring_get_sqe(&s->ring);
  while (!sqe) {
    /* not into the CQ: volt_op_ended_() must not be called here */
    if (uring_ring_was_refused(s, s->calls->submit_and_get_events(&s->ring))) {
      volt_pause_(&s->spins);
    }
    sqe = io_uring_get_sqe(&s->ring);
  }
  return sqe;
}

void volt_uring_wait_(volt_uring_share_ *s, uint64_t deadline_ns) {
  uint64_t now_ns = deadline_ns == VOLT_NO_DEADLINE ? 0 : volt_now_ns();
  uint64_t left_ns = deadline_ns > now_ns ? deadline_ns - now_ns : 0;
  struct __kernel_timespec timeout = {.tv_sec = (long long)(left_ns / 1000000000),
                                      .tv_nsec = (long long)(left_ns % 1000000000)};
  struct io_uring_cqe *cqe; /* volt_uring_reap_() takes it */
  s->counts.waits += 1;
  int result = s->calls->submit_and_wait_timeout(
      &s->ring, &cqe, 1, deadline_ns == VOLT_NO_DEADLINE ? NULL : &timeout, NULL);
  if (uring_ring_was_refused(s, result) && result == -EAGAIN) volt_pause_(&s->spins);
}

/* ---- what is watched beside operations ---- */

static void uring_ring_watch(volt_uring_share_ *s, int fd, unsigned what) {
  struct io_uring_sqe *sqe = volt_uring_sqe_(s);
  io_uring_prep_poll_multishot(sqe, fd, POLLIN);
  io_uring_sqe_set_data64(sqe, what);
  s->is_armed |= (uint8_t)what;
  s->to_arm &= (uint8_t)~what;
}

void volt_uring_arm_(volt_uring_share_ *s) {
  if (s->to_arm & VOLT_URING_DOORBELL_) uring_ring_watch(s, s->doorbell, VOLT_URING_DOORBELL_);
  if (s->to_arm & VOLT_URING_EPOLL_) {
    uring_ring_watch(s, s->uring->epoll.number, VOLT_URING_EPOLL_);
  }
}

/* ---- back from the system ---- */

/* What is watched has something, or is not watched any more: R3. */
static void uring_ring_noticed(volt_uring_share_ *s, unsigned what, uint32_t flags) {
  if (!(flags & IORING_CQE_F_MORE)) {
    s->is_armed &= (uint8_t)~what;
    s->to_arm |= (uint8_t)what;
    s->counts.rearmed += 1;
  }
  if (what == VOLT_URING_DOORBELL_) s->is_rung = true;
  if (what == VOLT_URING_EPOLL_) {
    while (volt_epoll_take_(&s->uring->epoll)) continue;
  }
}

static void uring_ring_completed(volt_uring_share_ *s, uint64_t data, int result) {
  volt_op *op = (volt_op *)(uintptr_t)(data & ~(uint64_t)1);
  s->in_flight -= 1;
  if (data & 1) {
    volt_op_cancel_ended_(op); /* whatever it did: the operation ends by itself */
    return;
  }
  s->counts.completed += 1;
  /* by hand: perhaps because the thread that has submitted it is gone */
  bool is_dropped = result == -ECANCELED && s->uring->by_hand;
  volt_op_ended_(op, is_dropped ? -EAGAIN : volt_uring_result_(op, result));
}

/* Take one CQE: R1. */
static void uring_ring_take(volt_uring_share_ *s) {
  const struct io_uring_cq *cq = &s->ring.cq;
  struct io_uring_cqe cqe = cq->cqes[*cq->khead & cq->ring_mask];
  io_uring_cq_advance(&s->ring, 1);
  if (cqe.user_data == VOLT_URING_DOORBELL_ || cqe.user_data == VOLT_URING_EPOLL_) {
    uring_ring_noticed(s, (unsigned)cqe.user_data, cqe.flags);
  } else if (cqe.user_data != 0) {
    uring_ring_completed(s, cqe.user_data, cqe.res);
  }
}

unsigned volt_uring_reap_(volt_uring_share_ *s) {
  unsigned ready = io_uring_cq_ready(&s->ring);
  /* what it wakes may have taken the rest */
  for (unsigned i = 0; i < ready && io_uring_cq_ready(&s->ring) > 0; i++) uring_ring_take(s);
  return ready;
}
