/* sleepers.c: the threads that sleep in a blocking call, for an inspector.
 *
 * Algorithm: each thread has a slot. It links the slot when it sleeps for the first time, and unlinks
 * it when it ends. Before it sleeps it writes into the slot what it waits for, and then makes the
 * count of its waits odd; afterwards it makes the count even. So a thread that does not sleep writes
 * nothing. An inspector walks along the slots under the lock of the list, and copies them. It never
 * follows what is in them, because the thread goes on meanwhile.
 *
 * Invariants
 *   I1  a slot is linked => its thread has not ended. So under the lock every slot lives.
 *   I2  wait is odd => the words are those of this wait
 *
 * Races
 *   R1  Interleaving: an inspector reads words of one wait and of the next. Prevented by: the
 *       thread makes the count even, and then writes the words of the next wait, each by a release. A
 *       reader that sees one of them by an acquire sees another count afterwards, and does not use
 *       what it has read.
 *   R2  Interleaving: a thread ends, and its memory is freed, while an inspector reads its slot.
 *       Prevented by: the thread takes the lock to unlink the slot. An inspector holds it for as
 *       long as it copies, and calls no foreign code under it.
 *   R3  Interleaving: a thread forks while another holds the lock, or has a slot. Prevented by: the
 *       child begins with a free lock, and with its own slot alone (locals.c).
 *   R4  Interleaving: a thread has unlinked its slot because it ends, and sleeps once more, in a
 *       destructor of its own. Prevented by: it does not link the slot again. That sleep is not seen.
 */
#include "sleepers.h"

#include <string.h>

#include "../os/probe.h"
#include "../park/locals.h"
#include "../park/spin.h"

void volt_call_describe_(const volt_call_ *call, volt_description_ *description) {
  volt_future f;
  if (call->future) {
    volt_describe_briefly_(call->future, description);
    return;
  }
  if (call->ops) { /* as if it were awaited */
    volt_describe_briefly_(volt_future_make_(&f, call->ops, call->object, call->n), description);
    return;
  }
  volt_describe_as_(description, call->name, call->kind, call->object);
}

/* ---- the list ---- */

static bool sleeper_is_odd(uint32_t wait) {
  return wait & 1;
}

static void sleeper_link(volt_sleeper_list_ *list, volt_sleeper_slot_ *s) {
  uint64_t word;
  volt_fifo_lock_(&list->lock, &word);
  if (!list->is_closed) {
    s->id = ++list->last_id;
    s->next = NULL;
    s->prev = list->tail;
    if (list->tail) {
      list->tail->next = s;
    } else {
      list->head = s;
    }
    list->tail = s;
  }
  volt_fifo_unlock_exact_(&list->lock, word);
}

void volt_sleeper_unlink_(volt_sleeper_list_ *list, volt_sleeper_slot_ *s) {
  uint64_t word;
  volt_fifo_lock_(&list->lock, &word); /* R2 */
  if (s->id != 0 && !list->is_closed) {
    if (s->prev) {
      s->prev->next = s->next;
    } else {
      list->head = s->next;
    }
    if (s->next) {
      s->next->prev = s->prev;
    } else {
      list->tail = s->prev;
    }
  }
  s->id = 0;
  volt_fifo_unlock_exact_(&list->lock, word);
}

void volt_sleepers_forget_(volt_sleeper_list_ *list, volt_sleeper_slot_ *s) {
  volt_fifo_init_(&list->lock, 0); /* R3 */
  bool is_left = s && s->id != 0;
  list->head = is_left ? s : NULL;
  list->tail = list->head;
  if (!is_left) return;
  s->next = NULL;
  s->prev = NULL;
}

void volt_sleepers_close_(volt_sleeper_list_ *list) {
  uint64_t word;
  volt_fifo_lock_(&list->lock, &word);
  list->is_closed = true;
  list->head = NULL;
  list->tail = NULL;
  volt_fifo_unlock_exact_(&list->lock, word);
}

/* ---- the thread ---- */

volt_sleeper_slot_ *volt_sleeper_here_(void) {
  volt_sleeper_slot_ *s = volt_thread_sleeper_();
  if (s && s->id == 0) sleeper_link(volt_sleepers_of_process_(), s);
  return s;
}

static volt_sleeper_wait_ sleeper_wait_in(const volt_call_ *call, uint64_t deadline_ns) {
  volt_description_ description;
  volt_call_describe_(call, &description);
  volt_sleeper_wait_ wait = {.call = call->name,
                             .operation = description.operation,
                             .object = description.object,
                             .future = call->future,
                             .waiter = call->waiter,
                             .deadline_ns = deadline_ns,
                             .since_ns = volt_now_ns(),
                             .wanted = description.wanted,
                             .kind = (uint32_t)description.kind,
                             .ends = (uint16_t)description.ends,
                             .for_write = description.for_write};
  return wait;
}

