/* mailbox.c: a list of nodes under a monitor (monitor.h).
 *
 * Algorithm: sequential inside the monitor. A send grants its node to the oldest receiver that
 * waits, or appends it to the list. A receive takes the first node, or waits. A grant carries the
 * node. If a future was granted a node that no poll has returned, its cancel puts the node back.
 *
 * Invariant I1, whenever the lock is free: a receiver is queued and not granted => no node is
 *   there.
 *
 * Races
 *   R1  Interleaving: a receiver finds no node; a sender finds no receiver, and appends its node;
 *       the receiver queues, and sleeps beside the node. Prevented by: each looks and acts without
 *       leaving the monitor in between.
 *   R2  Interleaving: a receiver gets the node, and frees it, its own memory, or the mailbox; the
 *       sender touches them afterwards. Prevented by: the sender links the node, or writes the
 *       receiver's pointer, inside the monitor; monitor.c completes a waiter after its own last
 *       access to the mailbox.
 *   R3  Interleaving: a future is granted a node, and is cancelled or loses a select before it is
 *       polled. Prevented by: the node goes to the next receiver that waits, else to the head of
 *       the list, because it was the oldest.
 *   R4  Interleaving: a mailbox is closed while nodes are in it, and they are lost. Prevented by: a
 *       receive looks for a node before it looks at CLOSED. While receivers wait there is no node
 *       (I1). */
#include <volt/mailbox.h>

#include "../core/future/future_ops.h"
#include "../core/park/spin.h"
#include "../core/wait/fifo.h"
#include "../core/wait/monitor.h"

void volt_mailbox_init(volt_mailbox *m) {
  volt_fifo_init_(&m->queue, 0);
  m->first = NULL;
  m->last = NULL;
  m->len = 0;
}

static volt_mailbox_node *mailbox_take_first(volt_mailbox *m) {
  volt_mailbox_node *node = m->first;
  if (!node) return NULL;
  m->first = node->next;
  if (!m->first) m->last = NULL;
  m->len -= 1;
  return node;
}

void volt_mailbox_destroy(volt_mailbox *m, void (*drop)(volt_mailbox_node *node, void *ctx),
                          void *ctx) {
  volt_unname_at_end_(m);
  volt_monitor_destroy_(&m->queue, VOLT_KIND_MAILBOX_);
  for (volt_mailbox_node *node; drop && (node = mailbox_take_first(m)) != NULL;) drop(node, ctx);
}

/* data: where a receiver wants its node. */
static volt_mailbox_node **mailbox_node_of(const volt_waiter *w) {
  return (volt_mailbox_node **)(void *)w->data;
}

/* Grant *node to the oldest receiver that waits. Returns false: no receiver waits. */
static bool mailbox_grant(volt_monitor_ *t, volt_mailbox_node *node) {
  volt_waiter *w = volt_monitor_oldest_(t);
  if (!w) return false;
  *mailbox_node_of(w) = node; /* R2 */
  volt_monitor_release_(t, w);
  return true;
}

int volt_mailbox_send(volt_mailbox *m, volt_mailbox_node *node) {
  volt_monitor_ t;
  volt_monitor_enter_(&t, &m->queue, VOLT_KIND_MAILBOX_);
  bool closed = volt_monitor_is_closed_(&t);
  if (!closed && !mailbox_grant(&t, node)) {
    node->next = NULL;
    if (m->last) {
      m->last->next = node;
    } else {
      m->first = node;
    }
    m->last = node;
    m->len += 1;
  }
  volt_monitor_exit_(&t); /* R2: the last access to *m and *node */
  return closed ? VOLT_ECLOSED : VOLT_OK;
}

/* Give a node back that was granted and not received (R3). */
static void mailbox_put_back(volt_mailbox *m, volt_mailbox_node *node) {
  volt_monitor_ t;
  volt_monitor_enter_(&t, &m->queue, VOLT_KIND_MAILBOX_);
  if (!mailbox_grant(&t, node)) {
    node->next = m->first;
    m->first = node;
    if (!m->last) m->last = node;
    m->len += 1;
  }
  volt_monitor_exit_(&t);
}

void volt_mailbox_close(volt_mailbox *m) {
  volt_monitor_ t;
  volt_monitor_enter_(&t, &m->queue, VOLT_KIND_MAILBOX_);
  volt_monitor_close_(&t);
  volt_monitor_exit_(&t);
}

