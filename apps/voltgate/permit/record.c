/* record.c: the text of a client that is passed on: words that are parted by a blank, in a fixed order. Numbers are
 * decimal, bytes are hexadecimal with an x before them, and amounts are a count and KIND=NUMBER as on the wire. */
#include "permit/record.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- write ---- */

struct record_text {
  char *at;
  size_t size;
};

static void record_put(struct record_text *t, const char *word) {
  size_t size = strlen(word);
  memcpy(t->at + t->size, word, size);
  t->size += size;
  t->at[t->size++] = ' ';
}

static void record_put_number(struct record_text *t, uint64_t number) {
  char word[24];
  snprintf(word, sizeof word, "%" PRIu64, number);
  record_put(t, word);
}

static void record_put_bytes(struct record_text *t, const char *from, size_t size) {
  static const char digits[] = "0123456789abcdef";
  t->at[t->size++] = 'x';
  for (size_t i = 0; i < size; i++) {
    t->at[t->size++] = digits[(unsigned char)from[i] >> 4];
    t->at[t->size++] = digits[(unsigned char)from[i] & 15];
  }
  t->at[t->size++] = ' ';
}

static void record_put_amounts(struct record_text *t, const struct permit_amounts *a) {
  record_put_number(t, a->count);
  for (uint64_t i = 0; i < a->count; i++) {
    char word[PERMIT_KIND_BYTES + 24];
    snprintf(word, sizeof word, "%s=%" PRIu64, a->of[i].kind, a->of[i].amount);
    record_put(t, word);
  }
}

/* At least as many bytes as it has. */
static size_t record_room(const struct record *r) {
  enum { NUMBERS = 9 * 24, AMOUNTS = PERMIT_KINDS * (PERMIT_KIND_BYTES + 24), MARKS = 5 * 2 };
  size_t bytes = sizeof r->label + sizeof r->command + sizeof r->tenant + r->in.size + r->out.size;
  return NUMBERS + AMOUNTS + MARKS + 2 * bytes;
}

char *record_write(const struct record *r) {
  struct record_text t = {(char *)malloc(record_room(r)), 0};
  if (!t.at) return NULL;
  record_put_number(&t, r->stand);
  record_put_number(&t, r->id);
  record_put_number(&t, r->told);
  record_put_number(&t, r->age_ns);
  record_put_number(&t, r->since_ns);
  record_put_number(&t, r->asked_ns);
  record_put_number(&t, r->rests_ns);
  record_put_number(&t, r->left_ns);
  record_put_amounts(&t, &r->amounts);
  record_put_bytes(&t, r->label, strlen(r->label));
  record_put_bytes(&t, r->command, strlen(r->command));
  record_put_bytes(&t, r->tenant, strlen(r->tenant));
  record_put_bytes(&t, r->in.at, r->in.size);
  record_put_bytes(&t, r->out.at, r->out.size);
  t.at[t.size - 1] = '\0'; /* the last blank */
  return t.at;
}

/* ---- read ---- */

/* The rest of a text; `at` is NULL when something was wrong. */
struct record_rest {
  const char *at;
};

/* The next word, of which `size` are the bytes before the blank. */
static const char *record_next(struct record_rest *l, size_t *size) {
  const char *word = l->at;
  *size = word ? strcspn(word, " ") : 0;
  if (*size == 0) l->at = NULL;
  if (l->at) l->at += *size + (word[*size] == ' ');
  return l->at ? word : NULL;
}

static uint64_t record_digits(struct record_rest *l, const char *at, const char *end) {
  uint64_t number = 0;
  if (at == end) l->at = NULL;
  for (; at < end; at++) {
    unsigned digit = (unsigned)(*at - '0');
    if (digit > 9 || number > (UINT64_MAX - digit) / 10) l->at = NULL;
    number = 10 * number + digit;
  }
  return number;
}

static uint64_t record_get_number(struct record_rest *l) {
  size_t size;
  const char *word = record_next(l, &size);
  return word ? record_digits(l, word, word + size) : 0;
}

static void record_get_amounts(struct record_rest *l, struct permit_amounts *a) {
  uint64_t count = record_get_number(l);
  for (uint64_t i = 0; l->at && i < count; i++) {
    size_t size;
    const char *word = record_next(l, &size);
    const char *mark = word ? (const char *)memchr(word, '=', size) : NULL;
    uint64_t number = mark ? record_digits(l, mark + 1, word + size) : 0;
    bool is_one = mark && number > 0 && number <= PERMIT_MOST &&
                  !permits_amounts_add(a, word, (size_t)(mark - word), number);
    if (!is_one) l->at = NULL;
  }
}

static unsigned record_digit(char c) {
  if (c >= '0' && c <= '9') return (unsigned)(c - '0');
  return c >= 'a' && c <= 'f' ? (unsigned)(c - 'a') + 10 : 16;
}

/* At most `room` bytes. */
static size_t record_get_bytes(struct record_rest *l, char *to, size_t room) {
  size_t size;
  const char *word = record_next(l, &size);
  if (!word || *word != 'x' || size % 2 == 0 || size / 2 > room) {
    l->at = NULL;
    return 0;
  }
  for (size_t i = 0; i < size / 2; i++) {
    unsigned high = record_digit(word[2 * i + 1]), low = record_digit(word[2 * i + 2]);
    if (high > 15 || low > 15) l->at = NULL;
    to[i] = (char)(high << 4 | (low & 15));
  }
  return size / 2;
}

/* The same: words without a zero. */
static void record_get_words(struct record_rest *l, char *to, size_t room) {
  size_t size = record_get_bytes(l, to, room - 1);
  to[size] = '\0';
  if (strlen(to) != size) l->at = NULL;
}

static void record_get_all(struct record_rest *l, struct record_bytes *to) {
  size_t room = l->at ? strcspn(l->at, " ") / 2 + 1 : 1;
  to->at = (char *)malloc(room);
  if (!to->at) l->at = NULL;
  if (l->at) to->size = record_get_bytes(l, to->at, room);
}

static bool record_is_fine(const struct record *r) {
  bool has_amounts = r->amounts.count > 0;
  return r->in.size < PERMIT_LINE_MAX && (r->stand == RECORD_IDLE || has_amounts);
}

bool record_read(struct record *r, const char *text) {
  struct record_rest l = {text};
  memset(r, 0, sizeof *r);
  uint64_t stand = record_get_number(&l);
  if (stand > RECORD_HOLDS) l.at = NULL;
  r->stand = (enum record_stand)stand;
  r->id = record_get_number(&l);
  r->told = (uint32_t)record_get_number(&l);
  r->age_ns = record_get_number(&l);
  r->since_ns = record_get_number(&l);
  r->asked_ns = record_get_number(&l);
  r->rests_ns = record_get_number(&l);
  r->left_ns = record_get_number(&l);
  record_get_amounts(&l, &r->amounts);
  record_get_words(&l, r->label, sizeof r->label);
  record_get_words(&l, r->command, sizeof r->command);
  record_get_words(&l, r->tenant, sizeof r->tenant);
  record_get_all(&l, &r->in);
  record_get_all(&l, &r->out);
  bool is_all = l.at && *l.at == '\0' && l.at[-1] != ' '; /* and nothing stands behind it */
  if (is_all && record_is_fine(r)) return true;
  record_drop(r);
  return false;
}

void record_drop(struct record *r) {
  free(r->in.at);
  free(r->out.at);
  r->in = r->out = (struct record_bytes){NULL, 0};
}
