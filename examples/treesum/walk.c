/* walk.c: the walker.
 *
 * No recursion and no change of directory: a stack of directories still to be read, by path. Each
 * is read as a whole, with a permit for one open file, and what it contains is queued only after
 * the permit is given back: the workers need it to make room in the queue. */
#define _GNU_SOURCE
#include "walk.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "memory.h"
#include "open_path.h"

struct path_stack {
  char **all;
  size_t count, capacity;
};

struct walker {
  struct scan *scan;
  struct path_stack directories; /* still to be read */
  struct path_stack files;       /* of the directory read last, still to be queued */
};

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

static const char *special_text(mode_t mode) {
  if (S_ISFIFO(mode)) return "is a fifo: left out";
  if (S_ISSOCK(mode)) return "is a socket: left out";
  if (S_ISCHR(mode) || S_ISBLK(mode)) return "is a device: left out";
  return "is of an unknown type: left out";
}

/* path: from malloc(), belongs to the walker then. */
static void found(struct walker *walker, char *path, mode_t mode) {
  if (S_ISREG(mode)) {
    push(&walker->files, path);
  } else if (S_ISDIR(mode)) {
    push(&walker->directories, path);
  } else {
    if (S_ISLNK(mode)) tally_add(&walker->scan->tally, (struct counts){.symlinks = 1});
    if (!S_ISLNK(mode)) console_complain(walker->scan->console, path, special_text(mode));
    free(path);
  }
}

/* Not every file system tells the type with the name. Returns 0 and errno if it cannot be had. */
static mode_t mode_of(DIR *directory, const struct dirent *entry) {
  if (entry->d_type != DT_UNKNOWN) return (mode_t)DTTOIF(entry->d_type);
  struct stat status;
  int result = fstatat(dirfd(directory), entry->d_name, &status, AT_SYMLINK_NOFOLLOW);
  return result == 0 ? status.st_mode : 0;
}

static void read_entries(struct walker *walker, DIR *directory, const char *path) {
  errno = 0;
  while (!open_files_closed(&walker->scan->open_files)) {
    errno = 0;
    const struct dirent *entry = readdir(directory);
    if (entry == NULL) break;
    if (strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0) continue;
    char *name = must_join(path, entry->d_name);
    mode_t mode = mode_of(directory, entry);
    if (mode != 0) {
      found(walker, name, mode);
    } else {
      console_complain(walker->scan->console, name, strerror(errno));
      free(name);
    }
  }
  if (errno != 0) console_complain(walker->scan->console, path, strerror(errno));
}

/* Returns VOLT_OK, or VOLT_ECLOSED: the scan is stopped. */
static int read_directory(struct walker *walker, const char *path) {
  struct open_files *open_files = &walker->scan->open_files;
  int result = open_files_enter(open_files);
  if (result != VOLT_OK) return result;
  int fd = open_path(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
  DIR *directory = fd >= 0 ? fdopendir(fd) : NULL;
  if (directory != NULL) {
    read_entries(walker, directory, path);
    closedir(directory);
  } else {
    console_complain(walker->scan->console, path, strerror(errno));
    if (fd >= 0) close(fd);
  }
  open_files_leave(open_files);
  return open_files_closed(open_files) ? VOLT_ECLOSED : VOLT_OK;
}

/* Returns as read_directory(). */
static int queue_files(struct walker *walker) {
  tally_add(&walker->scan->tally, (struct counts){.found = walker->files.count});
  for (char *path; (path = pop(&walker->files)) != NULL;) {
    int result = path_queue_push(&walker->scan->queue, path);
    if (result == VOLT_OK) continue;
    free(path);
    return result;
  }
  return VOLT_OK;
}

static int walk_root(struct walker *walker, const char *root) {
  struct stat status;
  if (lstat(root, &status) != 0) {
    console_complain(walker->scan->console, root, strerror(errno));
  } else if (S_ISLNK(status.st_mode)) {
    console_complain(walker->scan->console, root, "is a symbolic link: not followed");
  } else {
    found(walker, must_copy(root), status.st_mode);
  }
  int result = queue_files(walker);
  for (char *path; result == VOLT_OK && (path = pop(&walker->directories)) != NULL;) {
    result = read_directory(walker, path);
    free(path);
    if (result == VOLT_OK) result = queue_files(walker);
  }
  return result;
}

void walk(struct scan *scan, char *const *roots) {
  struct walker walker = {.scan = scan};
  int result = VOLT_OK;
  for (; *roots != NULL && result == VOLT_OK; roots++) result = walk_root(&walker, *roots);
  free_stack(&walker.directories);
  free_stack(&walker.files);
  if (result == VOLT_OK) tally_add(&scan->tally, (struct counts){.walked = true});
}
