/* host.c: one host, for the tests with real servers: a process that opens a cluster, and whose tasks
 * acquire, hold, write to a resource with their fence, and release, again and again. Each notes
 * what it does, one event on a line of a file, in the form that history.py reads, by CLOCK_BOOTTIME,
 * before it calls what gives something up, and after what gives it something returned.
 *
 *   cluster_host --servers LIST --out FILE [--name shop] [--limit 4] [--tasks 8] [--hold-ms 20]
 *                [--think-ms 0] [--patience-ms 0] [--careless 0] [--resource unix:PATH] ...
 *
 * --hold-ms, --think-ms: a task holds, and pauses before it asks again, for up to so long, by chance.
 * --patience-ms: half of the waits end after up to so long. --careless K: K of the tasks go on to
 * write when their permit is lost, as a program does that does not look, or that was stopped between
 * the look and the write. Commands on standard input:
 *
 *   demand N   so many tasks ask from now on
 *   hold MS    ... and hold for up to so long
 *   limit N    change the limit of all hosts
 *   stats ID   note what the host knows, with this id
 *   close      close the cluster while tasks wait and hold
 *   quit       cancel the tasks, then close; so does the end of the input */
#define _GNU_SOURCE /* getopt_long, CLOCK_BOOTTIME */
#include <fcntl.h>
#include <getopt.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>
#include <volt/cluster.h>
#include <volt/net.h>
#include <volt/volt.h>

enum { MS = 1000000, STEP_MS = 10, LINE = 400 };

static struct {
  const char *servers, *out, *name, *host, *resource, *root, *auth;
  uint64_t limit, tasks, careless, lease_max, era, session_ms, quantum_ms, linger_ms, workers;
  uint64_t think_ms, patience_ms, seed;
} options = {.name = "shop", .host = "host", .limit = 4, .tasks = 8, .workers = 2, .seed = 1};

static atomic_uint demand;
static atomic_uint hold_ms = 20;
static atomic_bool is_ending;
static volt_rt *rt;
static volt_cluster *cluster;
static volt_cluster_sem *sem;
static int out;

static void must(int result, const char *what) {
  if (result == VOLT_OK) return;
  fprintf(stderr, "%s: %s\n", what, volt_strerror(result));
  exit(EXIT_FAILURE);
}

