/* zookeeper_log.c: the lock around the client, and what is said.
 *
 * The client says every failed attempt. That is for DEBUG, and the last of it is kept as the reason
 * for our own lines. No user's function is called under the lock. */
#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "../../core/os/at_fork.h"
#include "zookeeper.h"
#include "zookeeper_log.h"

static pthread_mutex_t zookeeper_lock = PTHREAD_MUTEX_INITIALIZER;
static zookeeper *zookeeper_caller; /* under the lock */

static void zookeeper_take_lock(void) {
  pthread_mutex_lock(&zookeeper_lock);
}

static void zookeeper_leave_lock(void) {
  pthread_mutex_unlock(&zookeeper_lock);
}

/* What the client has of the process is whole in the child, which may open a cluster of its own. */
static VOLT_AT_LOAD_(VOLT_FORK_ZOOKEEPER_) void zookeeper_load(void) {
  volt_at_fork_(zookeeper_take_lock, zookeeper_leave_lock, zookeeper_leave_lock);
}

void zookeeper_enter_(zookeeper *b) {
  zookeeper_take_lock();
  zookeeper_caller = b;
}

void zookeeper_leave_(zookeeper *b) {
  zookeeper_caller = NULL;
  zookeeper_leave_lock();
  for (size_t at = 0; at < b->said_size; at += strlen(b->said + at) + 1)
    zookeeper_log_line_(b, VOLT_CLUSTER_DEBUG, "client: %s", b->said + at);
  b->said_size = 0;
}

void zookeeper_log_line_(const zookeeper *b, enum volt_cluster_level level, const char *format,
                         ...) {
  char text[512];
  va_list list;
  if (!b->client.log) return;
  size_t size = (size_t)snprintf(text, sizeof text, "zookeeper: ");
  va_start(list, format);
  (void)vsnprintf(text + size, sizeof text - size, format, list);
  va_end(list);
  b->client.log(b->client.ctx, level, text);
}

/* "..., errno=111(Connection refused): ...": the system's words alone, if they are there. The client
 * takes EHOSTDOWN (112) for the end of what is received. */
static void zookeeper_log_keep_reason(zookeeper *b, const char *text) {
  const char *from = strstr(text, "errno=");
  const char *to = NULL;
  if (from && strncmp(from, "errno=112(", 10) == 0) from = "(the server has closed it)";
  if (from) from = strchr(from, '(');
  if (from) to = strchr(from, ')');
  if (to) (void)snprintf(b->why, sizeof b->why, "%.*s", (int)(to - from - 1), from + 1);
}

/* "TIME:PID:ZOO_ERROR@function@line: text". Called under the lock. */
void zookeeper_heed_(const char *line) {
  zookeeper *b = zookeeper_caller;
  if (!b) return;
  const char *text = strchr(line, '@');
  if (text) text = strchr(text + 1, '@');
  if (text) text = strstr(text, ": ");
  text = text ? text + 2 : line;
  if (strstr(line, "ZOO_ERROR")) zookeeper_log_keep_reason(b, text);
  size_t size = strcspn(text, "\n");
  if (b->said_size + size + 1 > sizeof b->said) return;
  memcpy(b->said + b->said_size, text, size);
  b->said[b->said_size + size] = 0;
  b->said_size += size + 1;
}
