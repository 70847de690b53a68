/* standstill.c: all threads of a process wait for each other, though in no circle: for conditions that none of them will
 * signal, semaphores that none will post, barriers at which none will arrive.
 *
 * Of one wait for a condition nobody knows whether a thread will signal it. Of all threads together it is certain: if
 * each one is in a wait without a deadline, none of them runs, so none signals. Invariants of what is said:
 *   I1  Each thread that the kernel has is one of the books that waits so. A thread that sleeps in a read, in a timer, or
 *       that the books do not know, may wake the others.
 *   I2  None has run between two looks, and none was about to: it slept at both. A thread that was woken, and has
 *       not run yet, waits in the books, and the kernel says that it does not sleep.
 *   I3  The books were read between the looks, and the waits have not changed while they were read (attach.c). So each
 *       wait that is there was there at the second look, and no thread had left it.
 * What is left is said with it: a handler of a signal may run, and another process may use a shared object. */
#define _GNU_SOURCE /* O_DIRECTORY */
#include "standstill.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Returns false: it is not there, or does not begin with what is wanted. */
static bool standstill_read(int tasks, const char *tid, const char *name, char *text, size_t size) {
  char path[64];
  snprintf(path, sizeof path, "%.16s/%s", tid, name);
  int file = openat(tasks, path, O_RDONLY | O_CLOEXEC);
  ssize_t n = file >= 0 ? read(file, text, size - 1) : -1;
  if (file >= 0) close(file);
  text[n > 0 ? n : 0] = '\0';
  return n > 0;
}

/* Returns false: it runs, or has been woken, or is stopped. *is_there: false: it has ended, and waits to be joined. */
static bool standstill_sleeps(int tasks, const char *tid, bool *is_there) {
  char text[512];
  const char *end =
      standstill_read(tasks, tid, "stat", text, sizeof text) ? strrchr(text, ')') : NULL;
  char state = end && end[1] == ' ' ? end[2] : '?';
  *is_there = state != 'Z' && state != 'X';
  return state == 'S' || !*is_there;
}

bool standstill_look(int process, struct standstill *s) {
  int tasks = openat(process, "task", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  DIR *list = tasks >= 0 ? fdopendir(tasks) : NULL;
  if (!list && tasks >= 0) close(tasks);
  bool is_still = list != NULL;
  s->count = 0;
  for (struct dirent *e; is_still && (e = readdir(list));) {
    char text[128];
    bool is_there;
    if (e->d_name[0] == '.') continue;
    is_still = standstill_sleeps(tasks, e->d_name, &is_there) && s->count < STANDSTILL_THREADS;
    if (!is_still || !is_there) continue;
    is_still = standstill_read(tasks, e->d_name, "schedstat", text, sizeof text);
    s->thread[s->count].tid = (int32_t)strtol(e->d_name, NULL, 10);
    s->thread[s->count++].ran_ns = strtoull(text, NULL, 10);
  }
  if (list) closedir(list);
  return is_still && s->count > 0;
}

static bool standstill_waits(int32_t tid, const struct books_thread *thread, uint32_t count) {
  for (uint32_t i = 0; i < count; i++) {
    if (atomic_load(&thread[i].tid) != tid) continue;
    uint32_t how = atomic_load(&thread[i].how);
    return how != BOOKS_RUNS && !(how & BOOKS_IS_TIMED);
  }
  return false;
}

bool standstill_is(const struct standstill *before, const struct standstill *after,
                   const struct books_thread *thread, uint32_t count) {
  if (before->count != after->count) return false;
  for (uint32_t i = 0; i < before->count; i++) { /* the kernel lists them in the same order */
    if (before->thread[i].tid != after->thread[i].tid) return false;
    if (before->thread[i].ran_ns != after->thread[i].ran_ns) return false;
    if (!standstill_waits(before->thread[i].tid, thread, count)) return false;
  }
  return true;
}
