/* death.c */
#define _GNU_SOURCE /* fork, pipe, setrlimit */
#include "death.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "require.h"

enum { LAST_WORDS = 4096, HANGS_AFTER_SECONDS = 60 };

static void die_in_child(int number, void (*act)(void *), void *arg, int out) {
  struct rlimit none = {0, 0};
  (void)setrlimit(RLIMIT_CORE, &none);
  (void)signal(number, SIG_DFL);
  (void)alarm(HANGS_AFTER_SECONDS); /* an act that neither aborts nor returns fails, too */
  (void)dup2(out, STDERR_FILENO);
  act(arg);
  _exit(0);
}

/* Read until the other end is closed. What does not fit is dropped. */
static void read_all(int in, char *text, size_t size) {
  size_t used = 0;
  for (;;) {
    char chunk[512];
    ssize_t got = read(in, chunk, sizeof chunk);
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) break;
    size_t fits = (size_t)got < size - 1 - used ? (size_t)got : size - 1 - used;
    memcpy(text + used, chunk, fits);
    used += fits;
  }
  text[used] = '\0';
}

static bool says_all(const char *text, const char *const needles[]) {
  for (; *needles; needles++) {
    bool is_unwanted = **needles == DEATH_NOT[0];
    const char *words = *needles + is_unwanted;
    if (!strstr(text, words) != is_unwanted) {
      fprintf(stderr, "it %s \"%s\":\n%s", is_unwanted ? "says" : "does not say", words, text);
      return false;
    }
  }
  return true;
}

bool death_by(int number, void (*act)(void *), void *arg, const char *const needles[]) {
  int ends[2];
  REQUIRE(pipe(ends) == 0);
  pid_t child = fork();
  REQUIRE(child >= 0);
  if (child == 0) die_in_child(number, act, arg, ends[1]);
  close(ends[1]);
  char text[LAST_WORDS];
  read_all(ends[0], text, sizeof text);
  close(ends[0]);
  int status = 0;
  while (waitpid(child, &status, 0) < 0) REQUIRE(errno == EINTR);
  if (!WIFSIGNALED(status) || WTERMSIG(status) != number) {
    fprintf(stderr, "it did not die of signal %d (wait status %#x) but said:\n%s\n", number,
            (unsigned)status, text);
    return false;
  }
  return says_all(text, needles);
}

bool death_of(void (*act)(void *), void *arg, const char *const needles[]) {
  return death_by(SIGABRT, act, arg, needles);
}

const char *death_address(const void *p) {
  static char texts[16][32];
  static unsigned next;
  char *text = texts[next++ % 16];
  (void)snprintf(text, sizeof texts[0], "%p", p);
  return text;
}
