/* real.c: finds the functions of glibc that ours stand before, and asks whether it is a glibc that is known. */
#define _GNU_SOURCE /* RTLD_NEXT, dlvsym */
#include "watch/real.h"

#include <dlfcn.h>
#include <sched.h>
#include <string.h>
#include <unistd.h>

#include "serve/serve.h"

struct real real;
_Atomic int real_stage;

/* Of condition variables there are two versions: an old one, which is smaller, and that of today. */
#ifdef __x86_64__
#define REAL_CONDITION_VERSION "GLIBC_2.3.2"
#else
#define REAL_CONDITION_VERSION "GLIBC_2.17"
#endif

static bool real_has_versions(const char *name) {
  return strncmp(name, "pthread_cond_", 13) == 0 && strcmp(name, "pthread_cond_clockwait") != 0;
}

static bool real_is_of_one_library(const void *a, const void *b) {
  Dl_info first, second;
  return dladdr(a, &first) && dladdr(b, &second) && first.dli_fbase == second.dli_fbase;
}

/* That of glibc in the version of today; or that of another library that stands before it, which has no version. */
static void *real_next(const char *name) {
  void *next = dlsym(RTLD_NEXT, name);
  void *today =
      next && real_has_versions(name) ? dlvsym(RTLD_NEXT, name, REAL_CONDITION_VERSION) : NULL;
  return today && real_is_of_one_library(today, next) ? today : next;
}

/* A search that finds nothing allocates, and so may call a mutex of the program's allocator. */
static void *real_symbol(const char *name) {
  void *found = real_next(name);
  if (found) return found;
  static const char words[] =
      "volt-run: this C library lacks a function that volt-run stands before\n";
  (void)!write(2, words, sizeof words - 1);
  _exit(126);
}

/* Of several threads one searches. In a call of ours within the search, those of mutexes are there: they come first. */
void real_find(void) {
  static __thread bool is_within;
  int stage = REAL_NOT_BEGUN;
  if (is_within) return;
  if (!atomic_compare_exchange_strong(&real_stage, &stage, REAL_SEARCHES)) {
    while (atomic_load(&real_stage) != REAL_IS_READY) sched_yield();
    return;
  }
  is_within = true;
#define REAL_FIND(result, name, arguments)    \
  {                                           \
    void *found = real_symbol(#name);         \
    memcpy(&real.name, &found, sizeof found); \
  }
  REAL_FUNCTIONS(REAL_FIND)
#undef REAL_FIND
  serve_begin(&real);
  atomic_store(&real_stage, REAL_IS_READY);
  is_within = false;
}

static bool real_has_kind(int type, int shared, int wanted) {
  pthread_mutexattr_t attributes;
  pthread_mutex_t m;
  memset(&m, 0, sizeof m);
  pthread_mutexattr_init(&attributes);
  pthread_mutexattr_settype(&attributes, type);
  pthread_mutexattr_setpshared(&attributes, shared);
  bool is_so = real.pthread_mutex_init(&m, &attributes) == 0 &&
               (real_mutex_kind(&m) & (REAL_KINDS | REAL_SHARED)) == wanted;
  pthread_mutexattr_destroy(&attributes);
  return is_so && real.pthread_mutex_destroy(&m) == 0;
}

bool real_is_known(void) {
  return real_has_kind(PTHREAD_MUTEX_NORMAL, PTHREAD_PROCESS_PRIVATE, 0) &&
         real_has_kind(PTHREAD_MUTEX_RECURSIVE, PTHREAD_PROCESS_PRIVATE, REAL_RECURSIVE) &&
         real_has_kind(PTHREAD_MUTEX_ERRORCHECK, PTHREAD_PROCESS_PRIVATE, 2) &&
         real_has_kind(PTHREAD_MUTEX_ERRORCHECK, PTHREAD_PROCESS_SHARED, 2 | REAL_SHARED);
}
