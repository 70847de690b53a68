/* holder_message.c: what a message says of the holders of its object, and that a holder does not
 * wait for itself; in builds with VOLT_SIGHT=1. All of it is of the party that runs here
 * (holders.c). */
#include <stdio.h>

#include "../os/check.h"
#include "../wait/fifo.h"
#include "holders.h"

#if VOLT_SIGHT

/* " at file:line", if it is known. */
static size_t holder_put_place(char *text, size_t size, const char *words, const char *file,
                               uint32_t line) {
  int n = file ? snprintf(text, size, "%s %s:%u", words, file, line) : 0;
  return n < 0 ? 0 : (size_t)n < size ? (size_t)n : size - 1;
}

/* The entry of *object, the last one taken; or that which was taken off last, by the call that prints
 * this. NULL: there is none. */
static const volt_held_ *holder_find(const volt_party_ *p, uintptr_t object) {
  uint32_t count = volt_load_relaxed(&p->count); /* its own, as all of the list */
  for (uint32_t i = count < VOLT_HELD_MAX_ ? count + 1 : count; i > 0; i--) {
    const volt_held_ *held = &p->held[i - 1];
    if (volt_load_relaxed(&held->object) == object) return held;
  }
  return NULL;
}

void volt_holder_describe_(const void *object, char *text, size_t size) {
  volt_party_ *p = VOLT_PARTY_HERE_;
  size_t at = 0;
  text[0] = '\0';
  if (!p || !object) return;
  if (p->at == object) at += holder_put_place(text, size, "; at", p->file, p->line);
  const volt_held_ *held = holder_find(p, (uintptr_t)object);
  if (!held) return;
  const char *file = volt_load_relaxed(&held->file); /* its own */
  uint32_t line = volt_load_relaxed(&held->line);
  if (file == p->file && line == p->line) return; /* this call was about to take it */
  at += holder_put_place(text + at, size - at, "; this party took it at", file, line);
  if (!volt_holder_is_passed_on_(object)) return;
  const volt_holder_ *holder = &((const volt_with_holder_ *)object)->holder; /* what it had alone */
  const char *left = volt_load_relaxed(&holder->file); /* relaxed: what is left is of the past */
  uint32_t left_line = volt_load_relaxed(&holder->line);
  if (left == file && left_line == line) return;
  holder_put_place(text + at, size - at, ", and another has released it at", left, left_line);
}

void volt_holdable_check_relock_(const volt_holdable_ *h, const void *object, const char *call) {
  const volt_party_ *p = VOLT_PARTY_HERE_;
  if (!p || !h || h->alone == 0) return;
  const volt_holder_ *holder =
      (const volt_holder_ *)(const void *)((const char *)object + h->holder);
  /* relaxed: this party itself has stored it, or it is another's. */
  if (volt_load_relaxed(&holder->who) != p->who || volt_holder_is_passed_on_(object)) return;
  const char *file = volt_load_relaxed(&holder->file); /* this party has stored it */
  volt_panic_(call, "%p: locked again by the one that holds it, which has locked it at %s:%u",
              object, file ? file : "?", volt_load_relaxed(&holder->line));
}

#endif
