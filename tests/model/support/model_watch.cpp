// model_watch.cpp: what volt-run's sources ask the kernel for, and the stacks and reports of a model.
#include "model_watch.hpp"

#include "watch/circle.h"
#include "watch/kernel.h"
#include "watch/snapshot.h"

struct books *watch_books;
BOOKS_OF_THREAD struct books_thread *books_own;
uint32_t watch_steps[8];
struct watch_truth watch_now;

int32_t kernel_tid(void) {
  return watch_now.enters + 1;
}

void kernel_name(char *name) {
  name[0] = '\0';
}

bool kernel_is_gone(int32_t tid) {
  return tid == ENDED + 1;
}

uint64_t kernel_ran_ns(const struct books_thread *t) {
  unsigned thread = watch_now.thread_at[t->number];
  bool could_go_on = watch_now.wants[thread] && watch_now.holder[watch_now.wants[thread]] == NONE;
  if (!watch_now.sleeps[thread] || could_go_on) return KERNEL_IS_AWAKE;
  return watch_steps[thread];
}

void *kernel_memory(size_t size) {
  alignas(16) static unsigned char memory[8][64];
  EXPECT(size <= sizeof memory[0]);
  return memset(memory[volt_model_thread()], 0, size);
}

void kernel_memory_back(void *, size_t) {
}

uint64_t books_now_ns(void) {
  return 0;
}

uint32_t books_stack(uintptr_t *stack, uintptr_t at) {
  stack[0] = at;
  return 1;
}

struct books_detail *books_detail(uint32_t) {
  return nullptr;
}

// When threads waited says nothing of which one stands in the way of which
void slots_add(struct slots *, uint64_t, uint64_t) {
}

void slots_forked(struct slots *) {
}

// I2.
void snapshot_of_deadlock(const struct circle *c) {
  watch_now.reports++;
  for (uint32_t i = 0; i < c->count; i++) {
    unsigned thread = watch_now.thread_at[c->thread[i]];
    unsigned next = watch_now.thread_at[c->thread[(i + 1) % c->count]];
    EXPECT(watch_now.wants[thread] == c->lock[i] && watch_now.holder[c->lock[i]] == next);
  }
}
