/* listing.c: the list of sums, in the format of sha256sum.
 *
 * A line is the sum in hex, two spaces, the path. If the path contains a backslash, newline or
 * carriage return, the line begins with a backslash and those are written as \\, \n and \r. */
#define _GNU_SOURCE
#include "listing.h"

#include <string.h>

static void write_sum(FILE *stream, const struct sha256_sum *sum) {
  static const char digits[] = "0123456789abcdef";
  char hex[2 * SHA256_BYTES];
  for (size_t i = 0; i < SHA256_BYTES; i++) {
    hex[2 * i] = digits[sum->bytes[i] >> 4];
    hex[2 * i + 1] = digits[sum->bytes[i] & 15];
  }
  fwrite(hex, 1, sizeof hex, stream);
}

static void write_escaped(FILE *stream, const char *path) {
  for (; *path != '\0'; path++) {
    switch (*path) {
      case '\\': fputs("\\\\", stream); break;
      case '\n': fputs("\\n", stream); break;
      case '\r': fputs("\\r", stream); break;
      default: fputc(*path, stream);
    }
  }
}

static void write_line(FILE *stream, const struct result *result) {
  bool escape = strpbrk(result->path, "\\\n\r") != NULL;
  if (escape) fputc('\\', stream);
  write_sum(stream, &result->sum);
  fputs("  ", stream);
  if (escape) {
    write_escaped(stream, result->path);
  } else {
    fputs(result->path, stream);
  }
  fputc('\n', stream);
}

bool listing_write(FILE *stream, const struct results *results) {
  for (size_t i = 0; i < results->count && !ferror(stream); i++) {
    write_line(stream, &results->all[i]);
  }
  return fflush(stream) == 0 && !ferror(stream);
}
