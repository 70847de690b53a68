/* permit_fuzz.c: any bytes of a client of a permit gate. A line is refused in words, or it is a request
 * that holds what permit.h promises; and what is written of it is read as the same. */
#include "wire/permit.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check(bool is_true) {
  if (!is_true) abort();
}

static void check_amounts(const struct permit_amounts *a) {
  check(a->count <= PERMIT_KINDS);
  for (uint64_t i = 0; i < a->count; i++) {
    const struct permit_amount *one = &a->of[i];
    check(permits_is_kind(one->kind, strlen(one->kind)));
    check(one->amount >= 1 && one->amount <= PERMIT_MOST + 1);
    for (uint64_t k = 0; k < i; k++) check(strcmp(one->kind, a->of[k].kind) != 0);
  }
}

/* Of the rest of the request, which has no form of its own. */
static bool has_room(const struct permit_request *r) {
  size_t size = 2 * (strlen(r->label) + strlen(r->command)) + 64;
  for (uint64_t i = 0; i < r->amounts.count; i++) size += strlen(r->amounts.of[i].kind) + 16;
  return size < PERMIT_LINE_MAX;
}

static void check_again(const struct permit_request *r) {
  struct permit_text t = {.size = 0};
  struct permit_request again;
  size_t used;
  const char *why;
  if (!has_room(r)) return;
  permits_say(&t, r->word == PERMIT_TAKE ? "take" : "claim");
  permits_say_amounts(&t, &r->amounts);
  permits_say_quoted(&t, "label", r->label);
  permits_say_quoted(&t, "command", r->command);
  permits_say_end(&t);
  check(permits_read(&again, t.bytes, t.size, &used, &why) == PERMIT_LINE && used == t.size);
  check(again.word == r->word && memcmp(&again.amounts, &r->amounts, sizeof r->amounts) == 0);
  check(strcmp(again.label, r->label) == 0 && strcmp(again.command, r->command) == 0);
}

static void check_request(const struct permit_request *r) {
  bool asks = r->word == PERMIT_TAKE || r->word == PERMIT_CLAIM;
  check_amounts(&r->amounts);
  check(memchr(r->label, 0, sizeof r->label) && memchr(r->command, 0, sizeof r->command));
  check(asks ? r->amounts.count > 0 : !*r->label && !*r->command);
  check(!r->has_wait || r->word == PERMIT_TAKE);
  check(asks || r->word == PERMIT_GIVE || r->amounts.count == 0);
  if (asks) check_again(r);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  const char *at = (const char *)data;
  while (size > 0) {
    struct permit_request r, part;
    const char *why, *why_part;
    size_t used, used_part;
    enum permit_result result = permits_read(&r, at, size, &used, &why);
    check(used <= size && used <= PERMIT_LINE_MAX && (result == PERMIT_MALFORMED) == (why != NULL));
    if (result == PERMIT_NEEDS_MORE) check(used == 0 && size < PERMIT_LINE_MAX);
    if (used == 0) break;
    /* what follows does not matter, and without its end it is no line */
    check(permits_read(&part, at, used, &used_part, &why_part) == result && used_part == used);
    check(permits_read(&part, at, used - 1, &used_part, &why_part) == PERMIT_NEEDS_MORE);
    if (result == PERMIT_LINE) check_request(&r);
    at += used;
    size -= used;
  }
  return 0;
}
