/* number.c: numbers on the command line. */
#define _GNU_SOURCE
#include "number.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

bool number_parse(const char *option, const char *text, unsigned max, unsigned *number) {
  char *end;
  errno = 0;
  unsigned long value = strtoul(text, &end, 10);
  if (isdigit((unsigned char)text[0]) && *end == '\0' && errno == 0 && value >= 1 && value <= max) {
    *number = (unsigned)value;
    return true;
  }
  fprintf(stderr, "%s: --%s wants a number from 1 to %u, not '%s'\n", program_invocation_short_name,
          option, max, text);
  return false;
}
