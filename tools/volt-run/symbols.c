/* symbols.c: names of addresses by libdw, which reads symbol tables and debug information; without it, or where
 * there is neither, by the process's map alone. */
#define _GNU_SOURCE /* fmemopen, strndup */
#include "symbols.h"

#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#ifdef VOLT_RUN_LIBDW
#include <elfutils/libdwfl.h>

#ifdef VOLT_RUN_DEMANGLE
char *__cxa_demangle(const char *name, char *to, size_t *size,
                     int *status); /* of the C++ runtime */
#else
#define __cxa_demangle(name, to, size, status) NULL
#endif
#endif

struct symbols {
  char *maps;
#ifdef VOLT_RUN_LIBDW
  Dwfl *dwfl;
#endif
};

#ifdef VOLT_RUN_LIBDW

static Dwfl *symbols_report(char *maps, size_t size) {
  static const Dwfl_Callbacks callbacks = {.find_elf = dwfl_linux_proc_find_elf,
                                           .find_debuginfo = dwfl_standard_find_debuginfo};
  Dwfl *dwfl = dwfl_begin(&callbacks);
  FILE *f = size ? fmemopen(maps, size, "r") : NULL;
  if (dwfl && f) {
    dwfl_report_begin(dwfl);
    (void)dwfl_linux_proc_maps_report(dwfl, f);
    (void)dwfl_report_end(dwfl, NULL, NULL);
  }
  if (f) fclose(f);
  return dwfl;
}

static const char *symbols_last_part(const char *path) {
  const char *slash = strrchr(path, '/');
  return slash ? slash + 1 : path;
}

/* Returns false: there is no name. */
static bool symbols_by_libdw(struct symbols *s, uintptr_t at, char *to, size_t size) {
  Dwfl_Module *module = s->dwfl ? dwfl_addrmodule(s->dwfl, at - 1) : NULL;
  GElf_Off offset;
  GElf_Sym symbol;
  const char *name =
      module ? dwfl_module_addrinfo(module, at - 1, &offset, &symbol, NULL, NULL, NULL) : NULL;
  if (!name) return false;
  int status = 0, line = 0;
  bool is_mangled = strncmp(name, "_Z", 2) == 0; /* of others it takes "i" for a type */
  char *plain = is_mangled ? __cxa_demangle(name, NULL, NULL, &status) : NULL;
  (void)status;
  if (plain) name = plain;
  Dwfl_Line *place = dwfl_module_getsrc(module, at - 1);
  const char *file = place ? dwfl_lineinfo(place, NULL, &line, NULL, NULL, NULL) : NULL;
  if (file) {
    snprintf(to, size, "%s (%s:%d)", name, symbols_last_part(file), line);
  } else {
    const char *path = dwfl_module_info(module, NULL, NULL, NULL, NULL, NULL, NULL, NULL);
    snprintf(to, size, "%s in %s", name, symbols_last_part(path ? path : "?"));
  }
  free(plain);
  return true;
}

#else

static bool symbols_by_libdw(struct symbols *s, uintptr_t at, char *to, size_t size) {
  (void)s;
  (void)at;
  (void)to;
  (void)size;
  return false;
}

#endif

struct symbols *symbols_open(const char *maps, size_t size) {
  struct symbols *s = (struct symbols *)calloc(1, sizeof *s);
  if (!s) return NULL;
  s->maps = strndup(maps, size);
#ifdef VOLT_RUN_LIBDW
  if (s->maps) s->dwfl = symbols_report(s->maps, size);
#endif
  return s;
}

void symbols_close(struct symbols *s) {
#ifdef VOLT_RUN_LIBDW
  if (s->dwfl) dwfl_end(s->dwfl);
#endif
  free(s->maps);
  free(s);
}

/* "libx.so+0x123": the place in the file, as addr2line takes it. */
static void symbols_by_map(const struct symbols *s, uintptr_t at, char *to, size_t size) {
  uintptr_t base = 0;
  char last[256] = "";
  for (const char *line = s->maps; line && *line;
       line = strchr(line, '\n') ? strchr(line, '\n') + 1 : NULL) {
    uintptr_t from, end, offset;
    char path[256] = "";
    if (sscanf(line, "%" SCNxPTR "-%" SCNxPTR " %*s %" SCNxPTR " %*s %*s %255[^\n]", &from, &end,
               &offset, path) < 3)
      continue;
    if (strcmp(path, last) != 0) base = from - offset;
    memcpy(last, path, sizeof last);
    if (at < from || at >= end) continue;
    const char *slash = strrchr(path, '/');
    snprintf(to, size, "%s+0x%" PRIxPTR, slash ? slash + 1 : path, at - base);
    return;
  }
  snprintf(to, size, "0x%" PRIxPTR, at);
}

void symbols_text(struct symbols *s, uintptr_t at, char *to, size_t size) {
  if (!symbols_by_libdw(s, at, to, size)) symbols_by_map(s, at, to, size);
}

/* Variables that are zero at the start have memory of no file, directly behind that of their file. */
bool symbols_is_static(const struct symbols *s, uintptr_t address) {
  uintptr_t end_of_file = 0;
  for (const char *line = s->maps; line && *line;
       line = strchr(line, '\n') ? strchr(line, '\n') + 1 : NULL) {
    uintptr_t from, end;
    char path[256] = "";
    if (sscanf(line, "%" SCNxPTR "-%" SCNxPTR " %*s %*s %*s %*s%*[ ]%255[^\n]", &from, &end, path) <
        2)
      continue;
    bool is_static = path[0] == '/' || (path[0] == '\0' && from == end_of_file);
    if (is_static) end_of_file = end;
    if (address >= from && address < end) return is_static;
  }
  return false;
}
