/* dump_function.c: see dump_function.h.
 *
 * dladdr() would know some names, too, but it waits while any thread is in dlopen(), with all that
 * constructors do there. dl_iterate_phdr() waits only while the list of modules changes. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE /* dl_iterate_phdr, readlink */
#endif
#include "dump_function.h"

#include <link.h>
#include <string.h>
#include <unistd.h>

typedef struct function_module {
  uintptr_t address; /* in which module this is */
  uintptr_t base;
  char name[VOLT_FUNCTION_BYTES_];
} function_module;

static bool function_is_in(const struct dl_phdr_info *info, uintptr_t address) {
  for (unsigned i = 0; i < info->dlpi_phnum; i++) {
    const ElfW(Phdr) *segment = &info->dlpi_phdr[i];
    uintptr_t begin = (uintptr_t)info->dlpi_addr + segment->p_vaddr;
    if (segment->p_type == PT_LOAD && address - begin < segment->p_memsz) return true;
  }
  return false;
}

static int function_read_object(struct dl_phdr_info *info, size_t bytes, void *ctx) {
  function_module *m = ctx;
  (void)bytes;
  if (!function_is_in(info, m->address)) return 0;
  m->base = (uintptr_t)info->dlpi_addr;
  strncpy(m->name, info->dlpi_name, sizeof m->name - 1);
  const char *slash = strrchr(info->dlpi_name, '/');
  if (slash) strncpy(m->name, slash + 1, sizeof m->name - 1);
  return 1;
}

/* The program itself has no name in the list. */
static void function_name_program(char *name, size_t bytes) {
  char path[1024];
  ssize_t length = readlink("/proc/self/exe", path, sizeof path - 1);
  path[length > 0 ? length : 0] = 0;
  const char *slash = strrchr(path, '/');
  strncpy(name, slash ? slash + 1 : "program", bytes - 1);
}

static void function_ask(volt_function_ *f) {
  function_module m = {.address = f->address};
  volt_text_ t = volt_text_in_(f->text, sizeof f->text);
  if (dl_iterate_phdr(function_read_object, &m) == 0) {
    volt_text_put_address_(&t, (const void *)f->address);
  } else {
    if (!m.name[0]) function_name_program(m.name, sizeof m.name);
    m.name[VOLT_FUNCTION_BYTES_ - 24] = 0; /* room for the place */
    volt_text_put_name_(&t, m.name);
    volt_text_put_(&t, "+");
    volt_text_put_address_(&t, (const void *)(f->address - m.base));
  }
  f->length = (unsigned)volt_text_length_(&t);
}

/* NULL: not known. */
static const volt_function_ *function_find(struct volt_functions_ *functions, uintptr_t address) {
  for (unsigned i = 0; i < functions->count; i++) {
    if (functions->function[i].address == address) return &functions->function[i];
  }
  if (!functions->may_ask) return NULL;
  bool is_full = functions->count == VOLT_FUNCTIONS_MAX_;
  volt_function_ *f = is_full ? &functions->function[functions->next++ % VOLT_FUNCTIONS_MAX_]
                              : &functions->function[functions->count++];
  f->address = address;
  function_ask(f);
  return f;
}

void volt_function_learn_(struct volt_functions_ *functions, uintptr_t function) {
  (void)function_find(functions, function);
}

void volt_text_put_function_(volt_text_ *t, uintptr_t function) {
  const volt_function_ *f = t->functions ? function_find(t->functions, function) : NULL;
  if (f) {
    volt_text_put_bytes_(t, f->text, f->length);
  } else {
    volt_text_put_address_(t, (const void *)function);
  }
}
