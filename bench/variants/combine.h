/* combine.h: the combiner of variants/combining: the one thread that may touch the FIFO, for as
 * long as BUSY is set in the word. The protocol is in combine.c. */
#ifndef VOLT_VARIANTS_COMBINE_H
#define VOLT_VARIANTS_COMBINE_H

#include "combining.h"
#include "serve.h"

#define VOLT_COMBINING_DIRTY_(n) ((uint64_t)(n) << 40)
#define VOLT_COMBINING_DIRTY_OF_(word) ((word)&VOLT_COMBINING_DIRTY_(0xffffff))

#define VOLT_COMBINING_NAME_ "volt_combining_sem"

/* What only the combiner can do, and its answers. */
enum {
  VOLT_REQUEST_CANCEL_,
  VOLT_REQUEST_SET_WAKER_,
  VOLT_REQUEST_TAKE_, /* n permits that are for all */
  VOLT_REQUEST_WAITERS_,
  VOLT_REQUEST_PERMITS_
};
enum { VOLT_ANSWER_NO_, VOLT_ANSWER_YES_, VOLT_ANSWER_ASK_AGAIN_ };

/* On the stack of a thread that waits for the answer. */
typedef struct volt_request_ {
  volt_waiter node; /* first; on the inbox it is told from a waiter by need = 0 */
  VOLT_PLAIN(uint32_t) what;
  VOLT_PLAIN(uint32_t) n;           /* TAKE: how many */
  VOLT_PLAIN(volt_waiter *) waiter; /* CANCEL, SET_WAKER: whose */
  VOLT_PLAIN(volt_wake_fn) wake;    /* SET_WAKER */
  VOLT_PLAIN(void *) ctx;
  VOLT_PLAIN(struct volt_request_ *) older; /* of those that have an answer */
  VOLT_PLAIN(uint32_t) answer;
} volt_request_;

/* What a combiner has in hand. */
typedef struct volt_combiner_ {
  volt_combining_sem *sem;
  uint64_t word;    /* the newest seen, with BUSY */
  uint64_t looked;  /* its DIRTY when the inbox was looked at */
  uint32_t hand;    /* permits to give */
  uint32_t counted; /* of those, how many are in the word */
  uint32_t found;   /* how many were on the inbox */
  bool closed;
  volt_request_ *answered;
  volt_batch_ batch;
} volt_combiner_;

/* Become the combiner, if the word is still *word, which has no BUSY. Else false, and *word is what
 * it is. */
bool volt_combining_begin_(volt_combiner_ *t, volt_combining_sem *sem, uint64_t *word);

/* BUSY is set, by this thread: n more permits in hand. */
void volt_combiner_give_(volt_combiner_ *t, uint32_t n);

/* BUSY is set, by this thread: do all there is to do, end it, tell and wake. */
void volt_combiner_run_(volt_combiner_ *t);

/* Leave *w, prepared, to the combiner, or become it. From here on *w is a releaser's. */
void volt_combining_sem_submit_(volt_combining_sem *sem, volt_waiter *w);

/* What the combiner answers, or we as the combiner. */
uint32_t volt_combining_sem_ask_(volt_combining_sem *sem, volt_request_ *r);

#endif
