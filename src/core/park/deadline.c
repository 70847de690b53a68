/* deadline.c: deadlines, on the clock of the thread or of the fiber that asks. */
#include <volt/base.h>

#include "blocker.h"

uint64_t volt_deadline_ns(uint64_t delay_ns) {
  volt_blocker_ *fiber = volt_fiber_blocker_();
  uint64_t now = fiber && fiber->now_ns ? fiber->now_ns(fiber) : volt_now_ns();
  return delay_ns < VOLT_NO_DEADLINE - 1 - now ? now + delay_ns : VOLT_NO_DEADLINE - 1;
}

static uint64_t deadline_of(uint64_t delay, uint64_t unit_ns) {
  return volt_deadline_ns(delay < VOLT_NO_DEADLINE / unit_ns ? delay * unit_ns : VOLT_NO_DEADLINE);
}

uint64_t volt_deadline_us(uint64_t delay_us) {
  return deadline_of(delay_us, 1000);
}

uint64_t volt_deadline_ms(uint64_t delay_ms) {
  return deadline_of(delay_ms, 1000000);
}

uint64_t volt_deadline_s(uint64_t delay_s) {
  return deadline_of(delay_s, 1000000000);
}
