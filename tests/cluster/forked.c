/* forked SERVERS: a child of fork() has no permit of its parent's. The parent holds one of one, and
 * releases it; a child, made by fork() or by the system call, asks about it, and acquires. Says
 * "ok", or what is wrong. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE /* syscall */
#endif
#include <signal.h>
#include <stdio.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>
#include <volt/cluster.h>
#include <volt/io.h>

static volt_cluster_sem *sem;
static volt_cluster_permit held;

/* Exits with 1 if it sees a permit that is valid, with 2 if it has got one. */
static void be_child(bool acquires) {
  volt_cluster_permit p;
  if (volt_cluster_permit_is_valid(&held)) _exit(1);
  if (!acquires) _exit(0);
  (void)freopen("/dev/null", "w", stderr);
  _exit(volt_cluster_acquire_until(sem, &p, volt_deadline_ms(1000)) == VOLT_OK ? 2 : 3);
}

/* Returns the status of a child. */
static int run_child(bool acquires, bool is_plain) {
  int status = -1;
  pid_t id = is_plain ? (pid_t)syscall(SYS_clone, SIGCHLD, 0, 0, 0, 0) : fork();
  if (id == 0) be_child(acquires);
  (void)waitpid(id, &status, 0);
  return status;
}

static bool has_aborted(int status) {
  return WIFSIGNALED(status) && WTERMSIG(status) == SIGABRT;
}

static const char *run(void) {
  if (volt_cluster_acquire_until(sem, &held, volt_deadline_s(30)) != VOLT_OK) return "no permit";
  for (int is_plain = 0; is_plain < 2; is_plain++) {
    if (run_child(false, is_plain) != 0) return "a permit is valid in a child";
    if (!volt_cluster_permit_is_valid(&held)) return "the parent has lost its permit";
  }
  volt_cluster_permit copy = held; /* it stays in `held` for the children to look at */
  volt_cluster_release(&copy);
  for (int is_plain = 0; is_plain < 2; is_plain++) {
    if (!has_aborted(run_child(true, is_plain))) return "a child acquires";
  }
  if (volt_cluster_acquire_until(sem, &held, volt_deadline_s(30)) != VOLT_OK) return "no other";
  volt_cluster_release(&held);
  return "ok";
}

int main(int count, char **arguments) {
  volt_rt *rt;
  volt_cluster *c;
  volt_future f;
  volt_rt_config of_rt = {.workers = 1, .io = volt_io_auto()};
  if (count < 2 || volt_rt_create(&rt, &of_rt) != VOLT_OK) return 1;
  volt_cluster_config config = {.rt = rt, .servers = arguments[1]};
  if (volt_cluster_open(&c, &config) != VOLT_OK) return 1;
  volt_cluster_sem_config of_sem = {.limit = 1};
  if (volt_cluster_sem_open(&sem, c, "forked", &of_sem) != VOLT_OK) return 1;
  puts(run());
  int result = volt_future_wait(volt_cluster_close_future(&f, c));
  volt_cluster_destroy(c);
  volt_rt_destroy(rt);
  return result == VOLT_OK ? 0 : 1;
}
