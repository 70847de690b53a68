/* lost_signal.c: preloaded: the 30th broadcast of a condition and all later ones get lost. */
#define _GNU_SOURCE /* dlvsym, RTLD_NEXT */
#include <dlfcn.h>
#include <pthread.h>
#include <stdatomic.h>
#include <string.h>

#ifdef __x86_64__
#define VERSION "GLIBC_2.3.2"
#else
#define VERSION "GLIBC_2.17"
#endif

int pthread_cond_broadcast(pthread_cond_t *c) {
  static _Atomic int count;
  int (*real)(pthread_cond_t *);
  void *found = dlvsym(RTLD_NEXT, "pthread_cond_broadcast", VERSION);
  memcpy(&real, &found, sizeof found);
  return atomic_fetch_add(&count, 1) < 30 ? real(c) : 0;
}
