/* uring.h: the io_uring back end: one ring for each worker. See uring.c. */
#ifndef VOLT_IO_BACKEND_URING_H
#define VOLT_IO_BACKEND_URING_H

#ifndef _GNU_SOURCE
#error "liburing.h needs _GNU_SOURCE"
#endif
#include <liburing.h>

#include "../../rt/host/driver.h"
#include "../op/backend.h"
#include "epoll_set.h"
#include "kinds.h"
#include "mail.h"

/* The system calls of io_uring, as a table: a test makes them fail, and changes what has completed.
 * Each is as the function of liburing of that name, and returns a negative errno. */
typedef struct volt_uring_calls_ {
  int (*queue_init_params)(unsigned entries, struct io_uring *ring, struct io_uring_params *params);
  int (*submit_and_get_events)(struct io_uring *ring);
  int (*submit_and_wait_timeout)(struct io_uring *ring, struct io_uring_cqe **cqe, unsigned count,
                                 struct __kernel_timespec *timeout, sigset_t *mask);
} volt_uring_calls_;

extern const volt_uring_calls_ volt_uring_real_;

/* How large the rings are. */
typedef struct volt_uring_setup_ {
  unsigned sq;
  unsigned cq;
  const volt_uring_calls_ *calls;
} volt_uring_setup_;

/* What a ring watches beside operations. Also its user_data: no operation has such an address. */
enum { VOLT_URING_DOORBELL_ = 2, VOLT_URING_EPOLL_ = 4 };

/* For tests. */
typedef struct volt_uring_counts_ {
  uint64_t enters;    /* system calls, with and without waiting */
  uint64_t waits;     /* of these, those that wait */
  uint64_t refused;   /* of these, those that have to be made again */
  uint64_t completed; /* requests of operations */
  uint64_t mails;     /* operations that other threads have left */
  uint64_t rearmed;   /* watches that the system has ended by itself */
} volt_uring_counts_;

/* A worker's share. All but the mail is used by one thread at a time: the worker, or by hand the
 * thread that runs the runtime. */
typedef struct volt_uring_share_ {
  struct io_uring ring;
  const volt_uring_calls_ *calls;
  struct volt_uring_ *uring;
  int doorbell;
  unsigned index;
  unsigned in_flight;          /* operations and cancels that have yet to complete */
  unsigned spins;              /* of waiting for the system to take what it has refused */
  uint8_t to_arm;              /* of VOLT_URING_DOORBELL_ and VOLT_URING_EPOLL_: to watch again, */
  uint8_t is_armed;            /* and watched */
  bool is_rung;                /* the doorbell has, and no sleep has ended by it */
  bool is_registered;          /* the ring's descriptor, with this thread */
  VOLT_PLAIN(volt_op *) taken; /* out of the mail, and not looked at yet */
  volt_uring_counts_ counts;
  char apart[64]; /* other threads write what follows */
  volt_mail_ mail;
  char apart_too[64];
} volt_uring_share_;

typedef struct volt_uring_ {
  volt_io_ io; /* first */
  volt_rt_allocator allocator;
  volt_epoll_ epoll;                 /* for what waits for readiness */
  VOLT_ATOMIC(uint32_t) is_watching; /* a descriptor was watched, so worker 0 watches epoll */
  bool by_hand;
  unsigned shares;
  volt_uring_share_ share[1]; /* one for each worker */
} volt_uring_;

/* ---- uring.c ---- */

/* volt_uring_create_() (kinds.h) with rings of another size. */
int volt_uring_create_with_(volt_driver_ **out, volt_rt *rt, const volt_rt_config *config,
                            const int *doorbell, const volt_uring_setup_ *setup);

/* The share of a worker of a runtime whose driver is this one. */
volt_uring_share_ *volt_uring_share_of_(volt_driver_ *driver, unsigned worker);

/* ---- uring_ring.c: one ring ---- */

/* Make the ring of *s. Returns 0 or a negative errno: then there is none. */
int volt_uring_ring_init_(volt_uring_share_ *s, const volt_uring_setup_ *setup, bool by_hand);

/* From now on this thread alone uses the ring; until it says that it does not any more. */
void volt_uring_enable_(volt_uring_share_ *s);
void volt_uring_disable_(volt_uring_share_ *s);

/* An SQE of this ring, to be filled in. If the SQ is full, what is in it is submitted first. */
struct io_uring_sqe *volt_uring_sqe_(volt_uring_share_ *s);

/* Submit what is staged; let the system post what has completed. */
void volt_uring_enter_(volt_uring_share_ *s);

/* The same; then wait until something completes, or until deadline_ns. */
void volt_uring_wait_(volt_uring_share_ *s, uint64_t deadline_ns);

/* Whether the system has something to post, which it does in an enter. */
static inline bool volt_uring_has_more_(const volt_uring_share_ *s) {
  return IO_URING_READ_ONCE(*s->ring.sq.kflags) & (IORING_SQ_TASKRUN | IORING_SQ_CQ_OVERFLOW);
}

/* Whether an enter has something to do. */
static inline bool volt_uring_is_due_(const volt_uring_share_ *s) {
  return io_uring_sq_ready(&s->ring) > 0 || volt_uring_has_more_(s);
}

/* Watch again what has to be watched again. */
void volt_uring_arm_(volt_uring_share_ *s);

/* Take all that has completed. Returns how much that was. */
unsigned volt_uring_reap_(volt_uring_share_ *s);

/* ---- uring_sqe.c: the operations ---- */

/* Fill in *sqe for op. */
void volt_uring_fill_in_(struct io_uring_sqe *sqe, volt_op *op);

/* The system has ended what volt_uring_fill_in_() has asked for, with result. Returns the result of
 * op, as volt_op_ended_() takes it. -EAGAIN: op has to be submitted again. */
int volt_uring_result_(volt_op *op, int result);

#endif
