/* fiber_local.c: values of each fiber, by keys. */
#include <string.h>

#include "../../core/os/check.h"
#include "../host/runtime.h"
#include "fiber.h"

/* ROUNDS: as many times are destructors called that set values again, as for a thread's values. */
enum { KEYS = 1024, FIRST_VALUES = 8, ROUNDS = 4 };

static VOLT_ATOMIC(uint32_t) local_keys;
static void (*local_destroy[KEYS])(void *value);

int volt_fiber_key_new(volt_fiber_key *key, void (*destroy)(void *value)) {
  uint32_t keys = volt_load_relaxed(&local_keys); /* a guess: the CAS decides */
  key->index = 0;
  do {
    if (keys == KEYS) return VOLT_ENOMEM;
    /* relaxed, no data: a thread that uses the key has it from the caller */
  } while (!volt_cas_relaxed(&local_keys, &keys, keys + 1));
  local_destroy[keys] = destroy;
  key->index = keys + 1;
  return VOLT_OK;
}

static size_t fiber_local_bytes(uint32_t count) {
  return count * sizeof(void *);
}

/* Room for so many values. */
static int fiber_local_grow(volt_fiber *f, uint32_t count) {
  const volt_rt_allocator *a = &f->homed.task.rt->config.allocator;
  uint32_t room = f->local_count ? f->local_count : FIRST_VALUES;
  while (room < count) room *= 2;
  void **values = (void **)a->alloc(fiber_local_bytes(room), a->ctx);
  if (!values) return VOLT_ENOMEM;
  memset((void *)values, 0, fiber_local_bytes(room));
  if (f->locals) {
    memcpy((void *)values, (void *)f->locals, fiber_local_bytes(f->local_count));
    a->free((void *)f->locals, fiber_local_bytes(f->local_count), a->ctx);
  }
  f->locals = values;
  f->local_count = room;
  return VOLT_OK;
}

int volt_fiber_local_set(volt_fiber_key key, void *value) {
  volt_fiber *f = volt_fiber_here_();
  uint32_t keys = volt_load_relaxed(&local_keys); /* the caller's key was counted before */
  VOLT_CHECK(key.index <= keys, "volt_fiber_local_set", "key %u: only %u were made", key.index,
             keys);
  if (!f || key.index == 0) return VOLT_EINVAL;
  if (key.index > f->local_count) {
    if (!value) return VOLT_OK;
    int result = fiber_local_grow(f, key.index);
    if (result != VOLT_OK) return result;
  }
  f->locals[key.index - 1] = value;
  return VOLT_OK;
}

void *volt_fiber_local(volt_fiber_key key) {
  volt_fiber *f = volt_fiber_here_();
  return f && key.index - 1 < f->local_count ? f->locals[key.index - 1] : NULL;
}

/* Returns whether a destructor was called. */
static bool fiber_local_destroy_all(volt_fiber *f) {
  bool any = false;
  for (uint32_t i = 0; i < f->local_count; i++) {
    void *value = f->locals[i];
    f->locals[i] = NULL;
    if (!value || !local_destroy[i]) continue;
    local_destroy[i](value);
    any = true;
  }
  return any;
}

void volt_fiber_locals_end_(volt_fiber *f) {
  if (VOLT_LIKELY(!f->locals)) return;
  for (unsigned round = 0; round < ROUNDS && fiber_local_destroy_all(f); round++) continue;
  const volt_rt_allocator *a = &f->homed.task.rt->config.allocator;
  a->free((void *)f->locals, fiber_local_bytes(f->local_count), a->ctx);
  f->locals = NULL;
  f->local_count = 0;
}
