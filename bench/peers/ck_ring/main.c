/* The workload "pair" of bench-chan on Concurrency Kit's ring, for many producers and many
 * consumers: the same command line, the same work, the same JSON. It never waits. It holds one
 * element less than its capacity, which is a power of two. */
#define _GNU_SOURCE /* clock_gettime */
#include <ck_ring.h>
#include <inttypes.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static uint64_t ns_of(clockid_t clock) {
  struct timespec now;
  clock_gettime(clock, &now);
  return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

static void require(int so, const char *what) {
  if (so) return;
  fprintf(stderr, "bench-chan-ck: not so: %s\n", what);
  abort();
}

static uint64_t pair(ck_ring_t *ring, ck_ring_buffer_t *buffer, uint64_t operations) {
  uint64_t sum = 0;
  for (uint64_t i = 0; i < operations; i++) {
    void *value = NULL;
    if (!ck_ring_enqueue_mpmc(ring, buffer, (void *)(uintptr_t)i)) return 0;
    if (!ck_ring_dequeue_mpmc(ring, buffer, &value)) return 0;
    sum += (uintptr_t)value;
  }
  return sum;
}

static int usage(void) {
  fprintf(stderr, "usage: bench-chan-ck pair [--capacity N] [--operations N]\n");
  return 2;
}

int main(int argc, char **argv) {
  uint64_t capacity = 64, operations = 10000;
  if (argc < 2 || argc % 2 != 0 || strcmp(argv[1], "pair") != 0) return usage();
  for (int i = 2; i < argc; i += 2) {
    char *end;
    uint64_t n = strtoull(argv[i + 1], &end, 10);
    if (*argv[i + 1] == '\0' || *end != '\0' || n < 1 || n > UINT32_MAX) return usage();
    if (strcmp(argv[i], "--capacity") == 0) {
      capacity = n;
    } else if (strcmp(argv[i], "--operations") == 0) {
      operations = n;
    } else if (strcmp(argv[i], "--workers") != 0 && strcmp(argv[i], "--tasks") != 0) {
      return usage();
    }
  }
  static ck_ring_t ring __attribute__((aligned(64)));
  ck_ring_buffer_t *buffer = calloc(capacity, sizeof *buffer);
  require(buffer != NULL, "there is memory for a ring");
  ck_ring_init(&ring, (unsigned)capacity);
  pair(&ring, buffer, operations / 8 + 1);
  uint64_t cpu_ns = ns_of(CLOCK_PROCESS_CPUTIME_ID);
  uint64_t ns = ns_of(CLOCK_MONOTONIC);
  uint64_t sum = pair(&ring, buffer, operations);
  ns = ns_of(CLOCK_MONOTONIC) - ns;
  cpu_ns = ns_of(CLOCK_PROCESS_CPUTIME_ID) - cpu_ns;
  require(sum == operations * (operations - 1) / 2, "what was sent is received");
  printf(
      "{\"runtime\": \"ck\", \"version\": \"Concurrency Kit %s\", \"workload\": \"pair\", "
      "\"capacity\": %" PRIu64 ", \"operations\": %" PRIu64
      ", \"ns\": %.6f, \"cpu_ns\": %.6f, \"overlap\": 1.0}\n",
      CK_VERSION_TEXT, capacity, operations, (double)ns / (double)operations,
      (double)cpu_ns / (double)operations);
  free(buffer);
  return 0;
}
