/* token.c: a tree of flags, each with a FIFO of waiters.
 *
 * Algorithm: a token is a FIFO whose word has a flag, CANCELLED. The links of a tree are protected
 * by the lock of its root, which is the tree's lock.
 *   A cancel takes the tree's lock and walks through the token and its descendants. It locks each
 * of them, sets the flag, and releases the waiters (monitor.h). If there are waiters, it counts
 * itself in RETURNING and appends the token to a list of its own. Then it unlocks the tree, goes
 * through the list, and completes the waiters of each token, with nothing held.
 *   A token that ends before its children links them to its parent. If it is the root, each child
 * becomes a root.
 *   A thread that holds a lock waits for another one in this order only: the root's, that of a
 * child that becomes a root, that of one token below it.
 *
 * Invariants, whenever the tree's lock is free
 *   I1  If a token is cancelled, so are all its descendants.
 *   I2  Each token is linked below its parent, from its init to its destroy.
 *   I3  The flag is set once, and never cleared.
 *   I4  t->root is the token whose lock is the tree's. A thread that writes it holds three locks:
 *       of the old tree, of the new one, and of the token itself. Any of them suffices to read it.
 *
 * Races
 *   R1  Interleaving: a child is made while its parent is being cancelled; it is not cancelled.
 *       Prevented by: both happen under the tree's lock. Either the child is linked before, and the
 *       cancel finds it. Or it is made later, and finds the flag set.
 *   R2  Interleaving: a child is destroyed and freed; the cancel of its parent takes its lock, to
 *       complete its waiters. Prevented by: RETURNING counts that cancel. destroy() takes the token
 *       out of the tree, so that no other cancel finds it, and then waits for RETURNING to be zero.
 *       A cancel reads the next token of its list before it decrements RETURNING.
 *   R3  Interleaving: a token and its ancestor are cancelled by two threads; a waiter is completed
 *       twice, or never. Prevented by: the thread that sets a token's flag completes its waiters. A
 *       thread that finds the flag set skips the token and its descendants (I1).
 *   R4  Interleaving: a waiter is queued while the token is being cancelled, and is never woken.
 *       Prevented by: both happen under the token's lock. Either the waiter is linked before, and
 *       is completed. Or it finds the flag set.
 *   R5  Interleaving: a token is cancelled; one of its waiters is cancelled, or another one is
 *       queued, before the waiters are completed. Prevented by: monitor.c R1, and monitor.c R3.
 *   R6  Interleaving: a thread reads which token is the root; the root ends, and is freed; the
 *       thread locks it. Prevented by: the thread holds its own token's lock meanwhile, so the root
 *       cannot end (I4). It must not wait for the root's lock while it holds its own. So it tries
 *       to take it; if that fails, it unlocks its own, and begins again.
 *   R7  Interleaving: the end of an old root walks through the tokens below a new root; a thread
 *       that knows the new root takes its lock, and changes links there. Prevented by: the new
 *       root's lock is held until all tokens below it know it. */
#include <volt/token.h>

#include "../core/future/future_ops.h"
#include "../core/os/check.h"
#include "../core/park/spin.h"
#include "../core/wait/fifo.h"
#include "../core/wait/monitor.h"

#define CANCELLED VOLT_WORD_ONE_ /* the flag */

extern inline bool volt_token_is_cancelled(const volt_token *);
extern inline int volt_token_wait(volt_token *);

/* Lock the tree of *t. R6: while the lock of *t is held, its root is alive. */
static void token_lock_tree(volt_monitor_ *tree, volt_token *t) {
  for (unsigned spins = 0;;) {
    volt_monitor_lock_(tree, &t->queue, VOLT_KIND_TOKEN_);
    volt_token *root = t->root;
    if (!root) return;
    uint64_t own = tree->word;
    tree->queue = &root->queue;
    bool locked = volt_fifo_try_lock_(&root->queue, &tree->word);
    volt_fifo_unlock_(&t->queue, own);
    if (locked) return;
    volt_pause_(&spins);
  }
}

/* ---- links: the tree's lock is held ---- */

