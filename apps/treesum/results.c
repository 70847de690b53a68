/* results.c: an array of results and a hash table over it.
 *
 * The table is open addressing with linear probing, at most half full; it holds positions, so the
 * array may move. Of several names of one file only the first is in it. */
#define _GNU_SOURCE
#include "results.h"

#include <stdlib.h>
#include <string.h>

#include "memory.h"

void results_init(struct results *results) {
  *results = (struct results){.count = 0};
  volt_rwlock_init(&results->lock);
}

static bool same_file(const struct result *a, const struct result *b) {
  return a->device == b->device && a->inode == b->inode && a->size_bytes == b->size_bytes &&
         a->modified.tv_sec == b->modified.tv_sec && a->modified.tv_nsec == b->modified.tv_nsec;
}

static struct result describe(const struct stat *status) {
  return (struct result){.device = status->st_dev,
                         .inode = status->st_ino,
                         .size_bytes = status->st_size,
                         .modified = status->st_mtim};
}

/* The place of this file in the index, or the free place where it belongs. Needs a free place, and
 * the lock in either form. */
static size_t *place_of(const struct results *results, const struct result *wanted) {
  uint64_t hash = ((uint64_t)wanted->inode ^ (uint64_t)wanted->device << 40) * 0x9e3779b97f4a7c15u;
  size_t at = (size_t)(hash >> 20) % results->index_size;
  while (results->index[at] != 0 && !same_file(&results->all[results->index[at] - 1], wanted)) {
    at = (at + 1) % results->index_size;
  }
  return &results->index[at];
}

bool results_find(struct results *results, const struct stat *status, struct sha256_sum *sum) {
  struct result wanted = describe(status);
  volt_rwlock_read_no_deadline(&results->lock);
  size_t found = results->index_size > 0 ? *place_of(results, &wanted) : 0;
  if (found > 0) *sum = results->all[found - 1].sum;
  volt_rwlock_read_unlock(&results->lock);
  return found > 0;
}

/* Put the first `count` results into an index twice as large as the array. */
static void rebuild_index(struct results *results) {
  free(results->index);
  results->index_size = 2 * results->capacity;
  results->index = must_allocate(results->index_size, sizeof *results->index);
  for (size_t i = 0; i < results->count; i++) {
    size_t *place = place_of(results, &results->all[i]);
    if (*place == 0) *place = i + 1;
  }
}

void results_add(struct results *results, char *path, const struct stat *status,
                 const struct sha256_sum *sum) {
  struct result added = describe(status);
  added.path = path;
  added.sum = *sum;
  volt_rwlock_write_no_deadline(&results->lock);
  size_t before = results->capacity;
  results->all = must_make_room(results->all, results->count, &results->capacity, sizeof added);
  if (results->capacity != before) rebuild_index(results);
  results->all[results->count++] = added;
  size_t *place = place_of(results, &added);
  if (*place == 0) *place = results->count;
  volt_rwlock_write_unlock(&results->lock);
}

static int compare_paths(const void *a, const void *b) {
  return strcmp(((const struct result *)a)->path, ((const struct result *)b)->path);
}

void results_sort(struct results *results) {
  volt_rwlock_write_no_deadline(&results->lock);
  free(results->index);
  results->index = NULL;
  results->index_size = 0;
  if (results->count > 0) qsort(results->all, results->count, sizeof *results->all, compare_paths);
  volt_rwlock_write_unlock(&results->lock);
}

void results_destroy(struct results *results) {
  for (size_t i = 0; i < results->count; i++) free(results->all[i].path);
  free(results->all);
  free(results->index);
  volt_rwlock_destroy(&results->lock);
}
