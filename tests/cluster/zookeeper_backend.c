/* zookeeper_backend.c: hosts that do with the back end for ZooKeeper what lines on standard input
 * say, and write down what comes. zookeeper_backend_test.py is the test.
 *
 *   zookeeper_backend [WORKERS]
 *
 *   HOST open servers=A,B session=MS auth=S acl=S tls=S     HOST connect
 *   HOST write TAG ACTION...      create:FLAGS:PATH:DATA (e, s, es, p), delete:PATH,
 *                                 set:PATH:VERSION:DATA, check:PATH
 *   HOST children|stat|read TAG WATCH PATH                   HOST touch TAG
 *   HOST burst TAG COUNT PREFIX   so many writes at once     HOST stall, HOST go_on
 *   HOST close                    HOST wake                  - descriptors
 *
 * Each host has a task that drives it, as volt_cluster has. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <dirent.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <volt/cluster_backend.h>
#include <volt/io.h>
#include <volt/notify.h>
#include <volt/select.h>
#include <volt/task.h>

enum { HOSTS = 16, ACTIONS = 16 };

typedef struct order {
  struct order *next;
  char text[2048];
} order;

typedef struct ask {
  volt_cluster_request request;
  volt_cluster_action actions[ACTIONS];
  char data[ACTIONS][128];
  char tag[64];
  struct host *host;
  uint64_t number; /* of submission */
} ask;

typedef struct host {
  volt_task task;
  volt_notify notify;
  volt_future noted;
  volt_future *either[2];
  volt_select select;
  volt_cluster_backend *backend;
  volt_future *closing;
  pthread_mutex_t lock;
  order *first; /* under the lock */
  order **last;
  unsigned number;
  bool is_stalled;
  bool is_open;
  bool is_driven;
  bool is_inside; /* process() or close_future() */
  int result;
  uint64_t submitted;
  uint64_t completed;
} host;

static volt_rt *rt;
static host hosts[HOSTS];
static const volt_cluster_kind *kind;

static void say(const host *h, const char *format, ...)
    __attribute__((__format__(__printf__, 2, 3)));
static void say(const host *h, const char *format, ...) {
  char text[65536];
  va_list list;
  va_start(list, format);
  int size = snprintf(text, sizeof text, "%u ", h->number);
  size += vsnprintf(text + size, sizeof text - 1 - (size_t)size, format, list);
  va_end(list);
  if ((size_t)size > sizeof text - 2) size = sizeof text - 2;
  text[size++] = '\n';
  ssize_t n = write(1, text, (size_t)size);
  if (n != size) exit(1);
}

static const char *name_of(int result) {
  switch (result) {
    case VOLT_OK: return "OK";
    case VOLT_CLUSTER_EAWAY: return "EAWAY";
    case VOLT_CLUSTER_EEXPIRED: return "EEXPIRED";
    case VOLT_CLUSTER_EEXISTS: return "EEXISTS";
    case VOLT_CLUSTER_ENONODE: return "ENONODE";
    case VOLT_CLUSTER_EVERSION: return "EVERSION";
    case VOLT_CLUSTER_EAUTH: return "EAUTH";
    case VOLT_CLUSTER_EUNDONE: return "EUNDONE";
    case VOLT_CLUSTER_ENOTEMPTY: return "ENOTEMPTY";
    case VOLT_EINVAL: return "EINVAL";
    default: return volt_strresult(result);
  }
}

/* ---- what the back end calls ---- */

static void on_session(void *ctx, enum volt_cluster_session_event event, uint64_t session,
                       uint64_t session_ns, uint64_t since_ns) {
  static const char *const names[] = {"NEW", "AGAIN", "AWAY", "EXPIRED", "REFUSED"};
  host *h = (host *)ctx;
  uint64_t now = kind->now_ns(h->backend);
  say(h, "session %s 0x%llx %llu outstanding=%llu since=%s inside=%d", names[event],
      (unsigned long long)session, (unsigned long long)session_ns / 1000000u,
      (unsigned long long)(h->submitted - h->completed),
      since_ns == 0                                      ? "0"
      : since_ns <= now && now - since_ns < 60000000000u ? "past"
                                                         : "wrong",
      h->is_inside);
}