void volt_sleep_begin_(const volt_call_ *call, uint64_t deadline_ns) {
  volt_sleeper_slot_ *s = volt_sleeper_here_();
  if (!s) return;
  volt_sleeper_wait_ wait = sleeper_wait_in(call, deadline_ns);
  uint64_t words[VOLT_SLEEPER_WORDS_] = {0};
  memcpy(words, &wait, sizeof wait);
  VOLT_PROBE4(block__begin, wait.operation, wait.object, deadline_ns, wait.call);
  for (unsigned i = 0; i < VOLT_SLEEPER_WORDS_; i++) {
    /* sleepers:M1 -> sleepers:M2: a reader that sees this word sees that the last wait is over */
    volt_store_release(&s->words[i], words[i]);
  }
  uint32_t count = volt_load_relaxed(&s->wait); /* the thread's own */
  /* sleepers:W1 -> sleepers:W2: an inspector that sees this wait sees its words */
  volt_store_release(&s->wait, count + 1);
}

void volt_sleep_end_(void) {
  volt_sleeper_slot_ *s = volt_thread_sleeper_();
  if (!s) return;
  VOLT_PROBE1(block__end, s->number);
  uint32_t wait = volt_load_relaxed(&s->wait);                      /* the thread's own */
  if (sleeper_is_odd(wait)) volt_store_relaxed(&s->wait, wait + 1); /* published by M1: R1 */
}

/* ---- the inspector ---- */

static void sleeper_unpack(const volt_sleeper_wait_ *wait, volt_sleeper_seen_ *seen) {
  seen->description.is_brief = true;
  volt_describe_as_(&seen->description, wait->operation, (volt_kind_)wait->kind, wait->object);
  seen->description.ends = (volt_ends_)wait->ends;
  seen->description.wanted = wait->wanted;
  seen->description.for_write = wait->for_write;
  seen->description.deadline_ns = wait->deadline_ns;
  seen->call = wait->call;
  seen->future = wait->future;
  seen->waiter = wait->waiter;
  seen->since_ns = wait->since_ns;
  seen->deadline_ns = wait->deadline_ns;
}

/* The lock is held. Returns whether its thread sleeps, and all was copied. */
static bool sleeper_copy_slot(volt_sleeper_slot_ *s, volt_sleeper_seen_ *seen) {
  uint64_t words[VOLT_SLEEPER_WORDS_];
  volt_sleeper_wait_ wait;
  /* sleepers:W2 <- sleepers:W1: the words of this wait */
  uint32_t count = volt_load_acquire(&s->wait);
  if (!sleeper_is_odd(count)) return false;
  for (unsigned i = 0; i < VOLT_SLEEPER_WORDS_; i++) {
    /* sleepers:M2 <- sleepers:M1: if it is of a later wait, the count says so (R1) */
    words[i] = volt_load_acquire(&s->words[i]);
  }
  if (volt_load_relaxed(&s->wait) != count) return false; /* R1 */
  memcpy(&wait, words, sizeof wait);
  sleeper_unpack(&wait, seen);
  seen->wait = count;
  seen->tid = s->tid;
  seen->number = s->number;
  seen->party = volt_load_relaxed(&s->party); /* holders.c's own */
  return true;
}

enum { SLEEPERS_PATIENCE_NS = 50000000, SLEEPERS_TRIES = 64 };

/* Returns false if the lock was not to be had: its thread may be stopped. */
static bool sleeper_lock(volt_sleeper_list_ *list, uint64_t *word) {
  if (volt_fifo_try_lock_(&list->lock, word)) return true;
  uint64_t until_ns = volt_now_ns() + SLEEPERS_PATIENCE_NS;
  unsigned spins = 0;
  do {
    volt_pause_(&spins);
    if (volt_fifo_try_lock_(&list->lock, word)) return true;
  } while (volt_now_ns() < until_ns);
  return false;
}

unsigned volt_sleepers_copy_(volt_sleeper_seen_ *seen, unsigned most, uint64_t *cursor) {
  volt_sleeper_list_ *list = volt_sleepers_of_process_();
  uint64_t word;
  unsigned count = 0;
  if (!sleeper_lock(list, &word)) { /* R2 */
    *cursor = VOLT_SLEEPERS_BUSY_;
    return 0;
  }
  for (volt_sleeper_slot_ *s = list->head; s && count < most; s = s->next) {
    if (s->id <= *cursor) continue;
    if (sleeper_copy_slot(s, &seen[count])) count += 1;
    *cursor = s->id;
  }
  volt_fifo_unlock_exact_(&list->lock, word);
  return count;
}

int32_t volt_sleeper_tid_(uint32_t number) {
  volt_sleeper_list_ *list = volt_sleepers_of_process_();
  uint64_t word;
  unsigned tries = 0;
  while (!volt_fifo_try_lock_(&list->lock, &word)) {
    if (++tries == SLEEPERS_TRIES) return 0;
    volt_cpu_relax_();
  }
  volt_sleeper_slot_ *s = list->head;
  while (s && s->number != number) s = s->next;
  int32_t tid = s ? s->tid : 0;
  volt_fifo_unlock_exact_(&list->lock, word);
  return tid;
}
