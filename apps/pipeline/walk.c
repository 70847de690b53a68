/* walk.c: the first stage: a thread that finds files. */
#define _GNU_SOURCE
#include <stdlib.h>

#include "../treesum/tree.h"
#include "stages.h"

static int send_files(struct pipeline *p, struct tree *tree) {
  int result = VOLT_OK;
  for (char *path; result == VOLT_OK && (path = tree_next_file(tree)) != NULL;) {
    struct step step;
    path_chan_send_future(&step.operation, &p->paths, &path);
    result = step_blocking(&step, &p->stop);
    if (result != VOLT_OK) free(path); /* it is still ours */
  }
  return result;
}

static int walk_root(struct pipeline *p, struct tree *tree, const char *root) {
  tree_enter(tree, root);
  int result = send_files(p, tree);
  while (result == VOLT_OK && tree_next_directory(tree)) {
    do {
      tree_read(tree);
    } while (tree_is_open(tree) && !volt_token_is_cancelled(&p->stop));
    tree_close(tree);
    result = send_files(p, tree);
  }
  return result;
}

void *walk_run(void *pipeline) {
  struct pipeline *p = pipeline;
  struct tree tree;
  tree_init(&tree, &p->roots, &p->tally, p->console);
  int result = VOLT_OK;
  for (char *const *root = p->options->roots; *root != NULL && result == VOLT_OK; root++) {
    result = walk_root(p, &tree, *root);
  }
  tree_destroy(&tree);
  volt_chan_close(&p->paths.chan);
  return NULL;
}
