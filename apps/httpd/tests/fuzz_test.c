/* fuzz_test.c: bytes that no one has thought of. Whatever comes, a connection must be answered by
 * answers that can be read, no memory may be touched that is not its own (under ./x asan), and how
 * the bytes are cut into pieces must change nothing.
 *
 * As a test: rows of requests.table, changed by chance from a seed, a fixed number of times:
 * VOLT_TEST_SEED and HTTPD_FUZZ_RUNS change both. With libFuzzer, which also sees what is covered:
 *
 *   cd apps/httpd && clang -D_GNU_SOURCE -DHTTPD_LIBFUZZER -g -O1 -I. -I.. \
 *     -fsanitize=fuzzer,address,undefined tests/{fuzz_test,table}.c \
 *     {body,conditions,mime,response,session}.c \
 *     ../common/http/{date,request,target,text}.c */
#include <stdio.h>
#include <stdlib.h>

#include "table.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t count);

static void fail(const char *what, const struct exchange *x, const uint8_t *bytes, size_t count) {
  fprintf(stderr, "%s; outcome %s; the bytes:\n", what, x->outcome);
  for (size_t i = 0; i < count; i++) {
    fprintf(stderr, bytes[i] >= ' ' && bytes[i] < 127 ? "%c" : "\\x%02x", bytes[i]);
  }
  fprintf(stderr, "\n");
  abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t count) {
  struct exchange whole, cut;
  size_t piece = count > 0 ? bytes[count - 1] % 64 + 1u : 1;
  exchange_run(&whole, (const char *)bytes, count, SIZE_MAX);
  exchange_run(&cut, (const char *)bytes, count, piece);
  if (whole.wrong != NULL) fail(whole.wrong, &whole, bytes, count);
  if (cut.wrong != NULL) fail(cut.wrong, &cut, bytes, count);
  bool has_100 = strstr(whole.outcome, "100") != NULL || strstr(cut.outcome, "100") != NULL;
  if (!has_100) { /* which depends on whether the body has come */
    if (strcmp(whole.outcome, cut.outcome) != 0) fail(cut.outcome, &whole, bytes, count);
    if (whole.count != cut.count || memcmp(whole.bytes, cut.bytes, cut.count) != 0) {
      fail("pieces are answered otherwise", &whole, bytes, count);
    }
  }
  exchange_free(&whole);
  exchange_free(&cut);
  return 0;
}

#ifndef HTTPD_LIBFUZZER

#define ROWS_MAX 512
#define INPUT_MAX 4096

static struct {
  char *bytes;
  size_t count;
} rows[ROWS_MAX];
static size_t row_count;

static uint64_t state;

static size_t below(size_t limit) { /* xorshift64* */
  state ^= state >> 12;
  state ^= state << 25;
  state ^= state >> 27;
  return (size_t)((state * UINT64_C(2685821657736338717)) >> 33) % limit;
}

static void read_rows(void) {
  static struct table_row row;
  void *table = table_open();
  if (table == NULL) exit(EXIT_FAILURE);
  while (row_count < ROWS_MAX && table_next(table, &row)) {
    if (row.count > INPUT_MAX / 2) continue;
    rows[row_count].bytes = malloc(row.count);
    rows[row_count].count = row.count;
    memcpy(rows[row_count++].bytes, row.bytes, row.count);
  }
  table_close(table);
}

/* Changes one place: a byte, a piece that is left out, doubled, or from another row. */
static size_t change(uint8_t *bytes, size_t count) {
  static const char pieces[][16] = {"\r\n", "\r", "\n", " ",           ":",       ",",  "\"", "%2e",
                                    "..",   "/",  "0",  "99999999999", "chunked", "\t", "-",  "="};
  size_t at = below(count + 1), other = below(row_count), from = below(rows[other].count);
  size_t part = below(count - at + 1) % 32, size = strlen(pieces[at % 16]);
  const char *insert = pieces[at % 16];
  switch (below(5)) {
    case 0:
      if (at < count) bytes[at] = (uint8_t)below(256);
      return count;
    case 1: memmove(bytes + at, bytes + at + part, count - at - part); return count - part;
    case 2: insert = (const char *)bytes + at, size = part; break;
    case 3: insert = rows[other].bytes + from, size = (rows[other].count - from) % 64; break;
    default: break;
  }
  char copy[64];
  if (count + size > INPUT_MAX) return count;
  memcpy(copy, insert, size);
  memmove(bytes + at + size, bytes + at, count - at);
  memcpy(bytes + at, copy, size);
  return count + size;
}

static size_t number_from(const char *name, size_t otherwise) {
  const char *text = getenv(name);
  return text != NULL ? strtoul(text, NULL, 10) : otherwise;
}

int main(void) {
  static uint8_t bytes[INPUT_MAX];
  size_t seed = number_from("VOLT_TEST_SEED", 1), runs = number_from("HTTPD_FUZZ_RUNS", 30000);
  state = seed * UINT64_C(0x9e3779b97f4a7c15) | 1;
  read_rows();
  for (size_t i = 0; i < runs; i++) {
    size_t row = below(row_count), count = rows[row].count;
    memcpy(bytes, rows[row].bytes, count);
    for (size_t changes = below(4) + 1; changes > 0; changes--) count = change(bytes, count);
    LLVMFuzzerTestOneInput(bytes, count);
  }
  for (size_t i = 0; i < row_count; i++) free(rows[i].bytes);
  printf("%zu inputs, seed %zu\n", runs, seed);
  return EXIT_SUCCESS;
}
#endif
