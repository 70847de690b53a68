/* proxy_fuzz.c: any bytes as a PROXY header. How they are split changes nothing, what is read can be
 * written and read again, and a header is never longer than its bound. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "wire/proxy.h"

static void check(bool is_true) {
  if (!is_true) abort();
}

/* Reads it in pieces of that size. */
static enum proxy_result read_in(struct proxy *p, const uint8_t *at, size_t size, size_t piece,
                                 size_t *used) {
  enum proxy_result result = PROXY_NEEDS_MORE;
  *p = (struct proxy){0};
  for (*used = 0; *used < size && result == PROXY_NEEDS_MORE;) {
    size_t n = 0, some = size - *used < piece ? size - *used : piece;
    result = proxy_read(p, at + *used, some, &n);
    check(n <= some && (result != PROXY_NEEDS_MORE || n == some));
    *used += n;
  }
  return result;
}

static void write_again(const struct proxy *p) {
  unsigned char out[PROXY_OUT_MAX];
  struct proxy again = {0};
  size_t used;
  size_t size = proxy_write((const void *)&p->client, (const void *)&p->server, out, sizeof out);
  check(proxy_read(&again, out, size, &used) == PROXY_DONE && used == size && !again.is_local);
  check(memcmp(&again.client, &p->client, sizeof again.client) == 0);
  check(memcmp(&again.server, &p->server, sizeof again.server) == 0);
  check(again.client_size == p->client_size && again.server_size == p->server_size);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  struct proxy whole, split;
  size_t whole_used, split_used;
  if (size < 1) return 0;
  enum proxy_result result = read_in(&whole, data + 1, size - 1, SIZE_MAX, &whole_used);
  check(read_in(&split, data + 1, size - 1, 1 + data[0] % 31, &split_used) == result);
  check(whole_used == split_used && whole.why == split.why);
  check((result == PROXY_MALFORMED) == (whole.why != NULL));
  check(whole_used <= PROXY_V2_MAX);
  if (result != PROXY_DONE) return 0;
  check(whole.size == whole_used && whole.is_local == split.is_local);
  check(memcmp(&whole.client, &split.client, sizeof whole.client) == 0);
  check(memcmp(&whole.server, &split.server, sizeof whole.server) == 0);
  if (!whole.is_local) write_again(&whole);
  return 0;
}
