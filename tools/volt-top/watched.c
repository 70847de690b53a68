/* watched.c: a process that runs under volt-run is shown by volt-run itself: it reads the books that it keeps there, whose
 * locks, holders and stacks have no place in a table of tasks. So there is one reader of the books. */
#define _POSIX_C_SOURCE 200809L
#include "watched.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static bool is_watched(pid_t process) {
  char path[32], line[4096];
  bool has_library = false;
  snprintf(path, sizeof path, "/proc/%d/maps", (int)process);
  FILE *maps = fopen(path, "r");
  while (maps && !has_library && fgets(line, sizeof line, maps))
    has_library = strstr(line, "/libvolt-pthread.so") != NULL;
  if (maps) fclose(maps);
  return has_library;
}

/* Where both were installed, or built. */
static void run_beside(const char *way, char *const *arguments) {
  char self[3000], program[4096];
  ssize_t size = readlink("/proc/self/exe", self, sizeof self - 1);
  if (size <= 0) return;
  self[size] = '\0';
  char *slash = strrchr(self, '/');
  if (slash) *slash = '\0';
  snprintf(program, sizeof program, "%s/%s", self, way);
  (void)execv(program, arguments);
}

void watched_become(pid_t process) {
  char number[16];
  if (!is_watched(process)) return;
  snprintf(number, sizeof number, "%d", (int)process);
  char name[] = "volt-run", option[] = "--attach-report";
  char *const arguments[] = {name, option, number, NULL};
  run_beside("volt-run", arguments);
  run_beside("../volt-run/volt-run", arguments);
  (void)execvp(name, arguments);
  fprintf(
      stderr,
      "volt-top: process %d runs under volt-run, which is not here: volt-run --attach-report %d\n",
      (int)process, (int)process);
}
