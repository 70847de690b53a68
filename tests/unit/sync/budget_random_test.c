/* budget_random_test.c: a budget beside a sequential one (budget_pair.h), by random operations. VOLT_TEST_OPERATIONS says
 * how many, VOLT_TEST_SEED repeats a run. */
#include <inttypes.h>
#include <time.h>

#include "budget_pair.h"
#include "hang.h"
#include "rng.h"
#include "unit.h"

static uint64_t number_of(const char *variable, uint64_t otherwise) {
  const char *text = getenv(variable);
  return text && *text ? strtoull(text, NULL, 0) : otherwise;
}

static uint32_t draw(void *source, uint32_t bound) {
  return rng_below((rng *)source, bound);
}

static void a_budget_does_what_a_sequential_one_does(void **state) {
  (void)state;
  static pair p;
  uint64_t seed = number_of("VOLT_TEST_SEED", (uint64_t)time(NULL));
  uint64_t operations = number_of("VOLT_TEST_OPERATIONS", 50000);
  print_message("%" PRIu64 " operations, VOLT_TEST_SEED=%" PRIu64 "\n", operations, seed);
  rng random = rng_seeded(seed);
  while (operations > 0) {
    pair_init(&p, draw, &random);
    for (uint64_t left = 1 + rng_below(&random, 3000); left > 0 && operations > 0;
         left--, operations--)
      pair_step(&p);
    pair_end(&p);
  }
}

int main(void) {
  if (getenv("VOLT_TEST_OPERATIONS")) hang_never();
  const struct CMUnitTest tests[] = {cmocka_unit_test(a_budget_does_what_a_sequential_one_does)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
