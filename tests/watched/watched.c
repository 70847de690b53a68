/* watched.c: in a build with VOLT_WATCHED, part of every program: if VOLT_ALARMS names a file, the
 * program is watched for deadlocks, for the order of its locks, for tasks that nothing can wake and for
 * grants that nothing polls, and each report is appended to that file. Programs that work have none. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE /* program_invocation_short_name */
#endif
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <volt/sight.h>

static int watched_fd = -1;

static void watched_report(void *ctx, const char *text, size_t length) {
  char head[128];
  (void)ctx;
  int n = snprintf(head, sizeof head, "%s, process %ld:\n", program_invocation_short_name,
                   (long)getpid());
  if (n > 0 && write(watched_fd, head, (size_t)n) < 0) return;
  if (write(watched_fd, text, length) < 0) return; /* O_APPEND: a report is in one piece */
}

__attribute__((constructor)) static void watched_begin(void) {
  const char *file = getenv("VOLT_ALARMS");
  if (!file) return;
  watched_fd = open(file, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0600);
  const volt_sight_config config = {
      .flags = VOLT_SIGHT_DEADLOCKS | VOLT_SIGHT_LINTS | VOLT_SIGHT_WAITS,
      .period_ns = 20000000, /* twenty times as often as usual: more looks at more states */
      .report = watched_report};
  if (watched_fd < 0) return; /* it runs as another user */
  if (volt_sight_enable(&config) != VOLT_OK) abort();
}
