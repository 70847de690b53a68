/* mpsc.c: Vyukov's intrusive queue, and the actor on it.
 *
 * Algorithm: push swaps the tail and links the old tail to the new one, or, if there was none, sets
 * the head. pop follows the head. It takes the last node by setting the tail back to empty.
 * The actor sleeps on a signal: IDLE, SIGNALLED or ASLEEP, with STOP beside it. A producer sets
 * SIGNALLED after each push. The consumer clears SIGNALLED before it looks into the queue, and
 * sleeps only if no producer has set it since.
 *
 * Source: D. Vyukov, "Intrusive MPSC node-based queue"; kprotty, "Batched Critical Sections". What
 * the published form got wrong: docs/errata.md.
 *
 * Races
 *   R1  Interleaving: a producer has swapped the tail and not set the head yet; pop finds no head
 *       and says "empty", although that producer, or one after it, may have returned from push.
 *       Prevented by: the tail decides whether the queue is empty.
 *   R2  Interleaving: pop takes the last node while another is pushed behind it. Prevented by: the
 *       CAS on the tail fails then, and the head stays.
 *   R3  Interleaving: the actor finds nothing; a producer pushes and finds it awake; the actor
 *       sleeps. Prevented by: both change the one signal by an RMW, and the actor sleeps by a CAS
 *       from IDLE.
 *   R4  Interleaving: the actor finds a stalled producer and sleeps. Prevented by: that producer
 *       signals after it has linked its node.
 *   R5  Interleaving: run() ends and clears the signal for the next run(), and with it what a
 *       producer signals meanwhile. Prevented by: run() clears the signal by an RMW, so the next
 *       run() sees what was pushed before. The RMW acquires. It has nothing to release, because no
 *       thread learns from the signal what the consumer did. */
#include <volt/mpsc.h>

#include "../core/os/check.h"
#include "../core/os/futex.h"
#include "../core/park/call.h"
#include "../core/park/fiber_futex.h"

enum { SIGNALLED = 1, ASLEEP = 2, STOP = 4, SUSPENDED = 8 }; /* as ASLEEP, of a fiber */

void volt_mpsc_init(volt_mpsc *q) {
  volt_store_relaxed(&q->tail, 0); /* not shared yet */
  volt_store_relaxed(&q->head, 0);
}

void volt_mpsc_push(volt_mpsc *q, volt_bcs_node *node) {
  volt_store_relaxed(&node->next, 0); /* published by mpsc:T1 */
  /* mpsc:T1 <-> mpsc:T1, mpsc:T2: sees the link of the last node as empty, and the head as the
   * consumer has left it */
  uintptr_t last = volt_exchange_acq_rel(&q->tail, volt_bcs_link_to_(node));
  if (last == 0) {
    /* mpsc:H1 -> mpsc:H2: the consumer sees the first node */
    volt_store_release(&q->head, volt_bcs_link_to_(node));
  } else {
    /* mpsc:L1 -> mpsc:L2: the consumer sees the node behind a link */
    volt_store_release(&volt_bcs_node_of_(last)->next, volt_bcs_link_to_(node));
  }
}

int volt_mpsc_pop(volt_mpsc *q, volt_bcs_node **node) {
  /* mpsc:H2 <- mpsc:H1: the consumer sees the first node */
  uintptr_t head = volt_load_acquire(&q->head);
  if (head == 0) {
    /* R1. relaxed: if a push has returned before this pop, its swap of the tail is seen here */
    return volt_load_relaxed(&q->tail) == 0 ? VOLT_EAGAIN : VOLT_ESTALLED;
  }
  volt_bcs_node *first = volt_bcs_node_of_(head);
  /* mpsc:L2 <- mpsc:L1: the consumer sees the node behind a link */
  uintptr_t next = volt_load_acquire(&first->next);
  if (next == 0) {
    volt_store_relaxed(&q->head, 0); /* published by mpsc:T2, before a producer may set it */
    uintptr_t seen = head;
    /* mpsc:T2 -> mpsc:T1: the producer that finds the tail empty sees the head as empty, too */
    if (!volt_cas_release(&q->tail, &seen, 0)) {
      volt_store_relaxed(&q->head, head); /* R2: the consumer's own while there is a tail */
      /* mpsc:L2 <- mpsc:L1: the consumer sees the node behind a link */
      next = volt_load_acquire(&first->next);
      if (next == 0) return VOLT_ESTALLED;
    }
  }
  if (next != 0) volt_store_relaxed(&q->head, next); /* the consumer's own while there is a tail */
  *node = first;
  return VOLT_OK;
}

