/* mpsc.h: an intrusive queue of many producers and one consumer, and the actor on it.
 *
 * Vyukov's queue: push() is wait-free, one swap and one store. Its consumer can find that something
 * has been pushed and cannot be reached yet, because a producer is between the two. pop() then
 * returns VOLT_ESTALLED, and does not pretend that the queue is empty.
 *
 * The actor is that queue with a thread behind it: submit() pushes and, if the thread sleeps, wakes
 * it; every handle() runs there. It does what batched critical sections (volt/bcs_queue.h) avoid:
 * there the first submitter is the consumer, and no thread has to be scheduled. Use an actor when
 * the sections belong on a thread of their own, because they block, or need its stack, CPU or
 * identity.
 *
 *   volt_actor a = VOLT_ACTOR_INIT;
 *   ... on its thread:      volt_actor_run(&a, handle, ctx);
 *   ... on any other:       volt_actor_submit(&a, &node);
 *   ... in the end:         volt_actor_stop(&a);               run() returns when all is handled
 *
 * All-zero is a valid empty queue, and a valid idle actor. */
#ifndef VOLT_MPSC_H
#define VOLT_MPSC_H

#include "bcs_queue.h"

/* Members are private. */
typedef struct volt_mpsc {
  VOLT_ATOMIC(uintptr_t) tail;
  VOLT_ATOMIC(uintptr_t) head; /* the consumer's; a producer sets it if the tail was empty */
} volt_mpsc;

/* Members are private. */
typedef struct volt_actor {
  volt_mpsc queue;
  VOLT_ATOMIC(uint32_t) signal; /* what producers say to the consumer */
} volt_actor;

#define VOLT_MPSC_INIT \
  { 0, 0 }
#define VOLT_ACTOR_INIT \
  { VOLT_MPSC_INIT, 0 }

VOLT_BEGIN_DECLS

/* Make the queue empty.
 * Threads: one, while no other uses the queue. */
VOLT_API void volt_mpsc_init(volt_mpsc *q);

/* Append *node.
 * node: the caller's memory, in no queue; the queue's until it has been popped.
 * Threads: any. Progress: wait-free. Order: releases what this thread did to the pop of *node. */
VOLT_API void volt_mpsc_push(volt_mpsc *q, volt_bcs_node *node);

/* Take the oldest node.
 * node: where its address is stored.
 * Returns VOLT_OK (*node is the caller's), VOLT_EAGAIN (the queue is empty), or VOLT_ESTALLED (it
 *   is not empty, but the push of the oldest node, or of the one behind it, has not ended: try
 *   again when that producer has had time to run). *node is changed only with VOLT_OK.
 * Threads: one at a time. Progress: wait-free. Order: acquires what the producer did. */
VOLT_API VOLT_NODISCARD int volt_mpsc_pop(volt_mpsc *q, volt_bcs_node **node);

/* Make an idle actor.
 * Threads: one, while no other uses the actor. */
VOLT_API void volt_actor_init(volt_actor *a);

/* Have *node handled by the actor's thread, in order of arrival.
 * node: the caller's memory, in no queue; the actor's until handle() is called with it. handle()
 *   may free it or submit it again. Submitted after stop(), it is handled if run() sees it in time.
 * a: must stay until every submit() has returned.
 * Wakes: the actor's thread, if it sleeps.
 * Threads: any. Order: releases what this thread did to handle(). */
VOLT_API void volt_actor_submit(volt_actor *a, volt_bcs_node *node);

/* Handle what is submitted, on this thread, until the actor is stopped and nothing is left. Sleeps
 * while there is nothing to do; a fiber is suspended, and no cancel ends that.
 * Threads: one at a time, which may block, or a fiber. Order: handle() acquires what the submitter did. */
VOLT_API void volt_actor_run(volt_actor *a, volt_bcs_handle *handle, void *ctx);

/* Have run() return when all that was submitted before has been handled. Once per run().
 * Wakes: the actor's thread, if it sleeps. Threads: any. */
VOLT_API void volt_actor_stop(volt_actor *a);

VOLT_END_DECLS
#endif