static void on_event(void *ctx, uint32_t watch) {
  host *h = (host *)ctx;
  say(h, "event %u inside=%d", watch, h->is_inside);
}

static void on_log(void *ctx, enum volt_cluster_level level, const char *text) {
  host *h = (host *)ctx;
  say(h, "log %c %s", "EWID"[level], text);
}

static size_t tell_actions(const ask *a, char *to, size_t room) {
  size_t at = 0;
  for (uint32_t i = 0; i < a->request.count && at < room; i++) {
    const volt_cluster_action *one = &a->actions[i];
    at += (size_t)snprintf(to + at, room - at, " %s:%s:%llx:%llx:%llx:%u", name_of(one->result),
                           one->path, (unsigned long long)one->node.created,
                           (unsigned long long)one->node.changed,
                           (unsigned long long)one->node.owner, one->node.version);
  }
  return at;
}

static void on_done(volt_cluster_request *r) {
  ask *a = (ask *)r->ctx;
  host *h = a->host;
  char text[32768] = "";
  size_t at = 0;
  bool in_order = a->number == h->completed;
  h->completed++;
  if (r->kind == VOLT_CLUSTER_WRITE) at = tell_actions(a, text, sizeof text);
  if (r->result == VOLT_OK && (r->kind == VOLT_CLUSTER_STAT || r->kind == VOLT_CLUSTER_READ)) {
    at = (size_t)snprintf(text, sizeof text, " node=%llx:%llx:%llx:%u",
                          (unsigned long long)r->node.created, (unsigned long long)r->node.changed,
                          (unsigned long long)r->node.owner, r->node.version);
  }
  if (r->result == VOLT_OK && r->kind == VOLT_CLUSTER_READ)
    at += (size_t)snprintf(text + at, sizeof text - at, " data=%.*s", (int)r->size,
                           r->size ? r->data : "");
  if (r->result == VOLT_OK && r->kind == VOLT_CLUSTER_CHILDREN) {
    at += (size_t)snprintf(text + at, sizeof text - at, " names=");
    for (uint32_t i = 0; i < r->name_count && at < sizeof text; i++)
      at += (size_t)snprintf(text + at, sizeof text - at, "%s%s", i ? "," : "", r->names[i]);
  }
  say(h, "%s %s%s%s inside=%d", a->tag, name_of(r->result), text, in_order ? "" : " OUT-OF-ORDER",
      h->is_inside);
  free(a);
}

/* ---- orders ---- */

static char *word(char **rest) {
  char *one;
  do one = strsep(rest, " ");
  while (one && !*one);
  return one;
}

static void submit(host *h, ask *a) {
  a->host = h;
  a->request.ctx = a;
  a->request.done = on_done;
  a->request.actions = a->actions;
  a->number = h->submitted++;
  kind->submit(h->backend, &a->request);
}

static void take_action(ask *a, char *text) {
  volt_cluster_action *one = &a->actions[a->request.count];
  char *data = a->data[a->request.count];
  const char *what = strsep(&text, ":");
  one->version = -1;
  if (strcmp(what, "create") == 0) {
    const char *flags = strsep(&text, ":");
    one->kind = VOLT_CLUSTER_CREATE;
    one->is_ephemeral = strchr(flags, 'e') != NULL;
    one->is_sequential = strchr(flags, 's') != NULL;
  } else if (strcmp(what, "delete") == 0) {
    one->kind = VOLT_CLUSTER_DELETE;
  } else if (strcmp(what, "set") == 0) {
    one->kind = VOLT_CLUSTER_SET;
  } else {
    one->kind = VOLT_CLUSTER_CHECK;
  }
  snprintf(one->path, sizeof one->path, "%s", strsep(&text, ":"));
  if (one->kind == VOLT_CLUSTER_SET) one->version = atoll(strsep(&text, ":"));
  snprintf(data, sizeof a->data[0], "%s", text ? text : "");
  one->data = data;
  one->size = (uint32_t)strlen(data);
  a->request.count++;
}

