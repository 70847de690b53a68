/* record_fuzz.c: any text of a process that passes clients of a permit gate on: it is refused, or holds what record.h
 * promises; and what is written of it is read as the same. */
#include "permit/record.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check(bool is_true) {
  if (!is_true) abort();
}

static bool same_bytes(const struct record_bytes *a, const struct record_bytes *b) {
  return a->size == b->size && (a->size == 0 || memcmp(a->at, b->at, a->size) == 0);
}

static void check_record(const struct record *r) {
  check(r->stand <= RECORD_HOLDS && r->amounts.count <= PERMIT_KINDS);
  check(r->stand == RECORD_IDLE || r->amounts.count > 0);
  for (uint64_t i = 0; i < r->amounts.count; i++) {
    check(permits_is_kind(r->amounts.of[i].kind, strlen(r->amounts.of[i].kind)));
    check(r->amounts.of[i].amount >= 1 && r->amounts.of[i].amount <= PERMIT_MOST);
  }
  check(memchr(r->label, 0, sizeof r->label) && memchr(r->command, 0, sizeof r->command));
  check(memchr(r->tenant, 0, sizeof r->tenant) != NULL && r->in.size < PERMIT_LINE_MAX);
}

static void check_again(const struct record *r) {
  struct record again;
  char *text = record_write(r);
  check(text && record_read(&again, text));
  check(again.stand == r->stand && again.id == r->id && again.told == r->told);
  check(again.since_ns == r->since_ns && again.left_ns == r->left_ns);
  check(memcmp(&again.amounts, &r->amounts, sizeof r->amounts) == 0);
  check(strcmp(again.label, r->label) == 0 && strcmp(again.tenant, r->tenant) == 0);
  check(same_bytes(&again.in, &r->in) && same_bytes(&again.out, &r->out));
  record_drop(&again);
  free(text);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  struct record r;
  char *text = (char *)malloc(size + 1);
  check(text != NULL);
  if (size > 0) memcpy(text, data, size);
  text[size] = '\0';
  if (record_read(&r, text)) {
    check_record(&r);
    check_again(&r);
    record_drop(&r);
  }
  free(text);
  return 0;
}
