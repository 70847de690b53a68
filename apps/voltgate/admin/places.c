/* places.c: see places.h.
 *
 * Algorithm: places are numbered in the order in which they began to wait for their clients. A place
 * gets no new number for each byte, so a client that sends its request in small pieces, or reads
 * slowly, is no better off than one that is silent. A client that sends its request at once is asked
 * to go only if so many others have come after it as there are places.
 *
 * Invariants, under the lock
 *   I1  a place is taken, or there is a permit for it (in p->free, or with the task that accepts)
 *   I2  while is_wanted is true, no connection waits for its client: the first that begins to is asked
 *       to go. So the task that accepts waits for work of ours only, and for no client */
#include "admin/places.h"

#include <string.h>

void places_init(struct places *p, uint32_t count) {
  memset(p, 0, sizeof *p);
  pthread_mutex_init(&p->lock, NULL);
  volt_sem_init(&p->free, count);
  p->count = count;
}

void places_destroy(struct places *p) {
  volt_sem_destroy(&p->free);
  pthread_mutex_destroy(&p->lock);
}

/* The one that has waited for its client for the longest time, or NULL. */
static struct place *places_longest(struct places *p) {
  struct place *longest = NULL;
  for (size_t i = 0; i < p->count; i++) {
    struct place *at = &p->all[i];
    if (!at->is_taken || at->order == 0) continue;
    if (longest == NULL || at->order < longest->order) longest = at;
  }
  return longest;
}

static void places_ask_one(struct places *p) {
  struct place *longest = places_longest(p);
  p->is_wanted = longest == NULL;
  if (longest == NULL) return;
  longest->order = 0; /* it is not asked again */
  (void)volt_group_member_cancel(&longest->member);
}

void places_make_room(struct places *p) {
  pthread_mutex_lock(&p->lock);
  if (p->taken == p->count) places_ask_one(p);
  pthread_mutex_unlock(&p->lock);
}

struct place *places_take(struct places *p) {
  pthread_mutex_lock(&p->lock);
  struct place *place = p->all;
  while (place->is_taken) place++; /* I1 */
  *place = (struct place){.is_taken = true, .order = ++p->order};
  p->taken += 1;
  p->is_wanted = false;
  pthread_mutex_unlock(&p->lock);
  return place;
}

void place_waits(struct places *p, struct place *place) {
  pthread_mutex_lock(&p->lock);
  place->order = ++p->order;
  if (p->is_wanted) places_ask_one(p);
  pthread_mutex_unlock(&p->lock);
}

void place_works(struct places *p, struct place *place) {
  pthread_mutex_lock(&p->lock);
  place->order = 0;
  pthread_mutex_unlock(&p->lock);
}

void place_leave(struct places *p, struct place *place) {
  pthread_mutex_lock(&p->lock);
  volt_group_member_drop(&place->member);
  *place = (struct place){.is_taken = false};
  p->taken -= 1;
  pthread_mutex_unlock(&p->lock);
  volt_sem_release(&p->free, 1);
}
