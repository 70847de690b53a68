/* attach.c: copies the books of a running process by reading its memory (process_vm_readv), as a debugger may: its own
 * user, and root. The process is not stopped, gets no signal, and does nothing for it.
 *
 * It goes on meanwhile. Threads are read before the locks and once more after them: one that has begun or ended a wait in
 * between counts as running. So of the waits that are left none has changed while the locks were read, and a circle that
 * is seen was there at that moment. */
#define _GNU_SOURCE /* process_vm_readv, memfd_create */
#include "attach.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

#include "standstill.h"
#include "watch/door.h"
#include "watch/names.h"
#include "watch/snapshot.h"

static const char library[] = "/libvolt-pthread.so";

struct attach {
  pid_t process;
  int directory; /* of /proc; of this process, also if another one gets its number */
  struct door door;
  struct snapshot head;
  struct books_thread *thread; /* from number 1 on, as the others */
  struct books_detail *detail;
  struct books_lock *lock;
  struct books_order *order;
  struct books_stack *stack;
  char *maps;
};

/* ---- why there is no report ---- */

static void attach_say_no_process(const struct attach *a) {
  fprintf(stderr, "volt-run: there is no process %d, or it has just ended\n", (int)a->process);
}

static void attach_say_refused(const struct attach *a) {
  fprintf(
      stderr,
      "volt-run: process %d may not be read: it is another user's, or this system lets only root "
      "read "
      "other processes (kernel.yama.ptrace_scope, a container): sudo volt-run --attach-report %d\n",
      (int)a->process, (int)a->process);
}

static void attach_say_why(const struct attach *a) {
  switch (errno) {
    case EPERM:
    case EACCES: attach_say_refused(a); break;
    case EFAULT:
      fprintf(stderr, "volt-run: process %d has just begun another program\n", (int)a->process);
      break;
    case ENOMEM: fprintf(stderr, "volt-run: there is no memory for the copy\n"); break;
    default: attach_say_no_process(a); break;
  }
}

/* ---- its memory ---- */

static bool attach_read(const struct attach *a, const void *from, void *to, size_t size) {
  size_t done = 0;
  while (done < size) {
    struct iovec here = {(char *)to + done, size - done};
    struct iovec there = {(void *)((uintptr_t)from + done), size - done};
    ssize_t n = process_vm_readv(a->process, &here, 1, &there, 1, 0);
    if (n == 0) errno = EFAULT;
    if (n <= 0) return false;
    done += (size_t)n;
  }
  return true;
}

/* The caller frees it. Returns NULL, with errno; ESRCH: it has ended, and has no memory any more. */
static char *attach_read_maps(const struct attach *a) {
  int file = openat(a->directory, "maps", O_RDONLY | O_CLOEXEC);
  char part[4096], *text = NULL;
  size_t size = 0;
  FILE *memory = file >= 0 ? open_memstream(&text, &size) : NULL;
  ssize_t n = 0;
  while (memory && (n = read(file, part, sizeof part)) > 0) fwrite(part, 1, (size_t)n, memory);
  int error = n < 0 ? errno : file < 0 ? errno : ESRCH;
  bool is_whole = memory && fclose(memory) == 0 && n == 0 && size > 0;
  if (file >= 0) close(file);
  if (is_whole) return text;
  free(text);
  errno = error;
  return NULL;
}

/* ---- the door ---- */

static bool attach_find_in(struct attach *a, uintptr_t from, uintptr_t end) {
  enum { MOST = 1 << 24 };
  if (end - from > MOST) return false;
  char *data = (char *)malloc(end - from);
  bool is_found = false;
  if (data && attach_read(a, (const void *)from, data, end - from)) {
    for (size_t at = 0; at + sizeof a->door <= end - from && !is_found; at += sizeof(void *)) {
      if (memcmp(data + at, DOOR_MAGIC, DOOR_MAGIC_SIZE) != 0) continue;
      memcpy(&a->door, data + at, sizeof a->door);
      is_found = (uintptr_t)a->door.self == from + at || !a->door.self;
    }
  }
  free(data);
  return is_found;
}

static bool attach_is_library(const char *line, size_t size) {
  const char *found = (const char *)memmem(line, size, library, sizeof library - 1);
  if (!found) return false;
  size_t behind = (size_t)(line + size - found) - (sizeof library - 1);
  return behind == 0 ||
         found[sizeof library - 1] == ' '; /* " (deleted)": another one was installed since */
}

