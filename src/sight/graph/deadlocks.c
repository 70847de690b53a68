/* deadlocks.c: look for deadlocks: a first look, in which the graph is filled; the objects; a second
 * look, which confirms it; and then the words.
 *
 * Between the two lie 100 ms, which cost nothing but time: what is found is true after any two looks
 * (graph.c), but most waits are over by then, so less is looked at. The third time it looks at tasks,
 * it writes what each of a cycle awaits. That is for readers: a task that has gone on meanwhile, since
 * some other task has cancelled it, is left out. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE /* MAP_ANONYMOUS */
#endif
#include "deadlocks.h"

#include <string.h>
#include <sys/mman.h>
#include <volt/detail/await.h>
#include <volt/fiber.h>

#include "../../core/os/hash.h"
#include "../../core/park/blocker.h"
#include "../../rt/inspect/inspect.h"
#include "../dump/dump_tree.h"

const char volt_deadlocks_unknown_[] =
#if VOLT_SIGHT
    "";
#else
    "who holds a lock is known in builds with VOLT_SIGHT=1: here, deadlocks of joins and groups "
    "are "
    "found, and no others\n";
#endif

enum { MEMBERS = 32, BEHIND = 8, ROOM = 1024 };

volt_deadlocks_ *volt_deadlocks_new_(void) {
  void *at = mmap(NULL, sizeof(volt_deadlocks_), PROT_READ | PROT_WRITE,
                  MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (at == MAP_FAILED) return NULL;
  volt_deadlocks_ *d = (volt_deadlocks_ *)at;
  d->graph = volt_graph_new_();
  if (d->graph) return d;
  (void)munmap(at, sizeof *d);
  return NULL;
}

void volt_deadlocks_free_(volt_deadlocks_ *d) {
  if (!d) return;
  volt_graph_free_(d->graph);
  (void)munmap(d, sizeof *d);
}

bool volt_deadlocks_search_(volt_deadlocks_ *d) {
  volt_deadlocks_fill_(d->graph);
  d->stuck = volt_graph_resolve_(d->graph, volt_deadlocks_ask_, NULL);
  return d->stuck > 0;
}

bool volt_deadlocks_search_again_(volt_deadlocks_ *d) {
  volt_deadlocks_confirm_(d->graph);
  d->stuck = volt_graph_settle_(d->graph, volt_holder_is_passed_on_);
  return d->stuck > 0;
}

/* ---- words ---- */

static void deadlock_put_place(volt_text_ *t, const char *file, uint32_t line) {
  volt_text_put_(t, " (");
  volt_text_put_file_(t, file);
  volt_text_put_(t, ":");
  volt_text_put_plain_(t, line);
  volt_text_put_(t, ")");
}

/* "task 0x7f21c40010c0 fetch_poll", "thread 4711" */
static void deadlock_put_party(volt_text_ *t, const volt_waiting_ *w) {
  if (w->tid != 0) {
    volt_text_put_(t, "thread ");
    volt_text_put_plain_(t, (uint64_t)w->tid);
    return;
  }
  volt_text_put_(t, w->fn ? "fiber " : "task ");
  volt_text_put_address_(t, (const void *)(w->who & ~(uintptr_t)3));
  volt_text_put_(t, w->name[0] || w->site ? " " : "");
  if (w->name[0]) {
    volt_text_quote_(t, w->name);
  } else if (w->site) {
    volt_text_put_(t, w->site->function);
  }
}

static void deadlock_put_wants(volt_text_ *t, const volt_term_ *term) {
  volt_text_put_(t, " waits for ");
  volt_text_put_object_(t, term->kind, term->object, "");
  if (term->site && term->line != 0) deadlock_put_place(t, term->site->file, term->line);
}

static void deadlock_put_held(volt_text_ *t, const volt_term_ *term, const volt_waiting_ *by) {
  if (term->ends == VOLT_ENDS_TASK_) return; /* it is the object */
  if (term->ends == VOLT_ENDS_GROUP_) {
    volt_text_put_(t, ", of which is ");
  } else {
    volt_text_put_(t, term->behind ? ", for which is queued before it " : ", held by ");
  }
  deadlock_put_party(t, by);
  if (!term->behind && term->is_granted) {
    volt_text_put_(t, ", which was granted it and has not polled for it since");
  }
  if (!term->behind && term->file) deadlock_put_place(t, term->file, term->taken_line);
}

static uint64_t deadlock_mix(uint64_t mark, const volt_waiting_ *w) {
  uint64_t one = ((uint64_t)w->who ^ w->instance) * VOLT_GOLDEN_;
  return mark + (one ^ one >> 29); /* in any order */
}

typedef struct deadlock_words {
  volt_deadlocks_ *d;
  unsigned cycle;
  unsigned behind, left_out;
  bool marks_only;
} deadlock_words;

static void deadlock_report(void *ctx, unsigned cycle, uint32_t place, const volt_waiting_ *w,
                            const volt_term_ *term, const volt_waiting_ *by) {
  deadlock_words *words = (deadlock_words *)ctx;
  volt_deadlocks_ *d = words->d;
  bool is_behind = place == UINT32_MAX;
  if (!is_behind) {
    d->mark = deadlock_mix(d->mark, w);
    d->cycles = cycle;
  }
  bool has_room = volt_text_left_(&d->text) > ROOM + VOLT_DEADLOCK_TEXT_ / 2;
  if ((is_behind && words->behind >= BEHIND) || !has_room) {
    words->left_out += 1;
    return;
  }
  if (place == 0) volt_text_put_(&d->text, "deadlock:\n");
  if (is_behind && words->behind++ == 0) volt_text_put_(&d->text, "behind it:\n");
  volt_text_put_(&d->text, "  ");
  deadlock_put_party(&d->text, w);
  deadlock_put_wants(&d->text, term);
  deadlock_put_held(&d->text, term, by);
  volt_text_put_(&d->text, "\n");
}

/* ---- what each awaits ---- */

static bool deadlock_put_trees(void *ctx, const volt_seen_ *seen, unsigned count) {
  volt_deadlocks_ *d = (volt_deadlocks_ *)ctx;
  for (unsigned i = 0; i < count; i++) {
    if (seen[i].how != VOLT_SEEN_WAITS_) continue;
    if (!volt_graph_has_(d->graph, (uintptr_t)seen[i].task | 1)) continue;
    if (volt_text_left_(&d->text) < ROOM) return false;
    volt_text_put_(&d->text, "task ");
    volt_text_put_address_(&d->text, seen[i].task);
    volt_text_put_(&d->text, "\n");
    volt_tree_put_claimed_(&d->text, &seen[i]);
  }
  return true;
}

void volt_deadlocks_print_(volt_deadlocks_ *d) {
  deadlock_words words = {.d = d};
  d->text = volt_text_in_(d->memory, sizeof d->memory);
  d->cycles = 0;
  d->mark = 0;
  volt_graph_report_all_(d->graph, deadlock_report, &words);
  if (words.left_out > 0) {
    volt_text_put_(&d->text, "  and ");
    volt_text_put_number_(&d->text, words.left_out);
    volt_text_put_(&d->text, " more\n");
  }
  volt_rt *rt = NULL;
  while ((rt = volt_rt_pin_next_(rt)) != NULL) (void)volt_inspect_(rt, 8, deadlock_put_trees, d);
}

/* ---- in one call ---- */

/* No cancel ends it: that is for a later call. */
static void deadlock_wait(void) {
  volt_blocker_ *fiber = volt_shield_();
  (void)volt_sleep_until(volt_deadline_ms(VOLT_DEADLOCK_BETWEEN_MS_));
  volt_unshield_(fiber);
}

int volt_deadlocks(volt_sink *sink, void *ctx) {
  volt_deadlocks_ *d = volt_deadlocks_new_();
  if (!d) return VOLT_ENOMEM;
  int result = VOLT_OK;
  if (volt_deadlocks_search_(d)) {
    deadlock_wait();
    if (volt_deadlocks_search_again_(d)) {
      volt_deadlocks_print_(d);
      result = VOLT_ESTALLED;
      if (sink) (void)sink(ctx, d->memory, volt_text_length_(&d->text));
    }
  }
  volt_deadlocks_free_(d);
  size_t length = strlen(volt_deadlocks_unknown_);
  if (result != VOLT_OK || length == 0) return result;
  if (sink) (void)sink(ctx, volt_deadlocks_unknown_, length);
  return VOLT_EAGAIN;
}
