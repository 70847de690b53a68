/* home.c: a task gets a home: a worker that alone polls it from then on. Where it waits, the
 * invariants and the races: home.h. */
#include "home.h"
#include "../host/runtime.h"
#include "parking.h"
#include "ring.h"
#include "thread.h"
#include "worker.h"

/* Before the first task gets a home: say so to all workers. R5 */
static void home_announce(volt_rt *rt) {
  /* home:A2 <- home:A1: every worker that wakes this task sees that there are homed tasks */
  if (volt_load_acquire(&rt->homed)) return;
  for (unsigned i = 0; i < rt->workers; i++) {
    volt_fetch_or_relaxed(
        &rt->worker[i].how,
        VOLT_HOW_HOMED_); /* relaxed, by home:A1: workers see it then, or by a wake */
  }
  /* home:A1 -> home:A2: the thread that gives the next task a home relies on it */
  volt_store_release(&rt->homed, 1);
}

/* This thread is one: it polls the task. */
static volt_worker *home_worker(void) {
  return volt_thread_here_()->worker;
}

void volt_homed_move_(volt_homed_ *h, uint32_t worker) {
  home_announce(h->task.rt);
  home_worker()->home.is_used = true;
  h->home = 1 + worker;
}

void volt_homed_settle_(volt_homed_ *h) {
  volt_homed_move_(h, home_worker()->index);
}

void volt_homed_wander_(volt_homed_ *h) {
  volt_homed_move_(h, (home_worker()->index + 1) % h->task.rt->workers);
}

/* This thread has the task, which is ACTIVE: queue it at its home, behind the others there. */
void volt_rt_queue_homed_(volt_homed_ *h) {
  volt_rt *rt = h->task.rt;
  volt_worker *w = &rt->worker[h->home - 1];
  if (volt_worker_here_(rt) == w) {
    volt_home_push_(&w->home, h, volt_ring_end_(&w->ring));
  } else {
    volt_home_send_(&w->home, h);
    volt_rt_task_sent_(rt, w->index); /* R3: the task may have ended */
  }
}
