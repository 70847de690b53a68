/* tree.c: the walk through a tree.
 *
 * No recursion and no change of directory: a stack of directories still to be read, by path. Each
 * is read as a whole, with a permit for one open file, and what it contains is queued only after
 * the permit is given back: summing needs it to make room. */
#define _GNU_SOURCE
#include "common/sums/tree.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/program.h"

#define ENTRIES_AT_ONCE 500

void tree_init(struct tree *tree, const struct roots *roots, struct tally *tally,
               struct console *console) {
  *tree = (struct tree){.roots = roots, .tally = tally, .console = console};
}

static void push(struct path_stack *stack, char *path) {
  stack->all = must_make_room(stack->all, stack->count, &stack->capacity, sizeof *stack->all);
  stack->all[stack->count++] = path;
}

static char *pop(struct path_stack *stack) {
  return stack->count > 0 ? stack->all[--stack->count] : NULL;
}

static void free_stack(struct path_stack *stack) {
  while (stack->count > 0) free(pop(stack));
  free(stack->all);
}

void tree_destroy(struct tree *tree) {
  free_stack(&tree->directories);
  free_stack(&tree->files);
  free(tree->path);
}

static const char *special_text(mode_t mode) {
  if (S_ISFIFO(mode)) return "is a fifo: left out";
  if (S_ISSOCK(mode)) return "is a socket: left out";
  if (S_ISCHR(mode) || S_ISBLK(mode)) return "is a device: left out";
  return "is of an unknown type: left out";
}

/* path: from malloc(), belongs to the tree then. */
static void found(struct tree *tree, char *path, mode_t mode) {
  if (S_ISREG(mode)) {
    push(&tree->files, path);
    tally_add(tree->tally, (struct counts){.found = 1});
  } else if (S_ISDIR(mode)) {
    push(&tree->directories, path);
  } else {
    if (S_ISLNK(mode)) tally_add(tree->tally, (struct counts){.symlinks = 1});
    if (!S_ISLNK(mode)) console_complain(tree->console, path, special_text(mode));
    free(path);
  }
}

void tree_enter(struct tree *tree, const char *root) {
  struct stat status;
  if (lstat(root, &status) != 0) {
    console_complain(tree->console, root, strerror(errno));
  } else if (S_ISLNK(status.st_mode)) {
    console_complain(tree->console, root, "is a symbolic link: not followed");
  } else {
    found(tree, must_copy(root), status.st_mode);
  }
}

char *tree_next_file(struct tree *tree) {
  return pop(&tree->files);
}

bool tree_has_file(const struct tree *tree) {
  return tree->files.count > 0;
}

bool tree_next_directory(struct tree *tree) {
  free(tree->path);
  tree->path = pop(&tree->directories);
  return tree->path != NULL;
}

/* Not every file system gives the type with the name. Returns 0 and errno if it cannot be had. */
static mode_t mode_of(DIR *directory, const struct dirent *entry) {
  if (entry->d_type != DT_UNKNOWN) return (mode_t)DTTOIF(entry->d_type);
  struct stat status;
  int result = fstatat(dirfd(directory), entry->d_name, &status, AT_SYMLINK_NOFOLLOW);
  return result == 0 ? status.st_mode : 0;
}

static void add_entry(struct tree *tree, const struct dirent *entry) {
  if (strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0) return;
  char *name = must_join(tree->path, entry->d_name);
  mode_t mode = mode_of(tree->open, entry);
  if (mode != 0) {
    found(tree, name, mode);
  } else {
    console_complain(tree->console, name, strerror(errno));
    free(name);
  }
}

static void open_directory(struct tree *tree) {
  int fd = roots_open(tree->roots, tree->path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
  tree->open = fd >= 0 ? fdopendir(fd) : NULL;
  if (tree->open != NULL) return;
  console_complain(tree->console, tree->path, strerror(errno));
  if (fd >= 0) close(fd);
}

void tree_read(struct tree *tree) {
  if (tree->open == NULL) open_directory(tree);
  if (tree->open == NULL) return;
  for (unsigned i = 0; i < ENTRIES_AT_ONCE; i++) {
    errno = 0;
    const struct dirent *entry = readdir(tree->open);
    if (entry == NULL) {
      if (errno != 0) console_complain(tree->console, tree->path, strerror(errno));
      tree_close(tree);
      return;
    }
    add_entry(tree, entry);
  }
}

bool tree_is_open(const struct tree *tree) {
  return tree->open != NULL;
}

void tree_close(struct tree *tree) {
  if (tree->open != NULL) closedir(tree->open);
  tree->open = NULL;
}
