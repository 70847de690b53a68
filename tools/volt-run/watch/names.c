/* names.c: reads the names that threads have now. */
#define _GNU_SOURCE /* O_CLOEXEC */
#include "watch/names.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

void names_put(struct books_thread *thread, uint32_t count, pid_t process) {
  for (uint32_t i = 1; i <= count; i++) {
    struct books_thread *t = &thread[i];
    int32_t tid = atomic_load(&t->tid);
    char path[64];
    if (tid <= 0) continue;
    snprintf(path, sizeof path, "/proc/%d/task/%d/comm", (int)process, (int)tid);
    int file = open(path, O_RDONLY | O_CLOEXEC);
    if (file < 0 && errno == ENOENT) atomic_store(&t->tid, -tid);
    if (file < 0) continue;
    ssize_t size = read(file, t->name, sizeof t->name - 1);
    if (size > 0) t->name[size - (t->name[size - 1] == '\n')] = '\0';
    close(file);
  }
}