static ask *new_ask(enum volt_cluster_request_kind its_kind, const char *tag) {
  ask *a = (ask *)calloc(1, sizeof *a);
  if (!a) exit(1);
  a->request.kind = its_kind;
  snprintf(a->tag, sizeof a->tag, "%s", tag);
  return a;
}

static void order_write(host *h, char *rest) {
  ask *a = new_ask(VOLT_CLUSTER_WRITE, word(&rest));
  char *one;
  while ((one = word(&rest))) take_action(a, one);
  submit(h, a);
}

static void order_burst(host *h, char *rest) {
  const char *tag = word(&rest);
  int count = atoi(word(&rest));
  const char *prefix = word(&rest);
  for (int i = 0; i < count; i++) {
    char text[256];
    ask *a = new_ask(VOLT_CLUSTER_WRITE, tag);
    snprintf(text, sizeof text, "create:e:%s%d:", prefix, i);
    take_action(a, text);
    submit(h, a);
  }
}

static void order_read(host *h, enum volt_cluster_request_kind its_kind, char *rest) {
  ask *a = new_ask(its_kind, word(&rest));
  if (its_kind != VOLT_CLUSTER_TOUCH) {
    a->request.watch = (uint32_t)atoi(word(&rest));
    snprintf(a->request.path, sizeof a->request.path, "%s", word(&rest));
  }
  submit(h, a);
}

static void order_stall(host *h) {
  h->is_stalled = true;
  say(h, "stalled");
}

static void obey(host *h, char *text) {
  const char *what = word(&text);
  if (strcmp(what, "connect") == 0)
    kind->connect(h->backend);
  else if (strcmp(what, "write") == 0)
    order_write(h, text);
  else if (strcmp(what, "burst") == 0)
    order_burst(h, text);
  else if (strcmp(what, "children") == 0)
    order_read(h, VOLT_CLUSTER_CHILDREN, text);
  else if (strcmp(what, "stat") == 0)
    order_read(h, VOLT_CLUSTER_STAT, text);
  else if (strcmp(what, "read") == 0)
    order_read(h, VOLT_CLUSTER_READ, text);
  else if (strcmp(what, "touch") == 0)
    order_read(h, VOLT_CLUSTER_TOUCH, text);
  else if (strcmp(what, "stall") == 0)
    order_stall(h);
  else if (strcmp(what, "go_on") == 0)
    h->is_stalled = false;
  else if (strcmp(what, "close") == 0)
    h->is_driven = false;
  else
    say(h, "what is %s?", what);
}

static order *take_order(host *h) {
  pthread_mutex_lock(&h->lock);
  order *one = h->first;
  if (one) h->first = one->next;
  if (!h->first) h->last = &h->first;
  pthread_mutex_unlock(&h->lock);
  return one;
}

static void obey_all(host *h) {
  order *one;
  while (h->is_driven && (one = take_order(h))) {
    obey(h, one->text);
    free(one);
  }
}

/* ---- the task of a host ---- */

static int host_run(volt_task *t, volt_ctx *ctx) {
  host *self = volt_container_of(t, host, task);
  VOLT_TASK_BEGIN(self);
  while (self->is_driven) {
    obey_all(self);
    if (!self->is_driven) break;
    self->either[0] = volt_notify_wait_future(&self->noted, &self->notify);
    self->either[1] = self->is_stalled ? NULL : kind->wait_future(self->backend, VOLT_NO_DEADLINE);
    VOLT_AWAIT_RESULT(self, self->result,
                      volt_select_future(&self->select, self->either, 2, VOLT_SELECT_FAIR));
    if (self->is_stalled) continue;
    self->is_inside = true;
    kind->process(self->backend);
    self->is_inside = false;
  }
  self->is_inside = true;
  self->closing = kind->close_future(self->backend);
  self->is_inside = false;
  VOLT_AWAIT_RESULT(self, self->result, self->closing);
  say(self, "closed %s outstanding=%llu", name_of(self->result),
      (unsigned long long)(self->submitted - self->completed));
  VOLT_TASK_END(self);
}

