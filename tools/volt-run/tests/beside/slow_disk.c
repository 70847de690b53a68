/* slow_disk.c: preloaded: a disk that takes 30 ms to make sure that data is written. */
#define _GNU_SOURCE
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

static void wait_for_disk(void) {
  const struct timespec slow = {0, 30000000};
  nanosleep(&slow, NULL);
}

int fsync(int file) {
  wait_for_disk();
  return (int)syscall(SYS_fsync, file);
}

int fdatasync(int file) {
  wait_for_disk();
  return (int)syscall(SYS_fdatasync, file);
}
