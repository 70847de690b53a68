/* files.c: the files that are read, cut into blocks. */
#define _GNU_SOURCE /* O_DIRECT */
#include "common/program.h"
#include "ringread.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* Returns NULL, or what is wrong. */
static const char *open_file(struct file *file, bool direct) {
  file->plain_fd = open(file->name, O_RDONLY | O_CLOEXEC | O_NONBLOCK); /* a fifo must not block */
  if (file->plain_fd < 0) return strerror(errno);
  struct stat status;
  if (fstat(file->plain_fd, &status) != 0) return strerror(errno);
  if (!S_ISREG(status.st_mode)) return "is no regular file";
  if (status.st_size == 0) return "is empty";
  file->size_bytes = (uint64_t)status.st_size;
  file->fd = open(file->name, O_RDONLY | O_CLOEXEC | (direct ? O_DIRECT : 0));
  return file->fd < 0 ? strerror(errno) : NULL;
}

bool files_open(struct files *files, char *const *names, unsigned block_bytes, bool direct) {
  *files = (struct files){.block_bytes = block_bytes};
  while (names[files->count] != NULL) files->count += 1;
  files->list = calloc(files->count, sizeof *files->list);
  if (files->list == NULL) fatal("out of memory");
  bool all = true;
  for (size_t i = 0; i < files->count; i++) {
    struct file *file = &files->list[i];
    *file = (struct file){.name = names[i], .fd = -1, .plain_fd = -1};
    const char *wrong = open_file(file, direct);
    if (wrong != NULL) {
      complain("%s: %s", file->name, wrong);
      all = false;
    }
    files->blocks += (file->size_bytes + block_bytes - 1) / block_bytes;
    file->blocks_until = files->blocks;
  }
  if (!all) files_close(files);
  return all;
}

struct block files_block(const struct files *files, uint64_t number) {
  size_t low = 0;
  size_t high = files->count - 1;
  while (low < high) {
    size_t middle = low + (high - low) / 2;
    if (number < files->list[middle].blocks_until) {
      high = middle;
    } else {
      low = middle + 1;
    }
  }
  const struct file *file = &files->list[low];
  uint64_t before = low > 0 ? files->list[low - 1].blocks_until : 0;
  struct block block = {.file = file, .offset = (number - before) * files->block_bytes};
  uint64_t rest = file->size_bytes - block.offset;
  block.size_bytes = rest < files->block_bytes ? (unsigned)rest : files->block_bytes;
  return block;
}

void files_close(struct files *files) {
  for (size_t i = 0; i < files->count; i++) {
    if (files->list[i].fd >= 0) close(files->list[i].fd);
    if (files->list[i].plain_fd >= 0) close(files->list[i].plain_fd);
  }
  free(files->list);
  *files = (struct files){0};
}
