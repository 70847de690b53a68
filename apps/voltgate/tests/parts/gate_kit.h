/* gate_kit.h: a gate and its clients, polled by hand. */
#ifndef VOLTGATE_TEST_GATE_KIT_H
#define VOLTGATE_TEST_GATE_KIT_H

#include "gate/admission.h"
#include "unit.h"

enum { KIT_CLIENTS = 64 };

static struct gate gate;
static struct gate_settings kit_settings;
static struct client client[KIT_CLIENTS];
static struct admission admission[KIT_CLIENTS];
static int woken[KIT_CLIENTS];
static uint64_t now_ns;

static inline void kit_count(void *n) {
  *(int *)n += 1;
}

/* A gate with this limit, whose tenants are as these say. NULL: it has none. */
static inline void kit_begin(uint32_t limit, struct tenant_settings *tenants, size_t count) {
  kit_settings = (struct gate_settings){
      .name = "main",
      .to = "127.0.0.1:1",
      .limit = limit,
      .queue = KIT_CLIENTS,
      .clients = KIT_CLIENTS,
      .queue_timeout_ns = 5000,
      .tenant_by = tenants ? TENANT_BY_USER : TENANT_BY_NONE,
      .tenant_default = {.weight = 1, .cost = 1},
      .tenant_max = 10,
      .tenants = tenants,
      .tenant_count = count,
  };
  assert_true(gate_init(&gate, NULL, NULL, &kit_settings));
  memset(client, 0, sizeof client);
  memset(woken, 0, sizeof woken);
  now_ns = 1000;
}

static inline void come(int i, const char *tenant) {
  clients_add(&gate.clients, &client[i]);
  client[i].tenant = tenant ? tenants_enter(gate_tenants(&gate), tenant) : NULL;
  admission_init(&admission[i], &gate, &client[i]);
}

static inline void go(int i) {
  clients_remove(&gate.clients, &client[i]);
  if (client[i].tenant) tenant_leave(gate_tenants(&gate), client[i].tenant);
}

static inline int poll_one(int i) {
  return volt_future_poll(admission_future(&admission[i]), (volt_waker){kit_count, &woken[i]});
}

/* Join, and take the place. */
static inline int queue_up(int i) {
  if (admission_join(&admission[i], now_ns) != VOLT_OK) return VOLT_ECLOSED;
  return poll_one(i);
}

/* It was granted, and picks that up. */
static inline void pick_up(int i) {
  assert_result(poll_one(i), VOLT_OK);
  assert_true(admission_leave(&admission[i], now_ns));
  assert_true(admission_holds(&admission[i]));
}

/* Without a poll, which would have side effects only if it is granted. */
static inline bool is_granted(int i) {
  return admission[i].is_queued && poll_one(i) == VOLT_OK;
}

/* All is given back. */
static inline void kit_end(void) {
  assert_int_equal(gate_held(&gate), 0);
  assert_int_equal(volt_sem_available(&gate.permits), volt_sem_limit(&gate.permits));
  assert_int_equal(volt_sem_waiters(&gate.permits), 0);
  assert_int_equal(gate.queued, 0);
  assert_null(gate.turns.notes);
  gate_destroy(&gate);
}

#endif
