/* begin.c: when a program begins to be watched, when it is asked for a report, and when it ends. */
#define _GNU_SOURCE
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "serve/objects.h"
#include "watch/books.h"
#include "watch/door.h"
#include "watch/orders.h"
#include "watch/real.h"
#include "watch/snapshot.h"

static struct { pid_t pid; /* of the process that reports at its end; 0: none */ } watch;

static void watch_say(const char *words) {
  (void)!write(2, words, strlen(words));
}

static void watch_is_asked(int signal) {
  (void)signal;
  snapshot_report(SNAPSHOT_ASKED, NULL);
}

static void watch_take_signal(void) {
  struct sigaction old, ours = {.sa_handler = watch_is_asked, .sa_flags = SA_RESTART};
  sigfillset(&ours.sa_mask);
  if (sigaction(SIGUSR2, NULL, &old) == 0 && old.sa_handler == SIG_DFL)
    (void)sigaction(SIGUSR2, &ours, NULL);
}

/* The process that volt-run has become reports at its end; those that it starts do so if they were asked to. */
static bool watch_is_wanted(void) {
  const char *pid = getenv("VOLT_RUN_PID");
  return getenv("VOLT_RUN_CHILDREN") || (pid && strtol(pid, NULL, 10) == getpid());
}

__attribute__((constructor(101))) static void watch_begin(void) {
  real_begin();
  if (!getenv("VOLT_RUN_PROGRAM")) return; /* it was not volt-run that has loaded this library */
  if (!real_is_known()) {
    watch_say(
        "volt-run: this C library keeps its mutexes in a way that is not known: nothing is "
        "watched\n");
    return;
  }
  if (!watch_books && !books_begin()) {
    watch_say("volt-run: there is no memory for the books: nothing is watched\n");
    return;
  }
  uintptr_t stack[BOOKS_DEPTH];
  (void)books_stack(stack, 0); /* what the first one prepares is done now */
  snapshot_begin();
  orders_begin();
  door_open();
  (void)pthread_atfork(NULL, NULL, books_forked);
  (void)pthread_atfork(NULL, NULL, served_forked);
  watch_take_signal();
  (void)books_self(); /* the first thread has a place from now on: no other one is alone */
  if (watch_is_wanted()) watch.pid = getpid();
}

/* Has a thread waited for another one, or may it? */
static bool watch_has_found(void) {
  return atomic_load(&watch_books->detail_count) > 0 || atomic_load(&watch_books->unwatched) > 0 ||
         atomic_load(&watch_books->order_count) > 1;
}

__attribute__((destructor(101))) static void watch_end(void) {
  if (!watch_books || watch.pid != getpid()) return; /* a child of a fork says nothing */
  if (watch_has_found()) {
    snapshot_report(SNAPSHOT_AT_END, NULL);
  } else if (getenv("VOLT_RUN_VERBOSE")) {
    watch_say("volt-run: no thread has waited for another one\n");
  }
}