/* Take the first node. Returns VOLT_OK, VOLT_ECLOSED (there is none, and none will come), or
 * VOLT_EAGAIN (there is none yet). */
static int mailbox_take(const volt_monitor_ *t, volt_mailbox *m, volt_mailbox_node **node) {
  volt_mailbox_node *first = mailbox_take_first(m); /* R4 */
  if (!first) return volt_monitor_is_closed_(t) ? VOLT_ECLOSED : VOLT_EAGAIN;
  *node = first;
  return VOLT_OK;
}

int volt_mailbox_try_recv(volt_mailbox *m, volt_mailbox_node **node) {
  volt_monitor_ t;
  volt_monitor_lock_(&t, &m->queue, VOLT_KIND_MAILBOX_);
  int result = mailbox_take(&t, m, node);
  volt_monitor_unlock_(&t);
  return result;
}

static int mailbox_recv(volt_mailbox *m, volt_waiter *w, volt_mailbox_node **node,
                        volt_waker waker) {
  volt_monitor_ t;
  volt_monitor_lock_(&t, &m->queue, VOLT_KIND_MAILBOX_);
  int result = mailbox_take(&t, m, node);
  if (result == VOLT_EAGAIN) {
    w->data = node;
    result = volt_monitor_append_(&t, w, waker); /* R1 */
  }
  volt_monitor_unlock_(&t);
  return result;
}

int volt_mailbox_recv_waiter(volt_mailbox *m, volt_waiter *w, volt_mailbox_node **node,
                             volt_waker waker) {
  volt_waiter_check_unused_(VOLT_KIND_MAILBOX_, w);
  return mailbox_recv(m, w, node, waker);
}

bool volt_mailbox_cancel(volt_mailbox *m, volt_waiter *w) {
  return volt_monitor_cancel_(&m->queue, VOLT_KIND_MAILBOX_, w);
}

/* ---- inspection ---- */

uint64_t volt_mailbox_len(const volt_mailbox *m) {
  volt_monitor_ t;
  volt_monitor_lock_(&t, volt_fifo_to_inspect_(&m->queue), VOLT_KIND_MAILBOX_);
  uint64_t len = m->len;
  volt_monitor_unlock_(&t);
  return len;
}

uint32_t volt_mailbox_waiters(const volt_mailbox *m) {
  return volt_fifo_count_(&m->queue);
}

bool volt_mailbox_is_closed(const volt_mailbox *m) {
  return volt_fifo_is_closed_(&m->queue);
}

/* ---- future ---- */

static volt_mailbox *mailbox_of(volt_future *f) {
  return volt_container_of(f->object, volt_mailbox, queue);
}

static int mailbox_start(volt_future *f, volt_waker waker) {
  return mailbox_recv(mailbox_of(f), &f->waiter, mailbox_node_of(&f->waiter), waker);
}

static void mailbox_give_back(volt_future *f) {
  mailbox_put_back(mailbox_of(f), *mailbox_node_of(&f->waiter));
}

static const volt_future_ops_ mailbox_ops = {.operation = "volt_mailbox_recv",
                                             .kind = VOLT_KIND_MAILBOX_,
                                             .start = mailbox_start,
                                             .cancel = volt_monitor_future_cancel_,
                                             .set_waker = volt_monitor_future_set_waker_,
                                             .give_back = mailbox_give_back,
                                             .due = volt_monitor_future_complete_counted_,
                                             .poll_ctx = volt_future_poll_leaf_any_,
                                             .describe = volt_monitor_future_describe_};

volt_future *volt_mailbox_recv_future(volt_future *f, volt_mailbox *m, volt_mailbox_node **node) {
  f->waiter.data = node;
  return volt_future_make_(f, &mailbox_ops, &m->queue, 0);
}

extern inline int volt_mailbox_recv(volt_mailbox *, volt_mailbox_node **);

int volt_mailbox_recv_until(volt_mailbox *m, volt_mailbox_node **node, uint64_t deadline_ns) {
  volt_check_blocks_("volt_mailbox_recv_until", deadline_ns);
  volt_future f;
  return volt_future_wait_until(volt_mailbox_recv_future(&f, m, node), deadline_ns);
}
