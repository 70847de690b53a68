/* budget_fuzz.c: any bytes as operations on a budget, which has to do what a sequential one does (budget_pair.h). */
#include "budget_pair.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

typedef struct bytes {
  const uint8_t *at, *end;
} bytes;

static uint32_t draw(void *source, uint32_t bound) {
  bytes *b = (bytes *)source;
  return b->at < b->end ? *b->at++ % bound : 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  static pair p;
  bytes source = {data, data + size};
  pair_init(&p, draw, &source);
  while (source.at < source.end) pair_step(&p);
  pair_end(&p);
  return 0;
}