/* Returns false: standard error says why. */
static bool attach_find_door(struct attach *a) {
  bool has_library = false;
  errno = 0;
  for (const char *line = a->maps; *line;) {
    size_t size = strcspn(line, "\n");
    uintptr_t from, end;
    char rights[8];
    if (attach_is_library(line, size)) {
      has_library = true;
      if (sscanf(line, "%lx-%lx %7s", &from, &end, rights) == 3 && rights[1] == 'w' &&
          attach_find_in(a, from, end))
        return true;
    }
    line += size + (line[size] == '\n');
  }
  if (has_library && errno) {
    attach_say_why(a);
  } else if (has_library) {
    fprintf(
        stderr,
        "volt-run: process %d was started by an older version of volt-run, which can only be asked "
        "by kill -USR2\n",
        (int)a->process);
  } else {
    fprintf(stderr, "volt-run: process %d was not started by volt-run\n", (int)a->process);
  }
  return false;
}

static bool attach_is_known(const struct attach *a) {
  const struct door *d = &a->door;
  if (d->version != DOOR_VERSION || d->size_of_thread != sizeof(struct books_thread) ||
      d->size_of_detail != sizeof(struct books_detail) ||
      d->size_of_lock != sizeof(struct books_lock) || d->size_of_books != sizeof(struct books)) {
    fprintf(stderr,
            "volt-run: process %d was started by another version of volt-run: its books are of "
            "version %u, "
            "and this one reads version %d\n",
            (int)a->process, d->version, DOOR_VERSION);
    return false;
  }
  if (d->books) return true;
  fprintf(stderr, "volt-run: process %d has volt-run's library, and is not watched\n",
          (int)a->process);
  return false;
}

/* ---- the copy ---- */

static uint32_t attach_least(uint32_t a, uint32_t b) {
  return a < b ? a : b;
}

/* The part of the books that is before the lists. */
static bool attach_read_head(struct attach *a) {
  const size_t size = offsetof(struct books, bucket);
  /* What is not read has no memory. */
  struct books *b = (struct books *)aligned_alloc(BOOKS_LINE, sizeof *b);
  bool is_read = b && attach_read(a, a->door.books, b, size);
  if (is_read) {
    a->head = (struct snapshot){.magic = SNAPSHOT_MAGIC,
                                .size_of_thread = sizeof(struct books_thread),
                                .size_of_detail = sizeof(struct books_detail),
                                .size_of_lock = sizeof(struct books_lock),
                                .size_of_order = sizeof(struct books_order),
                                .size_of_stack = sizeof(struct books_stack),
                                .why = SNAPSHOT_ASKED,
                                .pid = a->process,
                                .thread_count = attach_least(b->thread_count, BOOKS_THREADS),
                                .detail_count = attach_least(b->detail_count, BOOKS_DETAILS),
                                .lock_count = attach_least(b->lock_count, BOOKS_LOCKS),
                                .order_count = attach_least(b->order_count, BOOKS_ORDERS),
                                .orders_left_out = b->orders_left_out,
                                .stack_count = b->order_count ? BOOKS_STACKS : 0,
                                .unwatched = b->unwatched,
                                .deadlocks = b->deadlocks,
                                .is_served = b->is_served,
                                .begun_ns = b->begun_ns};
    memcpy(&a->head.slots, &b->slots, sizeof b->slots);
    memcpy(a->head.program, a->door.program, sizeof a->head.program - 1);
  }
  free(b);
  return is_read;
}

/* Returns NULL, with errno. */
static void *attach_read_all(const struct attach *a, const void *from, uint32_t count,
                             size_t size) {
  void *to = calloc(count + 1u, size);
  if (to && !attach_read(a, from, to, count * size)) {
    free(to);
    return NULL;
  }
  return to;
}

/* Those that have not stood still meanwhile run. */
static void attach_note_moves(struct books_thread *thread, const struct books_thread *before,
                              uint32_t count) {
  for (uint32_t i = 0; i < count; i++) {
    bool is_same = atomic_load(&thread[i].changes) == atomic_load(&before[i].changes) &&
                   thread[i].life == before[i].life;
    if (is_same) continue;
    atomic_store(&thread[i].how, BOOKS_RUNS);
    atomic_store(&thread[i].waits_for, 0);
    atomic_store(&thread[i].comes_back_by, 0);
  }
}

