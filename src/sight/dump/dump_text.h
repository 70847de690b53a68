/* dump_text.h: text in memory that is there already, without printf: a dump makes a line for each
 * of a million tasks, some of them while they are held back. */
#ifndef VOLT_SIGHT_DUMP_DUMP_TEXT_H
#define VOLT_SIGHT_DUMP_DUMP_TEXT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* What does not fit is left out; then is_cut. There is no 0 at the end. */
typedef struct volt_text_ {
  char *begin, *at, *end;
  bool is_cut;
  struct volt_functions_ *functions; /* dump_function.h; NULL: none is known */
} volt_text_;

static inline volt_text_ volt_text_in_(char *memory, size_t bytes) {
  return (volt_text_){memory, memory, memory + bytes, false, NULL};
}

static inline size_t volt_text_length_(const volt_text_ *t) {
  return (size_t)(t->at - t->begin);
}

static inline size_t volt_text_left_(const volt_text_ *t) {
  return (size_t)(t->end - t->at);
}

void volt_text_put_(volt_text_ *t, const char *string);
void volt_text_put_bytes_(volt_text_ *t, const char *bytes, size_t length);
void volt_text_indent_(volt_text_ *t, unsigned depth); /* two spaces each */

/* What the program has called something: at most 64 bytes of it, without control characters. */
void volt_text_put_name_(volt_text_ *t, const char *name);

/* The same in quotes. */
void volt_text_quote_(volt_text_ *t, const char *name);

/* The name of a function, from what the compiler calls it. In C that is its name. In C++ it may
 * have the result before it and arguments behind it, which are left out, and so is a namespace
 * without a name. */
void volt_text_put_short_(volt_text_ *t, const char *function);

/* What is behind the last slash. */
void volt_text_put_file_(volt_text_ *t, const char *path);

void volt_text_put_number_(volt_text_ *t, uint64_t n);               /* 48,211 */
void volt_text_put_plain_(volt_text_ *t, uint64_t n);                /* 48211 */
void volt_text_put_address_(volt_text_ *t, const void *address);     /* 0x7f21c40010c0 */
void volt_text_put_duration_(volt_text_ *t, uint64_t ns);            /* 4.2 s */
void volt_text_count_(volt_text_ *t, uint64_t n, const char *thing); /* 1 task, 2 tasks */

#endif
