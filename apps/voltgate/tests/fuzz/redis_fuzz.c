/* redis_fuzz.c: any bytes of a client and of a server. What is decided does not depend on how the
 * bytes are split, no byte is passed on without a permit, and none is skipped.
 *
 * An input: its first byte seeds the splits; then pieces of the client and of the server in turns,
 * parted by a byte 0xff. */
#include "wire/redis.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

struct splits {
  uint32_t seed; /* 0: whole pieces */
};

static size_t piece(struct splits *s, size_t size) {
  if (s->seed == 0 || size == 0) return size;
  s->seed = s->seed * 1664525 + 1013904223;
  size_t n = 1 + (s->seed >> 16) % 13;
  return n < size ? n : size;
}

static void check(bool is_true) {
  if (!is_true) abort();
}

/* What must not depend on the splits. */
struct outcome {
  size_t passed;    /* bytes that were passed on to the server */
  uint64_t permits; /* that it took */
  bool is_malformed;
};

static bool client(struct redis *r, struct splits *s, const char *at, size_t size,
                   struct outcome *o) {
  while (size > 0) {
    size_t n = 0, some = piece(s, size);
    enum redis_want want = redis_from_client(r, at, some, &n);
    check(n <= some && (want != REDIS_GOES_ON || n == some));
    at += n;
    size -= n;
    o->passed += n;
    if (want == REDIS_MALFORMED) {
      check(r->why != NULL);
      o->is_malformed = true;
      return false;
    }
    if (want == REDIS_WAITS) return true; /* the rest is not said */
    if (want == REDIS_NEEDS_PERMIT) {
      check(!r->has_permit);
      redis_granted(r);
      o->permits++;
    }
  }
  return true;
}

static bool server(struct redis *r, struct splits *s, const char *at, size_t size,
                   struct outcome *o) {
  while (size > 0) {
    size_t some = piece(s, size);
    if (redis_from_server(r, at, some) == REDIS_MALFORMED) {
      check(r->why != NULL);
      o->is_malformed = true;
      return false;
    }
    at += some;
    size -= some;
  }
  return true;
}

/* Pieces of an input are parted by 0xff; they are the client's and the server's in turns. */
static struct redis run(struct splits s, const char *at, size_t size, struct outcome *o) {
  struct redis r;
  redis_init(&r);
  *o = (struct outcome){0};
  for (bool is_server = false; size > 0; is_server = !is_server) {
    const char *end = memchr(at, 0xff, size);
    size_t n = end != NULL ? (size_t)(end - at) : size;
    if (!(is_server ? server : client)(&r, &s, at, n, o)) break;
    if (redis_may_release(&r)) redis_released(&r);
    check(r.is_lost || r.is_raw || r.count > 0 || redis_outstanding(&r) == 0);
    n += end != NULL;
    at += n;
    size -= n;
  }
  return r;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  struct outcome whole, split;
  if (size < 1) return 0;
  struct redis a = run((struct splits){0}, (const char *)data + 1, size - 1, &whole);
  struct redis b = run((struct splits){data[0] + 1u}, (const char *)data + 1, size - 1, &split);
  check(whole.passed == split.passed && whole.permits == split.permits);
  check(whole.is_malformed == split.is_malformed && a.why == b.why);
  check(a.commands == b.commands && a.blocking == b.blocking);
  check(a.is_lost == b.is_lost && a.is_raw == b.is_raw && a.is_monitor == b.is_monitor);
  check(redis_outstanding(&a) == redis_outstanding(&b));
  check(a.transaction == b.transaction && a.ahead == b.ahead && a.leavers == b.leavers);
  check(memcmp(a.subscriptions, b.subscriptions, sizeof a.subscriptions) == 0);
  return 0;
}
