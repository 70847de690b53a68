/* files.h: what the programs that read a file at random offsets have in common.
 *
 *   PROGRAM files [--tasks N] [--operations MS]
 *
 * So many reads of a block at a time, of a file that is in the page cache, for so long. Each block
 * says which it is. One thread of the program calls these functions, but for files_check(). */
#ifndef VOLT_BENCH_IO_FILES_H
#define VOLT_BENCH_IO_FILES_H

#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define FILES_BLOCK 4096u
#define FILES_BLOCKS 16384u

typedef struct files {
  int fd;
  unsigned tasks, ms;
  uint64_t began, cpu_began, ends;
  uint64_t random, reads;
} files;

static inline void files_fail(const char *what) {
  fprintf(stderr, "files: %s\n", what);
  exit(1);
}

static inline uint64_t files_clock(clockid_t clock) {
  struct timespec t;
  clock_gettime(clock, &t);
  return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

static inline void files_fill(char *block, uint64_t number) {
  memset(block, (int)(number % 251), FILES_BLOCK);
  memcpy(block, &number, sizeof number);
  memcpy(block + FILES_BLOCK - sizeof number, &number, sizeof number);
}

static inline void files_write(files *f) {
  char block[FILES_BLOCK], name[] = "/tmp/volt-bench-files.XXXXXX";
  f->fd = mkstemp(name);
  if (f->fd < 0 || unlink(name) != 0) files_fail("no file");
  for (uint64_t i = 0; i < FILES_BLOCKS; i++) {
    files_fill(block, i);
    if (write(f->fd, block, sizeof block) != (ssize_t)sizeof block) files_fail("write");
  }
}

static inline void files_start(files *f, int count, char **values) {
  *f = (files){.tasks = 16, .ms = 1000, .random = 0x9e3779b97f4a7c15u};
  for (int i = 2; i + 1 < count; i += 2) {
    unsigned n = (unsigned)strtoul(values[i + 1], NULL, 10);
    if (strcmp(values[i], "--tasks") == 0) f->tasks = n;
    if (strcmp(values[i], "--operations") == 0) f->ms = n;
  }
  if (count < 2 || strcmp(values[1], "files") != 0 || count % 2 || f->tasks < 1 || f->ms < 1) {
    fprintf(stderr, "usage: %s files [--tasks N] [--operations MS]\n", values[0]);
    exit(2);
  }
  files_write(f);
  f->began = files_clock(CLOCK_MONOTONIC);
  f->cpu_began = files_clock(CLOCK_PROCESS_CPUTIME_ID);
  f->ends = f->began + (uint64_t)f->ms * 1000000u;
}

static inline int files_over(const files *f) {
  return files_clock(CLOCK_MONOTONIC) >= f->ends;
}

/* A block to read, as its number. */
static inline uint64_t files_next(files *f) {
  f->random ^= f->random << 13;
  f->random ^= f->random >> 7;
  f->random ^= f->random << 17;
  return f->random % FILES_BLOCKS;
}

/* Of a block that was read; n: how many bytes the read says. */
static inline void files_check(files *f, uint64_t number, const char *block, long n) {
  if (n != (long)FILES_BLOCK || memcmp(block, &number, sizeof number) != 0 ||
      memcmp(block + FILES_BLOCK - sizeof number, &number, sizeof number) != 0) {
    files_fail("a block is not what was written");
  }
  f->reads += 1;
}

static inline void files_say(const files *f, const char *who) {
  double wall = (double)(files_clock(CLOCK_MONOTONIC) - f->began);
  double cpu = (double)(files_clock(CLOCK_PROCESS_CPUTIME_ID) - f->cpu_began);
  if (f->reads == 0) files_fail("nothing was read");
  printf("{\"version\": \"%s\", \"ns\": %.1f, \"cpu_ns\": %.1f, \"per_second\": %.1f}\n", who,
         wall / (double)f->reads, cpu / (double)f->reads, (double)f->reads / wall * 1e9);
}

#endif
