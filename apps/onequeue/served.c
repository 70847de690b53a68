/* served.c: who has got a permit, in which order. */
#include "served.h"

#include <stdlib.h>

void served_init(struct served *served) {
  *served = (struct served){.count = 0};
  volt_sem_init(&served->told, 0);
}

void served_tell(struct served *served, unsigned arrival) {
  served->order[served->count++] = arrival;
  volt_sem_release(&served->told, 1);
}

unsigned served_next(struct served *served) {
  if (volt_sem_acquire_blocking(&served->told, 1, VOLT_NO_DEADLINE) != VOLT_OK) abort();
  return served->order[served->count - 1];
}

void served_destroy(struct served *served) {
  volt_sem_destroy(&served->told);
}
