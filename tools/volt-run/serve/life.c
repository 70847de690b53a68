/* life.c: how a life begins: the races R1 and R2 of objects.c.
 *
 * Labels: objects */
#include "serve/life.h"

/* Never 0, and never that of the last life. */
static uint64_t life_next_mark(const struct served_life *life, uint32_t number) {
  uint32_t count = (uint32_t)(volt_load_relaxed(&life->mark) >> 32) + 1; /* is_busy is held */
  return SERVED_MAGIC << 56 | (uint64_t)(count & 0xffffff) << 32 | number;
}

static void life_lock(struct served_life *life, void (*pause)(void)) {
  uint32_t is_busy = 0;
  /* objects:B1 <- objects:B2: this thread sees what the last one did that began a life */
  while (!volt_cas_acquire(&life->is_busy, &is_busy, 1)) {
    pause();
    is_busy = 0;
  }
}

void served_life_begin(struct served_life *life, served_place *place, uintptr_t address,
                       uint32_t number, bool is_new, const struct served_maker *maker) {
  life_lock(life, maker->pause); /* R1 */
  uint64_t old = volt_load_relaxed(&life->mark);
  bool has_begun = old != 0 && served_life_is(life, served_mark_in(place), address); /* R2 */
  if (is_new || !has_begun) {
    maker->make(maker->ctx, old != 0);
    uint64_t mark = life_next_mark(life, number);
    volt_store_relaxed(&life->mark, mark); /* published by M2 */
    volt_store_relaxed(&life->address, address);
    /* objects:M2 -> objects:M1: a thread that finds the mark sees the object as it was made */
    volt_store_release(place, mark);
  }
  /* objects:B2 -> objects:B1: the next one that takes it sees what this one did */
  volt_store_release(&life->is_busy, 0);
}