/* In another namespace the numbers of threads are not those of this one. */
static bool attach_is_of_this_namespace(const struct attach *a) {
  struct stat theirs, ours;
  return fstatat(a->directory, "ns/pid", &theirs, 0) == 0 &&
         stat("/proc/self/ns/pid", &ours) == 0 && theirs.st_ino == ours.st_ino &&
         theirs.st_dev == ours.st_dev;
}

/* An order of a lock that has come since the head was read is left out by the report. */
static bool attach_read_locks(struct attach *a) {
  const struct books *b = a->door.books;
  const struct snapshot *s = &a->head;
  a->order =
      (struct books_order *)attach_read_all(a, &b->order[1], s->order_count, sizeof *a->order);
  if (!a->order) return false;
  a->stack =
      (struct books_stack *)attach_read_all(a, &b->stack[1], s->stack_count, sizeof *a->stack);
  if (!a->stack) return false;
  a->detail =
      (struct books_detail *)attach_read_all(a, &b->detail[1], s->detail_count, sizeof *a->detail);
  if (!a->detail) return false;
  a->lock = (struct books_lock *)attach_read_all(a, &b->lock[1], s->lock_count, sizeof *a->lock);
  return a->lock != NULL;
}

static bool attach_read_books(struct attach *a) {
  static struct standstill first, last;
  const struct books *b = a->door.books;
  bool is_still = attach_is_of_this_namespace(a) && standstill_look(a->directory, &first);
  if (!attach_read_head(a)) return false;
  uint32_t threads = a->head.thread_count;
  struct books_thread *before =
      (struct books_thread *)attach_read_all(a, &b->thread[1], threads, sizeof *before);
  if (!before) return false;
  if (attach_read_locks(a))
    a->thread =
        (struct books_thread *)attach_read_all(a, &b->thread[1], threads, sizeof *a->thread);
  if (a->thread) attach_note_moves(a->thread, before, threads);
  free(before);
  a->head.is_standstill = is_still && a->thread && standstill_look(a->directory, &last) &&
                          standstill_is(&first, &last, a->thread, threads);
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  a->head.now_ns = (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
  return a->thread != NULL;
}

static bool attach_put(int file, const void *from, size_t size) {
  for (size_t done = 0; done < size;) {
    ssize_t n = write(file, (const char *)from + done, size - done);
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return false;
    done += (size_t)n;
  }
  return true;
}

/* As the library makes it: snapshot.h. */
static int attach_write(const struct attach *a) {
  const struct snapshot *s = &a->head;
  int file = memfd_create("volt-run", MFD_CLOEXEC);
  bool is_done = file >= 0 && attach_put(file, s, sizeof *s) &&
                 attach_put(file, a->thread, s->thread_count * sizeof *a->thread) &&
                 attach_put(file, a->detail, s->detail_count * sizeof *a->detail) &&
                 attach_put(file, a->lock, s->lock_count * sizeof *a->lock) &&
                 attach_put(file, a->order, s->order_count * sizeof *a->order) &&
                 attach_put(file, a->stack, s->stack_count * sizeof *a->stack) &&
                 attach_put(file, a->maps, strlen(a->maps));
  if (is_done) return file;
  if (file >= 0) close(file);
  errno = ENOMEM;
  return -1;
}

/* The map is read again at the end: the process was there all the time, if it still is. */
static int attach_make(struct attach *a) {
  a->maps = attach_read_maps(a);
  if (!a->maps) {
    attach_say_why(a);
    return -1;
  }
  if (!attach_find_door(a) || !attach_is_known(a)) return -1;
  bool is_read = attach_read_books(a);
  if (is_read && attach_is_of_this_namespace(a))
    names_put(a->thread - 1, a->head.thread_count, a->process);
  char *maps = is_read ? attach_read_maps(a) : NULL;
  if (maps) {
    free(a->maps);
    a->maps = maps;
  }
  int file = maps ? attach_write(a) : -1;
  if (file < 0) attach_say_why(a);
  return file;
}

int attach_copy(pid_t process) {
  struct attach a = {.process = process};
  char path[32];
  snprintf(path, sizeof path, "/proc/%d", (int)process);
  a.directory = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (a.directory < 0) {
    attach_say_no_process(&a);
    return -1;
  }
  int file = attach_make(&a);
  close(a.directory);
  free(a.maps);
  free(a.thread);
  free(a.detail);
  free(a.lock);
  free(a.order);
  free(a.stack);
  return file;
}
