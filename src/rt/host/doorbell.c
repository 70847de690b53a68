/* doorbell.c: the doorbells of this process. See doorbell.h. */
#include "doorbell.h"

#include <stdlib.h>

#include "../sched/thread.h"

static volt_doorbell_list doorbell_list;

static volt_doorbell *doorbell_make(void) {
  volt_doorbell *bell = (volt_doorbell *)malloc(sizeof *bell);
  if (!bell) return NULL;
  bell->next = NULL;
  bell->process = volt_thread_process_();
  bell->eventfd = volt_eventfd_open_();
  if (bell->eventfd >= 0) return bell;
  free(bell);
  return NULL;
}

volt_doorbell *volt_doorbell_take_(void) {
  volt_doorbell *bell = volt_doorbells_get_(&doorbell_list, volt_thread_process_());
  if (!bell) return doorbell_make();
  volt_eventfd_clear_(bell->eventfd);
  return bell;
}

void volt_doorbell_give_(volt_doorbell *bell) {
  volt_doorbells_put_(&doorbell_list, bell, bell);
}

void volt_doorbell_ring_(volt_doorbell *bell) {
  volt_eventfd_add_(bell->eventfd);
}
