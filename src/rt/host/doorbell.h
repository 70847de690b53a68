/* doorbell.h: what wakes a worker that sleeps in its driver (driver.h): an eventfd. doorbell.c.
 *
 * Algorithm: the doorbells that no runtime has are in a list, a stack. A thread gives one back by a
 * CAS. A thread that takes one takes the whole list by one exchange, so no node is put back under a
 * CAS that has seen it, and puts the rest back. Two threads that take at once may make one doorbell
 * more than they had to.
 *
 * Invariants
 *   I1  a doorbell is in the list, or one runtime has it, or a thread that takes one holds it
 *   I2  a doorbell is never closed and its memory is never freed
 *
 * Races
 *   R1  Interleaving: a thread unparks a worker; before it rings, the worker has gone on, the
 *       runtime was destroyed, and its descriptors were closed; the number is given to a file of
 *       the program, into which the thread writes. Prevented by: I2. A late ring wakes a worker of
 *       a later runtime for no reason, or no thread.
 *   R2  Interleaving: a process forks; parent and child each take the same doorbell from their
 *       copies of the list, and each takes rings that were meant for the other. Prevented by: a
 *       doorbell is of the process that has made it, and another does not take it. It has no lock,
 *       so a fork meets no lock that is held: a thread that had taken the list keeps it in the
 *       parent, and the child has no use for it.
 *
 * So of a fork this holds: the child may make runtimes of its own. The descriptors of the parent's
 * stay open in it, and a child that rings one, which only use of the parent's runtime could do,
 * wakes a worker of the parent for no reason. */
#ifndef VOLT_RT_HOST_DOORBELL_H
#define VOLT_RT_HOST_DOORBELL_H

#include <volt/base.h>
#include <volt/detail/atomic.h>

typedef struct volt_doorbell {
  VOLT_PLAIN(struct volt_doorbell *) next; /* in the list */
  uint64_t process;                        /* that has made it */
  int eventfd;
} volt_doorbell;

typedef struct volt_doorbell_list {
  VOLT_ATOMIC(volt_doorbell *) first;
} volt_doorbell_list;

/* Put the doorbells from first to last, in the order of next, into the list. */
static inline void volt_doorbells_put_(volt_doorbell_list *list, volt_doorbell *first,
                                       volt_doorbell *last) {
  volt_doorbell *seen = volt_load_relaxed(&list->first); /* a guess: the CAS decides */
  do {
    last->next = seen;
    /* doorbell:B1 -> doorbell:B2: the thread that takes them sees next, and each one at rest */
  } while (!volt_cas_release(&list->first, &seen, first));
}

/* Take a doorbell of that process out of the list. Returns NULL: there was none. */
static inline volt_doorbell *volt_doorbells_get_(volt_doorbell_list *list, uint64_t process) {
  /* doorbell:B2 <- doorbell:B1: sees next, and all that was done with each one before */
  volt_doorbell *all = volt_exchange_acquire(&list->first, NULL);
  volt_doorbell *found = NULL;
  volt_doorbell *first = NULL;
  volt_doorbell *last = NULL;
  while (all) {
    volt_doorbell *bell = all;
    all = bell->next;
    if (!found && bell->process == process) {
      found = bell;
    } else {
      if (last) {
        last->next = bell;
      } else {
        first = bell;
      }
      last = bell;
    }
  }
  if (first) volt_doorbells_put_(list, first, last);
  return found;
}

/* Take a doorbell that has not rung. Returns NULL: no memory, or no descriptor. */
volt_doorbell *volt_doorbell_take_(void);

/* Give it back. It may still be rung. */
void volt_doorbell_give_(volt_doorbell *bell);

/* Ring. Threads: any, at any time after the doorbell was made. errno is left alone. */
void volt_doorbell_ring_(volt_doorbell *bell);

#endif
