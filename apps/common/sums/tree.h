/* tree.h: the walk through a tree, in steps: the same for a thread and for a task.
 *
 *   tree_enter(tree, root);
 *   do {
 *     while ((path = tree_next_file(tree)) != NULL) ... path is a regular file
 *     if (!tree_next_directory(tree)) break;
 *     do tree_read(tree); while (tree_is_open(tree));
 *   } while (true);
 *
 * Like find -type f: symbolic links are not followed, so there are no loops. What cannot be read,
 * and special files, are complained about. */
#ifndef COMMON_SUMS_TREE_H
#define COMMON_SUMS_TREE_H

#include <dirent.h>

#include "common/console.h"
#include "common/sums/progress.h"
#include "common/sums/roots.h"

struct path_stack {
  char **all;
  size_t count, capacity;
};

struct tree {
  const struct roots *roots;
  struct tally *tally;           /* counts what is found */
  struct console *console;       /* for what is not */
  struct path_stack directories; /* still to be read */
  struct path_stack files;       /* of the directory read last, still to be summed */
  char *path;                    /* of the directory being read, or NULL */
  DIR *open;                     /* the same, once it is opened */
};

/* roots: those that it will enter. */
void tree_init(struct tree *tree, const struct roots *roots, struct tally *tally,
               struct console *console);

/* Look what root, one of the roots, is. Waits for the file system. */
void tree_enter(struct tree *tree, const char *root);

/* The next file that was found, from malloc(), the caller's then; or NULL. */
char *tree_next_file(struct tree *tree);

/* Whether there is one. */
bool tree_has_file(const struct tree *tree);

/* Go on to a directory that was found and not read yet. Returns false if there is none. A permit of
 * the open files is the caller's to have from the first tree_read() until it is not open. */
bool tree_next_directory(struct tree *tree);

/* Open the directory if it is not yet, and read some hundred of its entries. Closes it at its end.
 * Waits for the file system. */
void tree_read(struct tree *tree);

/* Whether there is more to read. */
bool tree_is_open(const struct tree *tree);

/* Leave the directory before its end, if it is open. */
void tree_close(struct tree *tree);

/* The directory is not open. */
void tree_destroy(struct tree *tree);

#endif
