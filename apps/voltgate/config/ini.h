/* ini.h: a file of sections and keys, by libinih. */
#ifndef VOLTGATE_CONFIG_INI_H
#define VOLTGATE_CONFIG_INI_H

#include <stdio.h>

enum { INI_FILE_MOST = 1 << 20 }; /* bytes */

/* What a reader hears, each with its line. The strings last for the call. */
struct ini_hearer {
  void *arg;
  void (*section)(void *arg, unsigned line, const char *name);
  void (*pair)(void *arg, unsigned line, const char *key, const char *value);
  void (*wrong)(void *arg, unsigned line, const char *words);
};

/* Read all of it. */
void ini_read(FILE *in, const struct ini_hearer *hearer);

#endif
