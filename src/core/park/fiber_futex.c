/* fiber_futex.c: a fiber waits for a word to change. To be unparked, a thread needs its word alone,
 * because the kernel knows by the address which thread sleeps there. Fibers have these queues for that.
 *
 * Algorithm: as that of a futex. Each address belongs to one of the queues, FIFOs of the process. A
 * fiber that waits takes the lock of the queue, reads the word, and appends a waiter of a future
 * that knows the address; then it awaits that future. A wake takes the lock, looks for the address,
 * and claims the waiter. The word is read under the lock, and after the lock is taken the wake does
 * not touch it.
 *
 * Invariants, whenever the lock of a queue is free
 *   I1  a waiter is in the queue => when it was appended, its word was what its fiber had seen
 *   I2  a wake has come, and the fiber that it was for is still appended => it was appended, or
 *       appended again, after that wake
 *
 * Races
 *   R1  Interleaving: the fiber reads the word; another thread changes the word, and finds no
 *       waiter; the fiber is appended, and waits for ever. Prevented by: both take the lock, the
 *       fiber before it reads the word, the other one after it has changed the word. If the fiber
 *       has it first, the wake finds the waiter; else the fiber sees the change.
 *   R2  Interleaving: a thread has changed the word and is about to wake; the fiber goes on by
 *       itself, because its deadline has passed or it was unparked often enough, and the memory of
 *       the word is freed. Prevented by: the wake uses the address as a number only. If another
 *       fiber waits there by then, it wakes for nothing, and looks again (park.c).
 *   R3  Interleaving: a deadline or a cancel meets a wake. Prevented by: as in fifo.c R4.
 *   R4  Interleaving: a thread forks while another one holds the lock of a queue. Prevented by: the
 *       child begins with empty queues (locals.c). */
#include "fiber_futex.h"

#include "../future/future_ops.h"
#include "../inspect/describe.h"
#include "../wait/fifo.h"
#include "locals.h"

/* w->data of a waiter: the address of its word. */
static VOLT_ATOMIC(uint32_t) *fiber_futex_word(const volt_waiter *w) {
  return (VOLT_ATOMIC(uint32_t) *)(void *)w->data;
}

static int fiber_futex_start(volt_future *f, volt_waker waker) {
  volt_fifo_ *q = (volt_fifo_ *)f->object;
  uint32_t seen = volt_future_n_(f);
  uint64_t word;
  volt_fifo_lock_(q, &word);
  /* relaxed: R1: the lock orders it against each wake; what the word says is read again */
  bool waits = volt_load_relaxed(fiber_futex_word(&f->waiter)) == seen;
  if (waits) volt_fifo_append_(q, &f->waiter, seen, 1, waker);
  if (waits) volt_count_wait_(VOLT_KIND_OTHER_);
  volt_fifo_unlock_(q, word);
  return waits ? VOLT_PENDING : VOLT_OK;
}

static bool fiber_futex_cancel(volt_future *f) {
  return volt_fifo_cancel_((volt_fifo_ *)f->object, VOLT_KIND_OTHER_, &f->waiter); /* R3 */
}

static bool fiber_futex_set_waker(volt_future *f, volt_waker waker) {
  return volt_fifo_set_waker_((volt_fifo_ *)f->object, VOLT_KIND_OTHER_, &f->waiter, waker);
}

static void fiber_futex_describe(volt_future *f, volt_description_ *description) {
  const volt_call_ *call = volt_container_of(f, volt_fiber_futex_future_, future)->call;
  description->operation = call->name;
  description->object = call->object;
  description->kind = call->kind;
}

static const volt_future_ops_ fiber_futex_ops = {.operation = "volt_park_until",
                                                 .kind = VOLT_KIND_OTHER_,

                                                 .start = fiber_futex_start,
                                                 .cancel = fiber_futex_cancel,
                                                 .set_waker = fiber_futex_set_waker,
                                                 .give_back = volt_future_took_nothing_,
                                                 .poll_ctx = volt_future_poll_leaf_any_,
                                                 .describe = fiber_futex_describe};

int volt_fiber_futex_wait_(volt_blocker_ *fiber, const volt_call_ *call,
                           VOLT_ATOMIC(uint32_t) *word, uint32_t seen, uint64_t deadline_ns) {
  volt_fiber_futex_future_ f;
  f.call = call;
  f.future.waiter.data = word;
  volt_future_make_(&f.future, &fiber_futex_ops, volt_fiber_futex_queue_(word), seen);
  return fiber->block_on(fiber, &f.future, deadline_ns);
}

void volt_fiber_futex_wake_(const VOLT_ATOMIC(uint32_t) *address) {
  volt_fifo_ *q = volt_fiber_futex_queue_(address); /* R2 */
  uint64_t word;
  volt_fifo_lock_(q, &word); /* R1: whether or not a waiter is queued */
  volt_waiter *w = q->head;
  while (w && fiber_futex_word(w) != address) w = w->next;
  if (!w) {
    volt_fifo_unlock_(q, word);
    return;
  }
  volt_claimed_ claimed = volt_fifo_claim_(q, w);
  volt_fifo_unlock_(q, word);
  volt_count_claims_(VOLT_KIND_OTHER_, 1, false);
  volt_claimed_grant_(claimed, VOLT_WAITER_GRANTED_);
}
