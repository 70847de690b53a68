/* io_connect_stress.c: a server of tasks: ten thousand connections at a time, storms of connections
 * that come and go, clients that abort, programs that are started meanwhile. The ledger: each client
 * that was accepted is served or seen to be gone, and no descriptor is left.
 * BACK ENDS: epoll, uring */
#define _GNU_SOURCE

#include <spawn.h>
#include <sys/wait.h>

#include "io_load.h"

enum { FEWER = UNDER_TSAN || UNDER_ASAN || STRESS_IS_CHAOS };
enum { MANY = FEWER ? 500 : 9000, RT_WORKERS = 2, BACKLOG = 1024 };

extern char **environ;

/* One connection of the server's: echo until the end. */
typedef struct served {
  volt_task task;
  volt_fd d;
  volt_op op;
  unsigned char bytes[64];
} served;

typedef struct server {
  volt_task task;
  volt_fd listener;
  volt_op op;
  volt_group group;
  volt_future all;
  served *next;
  int result;
} server;

static io_load load;
static server host;
static struct sockaddr_in at;
static VOLT_ATOMIC(uint64_t) accepted, ended, echoed, resets;
static VOLT_ATOMIC(uint64_t) connected, aborted;

/* ---- the server ---- */

static int served_poll(volt_task *t, volt_ctx *ctx) {
  served *self = volt_container_of(t, served, task);
  int result = VOLT_OK;
  VOLT_TASK_BEGIN(self);
  for (;;) {
    VOLT_AWAIT_RESULT(self, result, volt_fd_recv_future(&self->op, &self->d, self->bytes, 64, 0));
    if (result != VOLT_OK || self->op.n == 0) break;
    VOLT_AWAIT_RESULT(self, result,
                      volt_fd_send_future(&self->op, &self->d, self->bytes, self->op.n, 0));
    if (result != VOLT_OK) break;
    (void)volt_fetch_add_relaxed(&echoed, self->op.n);
  }
  VOLT_FINALLY(self);
  if (VOLT_LEAVING(self) == VOLT_OK) {
    if (result != VOLT_OK) (void)volt_fetch_add_relaxed(&resets, 1);
    STRESS_CHECK(result == VOLT_OK || result == VOLT_ERRNO(ECONNRESET) ||
                 result == VOLT_ERRNO(EPIPE) || result == VOLT_ECANCELED);
  }
  volt_fd_close(&self->d);
  (void)volt_fetch_add_relaxed(&ended, 1);
  VOLT_TASK_END(self);
}

static int server_poll(volt_task *t, volt_ctx *ctx) {
  server *self = volt_container_of(t, server, task);
  VOLT_TASK_BEGIN(self);
  for (;;) {
    self->next = VOLT_TASK_NEW(load.rt, served, served_poll);
    STRESS_CHECK(self->next);
    VOLT_AWAIT_RESULT(self, self->result,
                      volt_fd_accept_future(&self->op, &self->listener, &self->next->d));
    if (self->result != VOLT_OK) break;
    (void)volt_fetch_add_relaxed(&accepted, 1);
    STRESS_CHECK(volt_group_spawn(&self->group, load.rt, &self->next->task) == VOLT_OK);
  }
  VOLT_FINALLY(self);
  volt_task_detach(&self->next->task);
  VOLT_AWAIT_RESULT(self, self->result, volt_group_wait_future(&self->all, &self->group));
  VOLT_TASK_END(self);
}

static void server_begin(unsigned workers) {
  io_load_begin(&load, workers);
  memset((void *)&host, 0, sizeof host);
  io_load_fd(&load, &host.listener, io_load_listen(&at, BACKLOG));
  volt_group_init_how(&host.group, VOLT_GROUP_KEEP_GOING);
  volt_task_init(&host.task, server_poll);
  STRESS_CHECK(volt_spawn(load.rt, &host.task) == VOLT_OK);
}

/* The listener is closed under its accept; what was accepted ends when its client has gone. */
static void server_end(void) {
  volt_op op;
  STRESS_CHECK(volt_future_wait(volt_fd_close_future(&op, &host.listener)) == VOLT_OK);
  (void)volt_task_join(&host.task);
  volt_group_destroy(&host.group);
  STRESS_CHECK(volt_load_relaxed(&accepted) == volt_load_relaxed(&ended));
  io_load_end(&load, 0);
}

/* ---- clients ---- */

static int client_connect(void) {
  int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  STRESS_CHECK(fd >= 0);
  while (connect(fd, (struct sockaddr *)&at, sizeof at) != 0) STRESS_CHECK(errno == EINTR);
  (void)volt_fetch_add_relaxed(&connected, 1);
  return fd;
}

static void client_abort(int fd) {
  struct linger reset = {1, 0};
  STRESS_CHECK(setsockopt(fd, SOL_SOCKET, SO_LINGER, &reset, sizeof reset) == 0);
  close(fd);
  (void)volt_fetch_add_relaxed(&aborted, 1);
}

