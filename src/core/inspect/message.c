/* message.c: how the library aborts or warns with a message (check.h), which names the object. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE /* write */
#endif
#include <volt/name.h>

#include <errno.h>
#ifdef __GLIBC__
#include <execinfo.h>
#include <link.h>
#endif
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "../os/check.h"
#include "holders.h"

/* A message in the making. It is written by one write(), so that those of several threads do not mix. */
typedef struct message_text {
  char text[700];
  size_t used;
} message_text;

static VOLT_PRINTF_(2, 0) void message_put_args(message_text *to, const char *format,
                                                va_list args) {
  const size_t size = sizeof to->text - 1; /* for the end of the line */
  int n = vsnprintf(to->text + to->used, size - to->used, format, args);
  to->used += n > 0 ? (size_t)n : 0;
  if (to->used > size - 1) to->used = size - 1;
}

static VOLT_PRINTF_(2, 3) void message_put(message_text *to, const char *format, ...) {
  va_list args;
  va_start(args, format);
  message_put_args(to, format, args);
  va_end(args);
}

static void message_write(message_text *text) {
  text->text[text->used++] = '\n';
  if (write(STDERR_FILENO, text->text, text->used) < 0) { /* there is no other place for it */
  }
}

/* The first address that a message prints is its object: it is printed with its name, and in builds
 * that know holders with what is known of them. */
static VOLT_PRINTF_(2, 0) void message_print(const char *where, const char *format, va_list args) {
  message_text text = {.used = 0};
  const void *object = NULL;
  char known[200] = "";
  va_list rest;
  message_put(&text, "volt: %s: ", where);
  va_copy(rest, args);
  const char *first = strchr(format, '%');
  if (first && first[1] == 'p') {
    object = va_arg(rest, const void *);
    const char *name = volt_name_of(object);
    message_put(&text, "%.*s%p", (int)(first - format), format, object);
    if (name) message_put(&text, " '%s'", name);
    format = first + 2;
  }
  message_put_args(&text, format, rest);
  va_end(rest);
#if VOLT_SIGHT
  volt_holder_describe_(object, known, sizeof known);
#endif
  message_put(&text, "%s", known);
  message_write(&text);
}

#ifdef __GLIBC__
/* A code address, as a debugger wants it: "program+0x1234". */
typedef struct message_place {
  uintptr_t pc;
  const char *file; /* NULL: it is in no module */
  uintptr_t offset;
} message_place;

static int message_find_place(struct dl_phdr_info *module, size_t size, void *arg) {
  message_place *place = (message_place *)arg;
  (void)size;
  for (unsigned i = 0; i < module->dlpi_phnum; i++) {
    uintptr_t begins = module->dlpi_addr + module->dlpi_phdr[i].p_vaddr;
    bool is_in =
        module->dlpi_phdr[i].p_type == PT_LOAD && place->pc - begins < module->dlpi_phdr[i].p_memsz;
    if (!is_in) continue;
    const char *slash = strrchr(module->dlpi_name, '/');
    place->file = slash ? slash + 1 : module->dlpi_name;
    if (!*place->file) place->file = program_invocation_short_name;
    place->offset = place->pc - module->dlpi_addr;
    return 1;
  }
  return 0;
}

/* The calls that led here, the innermost first. backtrace() may allocate when it is called for the
 * first time, so this comes after the message, and once. */
static VOLT_NOINLINE void message_print_calls(void) {
  enum { CALLS = 12, INSIDE = 2 }; /* this function, and the one that panics */
  static VOLT_ATOMIC(uint32_t) has_warned;
  void *calls[CALLS];
  message_text text = {.used = 0};
  if (volt_exchange_relaxed(&has_warned, 1) != 0) return; /* relaxed, no data: the first says so */
  int count = backtrace(calls, CALLS);
  message_put(&text, "volt: called from");
  for (int i = INSIDE; i < count; i++) {
    message_place place = {.pc = (uintptr_t)calls[i] - 1, .file = NULL, .offset = 0};
    if (!dl_iterate_phdr(message_find_place, &place) || !place.file) break;
    message_put(&text, "%s %s+%#llx", i > INSIDE ? "," : "", place.file,
                (unsigned long long)place.offset);
  }
  message_put(&text, " (addr2line -fie FILE OFFSET says where that is)");
  message_write(&text);
}
#else
static void message_print_calls(void) {
}
#endif

VOLT_NOINLINE void volt_panic_(const char *where, const char *format, ...) {
  va_list args;
  va_start(args, format);
  message_print(where, format, args);
  va_end(args);
  message_print_calls();
  abort();
}

void volt_warn_(const char *where, const char *format, ...) {
  int saved = errno;
  va_list args;
  va_start(args, format);
  message_print(where, format, args);
  va_end(args);
  errno = saved;
}
