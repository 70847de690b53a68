/* kernel.c: what the kernel says of threads, and memory for a moment. */
#define _GNU_SOURCE /* tgkill, SYS_gettid */
#include "watch/kernel.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

int32_t kernel_tid(void) {
  return (int32_t)syscall(SYS_gettid);
}

bool kernel_is_gone(int32_t tid) {
  return syscall(SYS_tgkill, getpid(), tid, 0) != 0 && errno == ESRCH;
}

void kernel_name(char *name) {
  (void)prctl(PR_GET_NAME, name);
}

void *kernel_memory(size_t size) {
  void *memory = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  return memory == MAP_FAILED ? NULL : memory;
}

void kernel_memory_back(void *memory, size_t size) {
  munmap(memory, size);
}

/* ---- whether a thread runs ---- */

static char *path_put(char *to, uint32_t number) {
  char digits[12];
  int count = 0;
  for (; number > 0; number /= 10) digits[count++] = (char)('0' + number % 10);
  while (count > 0) *to++ = digits[--count];
  return to;
}

/* The beginning of a file of the kernel's about this thread, as text. Returns false: it is not there. */
static bool kernel_says(const struct books_thread *t, const char *name, char *text, size_t size) {
  char path[64] = "/proc/self/task/";
  char *end = path_put(path + strlen(path), (uint32_t)atomic_load(&t->tid));
  strcpy(end, name);
  int file = open(path, O_RDONLY | O_CLOEXEC);
  ssize_t n = file >= 0 ? read(file, text, size - 1) : -1;
  if (file >= 0) close(file);
  text[n > 0 ? n : 0] = '\0';
  return n > 0;
}

uint64_t kernel_ran_ns(const struct books_thread *t) {
  char text[128];
  uint64_t ns = 0;
  const char *end = kernel_says(t, "/stat", text, sizeof text) ? strrchr(text, ')') : NULL;
  if (end && end[1] == ' ' && end[2] != 'S' && end[2] != 'D') return KERNEL_IS_AWAKE;
  if (!kernel_says(t, "/schedstat", text, sizeof text)) return 0;
  for (const char *at = text; *at >= '0' && *at <= '9'; at++) ns = ns * 10 + (uint64_t)(*at - '0');
  return ns;
}
