/* callers.c: see callers.h. cmocka's assertions end in _fail(), which stands in its library; one that stands in the
 * program comes first. So each of them says who called it, by the addresses on the stack and the program's debug
 * information. */
#define _GNU_SOURCE /* dl_iterate_phdr(), RTLD_NEXT */
#include "callers.h"

#include <dlfcn.h>
#include <inttypes.h>
#include <link.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "unit.h"

#ifdef __GLIBC__
#include <execinfo.h>

enum { FRAMES = 32, LINE = 1024 };

/* Where the program stands in memory: it is the first that is visited. */
static int find_base(struct dl_phdr_info *info, size_t size, void *base) {
  (void)size;
  *(uintptr_t *)base = info->dlpi_addr;
  return 1;
}

/* "/a/tests/unit/b.c:12 (discriminator 3)" becomes "b.c:12"; NULL if it is no line of a test. addr2line may name the
 * file that includes require.h in place of it, so that one is told by its function. */
static const char *shorten(const char *function, char *text) {
  text[strcspn(text, " \n")] = 0;
  if (!strstr(text, "/tests/") || strstr(text, "/callers.c:") || strchr(text, '?') ||
      strncmp(function, "require_failed", strlen("require_failed")) == 0)
    return NULL;
  return strrchr(text, '/') + 1;
}

void say_callers(const char *file, int line) {
  void *frames[FRAMES];
  int count = backtrace(frames, FRAMES);
  uintptr_t base = 0;
  char command[FRAMES * 20 + 80], here[LINE], function[LINE], text[LINE];
  dl_iterate_phdr(find_base, &base);
  int used =
      snprintf(command, sizeof command, "addr2line -ife /proc/%d/exe 2> /dev/null", (int)getpid());
  for (int i = 0; i < count; i++) { /* - 1: a call is before the address that it returns to */
    used += snprintf(command + used, sizeof command - (size_t)used, " 0x%" PRIxPTR,
                     (uintptr_t)frames[i] - base - 1);
  }
  FILE *lines = popen(command, "r");
  if (!lines) return;
  const char *name = strrchr(file, '/');
  snprintf(here, sizeof here, "%s:%d", name ? name + 1 : file, line);
  bool is_first = true;
  while (fgets(function, sizeof function, lines) && fgets(text, sizeof text, lines)) {
    const char *caller = shorten(function, text);
    if (!caller || strcmp(caller, here) == 0) continue;
    fprintf(stderr, "%s%s", is_first ? "called from " : ", from ", caller);
    is_first = false;
  }
  if (!is_first) fputc('\n', stderr);
  pclose(lines);
}
#else
void say_callers(const char *file, int line) {
  (void)file;
  (void)line;
}
#endif

/* cmocka's. */
void _fail(const char *const file, const int line) {
  void (*of_cmocka)(const char *, int) = NULL;
  *(void **)&of_cmocka = dlsym(RTLD_NEXT, "_fail");
  say_callers(file, line);
  if (of_cmocka) of_cmocka(file, line);
  abort(); /* it does not return */
}
