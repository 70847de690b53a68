/* output.h: text that grows up to a bound. Numbers are written without floating point, so none is
 * ever rounded twice, infinite, or no number. */
#ifndef VOLTGATE_ADMIN_OUTPUT_H
#define VOLTGATE_ADMIN_OUTPUT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

enum { OUTPUT_MAX = 64 * 1024 * 1024 };

/* All-zero: empty. */
struct output {
  char *at; /* no zero behind it */
  size_t size;
  size_t room;
  bool is_cut; /* there was no memory, or it has grown to OUTPUT_MAX: what is there is worthless */
};

void output_bytes(struct output *to, const void *bytes, size_t size);
void output_number(struct output *to, uint64_t number);

/* Nanoseconds as seconds: "0.001048576", "5", exact and without zeros at the end. */
void output_seconds(struct output *to, uint64_t ns);

void output_free(struct output *to);

static inline void output_string(struct output *to, const char *string) {
  output_bytes(to, string, strlen(string));
}

#define OUTPUT(to, literal) output_bytes((to), "" literal, sizeof(literal) - 1)

#endif