void volt_actor_init(volt_actor *a) {
  volt_mpsc_init(&a->queue);
  volt_store_relaxed(&a->signal, 0); /* not shared yet */
}

/* Set the bits of what, and wake the actor. */
static void actor_signal(volt_actor *a, uint32_t what) {
  uint32_t before = volt_load_relaxed(&a->signal); /* a guess: the CAS decides */
  /* mpsc:A1 -> mpsc:A2: having cleared SIGNALLED, the actor sees what was pushed */
  while (!volt_cas_weak_release(&a->signal, &before, (before & STOP) | what)) {
  }
  if (before & ASLEEP) volt_futex_wake32_(&a->signal, 1);     /* by address only */
  if (before & SUSPENDED) volt_fiber_futex_wake_(&a->signal); /* the same */
}

void volt_actor_submit(volt_actor *a, volt_bcs_node *node) {
  volt_mpsc_push(&a->queue, node);
  actor_signal(a, SIGNALLED);
}

void volt_actor_stop(volt_actor *a) {
  actor_signal(a, SIGNALLED | STOP);
}

/* The signal is `sleeping`. In a fiber a cancel does not end it: stop() does. */
static void actor_sleep(volt_actor *a, uint32_t sleeping) {
  const volt_call_ call = {.name = "volt_actor_run", .kind = VOLT_KIND_ACTOR_, .object = a};
  if (sleeping == ASLEEP) {
    volt_sleep_begin_(&call, VOLT_NO_DEADLINE);
    volt_futex_wait32_(&a->signal, ASLEEP, VOLT_NO_DEADLINE);
    volt_sleep_end_();
    return;
  }
  volt_blocker_ *fiber = volt_shield_();
  (void)volt_fiber_futex_wait_(fiber, &call, &a->signal, SUSPENDED, VOLT_NO_DEADLINE);
  volt_unshield_(fiber);
}

/* Sleep until signalled; clear SIGNALLED. Returns the signal as it was. */
static uint32_t actor_await_signal(volt_actor *a) {
  const uint32_t sleeping = volt_fiber_blocker_() ? SUSPENDED : ASLEEP;
  for (;;) {
    uint32_t signal = volt_load_relaxed(&a->signal); /* a guess: the CAS decides */
    if (signal & SIGNALLED) {
      /* mpsc:A2 <- mpsc:A1: having cleared SIGNALLED, the actor sees what was pushed */
      if (volt_cas_acquire(&a->signal, &signal, signal & STOP)) return signal;
      /* relaxed, no data: the futex compares it again, and so does fiber_futex.c */
    } else if (signal == sleeping || volt_cas_relaxed(&a->signal, &signal, sleeping)) {
      actor_sleep(a, sleeping);
    }
  }
}

void volt_actor_run(volt_actor *a, volt_bcs_handle *handle, void *ctx) {
  bool stopping = false;
  for (;;) {
    volt_bcs_node *node;
    int result = volt_mpsc_pop(&a->queue, &node);
    if (result == VOLT_OK) {
      handle(node, ctx);
    } else if (stopping && result == VOLT_EAGAIN) {
      /* mpsc:A2 <- mpsc:A1: having cleared SIGNALLED, the actor sees what was pushed; R5 */
      volt_exchange_acquire(&a->signal, 0);
      return;
    } else {
      stopping |= (actor_await_signal(a) & STOP) != 0;
    }
  }
}
