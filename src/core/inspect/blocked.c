/* blocked.c: the threads that sleep in a blocking call, for an inspector.
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
#include "blocked.h"

#include <string.h>

#include "../os/probe.h"
#include "../park/locals.h"
#include "../park/spin.h"

void volt_call_look_(const volt_call_ *call, volt_look_ *look) {
  volt_future f;
  if (call->future) {
    volt_look_briefly_(call->future, look);
    return;
  }
  if (call->ops) { /* as if it were awaited */
    volt_look_briefly_(volt_future_make_(&f, call->ops, call->object, call->n), look);
    return;
  }
  volt_look_as_(look, call->name, call->kind, call->object);
}

/* ---- the list ---- */

static bool blocked_is_odd(uint32_t wait) {
  return wait & 1;
}

static void blocked_link(volt_blocked_list_ *list, volt_blocked_slot_ *s) {
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

void volt_blocked_unlink_(volt_blocked_list_ *list, volt_blocked_slot_ *s) {
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

void volt_blocked_forget_(volt_blocked_list_ *list, volt_blocked_slot_ *s) {
  volt_fifo_init_(&list->lock, 0); /* R3 */
  bool is_left = s && s->id != 0;
  list->head = is_left ? s : NULL;
  list->tail = list->head;
  if (!is_left) return;
  s->next = NULL;
  s->prev = NULL;
}

void volt_blocked_close_(volt_blocked_list_ *list) {
  uint64_t word;
  volt_fifo_lock_(&list->lock, &word);
  list->is_closed = true;
  list->head = NULL;
  list->tail = NULL;
  volt_fifo_unlock_exact_(&list->lock, word);
}

/* ---- the thread ---- */

volt_blocked_slot_ *volt_blocked_here_(void) {
  volt_blocked_slot_ *s = volt_thread_blocked_();
  if (s && s->id == 0) blocked_link(volt_blocked_list_of_process_(), s);
  return s;
}

static volt_blocked_wait_ blocked_wait_in(const volt_call_ *call, uint64_t deadline_ns) {
  volt_look_ look;
  volt_call_look_(call, &look);
  volt_blocked_wait_ wait = {.call = call->name,
                             .operation = look.operation,
                             .object = look.object,
                             .future = call->future,
                             .waiter = call->waiter,
                             .deadline_ns = deadline_ns,
                             .since_ns = volt_now_ns(),
                             .wanted = look.wanted,
                             .kind = (uint32_t)look.kind,
                             .ends = (uint16_t)look.ends,
                             .for_write = look.for_write};
  return wait;
}

void volt_blocked_begin_(const volt_call_ *call, uint64_t deadline_ns) {
  volt_blocked_slot_ *s = volt_blocked_here_();
  if (!s) return;
  volt_blocked_wait_ wait = blocked_wait_in(call, deadline_ns);
  uint64_t words[VOLT_BLOCKED_WORDS_] = {0};
  memcpy(words, &wait, sizeof wait);
  VOLT_PROBE4(block__begin, wait.operation, wait.object, deadline_ns, wait.call);
  for (unsigned i = 0; i < VOLT_BLOCKED_WORDS_; i++) {
    /* blocked:M1 -> blocked:M2: a reader that sees this word sees that the last wait is over */
    volt_store_release(&s->words[i], words[i]);
  }
  uint32_t count = volt_load_relaxed(&s->wait); /* the thread's own */
  /* blocked:W1 -> blocked:W2: an inspector that sees this wait sees its words */
  volt_store_release(&s->wait, count + 1);
}

void volt_blocked_end_(void) {
  volt_blocked_slot_ *s = volt_thread_blocked_();
  if (!s) return;
  VOLT_PROBE1(block__end, s->number);
  uint32_t wait = volt_load_relaxed(&s->wait);                      /* the thread's own */
  if (blocked_is_odd(wait)) volt_store_relaxed(&s->wait, wait + 1); /* published by M1: R1 */
}

/* ---- the inspector ---- */

static void blocked_tell(const volt_blocked_wait_ *wait, volt_blocked_ *seen) {
  seen->look.is_brief = true;
  volt_look_as_(&seen->look, wait->operation, (volt_kind_)wait->kind, wait->object);
  seen->look.ends = (volt_ends_)wait->ends;
  seen->look.wanted = wait->wanted;
  seen->look.for_write = wait->for_write;
  seen->look.deadline_ns = wait->deadline_ns;
  seen->call = wait->call;
  seen->future = wait->future;
  seen->waiter = wait->waiter;
  seen->since_ns = wait->since_ns;
  seen->deadline_ns = wait->deadline_ns;
}

/* The lock is held. Returns whether its thread sleeps, and all was copied. */
static bool blocked_copy(volt_blocked_slot_ *s, volt_blocked_ *seen) {
  uint64_t words[VOLT_BLOCKED_WORDS_];
  volt_blocked_wait_ wait;
  /* blocked:W2 <- blocked:W1: the words of this wait */
  uint32_t count = volt_load_acquire(&s->wait);
  if (!blocked_is_odd(count)) return false;
  for (unsigned i = 0; i < VOLT_BLOCKED_WORDS_; i++) {
    /* blocked:M2 <- blocked:M1: if it is of a later wait, the count says so (R1) */
    words[i] = volt_load_acquire(&s->words[i]);
  }
  if (volt_load_relaxed(&s->wait) != count) return false; /* R1 */
  memcpy(&wait, words, sizeof wait);
  blocked_tell(&wait, seen);
  seen->wait = count;
  seen->tid = s->tid;
  seen->number = s->number;
  seen->party = volt_load_relaxed(&s->party); /* owner.c's own */
  return true;
}

enum { BLOCKED_PATIENCE_NS = 50000000, BLOCKED_TRIES = 64 };

/* Returns false if the lock was not to be had: its thread may be stopped. */
static bool blocked_lock(volt_blocked_list_ *list, uint64_t *word) {
  if (volt_fifo_try_lock_(&list->lock, word)) return true;
  uint64_t until_ns = volt_now_ns() + BLOCKED_PATIENCE_NS;
  unsigned spins = 0;
  do {
    volt_pause_(&spins);
    if (volt_fifo_try_lock_(&list->lock, word)) return true;
  } while (volt_now_ns() < until_ns);
  return false;
}

unsigned volt_blocked_see_(volt_blocked_ *seen, unsigned most, uint64_t *cursor) {
  volt_blocked_list_ *list = volt_blocked_list_of_process_();
  uint64_t word;
  unsigned count = 0;
  if (!blocked_lock(list, &word)) { /* R2 */
    *cursor = VOLT_BLOCKED_BUSY_;
    return 0;
  }
  for (volt_blocked_slot_ *s = list->head; s && count < most; s = s->next) {
    if (s->id <= *cursor) continue;
    if (blocked_copy(s, &seen[count])) count += 1;
    *cursor = s->id;
  }
  volt_fifo_unlock_exact_(&list->lock, word);
  return count;
}

int32_t volt_blocked_tid_(uint32_t number) {
  volt_blocked_list_ *list = volt_blocked_list_of_process_();
  uint64_t word;
  unsigned tries = 0;
  while (!volt_fifo_try_lock_(&list->lock, &word)) {
    if (++tries == BLOCKED_TRIES) return 0;
    volt_cpu_relax_();
  }
  volt_blocked_slot_ *s = list->head;
  while (s && s->number != number) s = s->next;
  int32_t tid = s ? s->tid : 0;
  volt_fifo_unlock_exact_(&list->lock, word);
  return tid;
}
