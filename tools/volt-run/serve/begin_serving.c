/* begin_serving.c: volt's objects do the work from the first call on, if volt-run was asked for it. Constructors of
 * other libraries may come before ours, so the first call begins it. */
#define _GNU_SOURCE
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "serve/calls.h"
#include "serve/serve.h"

static void serving_say(const char *words) {
  (void)!write(2, words, strlen(words));
}

/* How many callers may pass, of the environment. Returns false: glibc's locks do the work. */
static bool serving_is_wanted(uint32_t *bypass) {
  const char *value = getenv("VOLT_RUN_SERVE");
  if (!value || !getenv("VOLT_RUN_PROGRAM")) return false;
  char *end;
  unsigned long k = strtoul(value, &end, 10);
  if (*value < '0' || *value > '9' || *end != '\0' || k > 255) {
    serving_say("volt-run: VOLT_RUN_SERVE is not a number from 0 to 255\n");
    _exit(126);
  }
  *bypass = (uint32_t)k;
  return true;
}

/* Where glibc keeps what, in so far as it is relied on. */
static bool serving_is_possible(void) {
  sem_t semaphore;
  bool has_places = sizeof(void *) == 8 && sizeof(pthread_mutex_t) >= SERVED_MUTEX_PLACE + 8 &&
                    sizeof(pthread_cond_t) == 48 &&
                    offsetof(pthread_rwlock_t, __data.__shared) >= SERVED_RWLOCK_PLACE + 8;
  memset(&semaphore, 0, sizeof semaphore);
  int *words = (int *)(void *)&semaphore;
  return has_places && real_is_known() && glibc.sem_init(&semaphore, 1, 7) == 0 && words[0] == 7 &&
         words[2] != 0 && glibc.sem_init(&semaphore, 0, 7) == 0 && words[2] == 0;
}

static bool serving_has_memory(void) {
  size_t size = (BOOKS_LOCKS + 1) * sizeof *served_objects;
  if (!watch_books && !books_begin()) return false;
  void *memory =
      mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (memory == MAP_FAILED) return false;
  served_objects = (struct served *)memory; /* of pages, so it is aligned */
  return true;
}

void serve_begin(struct real *functions) {
  glibc = *functions; /* also for what is not served */
  if (!serving_is_wanted(&served_bypass)) return;
  if (!serving_is_possible()) {
    serving_say(
        "volt-run: this C library keeps its locks in a way that is not known: they stay as they "
        "are\n");
  } else if (!serving_has_memory()) {
    serving_say("volt-run: there is no memory for other locks: they stay as they are\n");
  } else {
    watch_books->is_served = 1;
    served_watch_forks();
#define SERVING_TAKE(result, name, arguments) functions->name = served_##name;
    REAL_LOCKS(SERVING_TAKE)
#undef SERVING_TAKE
  }
}
