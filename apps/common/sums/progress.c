/* progress.c: what is counted; the progress bar, or lines where there is no terminal.
 *
 * How much there is to do is not known before the walk is over; until then the bar shows the share
 * of what has been found, and a "+" says that there will be more. */
#define _GNU_SOURCE
#include "common/sums/progress.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- the tally ---- */

void tally_init(struct tally *tally) {
  *tally = (struct tally){.counts = {0}};
  volt_mutex_init(&tally->lock);
}

void tally_add(struct tally *tally, struct counts more) {
  volt_mutex_lock(&tally->lock);
  tally->counts.found += more.found;
  tally->counts.summed += more.summed;
  tally->counts.repeated += more.repeated;
  tally->counts.skipped += more.skipped;
  tally->counts.slow += more.slow;
  tally->counts.bytes += more.bytes;
  tally->counts.symlinks += more.symlinks;
  tally->counts.walked |= more.walked;
  volt_mutex_unlock(&tally->lock);
}

struct counts tally_read(struct tally *tally) {
  volt_mutex_lock(&tally->lock);
  struct counts counts = tally->counts;
  volt_mutex_unlock(&tally->lock);
  return counts;
}

void tally_destroy(struct tally *tally) {
  volt_mutex_destroy(&tally->lock);
}

/* ---- showing it ---- */

#define NS_PER_MS UINT64_C(1000000)
#define BAR_INTERVAL_NS UINT64_C(100000000)
#define LINE_INTERVAL_NS UINT64_C(1000000000)
#define MAX_COLUMNS 200
#define MIN_BAR 10

/* "12/340+ files, 5.6 MB, 78.9 MB/s" */
static void describe(const struct progress *progress, const struct counts *counts, char *text,
                     size_t size_bytes) {
  double seconds = (double)(volt_now_ns() - progress->start_ns) / 1e9;
  double megabytes = (double)counts->bytes / 1e6;
  snprintf(text, size_bytes, "%" PRIu64 "/%" PRIu64 "%s files, %.1f MB, %.1f MB/s",
           counts->summed + counts->skipped, counts->found, counts->walked ? "" : "+", megabytes,
           seconds > 0 ? megabytes / seconds : 0);
}

static void show_line(const struct progress *progress) {
  struct counts counts = tally_read(progress->tally);
  char text[MAX_COLUMNS];
  describe(progress, &counts, text, sizeof text);
  console_print(progress->console, "%s", text);
}

static void show_bar(const struct progress *progress) {
  struct counts counts = tally_read(progress->tally);
  char text[MAX_COLUMNS];
  describe(progress, &counts, text, sizeof text);

  char line[MAX_COLUMNS];
  size_t columns = console_width() < sizeof line ? console_width() : sizeof line;
  size_t beside = strlen(text) + 4; /* the brackets, a space, and the last column */
  size_t length = columns >= beside + MIN_BAR ? columns - beside : 0;
  size_t full = counts.found > 0 ? (counts.summed + counts.skipped) * length / counts.found : 0;
  size_t at = 0;
  if (length > 0) line[at++] = '[';
  for (size_t i = 0; i < length; i++) line[at++] = i < full ? '#' : '.';
  if (length > 0) line[at++] = ']';
  if (length > 0) line[at++] = ' ';
  snprintf(line + at, columns - at, "%s", text);
  console_bar(progress->console, line);
}

void progress_begin(struct progress *progress, struct console *console, struct tally *tally) {
  *progress = (struct progress){.console = console, .tally = tally, .start_ns = volt_now_ns()};
  if (console->terminal) show_bar(progress);
}

uint64_t progress_interval_ns(const struct progress *progress) {
  if (progress->console->progress_ms > 0) return progress->console->progress_ms * NS_PER_MS;
  return progress->console->terminal ? BAR_INTERVAL_NS : LINE_INTERVAL_NS;
}

void progress_show(const struct progress *progress) {
  if (progress->console->terminal) {
    show_bar(progress);
  } else {
    show_line(progress);
  }
}

void progress_end(const struct progress *progress) {
  console_bar(progress->console, "");
}

/* ---- slow files ---- */

uint64_t slow_deadline_ns(const struct slow *slow) {
  return volt_deadline_ns(slow->after_ms * NS_PER_MS);
}

void slow_name(const struct slow *slow, const char *path) {
  char *name = console_printable(path);
  console_print(slow->console, "slow: %s (after %u ms)", name, slow->after_ms);
  free(name);
  tally_add(slow->tally, (struct counts){.slow = 1});
}
