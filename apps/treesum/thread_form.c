/* thread_form.c: the queue, the walker, the workers; starts them, and ends what it has started.
 *
 * Until the queue is closed:
 * Invariant I1: paths in the ring = permits of `items` + poppers between permit and ring
 *                                   + pushers between ring and release
 *           I2: capacity = paths in the ring + permits of `slots` + pushers between permit and ring
 *                          + poppers between ring and release
 * Closing turns away the threads that wait, but what is in the ring must still be popped: a popper
 * looks into the ring whether it got a permit or not. With a permit it finds a path, by I1, unless
 * the queue is closed and a popper came without; so an empty ring always means the end. */
#define _GNU_SOURCE
#include "thread_form.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "alarms.h"
#include "common/program.h"
#include "common/sums/tree.h"

/* ---- the queue ---- */

static void path_queue_init(struct path_queue *queue) {
  *queue = (struct path_queue){.count = 0};
  volt_sem_init(&queue->items, 0);
  volt_sem_init(&queue->slots, PATH_QUEUE_CAPACITY);
  volt_mutex_init(&queue->lock);
}

/* Append a path, which belongs to the queue then; waits while the queue is full.
 * Returns VOLT_OK, or VOLT_ECLOSED: the path is still the caller's. */
static int path_queue_push(struct path_queue *queue, char *path) {
  int result = volt_sem_acquire(&queue->slots, 1);
  if (result != VOLT_OK) return result;
  volt_mutex_lock(&queue->lock);
  queue->ring[(queue->first + queue->count) % PATH_QUEUE_CAPACITY] = path;
  queue->count += 1;
  volt_mutex_unlock(&queue->lock);
  volt_sem_release(&queue->items, 1);
  return VOLT_OK;
}

/* The oldest path, which is the caller's then; waits while the queue is empty.
 * Returns NULL when the queue is closed and empty. */
static char *path_queue_pop(struct path_queue *queue) {
  int result = volt_sem_acquire(&queue->items, 1);
  if (result != VOLT_OK && result != VOLT_ECLOSED) abort(); /* closed: look all the same */
  char *path = NULL;
  volt_mutex_lock(&queue->lock);
  if (queue->count > 0) {
    path = queue->ring[queue->first];
    queue->first = (queue->first + 1) % PATH_QUEUE_CAPACITY;
    queue->count -= 1;
  }
  volt_mutex_unlock(&queue->lock);
  if (path != NULL) volt_sem_release(&queue->slots, 1);
  return path;
}

/* No path can be pushed any more; what is in the queue can still be popped. Any thread, any number
 * of times. */
static void path_queue_close(struct path_queue *queue) {
  volt_sem_close(&queue->slots);
  volt_sem_close(&queue->items);
}

/* No thread uses it any more. Frees the paths that were not popped. */
static void path_queue_destroy(struct path_queue *queue) {
  volt_sem_destroy(&queue->items);
  volt_sem_destroy(&queue->slots);
  volt_mutex_destroy(&queue->lock);
  for (; queue->count > 0; queue->count--) {
    free(queue->ring[(queue->first + queue->count - 1) % PATH_QUEUE_CAPACITY]);
  }
}

/* ---- a worker: takes paths from the queue and sums the files ---- */

struct worker {
  struct thread_form *form;
  struct hasher hasher;
  volt_timers *timers; /* of the slow files */
  pthread_t thread;
};

static void worker_init(struct worker *worker, struct thread_form *form, volt_timers *timers) {
  worker->form = form;
  worker->timers = timers;
  hasher_init(&worker->hasher);
}

static void worker_destroy(struct worker *worker) {
  hasher_destroy(&worker->hasher);
}

/* path: belongs to this function. Returns false if the scan is stopped. */
static bool sum_file(struct worker *worker, char *path) {
  struct scan *scan = worker->form->scan;
  struct open_files *open_files = &scan->open_files;
  struct file_sum file;
  file_sum_begin(&file, scan, path);
  if (open_files_enter(open_files) == VOLT_OK) {
    struct slow_timer timer;
    slow_timer_begin(&timer, &scan->slow, worker->timers, path);
    do {
      file_sum_step(&file, &worker->hasher);
    } while (file_sum_is_open(&file) && !open_files_closed(open_files));
    file_sum_close(&file);
    slow_timer_end(&timer);
    open_files_leave(open_files);
  }
  file_sum_end(&file, &worker->hasher);
  return !open_files_closed(open_files);
}

