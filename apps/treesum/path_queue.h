/* path_queue.h: the bounded queue between the walker and the workers.
 *
 * Two volt semaphores count what there is to take and where there is room, a volt mutex protects
 * the ring. The walker waits when the queue is full: the tree may have more names than memory. */
#ifndef TREESUM_PATH_QUEUE_H
#define TREESUM_PATH_QUEUE_H

#include <volt/volt.h>

#define PATH_QUEUE_CAPACITY 256

struct path_queue {
  volt_sem items;  /* a permit for each path in the ring */
  volt_sem slots;  /* a permit for each free place in it */
  volt_mutex lock; /* around the rest */
  char *ring[PATH_QUEUE_CAPACITY];
  unsigned first, count;
};

void path_queue_init(struct path_queue *queue);

/* Append a path, which belongs to the queue then; waits while the queue is full.
 * Returns VOLT_OK, or VOLT_ECLOSED: the path is still the caller's. */
int path_queue_push(struct path_queue *queue, char *path);

/* The oldest path, which is the caller's then; waits while the queue is empty.
 * Returns NULL when the queue is closed and empty. */
char *path_queue_pop(struct path_queue *queue);

/* Nothing more can be pushed; what is in the queue can still be popped. Any thread, any number of
 * times. */
void path_queue_close(struct path_queue *queue);

/* Nobody uses it any more. Frees the paths that nobody has popped. */
void path_queue_destroy(struct path_queue *queue);

#endif
