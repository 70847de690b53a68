/* sight.c: volt/sight.h for this program. */
#include "admin/sight.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <volt/sight.h>

#include "admin/metrics_line.h"
#include "gate/gate.h"
#include "process/log.h"

enum {
  SIGHT_LINE = 512, /* longer lines of a dump go on in the next line of the log */
  SIGHT_KINDS = 64,
  SIGHT_FLUSH = 64, /* lines between two waits for the log */
  EDGE_FIRST = 14,  /* 2^14 ns: 16 us, as in metrics.c */
  EDGE_LAST = 36
};

/* A lint looks at every task. 10,000 clients cost a millisecond each second at most. */
#define SIGHT_PERIOD_NS UINT64_C(10000000000)

static _Atomic(uint64_t) sight_reports;

/* ---- lines of the log ---- */

struct sight_lines {
  enum log_level level;
  size_t size;
  unsigned lines;
  char line[SIGHT_LINE];
};

static void admin_sight_end_line(struct sight_lines *to) {
  if (to->size > 0) log_line(to->level, NULL, "%.*s", (int)to->size, to->line);
  to->size = 0;
  to->lines++;
}

static void admin_sight_add(struct sight_lines *to, const char *text, size_t length) {
  for (size_t i = 0; i < length; i++) {
    if (text[i] == '\n' || to->size == sizeof to->line) admin_sight_end_line(to);
    if (text[i] != '\n') to->line[to->size++] = text[i];
  }
}

static bool admin_sight_dumped_line(void *ctx, const char *text, size_t length) {
  struct sight_lines *to = ctx;
  admin_sight_add(to, text, length);
  if (to->lines < SIGHT_FLUSH) return true;
  log_flush(); /* a line more than the log has room for would be dropped */
  to->lines = 0;
  return true;
}

/* By the thread that watches: it must not wait for the log. */
static void admin_sight_report(void *ctx, const char *text, size_t length) {
  struct sight_lines to = {.level = LOG_WARN};
  (void)ctx;
  admin_sight_add(&to, text, length);
  admin_sight_end_line(&to);
  atomic_fetch_add_explicit(&sight_reports, 1, memory_order_relaxed); /* shown only */
}

/* ---- life ---- */

int admin_sight_start(const struct settings *settings) {
  const volt_sight_config config = {
      .flags = VOLT_SIGHT_WAITS | (settings->stall_ns ? VOLT_SIGHT_WATCHDOG | VOLT_SIGHT_LINTS : 0),
      .sample = 1, /* a wait for a permit takes far longer than to time it */
      .stall_ns = settings->stall_ns,
      .period_ns = SIGHT_PERIOD_NS,
      .report = admin_sight_report};
  int result = volt_sight_enable(&config);
  if (result != VOLT_OK || !settings->sight) return result;
  result = volt_sight_serve(settings->sight);
  if (result != VOLT_OK) volt_sight_disable();
  return result;
}

void admin_sight_stop(void) {
  volt_sight_disable();
}

/* ---- dumps ---- */

void admin_sight_log_dump(volt_rt *rt) {
  struct sight_lines to = {.level = LOG_INFO};
  int result = volt_dump(rt, 0, admin_sight_dumped_line, &to);
  admin_sight_end_line(&to);
  if (result != VOLT_OK) log_line(LOG_WARN, NULL, "dump: %s", volt_strerror(result));
}

static bool admin_sight_dumped(void *ctx, const char *text, size_t length) {
  struct output *to = ctx;
  output_bytes(to, text, length);
  return !to->is_cut;
}

bool admin_sight_write_dump(struct output *to, volt_rt *rt, unsigned how) {
  int result = volt_dump(rt, how, admin_sight_dumped, to);
  if (to->is_cut) return false;
  if (result != VOLT_OK) output_string(to, volt_strerror(result));
  if (result != VOLT_OK) OUTPUT(to, "\n");
  return !to->is_cut;
}