static void token_link(volt_token *t, volt_token *parent) {
  t->parent = parent;
  t->prev = NULL;
  t->next = parent->child;
  if (t->next) t->next->prev = t;
  parent->child = t;
}

static void token_unlink(volt_token *t) {
  if (t->next) t->next->prev = t->prev;
  if (t->prev) {
    t->prev->next = t->next;
  } else {
    t->parent->child = t->next;
  }
}

/* The next of the tokens below top, parents first, but for those below t. */
static volt_token *token_next_beside(volt_token *t, const volt_token *top) {
  while (t != top && !t->next) t = t->parent;
  return t == top ? NULL : (volt_token *)t->next;
}

/* The next of the tokens below top, parents first. */
static volt_token *token_next(volt_token *t, const volt_token *top) {
  return t->child ? (volt_token *)t->child : token_next_beside(t, top);
}

/* Make *top, which is unlinked, the root of its descendants. */
static void token_make_root(volt_token *top) {
  uint64_t top_word;
  volt_fifo_lock_(&top->queue, &top_word); /* R7 */
  for (volt_token *at = token_next(top, top); at; at = token_next(at, top)) {
    uint64_t word;
    volt_fifo_lock_(&at->queue, &word); /* I4 */
    at->root = top;
    volt_fifo_unlock_(&at->queue, word);
  }
  top->root = NULL;
  top->parent = NULL;
  top->next = NULL;
  top->prev = NULL;
  volt_fifo_unlock_(&top->queue, top_word);
}

/* ---- life ---- */

static void token_init(volt_token *t, uint32_t value, volt_token *root) {
  volt_fifo_init_(&t->queue, value);
  t->root = root;
  t->parent = NULL;
  t->child = NULL;
  t->next = NULL;
  t->prev = NULL;
  t->next_cancelled = NULL;
}

void volt_token_init(volt_token *t) {
  token_init(t, 0, NULL);
}

/* A token that is linked twice would make a walk through the tree endless. This finds it if it is
 * one of so many youngest children. */
enum { COMPARED = VOLT_DEBUG ? 64 : 1 };

static void token_check_new(const volt_token *t, const volt_token *parent) {
  const volt_token *at = parent->child;
  for (unsigned i = 1; i < COMPARED && at && at != t; i++) at = at->next;
  VOLT_CHECK(at != t && parent != t, volt_kind_api_(VOLT_KIND_TOKEN_),
             "%p: made a child of %p, and it is that already", (const void *)t,
             (const void *)parent);
}

void volt_token_init_child(volt_token *t, volt_token *parent) {
  volt_monitor_ tree;
  token_lock_tree(&tree, parent);
  token_check_new(t, parent);
  uint64_t word = volt_load_relaxed(&parent->queue.word); /* R1: written under the tree's lock */
  token_init(t, VOLT_WORD_VALUE_(word), volt_container_of(tree.queue, volt_token, queue));
  token_link(t, parent);
  volt_monitor_unlock_(&tree);
}

void volt_token_destroy(volt_token *t) {
  volt_unname_at_end_(t);
  volt_monitor_ tree;
  token_lock_tree(&tree, t);
  while (t->child) {
    volt_token *child = t->child;
    token_unlink(child);
    if (t->parent) {
      token_link(child, t->parent);
    } else {
      token_make_root(child);
    }
  }
  if (t->parent) token_unlink(t);
  volt_monitor_unlock_(&tree);
  volt_monitor_destroy_(&t->queue, VOLT_KIND_TOKEN_); /* R2 */
}

/* ---- cancel ---- */

/* Tokens whose waiters must be completed, in order. */
typedef struct token_list {
  volt_token *first;
  volt_token *last;
} token_list;

/* The locks of the tree and of *t, which is *m, are held: cancel *t alone. Returns false if it was
 * cancelled before. */
static bool token_cancel_one(volt_token *t, volt_monitor_ *m, token_list *list) {
  if (m->word & CANCELLED) return false; /* R3 */
  m->word |= CANCELLED;
  if (!t->queue.head) return true;
  volt_monitor_release_all_(m);
  m->word += VOLT_WORD_RETURNING_; /* R2 */
  volt_fifo_check_returning_(m->word);
  t->next_cancelled = NULL;
  if (list->last) {
    list->last->next_cancelled = t;
  } else {
    list->first = t;
  }
  list->last = t;
  return true;
}

