/* engine_batch.h: one path of a semaphore, alone. Part of engine_loops.h, and compiled as often.
 *
 * What is timed happens once to each of a batch of semaphores of its own: each was made anew, so
 * that nothing depends on how the one before was left. The clock is read twice for a batch. */

#define EACH(i) for (unsigned i = 0; i < BENCH_BATCH; i++)

/* The compiler may assume nothing about a semaphore that was just made. */
#define HIDE(sem) __asm__ __volatile__("" : "+r"(sem) : : "memory")

struct place {
  VOLT_CACHE_ALIGNED engine_sem sem;
  VOLT_CACHE_ALIGNED volt_waiter waiters[BENCH_BATCH_WAITERS];
};

/* Returns how many had to wait, of those who should. */
static uint64_t make(struct place *places, const bench_path *path, volt_waker waker) {
  uint64_t queued = 0;
  EACH(i) {
    engine_sem *sem = &places[i].sem;
    volt_waiter *w = places[i].waiters;
    engine_sem_init(sem, path->permits);
    for (unsigned n = 0; n < path->waiting; n++) {
      queued += engine_sem_acquire(sem, &w[n], 1, waker) == VOLT_PENDING;
    }
  }
  return queued;
}

/* Grant everybody who still waits. */
static void unmake(struct place *places) {
  EACH(i) {
    engine_sem *sem = &places[i].sem;
    engine_sem_release(sem, engine_sem_waiters(sem));
    engine_sem_destroy(sem);
  }
}

/* Returns how often the outcome was the one of this path. */
static uint64_t happen(struct place *places, const bench_path *path, volt_waker waker) {
  int outcome = path->permits > 0 ? VOLT_OK : VOLT_PENDING;
  unsigned newcomer = path->waiting;
  uint64_t as_expected = 0;
#define LOOP(operation)                   \
  EACH(i) {                               \
    engine_sem *sem = &places[i].sem;     \
    HIDE(sem);                            \
    as_expected += (operation) ? 1u : 0u; \
  }
  switch (path->what) {
    case BENCH_TRY_ACQUIRE: LOOP(engine_sem_try_acquire(sem, 1) == VOLT_OK); break;
    case BENCH_ACQUIRE:
      LOOP(engine_sem_acquire(sem, &places[i].waiters[newcomer], 1, waker) == outcome);
      break;
    case BENCH_RELEASE: LOOP((engine_sem_release(sem, 1), true)); break;
    case BENCH_CANCEL: LOOP(engine_sem_cancel(sem, &places[i].waiters[newcomer - 1])); break;
  }
#undef LOOP
  return as_expected;
}

static void nothing_happens(struct place *places) {
  EACH(i) {
    engine_sem *sem = &places[i].sem;
    HIDE(sem);
  }
}

/* How many are woken meanwhile, and in the end. */
static bool adds_up(const bench_path *path, uint64_t before, uint64_t after) {
  bool grants = path->what == BENCH_RELEASE && path->waiting > 0;
  bool queues = path->what == BENCH_ACQUIRE && path->permits == 0;
  uint64_t in_the_end = path->waiting + queues - (path->what == BENCH_CANCEL);
  return before == (grants ? BENCH_BATCH : 0) && after == BENCH_BATCH * in_the_end;
}

static uint64_t batch(const bench_path *path, uint64_t *empty_ns) {
  static struct place places[BENCH_BATCH];
  uint64_t wakes = 0;
  volt_waker waker = {count_wake, &wakes};
  bool right = make(places, path, waker) == BENCH_BATCH * path->waiting;
  atomic_thread_fence(memory_order_seq_cst); /* what was stored so far is not paid for below */
  uint64_t start_ns = volt_now_ns();
  nothing_happens(places);
  uint64_t between_ns = volt_now_ns();
  uint64_t as_expected = happen(places, path, waker);
  uint64_t end_ns = volt_now_ns();
  uint64_t wakes_before = wakes;
  unmake(places);
  *empty_ns = between_ns - start_ns;
  right &= as_expected == BENCH_BATCH && adds_up(path, wakes_before, wakes);
  return right ? end_ns - between_ns : BENCH_WRONG;
}

#undef EACH
#undef HIDE
