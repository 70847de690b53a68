/* fake_waker.c */
#include "fake_waker.h"

#include "require.h"

void wake_log_init(wake_log *log) {
  volt_store_relaxed(&log->count, 0);
}

void wake_log_add(wake_log *log, uint32_t name) {
  uint32_t at = volt_fetch_add_relaxed(&log->count, 1);
  REQUIRE(at < WAKE_LOG_MAX);
  volt_store_relaxed(&log->names[at], name);
}

uint32_t wake_log_count(wake_log *log) {
  return volt_load_acquire(&log->count);
}

uint32_t wake_log_at(wake_log *log, uint32_t i) {
  REQUIRE(i < wake_log_count(log));
  return volt_load_relaxed(&log->names[i]);
}

bool wake_log_is_run(wake_log *log, uint32_t first, uint32_t count) {
  if (wake_log_count(log) != count) return false;
  for (uint32_t i = 0; i < count; i++) {
    if (wake_log_at(log, i) != first + i) return false;
  }
  return true;
}

void fake_waker_init(fake_waker *f, uint32_t name, wake_log *log) {
  volt_store_relaxed(&f->calls, 0);
  f->name = name;
  f->log = log;
}

static void note(fake_waker *f) {
  if (f->log) wake_log_add(f->log, f->name);
  (void)volt_fetch_add_release(&f->calls, 1);
}

static void fake_wake(void *ctx) {
  note((fake_waker *)ctx);
}

volt_waker fake_waker_of(fake_waker *f) {
  volt_waker waker = {fake_wake, f};
  return waker;
}

uint32_t fake_waker_calls(fake_waker *f) {
  return volt_load_acquire(&f->calls);
}

void hostile_waker_init(hostile_waker *h, uint32_t name, wake_log *log,
                        void (*act)(hostile_waker *), void *object) {
  fake_waker_init(&h->seen, name, log);
  h->act = act;
  h->object = object;
  h->other = NULL;
  h->n = 0;
  h->result = VOLT_PENDING;
}

static void hostile_wake(void *ctx) {
  hostile_waker *h = (hostile_waker *)ctx;
  note(&h->seen);
  if (h->act) h->act(h);
}

volt_waker hostile_waker_of(hostile_waker *h) {
  volt_waker waker = {hostile_wake, h};
  return waker;
}

uint32_t hostile_waker_calls(hostile_waker *h) {
  return fake_waker_calls(&h->seen);
}