static const char *option(char *text, const char *name) {
  static char values[8][512];
  static unsigned next;
  size_t size = strlen(name);
  for (char *at = text; (at = strstr(at, name)); at += size) {
    if (at[size] != '=' || (at != text && at[-1] != ' ')) continue;
    char *to = values[next++ % 8];
    snprintf(to, sizeof values[0], "%.*s", (int)strcspn(at + size + 1, " "), at + size + 1);
    return to;
  }
  return NULL;
}

static void host_open(host *h, char *text) {
  const char *session = option(text, "session");
  volt_cluster_config config = {.rt = rt,
                                .servers = option(text, "servers"),
                                .auth = option(text, "auth"),
                                .acl = option(text, "acl"),
                                .tls = option(text, "tls"),
                                .session_ns = session ? (uint64_t)atoll(session) * 1000000u : 0};
  const volt_cluster_client client = {
      .on_session = on_session, .on_event = on_event, .log = on_log, .ctx = h};
  pthread_mutex_init(&h->lock, NULL);
  h->last = &h->first;
  h->submitted = h->completed = 0;
  h->is_stalled = false;
  volt_notify_init(&h->notify);
  int result = kind->open(&h->backend, &config, &client);
  say(h, "opened %s", name_of(result));
  if (result != VOLT_OK) return;
  h->is_driven = true;
  h->is_open = true;
  volt_task_init(&h->task, host_run);
  if (volt_spawn(rt, &h->task) != VOLT_OK) exit(1);
}

static void host_end(host *h) {
  if (volt_task_join(&h->task) < 0) exit(1);
  order *one;
  while ((one = take_order(h))) free(one);
  kind->destroy(h->backend);
  volt_notify_destroy(&h->notify);
  pthread_mutex_destroy(&h->lock);
  h->is_open = false;
  say(h, "gone");
}

static void host_order(host *h, const char *text) {
  order *one = (order *)calloc(1, sizeof *one);
  if (!one) exit(1);
  snprintf(one->text, sizeof one->text, "%s", text);
  pthread_mutex_lock(&h->lock);
  *h->last = one;
  h->last = &one->next;
  pthread_mutex_unlock(&h->lock);
  volt_notify_one(&h->notify);
}

/* How many descriptors there are, and how many of them a program that is executed would have. */
static void tell_descriptors(void) {
  int count = 0, inherited = 0;
  DIR *all = opendir("/proc/self/fd");
  for (struct dirent *one; all && (one = readdir(all));) {
    int number = atoi(one->d_name);
    if (one->d_name[0] == '.' || number == dirfd(all)) continue;
    count++;
    if (number > 2 && !(fcntl(number, F_GETFD) & FD_CLOEXEC)) inherited++;
  }
  if (all) closedir(all);
  printf("- descriptors %d inherited=%d\n", count, inherited);
  fflush(stdout);
}

static void take_line(char *line) {
  char *rest = line;
  const char *who = word(&rest);
  if (!who) return;
  if (*who == '-') {
    tell_descriptors();
    return;
  }
  host *h = &hosts[atoi(who) % HOSTS];
  if (strncmp(rest, "open ", 5) == 0) {
    if (!h->is_open) host_open(h, rest + 5);
  } else if (h->is_open) {
    host_order(h, rest);
    if (strcmp(rest, "close") == 0) host_end(h);
  }
}

int main(int argc, char **argv) {
  static char line[4096];
  volt_rt_config config = {.workers = argc > 1 ? (uint32_t)atoi(argv[1]) : 2, .io = volt_io_auto()};
  if (volt_rt_create(&rt, &config) != VOLT_OK) return 1;
  kind = volt_cluster_zookeeper();
  for (unsigned i = 0; i < HOSTS; i++) hosts[i].number = i;
  while (fgets(line, sizeof line, stdin)) {
    line[strcspn(line, "\n")] = 0;
    take_line(line);
  }
  for (int i = 0; i < HOSTS; i++) {
    if (!hosts[i].is_open) continue;
    host_order(&hosts[i], "close");
    host_end(&hosts[i]);
  }
  volt_rt_destroy(rt);
  return 0;
}