static uint64_t boot_ns(void) {
  struct timespec now;
  clock_gettime(CLOCK_BOOTTIME, &now);
  return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

/* One write for one line: whole in the file, or not at all, whenever the process is killed. */
static void note(uint64_t at, const char *format, ...) __attribute__((format(printf, 2, 3)));
static void note(uint64_t at, const char *format, ...) {
  char line[LINE];
  va_list values;
  va_start(values, format);
  int size = snprintf(line, sizeof line, "%" PRIu64 " ", at);
  size += vsnprintf(line + size, sizeof line - (size_t)size - 1, format, values);
  va_end(values);
  line[size++] = '\n';
  if (write(out, line, (size_t)size) != size) abort();
}

/* ---- a task ---- */

struct worker;

/* A part of what a task does: an async function. */
struct step {
  volt_async async;
  struct worker *worker;
  int r;
};

struct worker {
  volt_task task;
  uint32_t number, n;
  uint64_t chance; /* of its choices */
  volt_cluster_acquire_op acquire;
  volt_cluster_permit permit;
  volt_future *wait;
  volt_timeout timeout;
  struct step hold, write;
  volt_future lost;
  volt_sleep_op sleep;
  volt_select select;
  volt_future *either[2];
  volt_fd fd;
  volt_dial dial;
  volt_op op;
  uint64_t until, noted;
  bool is_lost;
  int r;
  char line[LINE];
};

static uint64_t up_to(struct worker *self, uint64_t most) { /* xorshift */
  self->chance ^= self->chance << 13;
  self->chance ^= self->chance >> 7;
  self->chance ^= self->chance << 17;
  return most ? self->chance % (most + 1) : 0;
}

static uint64_t in_ms(uint64_t ms) {
  return volt_rt_now_ns(rt) + ms * MS;
}

static volt_future *sleep_ms(struct worker *self, uint64_t ms) {
  return volt_sleep_future(&self->sleep, volt_rt_timers(rt), in_ms(ms));
}

static void note_of(struct worker *self, const char *what) {
  note(boot_ns(), "%s task=%" PRIu32 " n=%" PRIu32, what, self->number, self->n);
}

static void note_acquired(struct worker *self) {
  uint64_t now = boot_ns(); /* before valid_until is read, because what is read held then */
  volt_cluster_fence f = volt_cluster_permit_fence(&self->permit);
  self->noted = volt_cluster_permit_valid_until_ns(&self->permit);
  note(now,
       "acquired task=%" PRIu32 " n=%" PRIu32 " slot=%" PRIu32 " era=%" PRIu32 " epoch=%" PRIu64
       " grant=%" PRIu64 " valid_until=%" PRIu64,
       self->number, self->n, f.slot, f.era, f.epoch, f.grant, self->noted);
}

static void note_valid(struct worker *self) {
  uint64_t until = volt_cluster_permit_valid_until_ns(&self->permit);
  if (until == self->noted || until == 0) return;
  self->noted = until;
  note(boot_ns(), "valid task=%" PRIu32 " n=%" PRIu32 " valid_until=%" PRIu64, self->number,
       self->n, until);
}

/* The future of a permit. With patience, half of the waits end after a while. */
static volt_future *wait_for_permit(struct worker *self) {
  volt_future *f = volt_cluster_acquire_future(&self->acquire, sem, &self->permit);
  if (options.patience_ms == 0 || up_to(self, 1) == 0) return f;
  return volt_timeout_future(&self->timeout, f, volt_rt_timers(rt),
                             in_ms(up_to(self, options.patience_ms)));
}

static bool is_careless(const struct worker *self) {
  return self->number < options.careless;
}

static bool is_over(const struct worker *self) {
  return volt_rt_now_ns(rt) >= self->until || (self->is_lost && !is_careless(self));
}

/* A short sleep, or the loss of the permit; once that is known, a sleep. */
static volt_future *hold_a_step(struct worker *self) {
  self->either[0] = sleep_ms(self, STEP_MS);
  self->either[1] =
      self->is_lost ? NULL : volt_cluster_permit_lost_future(&self->lost, &self->permit);
  return volt_select_future(&self->select, self->either, 2, VOLT_SELECT_BIASED);
}

static int hold_poll(volt_async *a, volt_ctx *ctx) {
  struct step *self = volt_container_of(a, struct step, async);
  struct worker *worker = self->worker;
  VOLT_ASYNC_BEGIN(self);
  while (!is_over(worker)) {
    VOLT_AWAIT(self, hold_a_step(worker));
    note_valid(worker);
    if (volt_select_winner(&worker->select) == 1) {
      worker->is_lost = true;
      note_of(worker, "lost");
    }
  }
  VOLT_ASYNC_END(self);
}

static size_t line_to_write(struct worker *self) {
  volt_cluster_fence f = volt_cluster_permit_fence(&self->permit);
  return (size_t)snprintf(self->line, LINE,
                          "host=%s task=%" PRIu32 " n=%" PRIu32 " slot=%" PRIu32 " era=%" PRIu32
                          " epoch=%" PRIu64 " grant=%" PRIu64 "\n",
                          options.host, self->number, self->n, f.slot, f.era, f.epoch, f.grant);
}

/* A careless task does not ask whether its permit is worth anything. */
static bool may_write(const struct worker *self) {
  if (!options.resource) return false;
  return is_careless(self) || volt_cluster_permit_is_valid(&self->permit);
}

static int write_poll(volt_async *a, volt_ctx *ctx) {
  struct step *self = volt_container_of(a, struct step, async);
  struct worker *worker = self->worker;
  const char *verdict = "unknown";
  VOLT_ASYNC_BEGIN(self);
  note_of(worker, "write");
  VOLT_AWAIT(self,
             volt_fd_send_future(&worker->op, &worker->fd, worker->line, line_to_write(worker), 0));
  VOLT_AWAIT(self, volt_fd_recv_future(&worker->op, &worker->fd, worker->line, 1, 0));
  if (worker->op.n == 0) VOLT_RETURN(self, VOLT_ECLOSED);
  verdict = worker->line[0] == '1' ? "accepted" : "refused";
  VOLT_FINALLY(self);
  note(boot_ns(), "wrote task=%" PRIu32 " n=%" PRIu32 " verdict=%s", worker->number, worker->n,
       verdict);
  VOLT_ASYNC_END(self);
}

/* What a task does with a permit: write, hold, write again. */
static volt_future *write_once(struct worker *self) {
  return volt_async_future(&self->write.async, write_poll);
}

static int worker_poll(volt_task *t, volt_ctx *ctx) {
  struct worker *self = volt_container_of(t, struct worker, task);
  VOLT_TASK_BEGIN(self);
  if (options.resource) {
    VOLT_AWAIT(self, volt_dial_future(&self->dial, rt, &self->fd, options.resource, NULL));
  }
  while (!atomic_load(&is_ending)) {
    VOLT_AWAIT(self, sleep_ms(self, up_to(self, options.think_ms)));
    while (self->number >= atomic_load(&demand) && !atomic_load(&is_ending)) {
      VOLT_AWAIT(self, sleep_ms(self, STEP_MS));
    }
    self->n++;
    self->is_lost = false;
    note_of(self, "acquire");
    self->wait = wait_for_permit(self);
    if (volt_future_poll_ctx(self->wait, ctx) == VOLT_PENDING) note_of(self, "queued");
    VOLT_AWAIT_RESULT(self, self->r, self->wait);
    if (self->r != VOLT_OK) {
      note(boot_ns(), "gave-up task=%" PRIu32 " n=%" PRIu32 " outcome=%d", self->number, self->n,
           self->r);
      if (self->r == VOLT_ETIMEDOUT) continue;
      /* the test will mend it: make the node, or raise the era */
      if (self->r == VOLT_CLUSTER_ENONODE || self->r == VOLT_CLUSTER_EERA) {
        VOLT_AWAIT(self, sleep_ms(self, STEP_MS));
        continue;
      }
      VOLT_RETURN(self, self->r);
    }
    note_acquired(self);
    self->until = in_ms(up_to(self, atomic_load(&hold_ms)));
    if (may_write(self)) VOLT_AWAIT_RESULT(self, self->r, write_once(self));
    if (self->r == VOLT_OK) {
      VOLT_AWAIT_RESULT(self, self->r, volt_async_future(&self->hold.async, hold_poll));
    }
    if (self->r == VOLT_OK && may_write(self)) {
      VOLT_AWAIT_RESULT(self, self->r, write_once(self));
    }
    note_of(self, "release");
    volt_cluster_release(&self->permit);
    if (self->r != VOLT_OK) VOLT_RETURN(self, self->r);
  }
  VOLT_FINALLY(self);
  volt_fd_close(&self->fd);
  VOLT_TASK_END(self);
}

static struct worker *workers;

static void start_workers(void) {
  workers = calloc(options.tasks, sizeof *workers);
  if (!workers) abort();
  atomic_store(&demand, (unsigned)options.tasks);
  for (uint32_t i = 0; i < options.tasks; i++) {
    workers[i].number = i;
    workers[i].chance = options.seed * 0x9E3779B97F4A7C15u + i + 1;
    workers[i].hold.worker = &workers[i];
    workers[i].write.worker = &workers[i];
    volt_task_init(&workers[i].task, worker_poll);
    must(volt_spawn(rt, &workers[i].task), "spawn");
  }
}

/* A task ends when it was asked to, cancelled or closed out. */
static void join_workers(void) {
  for (uint32_t i = 0; i < options.tasks; i++) {
    int r = volt_task_join(&workers[i].task);
    if (r != VOLT_OK && r != VOLT_ECANCELED && r != VOLT_ECLOSED) must(r, "a task");
  }
}

/* ---- commands ---- */

static void note_stats(uint64_t id) {
  volt_cluster_stats_of c;
  volt_cluster_lease_stats s;
  volt_cluster_stats(cluster, &c);
  volt_cluster_sem_stats(sem, &s);
  note(boot_ns(),
       "stats id=%" PRIu64 " state=%d session=%" PRIu64 " session_ns=%" PRIu64
       " valid_until=%" PRIu64 " writes=%" PRIu64 " heartbeats=%" PRIu64 " reads=%" PRIu64
       " events=%" PRIu64 " reconnects=%" PRIu64 " expired=%" PRIu64 " result=%d limit=%" PRIu32
       " leased=%" PRIu32 " used=%" PRIu32 " owed=%" PRIu32 " lost=%" PRIu32 " waiting=%" PRIu32
       " hosts=%" PRIu32 " queued=%" PRIu32 " era=%" PRIu32 " epoch=%" PRIu64 " returns=%" PRIu64,
       id, (int)c.state, c.session, c.session_ns, c.valid_until_ns, c.writes, c.heartbeats, c.reads,
       c.events, c.reconnects, c.expired, s.result, s.limit, s.leased, s.used, s.owed, s.lost,
       s.waiting, s.hosts, s.is_queued, s.era, s.epoch, s.returns);
}

static void change_limit(uint64_t limit) {
  static volt_cluster_change change;
  int r = volt_future_wait_until(volt_cluster_sem_set_limit_future(&change, sem, (uint32_t)limit),
                                 volt_deadline_ns(UINT64_C(30000000000)));
  note(boot_ns(), "limit limit=%" PRIu64 " result=%d", limit, r);
}

/* Returns whether it is to end. */
static bool obey(const char *command, uint64_t value) {
  if (strcmp(command, "demand") == 0) {
    atomic_store(&demand, (unsigned)value);
  } else if (strcmp(command, "hold") == 0) {
    atomic_store(&hold_ms, (unsigned)value);
  } else if (strcmp(command, "limit") == 0) {
    change_limit(value);
  } else if (strcmp(command, "stats") == 0) {
    note_stats(value);
  } else {
    return true;
  }
  return false;
}

static void close_cluster(void) {
  volt_future closed;
  int r = volt_future_wait(volt_cluster_close_future(&closed, cluster));
  note(boot_ns(), "closed result=%d", r);
}

static void serve(void) {
  char line[64], command[16] = "quit";
  while (fgets(line, sizeof line, stdin)) {
    uint64_t value = 0;
    if (sscanf(line, "%15s %" SCNu64, command, &value) < 1 || obey(command, value)) break;
    strcpy(command, "quit");
  }
  atomic_store(&is_ending, true);
  if (strcmp(command, "close") == 0) close_cluster();
  for (uint32_t i = 0; i < options.tasks; i++) (void)volt_task_cancel(&workers[i].task);
  join_workers();
  if (strcmp(command, "close") != 0) close_cluster();
}

/* ---- options ---- */

static const struct {
  const char *name;
  const char **text;
  uint64_t *number;
} known[] = {
    {"servers", &options.servers, NULL},
    {"out", &options.out, NULL},
    {"name", &options.name, NULL},
    {"host", &options.host, NULL},
    {"resource", &options.resource, NULL},
    {"root", &options.root, NULL},
    {"auth", &options.auth, NULL},
    {"limit", NULL, &options.limit},
    {"tasks", NULL, &options.tasks},
    {"careless", NULL, &options.careless},
    {"lease-max", NULL, &options.lease_max},
    {"era", NULL, &options.era},
    {"session-ms", NULL, &options.session_ms},
    {"quantum-ms", NULL, &options.quantum_ms},
    {"linger-ms", NULL, &options.linger_ms},
    {"workers", NULL, &options.workers},
    {"think-ms", NULL, &options.think_ms},
    {"patience-ms", NULL, &options.patience_ms},
    {"hold-ms", NULL, NULL},
    {"seed", NULL, &options.seed},
};

enum { KNOWN = sizeof known / sizeof *known };

static void read_options(int argc, char **argv) {
  struct option names[KNOWN + 1] = {{0}};
  int which;
  for (int i = 0; i < KNOWN; i++) {
    names[i] = (struct option){.name = known[i].name, .has_arg = required_argument};
  }
  while (getopt_long(argc, argv, "", names, &which) == 0) {
    if (known[which].text) {
      *known[which].text = optarg;
    } else if (known[which].number) {
      *known[which].number = strtoull(optarg, NULL, 10);
    } else {
      atomic_store(&hold_ms, (unsigned)strtoull(optarg, NULL, 10));
    }
  }
  if (optind != argc || !options.servers || !options.out) {
    fprintf(stderr, "usage: %s --servers LIST --out FILE [option]...: see host.c\n", argv[0]);
    exit(2);
  }
}

static void say(enum volt_cluster_level level, const char *text, void *ctx) {
  (void)ctx;
  fprintf(stderr, "%d %s\n", (int)level, text);
}

int main(int argc, char **argv) {
  read_options(argc, argv);
  out = open(options.out, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644);
  if (out < 0) must(VOLT_EINVAL, options.out);
  volt_rt_config of_rt = {.workers = (uint32_t)options.workers, .io = volt_io_auto()};
  must(volt_rt_create(&rt, &of_rt), "volt_rt_create");
  volt_cluster_config config = {.rt = rt,
                                .servers = options.servers,
                                .root = options.root,
                                .session_ns = options.session_ms * MS,
                                .auth = options.auth,
                                .name = options.host,
                                .log = say};
  must(volt_cluster_open(&cluster, &config), "volt_cluster_open");
  volt_cluster_sem_config of_sem = {.limit = (uint32_t)options.limit,
                                    .lease_max = (uint32_t)options.lease_max,
                                    .era = (uint32_t)options.era,
                                    .quantum_ns = options.quantum_ms * MS,
                                    .linger_ns = options.linger_ms * MS};
  must(volt_cluster_sem_open(&sem, cluster, options.name, &of_sem), "volt_cluster_sem_open");
  note(boot_ns(), "open host=%s pid=%d", options.host, (int)getpid());
  start_workers();
  serve();
  volt_cluster_destroy(cluster);
  volt_rt_destroy(rt);
  note(boot_ns(), "end");
}