/* Sum files until the queue is closed and empty, or the scan is stopped. */
static void *worker_run(void *ctx) {
  struct worker *worker = ctx;
  for (char *path; (path = path_queue_pop(&worker->form->queue)) != NULL;) {
    if (!sum_file(worker, path)) break;
  }
  return NULL;
}

/* ---- the walker: VOLT_OK, or VOLT_ECLOSED: the scan is stopped ---- */

static int queue_files(struct thread_form *form, struct tree *tree) {
  for (char *path; (path = tree_next_file(tree)) != NULL;) {
    int result = path_queue_push(&form->queue, path);
    if (result == VOLT_OK) continue;
    free(path);
    return result;
  }
  return VOLT_OK;
}

static int read_directory(struct scan *scan, struct tree *tree) {
  struct open_files *open_files = &scan->open_files;
  int result = open_files_enter(open_files);
  if (result != VOLT_OK) return result;
  do {
    tree_read(tree);
  } while (tree_is_open(tree) && !open_files_closed(open_files));
  tree_close(tree);
  open_files_leave(open_files);
  return open_files_closed(open_files) ? VOLT_ECLOSED : VOLT_OK;
}

static int walk_root(struct thread_form *form, struct tree *tree, const char *root) {
  tree_enter(tree, root);
  int result = queue_files(form, tree);
  while (result == VOLT_OK && tree_next_directory(tree)) {
    result = read_directory(form->scan, tree);
    if (result == VOLT_OK) result = queue_files(form, tree);
  }
  return result;
}

/* Queue every regular file in and below each of roots. Waits while the queue is full. */
static void walk(struct thread_form *form, char *const *roots) {
  struct scan *scan = form->scan;
  struct tree tree;
  tree_init(&tree, &scan->roots, &scan->tally, scan->console);
  int result = VOLT_OK;
  for (; *roots != NULL && result == VOLT_OK; roots++) result = walk_root(form, &tree, *roots);
  tree_destroy(&tree);
  if (result == VOLT_OK) tally_add(&scan->tally, (struct counts){.walked = true});
}

/* ---- the form ---- */

static void start(struct worker *worker, unsigned number) {
  int error = pthread_create(&worker->thread, NULL, worker_run, worker);
  if (error != 0) fatal("cannot start thread %u: %s", number, strerror(error));
}

void thread_form_init(struct thread_form *form, struct scan *scan) {
  form->scan = scan;
  path_queue_init(&form->queue);
}

void thread_form_destroy(struct thread_form *form) {
  path_queue_destroy(&form->queue);
}

void thread_form_run(struct thread_form *form, char *const *roots, unsigned threads) {
  struct scan *scan = form->scan;
  struct alarms alarms;
  struct progress progress;
  struct progress_timer timer;
  struct worker *workers = must_allocate(threads, sizeof *workers);
  for (unsigned i = 0; i < threads; i++) worker_init(&workers[i], form, &alarms.timers);
  alarms_start(&alarms);
  progress_begin(&progress, scan->console, &scan->tally);
  progress_timer_start(&timer, &progress, &alarms.timers);
  for (unsigned i = 0; i < threads; i++) start(&workers[i], i + 1);
  walk(form, roots);
  path_queue_close(&form->queue);
  for (unsigned i = 0; i < threads; i++) pthread_join(workers[i].thread, NULL);
  for (unsigned i = 0; i < threads; i++) worker_destroy(&workers[i]);
  free(workers);
  alarms_stop(&alarms);
  progress_timer_stop(&timer);
  progress_end(&progress);
  alarms_destroy(&alarms);
}

void thread_form_stop(struct thread_form *form) {
  open_files_close(&form->scan->open_files);
  path_queue_close(&form->queue);
}
