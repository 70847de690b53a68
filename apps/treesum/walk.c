/* walk.c: the walker of the thread form. What it returns is VOLT_OK, or VOLT_ECLOSED: the scan is
 * stopped. */
#define _GNU_SOURCE
#include "walk.h"

#include <stdlib.h>

#include "tree.h"

static int queue_files(struct scan *scan, struct tree *tree) {
  for (char *path; (path = tree_next_file(tree)) != NULL;) {
    int result = path_queue_push(&scan->queue, path);
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

static int walk_root(struct scan *scan, struct tree *tree, const char *root) {
  tree_enter(tree, root);
  int result = queue_files(scan, tree);
  while (result == VOLT_OK && tree_next_directory(tree)) {
    result = read_directory(scan, tree);
    if (result == VOLT_OK) result = queue_files(scan, tree);
  }
  return result;
}

void walk(struct scan *scan, char *const *roots) {
  struct tree tree;
  tree_init(&tree, &scan->roots, &scan->tally, scan->console);
  int result = VOLT_OK;
  for (; *roots != NULL && result == VOLT_OK; roots++) result = walk_root(scan, &tree, *roots);
  tree_destroy(&tree);
  if (result == VOLT_OK) tally_add(&scan->tally, (struct counts){.walked = true});
}
