/* results.c: an array of results and a hash table over it; the list of them, and its check.
 *
 * The table is open addressing with linear probing, at most half full; it holds positions, so the
 * array may move. Of several names of one file only the first is in it.
 *
 * A line of the list is the sum in hex, two spaces, the path. If the path contains a backslash,
 * newline or carriage return, the line begins with a backslash and those are written as \\, \n and
 * \r. To be checked, the list goes through an unlinked temporary file to the standard input of
 * sha256sum. */
#define _GNU_SOURCE
#include "common/sums/results.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/program.h"

/* ---- the table ---- */

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
  volt_rwlock_read(&results->lock);
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
  volt_rwlock_write(&results->lock);
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
  volt_rwlock_write(&results->lock);
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

/* ---- the list ---- */

static void write_sum(FILE *stream, const struct sha256_sum *sum) {
  static const char digits[] = "0123456789abcdef";
  char hex[2 * SHA256_BYTES];
  for (size_t i = 0; i < SHA256_BYTES; i++) {
    hex[2 * i] = digits[sum->bytes[i] >> 4];
    hex[2 * i + 1] = digits[sum->bytes[i] & 15];
  }
  fwrite(hex, 1, sizeof hex, stream);
}

static void write_escaped(FILE *stream, const char *path) {
  for (; *path != '\0'; path++) {
    switch (*path) {
      case '\\': fputs("\\\\", stream); break;
      case '\n': fputs("\\n", stream); break;
      case '\r': fputs("\\r", stream); break;
      default: fputc(*path, stream);
    }
  }
}

static void write_line(FILE *stream, const struct result *result) {
  bool escape = strpbrk(result->path, "\\\n\r") != NULL;
  if (escape) fputc('\\', stream);
  write_sum(stream, &result->sum);
  fputs("  ", stream);
  if (escape) {
    write_escaped(stream, result->path);
  } else {
    fputs(result->path, stream);
  }
  fputc('\n', stream);
}

bool listing_write(FILE *stream, const struct results *results) {
  for (size_t i = 0; i < results->count && !ferror(stream); i++) {
    write_line(stream, &results->all[i]);
  }
  return fflush(stream) == 0 && !ferror(stream);
}

/* ---- the check ---- */

#define NOT_RUN 127

static FILE *temporary_list(const struct results *results) {
  FILE *list = tmpfile();
  if (list != NULL && (!listing_write(list, results) || fseek(list, 0, SEEK_SET) != 0)) {
    int error = errno;
    fclose(list);
    errno = error;
    return NULL;
  }
  return list;
}

/* In the child: become sha256sum. It must not survive us, whatever ends us. */
static void become_checker(int list_fd) {
  prctl(PR_SET_PDEATHSIG, SIGTERM);
  if (dup2(list_fd, STDIN_FILENO) >= 0 && dup2(STDERR_FILENO, STDOUT_FILENO) >= 0) {
    execlp("sha256sum", "sha256sum", "--check", "--quiet", "--strict", (char *)NULL);
  }
  _exit(NOT_RUN);
}

/* Returns the exit code as a shell would give it. */
static int exit_code_of(pid_t child) {
  int status;
  while (waitpid(child, &status, 0) < 0) {
    if (errno != EINTR) return NOT_RUN;
  }
  return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

static int run_checker(FILE *list) {
  pid_t child = fork();
  if (child < 0) return NOT_RUN;
  if (child == 0) become_checker(fileno(list));
  return exit_code_of(child);
}

int verify(const struct results *results, struct console *console) {
  if (results->count == 0) {
    console_print(console, "verify: there is nothing to check");
    return 0;
  }
  FILE *list = temporary_list(results);
  if (list == NULL) {
    console_print(console, "verify: cannot write the list: %s", strerror(errno));
    return EXIT_FAILURE;
  }
  int code = run_checker(list);
  fclose(list);
  if (code == 0) {
    console_print(console, "verify: sha256sum agrees on all %zu files", results->count);
  } else if (code == NOT_RUN) {
    console_print(console, "verify: sha256sum could not be run");
  } else {
    console_print(console, "verify: FAILED, sha256sum ended with %d", code);
  }
  return code;
}