static void client_ping(int fd, uint64_t place) {
  unsigned char got[8];
  STRESS_CHECK(send(fd, io_load_at(place), 8, MSG_NOSIGNAL) == 8);
  STRESS_CHECK(recv(fd, got, 8, MSG_WAITALL) == 8);
  io_load_check(place, got, 8);
}

/* Come and go: politely, in the middle of an echo, or at once and by a reset. */
static void come_and_go(stress_worker *w, void *arg) {
  (void)arg;
  while (!stress_stopping()) {
    int fd = client_connect();
    uint32_t how = stress_below(w, 8);
    if (how >= 2) client_ping(fd, stress_below(w, 1000));
    if (how == 2) STRESS_CHECK(send(fd, "unread", 6, MSG_NOSIGNAL) == 6);
    if (how < 2) {
      client_abort(fd);
      w->gave_up += 1;
    } else {
      close(fd);
      w->acquired += 1;
    }
    stress_progress(w, "connect, echo, close");
  }
}

/* All at once: every one is there, every one is served, twice. */
static void crowd(stress_worker *w, void *arg) {
  int count = *(int *)arg, *fds = (int *)calloc((size_t)count, sizeof *fds);
  STRESS_CHECK(fds);
  for (int i = 0; i < count; i++) {
    fds[i] = client_connect();
    stress_progress(w, "they come");
  }
  for (int round = 0; round < 2; round++) {
    for (int i = 0; i < count; i++) {
      STRESS_CHECK(send(fds[i], io_load_at((uint64_t)i), 8, MSG_NOSIGNAL) == 8);
    }
    for (int i = 0; i < count; i++) {
      unsigned char got[8];
      STRESS_CHECK(recv(fds[i], got, 8, MSG_WAITALL) == 8);
      io_load_check((uint64_t)i, got, 8);
      stress_progress(w, "they are served");
    }
  }
  w->acquired += (uint64_t)count;
  STRESS_CHECK(volt_load_relaxed(&accepted) - volt_load_relaxed(&ended) == (uint64_t)count);
  for (int i = 0; i < count; i++) {
    if (i % 4) {
      close(fds[i]);
    } else {
      client_abort(fds[i]);
    }
    stress_progress(w, "they go");
  }
  free(fds);
}

/* A program is started while connections are served: it has none of them. */
static void start_programs(stress_worker *w, void *arg) {
  char *argv[] = {(char *)"sh", (char *)"-c", (char *)"test $(ls /proc/self/fd | wc -l) -le $0",
                  (char *)arg, NULL};
  come_and_go(w, NULL);
  for (int i = 0; i < 3; i++) {
    pid_t child;
    int status;
    int fd = client_connect();
    STRESS_CHECK(posix_spawn(&child, "/bin/sh", NULL, NULL, argv, environ) == 0);
    client_ping(fd, 1);
    STRESS_CHECK(waitpid(child, &status, 0) == child && status == 0);
    close(fd);
    stress_progress(w, "start a program");
  }
}

static int inherited(void) {
  int count = 3;
  for (int fd = 3; fd < 4096; fd++) {
    int flags = fcntl(fd, F_GETFD);
    count += flags >= 0 && !(flags & FD_CLOEXEC);
  }
  return count;
}

static void expect_ledger(void) {
  uint64_t seen = volt_load_relaxed(&accepted), came = volt_load_relaxed(&connected);
  STRESS_CHECK(seen <= came && seen + volt_load_relaxed(&aborted) >= came);
}

int main(void) {
  char open_here[16];
  stress_begin("a server: connections come and go", "an echo", NULL);
  if (!io_load_is_there(RT_WORKERS)) return IO_LOAD_SKIPPED;
  io_load_make_bytes();
  (void)snprintf(open_here, sizeof open_here, "%d", inherited() + 1); /* and the directory */
  int count = io_load_room(MANY, 2);
  printf("%d connections at a time\n", count);
  for (unsigned round = 0; round == 0 || stress_time_left(); round++) {
    server_begin(1 + round % RT_WORKERS);
    stress_round(2, 150000000, come_and_go, NULL);
    expect_ledger();
    server_end();
    server_begin(RT_WORKERS);
    stress_round(1, 20000000, start_programs, open_here);
    server_end();
    if (round % 4) continue;
    server_begin(1 + round % RT_WORKERS);
    stress_round(1, 1000000, crowd, &count);
    server_end();
  }
  printf("%llu connections, %llu accepted, %llu aborted, %llu resets seen, %llu bytes echoed\n",
         (unsigned long long)volt_load_relaxed(&connected),
         (unsigned long long)volt_load_relaxed(&accepted),
         (unsigned long long)volt_load_relaxed(&aborted),
         (unsigned long long)volt_load_relaxed(&resets),
         (unsigned long long)volt_load_relaxed(&echoed));
  return stress_end();
}