/* The same; the tree's lock is held, that of *t is not, unless it is the same one. */
static bool token_cancel_in(volt_monitor_ *tree, volt_token *t, token_list *list) {
  if (&t->queue == tree->queue) return token_cancel_one(t, tree, list);
  volt_monitor_ m = {.queue = &t->queue, .released = NULL, .kind = VOLT_KIND_TOKEN_};
  volt_fifo_lock_(&t->queue, &m.word);
  bool cancelled = token_cancel_one(t, &m, list);
  volt_fifo_unlock_(&t->queue, m.word); /* no waker is called under the tree's lock */
  return cancelled;
}

/* Nothing is held. Complete the waiters of a token that was cancelled. */
static void token_complete(volt_token *t) {
  volt_monitor_ m = {.queue = &t->queue, .released = NULL, .kind = VOLT_KIND_TOKEN_};
  volt_fifo_lock_(&t->queue, &m.word);
  m.word -= VOLT_WORD_RETURNING_; /* R2 */
  volt_monitor_exit_(&m);
}

void volt_token_cancel(volt_token *t) {
  volt_monitor_ tree;
  token_list list = {.first = NULL, .last = NULL};
  token_lock_tree(&tree, t); /* if the root has released waiters, all tokens are cancelled: I1 */
  for (volt_token *at = t; at;) {
    bool cancelled = token_cancel_in(&tree, at, &list);
    at = cancelled ? token_next(at, t) : token_next_beside(at, t); /* R3 */
  }
  volt_monitor_unlock_(&tree);
  for (volt_token *at = list.first; at;) {
    volt_token *next = at->next_cancelled; /* R2 */
    token_complete(at);
    at = next;
  }
}

/* ---- wait ---- */

int volt_token_wait_waiter(volt_token *t, volt_waiter *w, volt_waker waker) {
  volt_waiter_check_unused_(VOLT_KIND_TOKEN_, w);
  if (volt_token_is_cancelled(t)) return VOLT_OK;
  volt_monitor_ m;
  volt_monitor_lock_(&m, &t->queue, VOLT_KIND_TOKEN_);
  int result = m.word & CANCELLED ? (int)VOLT_OK : volt_monitor_append_(&m, w, waker); /* R4 */
  volt_monitor_unlock_(&m);
  return result;
}

bool volt_token_cancel_wait(volt_token *t, volt_waiter *w) {
  return volt_monitor_cancel_(&t->queue, VOLT_KIND_TOKEN_, w);
}

uint32_t volt_token_waiters(const volt_token *t) {
  return volt_fifo_count_(&t->queue);
}

/* ---- future ---- */

static int token_start(volt_future *f, volt_waker waker) {
  return volt_token_wait_waiter((volt_token *)f->object, &f->waiter, waker);
}

static bool token_due(volt_future *f) {
  return volt_token_is_cancelled((volt_token *)f->object) && volt_monitor_future_complete_(f);
}

static const volt_future_ops_ token_ops = {.operation = "volt_token",
                                           .kind = VOLT_KIND_TOKEN_,
                                           .start = token_start,
                                           .cancel = volt_monitor_future_cancel_,
                                           .set_waker = volt_monitor_future_set_waker_,
                                           .give_back = volt_future_took_nothing_,
                                           .due = token_due,
                                           .poll_ctx = volt_future_poll_leaf_any_,
                                           .describe = volt_monitor_future_describe_};

volt_future *volt_token_wait_future(volt_future *f, volt_token *t) {
  return volt_future_make_(f, &token_ops, &t->queue, 0);
}

static VOLT_NOINLINE int token_block(volt_token *t, uint64_t deadline_ns) {
  volt_future f;
  return volt_future_wait_until(volt_token_wait_future(&f, t), deadline_ns);
}

int volt_token_wait_until(volt_token *t, uint64_t deadline_ns) {
  volt_check_blocks_("volt_token_wait_until", deadline_ns);
  return volt_token_is_cancelled(t) ? (int)VOLT_OK : token_block(t, deadline_ns);
}
