/* sight_enable.c: what volt_sight_enable() switches on, and where reports go.
 *
 * Invariants
 *   I1  enable_config is written only while no part is started, so the thread, which runs parts,
 *       reads it as it stays
 *   I2  enable_started are the parts that are started; changed under the mutex */
#include <volt/sight.h>

#include <pthread.h>
#include <stdlib.h>
#include <unistd.h>

#include "../../core/os/check.h"
#include "../answer/sight_serve.h"
#include "../dump/dump_fd.h"
#include "sight_enable.h"
#include "sight_thread.h"

static const volt_sight_part_ *const enable_parts[] = {&volt_wait_times_part_, &volt_watchdog_part_,
                                                       &volt_lints_part_, &volt_deadlocks_part_};
enum { PARTS = sizeof enable_parts / sizeof enable_parts[0] };

static pthread_mutex_t enable_mutex = PTHREAD_MUTEX_INITIALIZER;
static volt_sight_config enable_config; /* I1 */
static bool enable_started[PARTS];      /* I2 */

/* ---- reports ---- */

enum {
  ENABLE_PATIENCE_MS = 1000
}; /* after which a report is lost: there is no other place for it */

void volt_sight_notice_(const char *text, size_t length) {
  VOLT_ASSERT(volt_sight_is_here_());
  if (enable_config.report) {
    enable_config.report(enable_config.ctx, text, length);
  } else {
    (void)volt_dump_write_(STDERR_FILENO, text, length, ENABLE_PATIENCE_MS);
  }
}

void volt_sight_report_(const char *text, size_t length) {
  volt_sight_notice_(text, length);
  if (enable_config.flags & VOLT_SIGHT_ABORT) abort();
}

/* ---- on and off ---- */

/* While anything is enabled, so that the thread is there. */
static void enable_do_nothing(volt_duty_ *self, uint64_t now_ns) {
  (void)self;
  (void)now_ns;
}

static volt_duty_ enable_keep = {.at_ns = VOLT_NO_DEADLINE, .run = enable_do_nothing};

static void enable_stop(void) {
  for (unsigned i = 0; i < PARTS; i++) {
    if (enable_started[i]) enable_parts[i]->stop();
    enable_started[i] = false;
  }
  volt_sight_remove_(&enable_keep);
}

static int enable_start(const volt_sight_config *config) {
  enable_config = *config;
  if (enable_config.sample == 0) enable_config.sample = 256;
  if (enable_config.stall_ns == 0) enable_config.stall_ns = 100000000;
  if (enable_config.period_ns == 0) enable_config.period_ns = 400000000;
  int result = volt_sight_add_(&enable_keep);
  for (unsigned i = 0; i < PARTS && result == VOLT_OK; i++) {
    if (!(config->flags & enable_parts[i]->flags)) continue;
    result = enable_parts[i]->start(&enable_config);
    enable_started[i] = result == VOLT_OK;
  }
  if (result != VOLT_OK) enable_stop();
  return result;
}

static bool enable_is_known(const volt_sight_config *config) {
  const uint32_t all = VOLT_SIGHT_WAITS | VOLT_SIGHT_WATCHDOG | VOLT_SIGHT_LINTS |
                       VOLT_SIGHT_DEADLOCKS | VOLT_SIGHT_STACKS | VOLT_SIGHT_ABORT;
  if (!config || (config->flags & ~all)) return false;
  for (unsigned i = 0; i < sizeof config->reserved / sizeof config->reserved[0]; i++) {
    if (config->reserved[i] != 0) return false;
  }
  return true;
}

int volt_sight_enable(const volt_sight_config *config) {
  VOLT_CHECK(!volt_sight_is_here_(), "volt_sight_enable", "called from a report");
  if (!enable_is_known(config)) return VOLT_EINVAL;
  pthread_mutex_lock(&enable_mutex);
  enable_stop();
  int result = enable_start(config);
  pthread_mutex_unlock(&enable_mutex);
  return result;
}

void volt_sight_disable(void) {
  VOLT_CHECK(!volt_sight_is_here_(), "volt_sight_disable", "called from a report");
  pthread_mutex_lock(&enable_mutex);
  volt_sight_serve_end_();
  enable_stop();
  pthread_mutex_unlock(&enable_mutex);
}

void volt_sight_enable_forget_(void) {
  pthread_mutex_t fresh = PTHREAD_MUTEX_INITIALIZER;
  enable_mutex = fresh;
  for (unsigned i = 0; i < PARTS; i++) {
    if (enable_parts[i]->forget) enable_parts[i]->forget();
    enable_started[i] = false;
  }
}
