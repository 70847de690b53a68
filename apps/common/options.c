/* options.c: options.h. */
#define _GNU_SOURCE /* program_invocation_short_name */
#include "common/options.h"

#include <errno.h>
#include <inttypes.h>
#include <stddef.h>
#include <stdio.h>

bool number_read(const char *text, uint64_t least, uint64_t most, uint64_t *number) {
  uint64_t value = 0;
  if (text == NULL || *text == '\0') return false;
  for (; *text != '\0'; text++) {
    if (*text < '0' || *text > '9') return false;
    unsigned digit = (unsigned)(*text - '0');
    if (value > (UINT64_MAX - digit) / 10) return false;
    value = value * 10 + digit;
  }
  if (value < least || value > most) return false;
  *number = value;
  return true;
}

bool option_number(const char *option, const char *text, uint64_t least, uint64_t most,
                   uint64_t *number) {
  if (number_read(text, least, most, number)) return true;
  fprintf(stderr, "%s: --%s wants a number from %" PRIu64 " to %" PRIu64 ", not '%s'\n",
          program_invocation_short_name, option, least, most, text);
  return false;
}

bool option_unsigned(const char *option, const char *text, unsigned least, unsigned most,
                     unsigned *number) {
  uint64_t value = *number;
  if (!option_number(option, text, least, most, &value)) return false;
  *number = (unsigned)value;
  return true;
}
