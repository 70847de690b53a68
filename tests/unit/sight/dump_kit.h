/* dump_kit.h: the text of a dump, with what differs from run to run taken out: an address is as the
 * test has called it, or 0x; a line is L; and holders, which only a build with VOLT_SIGHT=1
 * knows. */
#ifndef VOLT_TEST_DUMP_KIT_H
#define VOLT_TEST_DUMP_KIT_H

#include <ctype.h>
#include <stdio.h>
#include <volt/sight.h>

#include "by_hand.h"

enum { DUMPED_BYTES = 1 << 20, DUMPED_LABELS = 64 };

typedef struct dumped {
  size_t length, calls;
  size_t stop_after; /* calls of the sink; 0: never */
  unsigned labels;
  struct {
    const void *address;
    const char *label;
  } label[DUMPED_LABELS];
  char text[DUMPED_BYTES];
  char plain[DUMPED_BYTES]; /* see above */
} dumped;

static dumped dump;

static inline bool dumped_sink_(void *ctx, const char *text, size_t length) {
  dumped *d = ctx;
  REQUIRE(d->length + length < sizeof d->text);
  memcpy(d->text + d->length, text, length);
  d->length += length;
  d->text[d->length] = 0;
  d->calls += 1;
  return d->calls != d->stop_after;
}

/* From now on this address is called so. */
static inline void dumped_call(const void *address, const char *label) {
  REQUIRE(dump.labels < DUMPED_LABELS);
  dump.label[dump.labels].address = address;
  dump.label[dump.labels++].label = label;
}

static inline const char *dumped_label_(uintptr_t address) {
  for (unsigned i = 0; i < dump.labels; i++) {
    if ((uintptr_t)dump.label[i].address == address) return dump.label[i].label;
  }
  return "0x";
}

/* Copy what is at *from, as it is called, and go on behind it. */
static inline void dumped_copy_(const char **from, char **to) {
  char *end;
  if (strncmp(*from, ", held by ", 10) == 0) {
    *from += strcspn(*from, "\n");
  } else if (strncmp(*from, "0x", 2) == 0) {
    *to += sprintf(*to, "%s", dumped_label_((uintptr_t)strtoull(*from, &end, 16)));
    *from = end;
  } else if (strncmp(*from, ".c:", 3) == 0 && isdigit((unsigned char)(*from)[3])) {
    *to += sprintf(*to, ".c:L");
    strtoul(*from + 3, &end, 10);
    *from = end;
  } else {
    *(*to)++ = *(*from)++;
  }
}

static inline const char *dumped_plain_(void) {
  const char *from = dump.text;
  char *to = dump.plain;
  while (*from) dumped_copy_(&from, &to);
  *to = 0;
  return dump.plain;
}

static inline void dumped_begin(void) {
  memset(&dump, 0, offsetof(dumped, text));
  dump.text[0] = 0;
}

/* Dump, and return what volt_dump() has. */
static inline int dumped_result(volt_rt *rt, unsigned how) {
  dump.length = dump.calls = 0;
  dump.text[0] = 0;
  return volt_dump(rt, how, dumped_sink_, &dump);
}

/* The same, again while it is not whole: a thread that has a lock may not run for a while. */
static inline int dumped_whole(volt_rt *rt, unsigned how) {
  uint64_t end_ns = volt_deadline_s(60);
  int result;
  do {
    result = dumped_result(rt, how);
  } while (result == VOLT_ETIMEDOUT && volt_now_ns() < end_ns);
  return result;
}

static inline void dumped_is(volt_rt *rt, unsigned how, const char *expected) {
  assert_result(dumped_whole(rt, how), VOLT_OK);
  assert_string_equal(dumped_plain_(), expected);
}

/* Whether the text has these words. */
static inline bool dumped_has(const char *words) {
  return strstr(dumped_plain_(), words) != NULL;
}

#endif
