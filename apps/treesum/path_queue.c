/* path_queue.c: a ring, with a semaphore for each reason to wait.
 *
 * Until it is closed:
 * Invariant I1: paths in the ring = permits of `items` + poppers between permit and ring
 *                                   + pushers between ring and release
 *           I2: capacity = paths in the ring + permits of `slots` + pushers between permit and ring
 *                          + poppers between ring and release
 * Closing turns those away who wait, but what is in the ring must still be handed out: a popper
 * looks into the ring whether it got a permit or not. With a permit it finds a path, by I1, unless
 * the queue is closed and somebody came without; so an empty ring always means the end. */
#include "path_queue.h"

#include <stdlib.h>

void path_queue_init(struct path_queue *queue) {
  *queue = (struct path_queue){.count = 0};
  volt_sem_init(&queue->items, 0);
  volt_sem_init(&queue->slots, PATH_QUEUE_CAPACITY);
  volt_mutex_init(&queue->lock);
}

int path_queue_push(struct path_queue *queue, char *path) {
  int result = volt_sem_acquire_blocking(&queue->slots, 1, VOLT_NO_DEADLINE);
  if (result != VOLT_OK) return result;
  volt_mutex_lock_no_deadline(&queue->lock);
  queue->ring[(queue->first + queue->count) % PATH_QUEUE_CAPACITY] = path;
  queue->count += 1;
  volt_mutex_unlock(&queue->lock);
  volt_sem_release(&queue->items, 1);
  return VOLT_OK;
}

char *path_queue_pop(struct path_queue *queue) {
  int result = volt_sem_acquire_blocking(&queue->items, 1, VOLT_NO_DEADLINE);
  if (result != VOLT_OK && result != VOLT_ECLOSED) abort(); /* closed: look all the same */
  char *path = NULL;
  volt_mutex_lock_no_deadline(&queue->lock);
  if (queue->count > 0) {
    path = queue->ring[queue->first];
    queue->first = (queue->first + 1) % PATH_QUEUE_CAPACITY;
    queue->count -= 1;
  }
  volt_mutex_unlock(&queue->lock);
  if (path != NULL) volt_sem_release(&queue->slots, 1);
  return path;
}

void path_queue_close(struct path_queue *queue) {
  volt_sem_close(&queue->slots);
  volt_sem_close(&queue->items);
}

void path_queue_destroy(struct path_queue *queue) {
  volt_sem_destroy(&queue->items);
  volt_sem_destroy(&queue->slots);
  volt_mutex_destroy(&queue->lock);
  for (; queue->count > 0; queue->count--) {
    free(queue->ring[(queue->first + queue->count - 1) % PATH_QUEUE_CAPACITY]);
  }
}
