/* places.h: the places that the admin side has for connections, and which of them has to go when one
 * more comes. So nothing that others do, or leave undone, keeps a client from its answer. */
#ifndef VOLTGATE_ADMIN_PLACES_H
#define VOLTGATE_ADMIN_PLACES_H

#include <pthread.h>
#include <volt/semaphore.h>
#include <volt/task.h>

#include "program/budget.h"

/* Of one connection. */
struct place {
  volt_group_member member; /* its task */
  uint64_t order;           /* in which it began to wait for its client; 0: it does not wait */
  bool is_taken;
};

struct places {
  uint32_t count; /* that there are, of all[] */
  pthread_mutex_t lock;
  volt_sem free; /* a permit for each that is not taken */
  unsigned taken;
  uint64_t order; /* the last one that was given */
  bool is_wanted; /* one more client is here, and no connection could be asked to go */
  struct place all[ADMIN_CONNECTIONS];
};

void places_init(struct places *p, uint32_t count); /* at most ADMIN_CONNECTIONS */
void places_destroy(struct places *p);              /* none is taken */

/* A client is here. If no place is free, ask the connection to go that has waited for its client for
 * the longest time; if none waits, the first that does will be asked. Then acquire p->free. */
void places_make_room(struct places *p);

/* Take one: the caller has acquired p->free. Spawn its task with place->member next. */
struct place *places_take(struct places *p);

/* Its task waits for its client from now on: for a request, or until it has read its answer. */
void place_waits(struct places *p, struct place *place);

/* It works for its client, and is not asked to go. */
void place_works(struct places *p, struct place *place);

/* Its task ends, or was not spawned. */
void place_leave(struct places *p, struct place *place);

#endif