/* ---- metrics ---- */

#define OFFSET(member) offsetof(volt_counts_of, member)
static const struct {
  const char *name, *help;
  size_t offset;
} sight_families[] = {
    {"voltgate_volt_waits_total", "Waiters that were queued, by kind of object.", OFFSET(waits)},
    {"voltgate_volt_grants_total", "Waiters that got what they waited for.", OFFSET(grants)},
    {"voltgate_volt_cancels_total", "Waiters that gave up.", OFFSET(cancels)},
    {"voltgate_volt_timeouts_total", "Waiters that gave up at a deadline.", OFFSET(timeouts)},
    {"voltgate_volt_sleeps_total", "Sleeps of threads in the kernel.", OFFSET(sleeps)},
    {"voltgate_volt_naps_total", "Short sleeps of threads that another thread holds up.",
     OFFSET(naps)},
};

static void admin_sight_put_label(struct output *to, const char *name, const char *suffix,
                                  const char *label, const char *value) {
  output_string(to, name);
  output_string(to, suffix);
  OUTPUT(to, "{");
  output_string(to, label);
  OUTPUT(to, "=\"");
  metrics_put_label(to, value);
  OUTPUT(to, "\"");
}

static void admin_sight_put_counts(struct output *to) {
  volt_counts_of counts[SIGHT_KINDS];
  unsigned kinds = volt_counts(counts, SIGHT_KINDS);
  if (kinds > SIGHT_KINDS) kinds = SIGHT_KINDS;
  for (size_t i = 0; i < sizeof sight_families / sizeof *sight_families; i++) {
    metrics_put_family(to, sight_families[i].name, "counter", sight_families[i].help);
    for (unsigned k = 0; k < kinds; k++) {
      admin_sight_put_label(to, sight_families[i].name, "", "kind", counts[k].kind);
      metrics_put_value(to, *(const uint64_t *)(const void *)((const char *)&counts[k] +
                                                              sight_families[i].offset));
    }
  }
}

/* The steps of a volt_histogram end at powers of two, too, so these counts are exact. */
static void admin_sight_put_waits(struct output *to, const void *object) {
  static const char name[] = "voltgate_object_wait_seconds";
  const char *called = volt_name_of(object);
  volt_histogram h;
  if (!called || volt_waits_of(object, &h) != VOLT_OK) return;
  for (int edge = EDGE_FIRST; edge <= EDGE_LAST; edge++) {
    admin_sight_put_label(to, name, "_bucket", "object", called);
    OUTPUT(to, ",le=\"");
    output_seconds(to, UINT64_C(1) << edge);
    OUTPUT(to, "\"");
    metrics_put_value(to, volt_histogram_below(&h, UINT64_C(1) << edge));
  }
  admin_sight_put_label(to, name, "_bucket", "object", called);
  OUTPUT(to, ",le=\"+Inf\"");
  metrics_put_value(to, h.count);
  admin_sight_put_label(to, name, "_sum", "object", called);
  OUTPUT(to, "} ");
  output_seconds(to, h.sum_ns);
  OUTPUT(to, "\n");
  admin_sight_put_label(to, name, "_count", "object", called);
  metrics_put_value(to, h.count);
}

static void admin_sight_put_gate(void *to, struct gate *g) {
  admin_sight_put_waits(to, &g->permits);
}

void admin_sight_put_metrics(struct output *to, struct program *p) {
  metrics_put_own(to, "voltgate_reports_total", "counter",
                  "Reports of stalls and lost wakes: the log has them.",
                  atomic_load_explicit(&sight_reports, memory_order_relaxed)); /* shown only */
  admin_sight_put_counts(to);
  metrics_put_family(to, "voltgate_object_wait_seconds", "histogram",
                     "How long tasks have waited for an object of the program.");
  program_each_gate(p, admin_sight_put_gate, to);
  admin_sight_put_waits(to, &p->host.descriptors);
}
