/* verify.c: has sha256sum check what we have computed.
 *
 * The list goes through an unlinked temporary file to the standard input of the child. */
#define _GNU_SOURCE
#include "verify.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "listing.h"

#define NOT_RUN 127

static FILE *temporary_list(const struct results *results) {
  FILE *list = tmpfile();
  if (list != NULL && (!listing_write(list, results) || fseek(list, 0, SEEK_SET) != 0)) {
    int error = errno;
    fclose(list);
    errno = error;
    return NULL;
  }
  return list;
}

/* In the child: become sha256sum. It must not survive us, whatever ends us. */
static void become_checker(int list_fd) {
  prctl(PR_SET_PDEATHSIG, SIGTERM);
  if (dup2(list_fd, STDIN_FILENO) >= 0 && dup2(STDERR_FILENO, STDOUT_FILENO) >= 0) {
    execlp("sha256sum", "sha256sum", "--check", "--quiet", "--strict", (char *)NULL);
  }
  _exit(NOT_RUN);
}

/* Returns the exit code as a shell would give it. */
static int exit_code_of(pid_t child) {
  int status;
  while (waitpid(child, &status, 0) < 0) {
    if (errno != EINTR) return NOT_RUN;
  }
  return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

static int run_checker(FILE *list) {
  pid_t child = fork();
  if (child < 0) return NOT_RUN;
  if (child == 0) become_checker(fileno(list));
  return exit_code_of(child);
}

int verify(const struct results *results, struct console *console) {
  if (results->count == 0) {
    console_print(console, "verify: there is nothing to check");
    return 0;
  }
  FILE *list = temporary_list(results);
  if (list == NULL) {
    console_print(console, "verify: cannot write the list: %s", strerror(errno));
    return EXIT_FAILURE;
  }
  int code = run_checker(list);
  fclose(list);
  if (code == 0) {
    console_print(console, "verify: sha256sum agrees on all %zu files", results->count);
  } else if (code == NOT_RUN) {
    console_print(console, "verify: sha256sum could not be run");
  } else {
    console_print(console, "verify: FAILED, sha256sum ended with %d", code);
  }
  return code;
}
