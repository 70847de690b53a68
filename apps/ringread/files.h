/* files.h: the files that are read, cut into blocks. */
#ifndef RINGREAD_FILES_H
#define RINGREAD_FILES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct file {
  const char *name;
  int fd;                /* what the ring reads from */
  int plain_fd;          /* through the page cache: what pread verifies with */
  uint64_t size_bytes;   /* when it was opened */
  uint64_t blocks_until; /* the blocks of this file and of all before it */
};

struct files {
  struct file *list;
  size_t count;
  uint64_t blocks;
  unsigned block_bytes;
};

/* A piece of a file: whole blocks, but for the last one of a file that is no multiple of them. */
struct block {
  const struct file *file;
  uint64_t offset;
  unsigned size_bytes; /* what there is to be read */
};

/* Open regular files that are not empty. names: stay where they are; ends with NULL. direct: past
 * the page cache. Returns false if one cannot be had, after a message for each. */
bool files_open(struct files *files, char *const *names, unsigned block_bytes, bool direct);

/* The block with this number, of 0..files->blocks - 1. */
struct block files_block(const struct files *files, uint64_t number);

void files_close(struct files *files);

#endif
