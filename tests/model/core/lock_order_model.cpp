// lock_order_model: two threads lock in two orders for the first time, and each adds its edge to the table of
// orders before it locks on: one of the two finds the other's. lock_order.c R2; table_lock.h L1, U1. What
// is in the table is the model's.
// PROGRAM: sleepers
#include "core/inspect/table_lock.h"
#include "model.hpp"

template <unsigned threads>
struct order_model : model {
  volt_table_lock_ table;
  VOLT_PLAIN(uint32_t) edges;  // of which thread, a bit each
  VOLT_PLAIN(uint32_t) cycles; // that were found

  void thread(unsigned index) override {
    const uint32_t all = (1u << threads) - 1;
    if (!volt_table_lock_wait_(&table)) return; // and locks on: there is no next time
    edges |= 1u << index;
    if (edges == all) cycles += 1;
    volt_table_lock_unlock_(&table);
  }
  void check() override {
    EXPECT(cycles == 1);
  }
};

struct order_two_first : order_model<2> {};
struct order_three_first : order_model<3> {};
MODEL(order_two_first, 2, full)
MODEL(order_three_first, 3, bounded)
