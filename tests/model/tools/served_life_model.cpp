// served_life_model: several threads use an object of a program's for the first time, served by volt-run.
// Checks objects.c R1 and R2, M1 and M2, B1 and B2.
// PROGRAM: served BATCH 2 MUTANTS SOURCES tools/volt-run/serve/life.c park.c fiber_futex.c fifo.c grant.c future.c
// PROGRAM: served DEFINES served
#include "model.hpp"

#include "core/os/futex.h"
#include "serve/life.h"

// The place of the program's object, and the one of ours that stands for it.
struct served_life_model : model {
  served_place place;
  served_life life;
  VOLT_PLAIN(int) made;  // how often it was made
  VOLT_PLAIN(int) value; // of the one of ours: 0 when it was made
  VOLT_ATOMIC(uint32_t) turn;

  static void make(void *ctx, bool had_life) {
    served_life_model *self = static_cast<served_life_model *>(ctx);
    EXPECT(had_life == (self->made > 0));
    self->made += 1;
    self->value = 7;
  }
  static void pause() {
    volt_yield_();
  }
  uintptr_t address() {
    return reinterpret_cast<uintptr_t>(this);
  }
  bool is_found() {
    uint64_t mark = served_mark_in(&place);
    return served_is_mark(mark) && served_life_is(&life, mark, address());
  }
  void use(bool is_new) {
    const served_maker maker = {make, pause, this};
    if (is_new || !is_found()) served_life_begin(&life, &place, address(), 5, is_new, &maker);
    EXPECT(is_found() && value == 7);
  }
};

// It is made once, and each thread finds it made.
struct served_two_use : served_life_model {
  void thread(unsigned) override {
    use(false);
  }
  void check() override {
    EXPECT(made == 1 && volt_load_relaxed(&place) == (SERVED_MAGIC << 56 | UINT64_C(1) << 32 | 5));
  }
};
MODEL(served_two_use, 2, full)

struct served_three_use : served_two_use {};
MODEL(served_three_use, 3, bounded)

// Its memory is used again: the mark of the last life is there, or none, while that life stands for another address,
// or for none. It is made once more.
struct served_again : served_life_model {
  served_again() {
    const served_maker maker = {make, pause, this};
    served_life_begin(&life, &place, address(), 5, false, &maker);
    volt_store_relaxed(&place, 0); // a static initialiser
  }
  void thread(unsigned) override {
    use(false);
  }
  void check() override {
    EXPECT(made == 2 && volt_load_relaxed(&place) == (SERVED_MAGIC << 56 | UINT64_C(2) << 32 | 5));
  }
};
MODEL(served_again, 2, bounded)

// The place has an old mark, of two lives before.
struct served_old_mark : served_life_model {
  served_old_mark() {
    const served_maker maker = {make, pause, this};
    served_life_begin(&life, &place, address(), 5, false, &maker);
    uint64_t old = volt_load_relaxed(&place);
    served_life_begin(&life, &place, address(), 5, true, &maker);
    volt_store_relaxed(&place, old);
  }
  void thread(unsigned) override {
    use(false);
  }
  void check() override {
    EXPECT(made == 3);
  }
};
MODEL(served_old_mark, 2, bounded)

// One thread initialises it by a call, says so to the other, and both use it.
struct served_init_x_use : served_life_model {
  void thread(unsigned index) override {
    if (index == 0) {
      use(true);
      volt_store_release(&turn, 1u);
    } else if (volt_load_acquire(&turn) == 1) {
      EXPECT(is_found() && value == 7);
    }
  }
  void check() override {
    EXPECT(made == 1);
  }
};
MODEL(served_init_x_use, 2, full)
