/* A task and a callback in a loop around epoll_wait(). */
#include <stdbool.h>
#include <unistd.h>
#include <volt/epoll.h>
#include <volt/volt.h>

static volt_epoll bridge;
static volt_sem sem = VOLT_SEM_INIT(0);
static int result = VOLT_PENDING;
static bool closed;

static int release_poll(volt_task *t, volt_ctx *ctx) {
  (void)t;
  (void)ctx;
  volt_sem_release(&sem, 1);
  return VOLT_OK;
}

static void on_closed(void *arg) {
  *(bool *)arg = true;
}

static void on_permit(int r, void *arg) {
  (void)arg;
  result = r;
  volt_bridge_close(&bridge.bridge, on_closed, &closed);
}

int main(void) {
  int epoll = epoll_create1(0);
  if (volt_epoll_open(&bridge, epoll, (epoll_data_t){.ptr = &bridge}, NULL) != VOLT_OK) return 1;
  volt_future f;
  volt_bridge_call call;
  volt_future_made(volt_sem_acquire_future(&f, &sem, 1));
  volt_bridge_then(&bridge.bridge, &call, &f, on_permit, NULL);
  static volt_task task;
  volt_task_init(&task, release_poll);
  if (volt_spawn(volt_bridge_rt(&bridge.bridge), &task) != VOLT_OK) return 1;
  while (!closed) {
    struct epoll_event event;
    if (epoll_wait(epoll, &event, 1, -1) == 1) volt_bridge_run(&bridge.bridge);
  }
  close(epoll);
  return result == VOLT_OK && volt_task_result(&task) == VOLT_OK ? 0 : 1;
}
