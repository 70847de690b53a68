/* combine.h: the combiner of combining.h: the one thread that may touch the FIFO while BUSY is set
 * in the word. The protocol is in combine.c.
 *
 * Labels: combine */
#ifndef VOLT_VARIANTS_COMBINE_H
#define VOLT_VARIANTS_COMBINE_H

#include "combining.h"
#include "serve.h"

#define VOLT_COMBINING_DIRTY_(n) ((uint64_t)(n) << 40)
#define VOLT_COMBINING_DIRTY_OF_(word) ((word)&VOLT_COMBINING_DIRTY_(0xffffff))

#define VOLT_COMBINING_NAME_ "volt_combining_sem"

/* What only the combiner can do, and what it answers. */
enum {
  VOLT_REQUEST_CANCEL_,
  VOLT_REQUEST_SET_WAKER_,
  VOLT_REQUEST_TAKE_, /* n free permits */
  VOLT_REQUEST_WAITERS_,
  VOLT_REQUEST_PERMITS_
};
enum { VOLT_ANSWER_NO_, VOLT_ANSWER_YES_, VOLT_ANSWER_ASK_AGAIN_ };

/* It is on the stack of the thread that waits for the answer. */
typedef struct volt_request_ {
  volt_waiter node; /* first; on the inbox, need = 0 says that it is no waiter */
  VOLT_PLAIN(uint32_t) what;
  VOLT_PLAIN(uint32_t) n;           /* TAKE: how many */
  VOLT_PLAIN(volt_waiter *) waiter; /* CANCEL, SET_WAKER: whose */
  VOLT_PLAIN(volt_wake_fn) wake;    /* SET_WAKER */
  VOLT_PLAIN(void *) ctx;
  VOLT_PLAIN(struct volt_request_ *) older; /* the request that was answered before this one */
  VOLT_PLAIN(uint32_t) answer;
} volt_request_;

/* What a combiner works on. */
typedef struct volt_combiner_ {
  volt_combining_sem *sem;
  uint64_t word;    /* the newest that was seen, with BUSY */
  uint64_t looked;  /* its DIRTY when the inbox was last emptied */
  uint32_t hand;    /* permits to give */
  uint32_t counted; /* how many of them are in the word */
  uint32_t found;   /* how many nodes were on the inbox */
  bool closed;
  volt_request_ *answered;
  volt_batch_ batch;
} volt_combiner_;

/* Become the combiner, if the word is still *word, which has no BUSY. Returns false if it has
 * changed, and in *word what it is now. */
bool volt_combining_begin_(volt_combiner_ *t, volt_combining_sem *sem, uint64_t *word);

/* This thread is the combiner: it has n more permits to give. */
void volt_combiner_give_(volt_combiner_ *t, uint32_t n);

/* This thread is the combiner: do all there is to do, clear BUSY, grant and wake. */
void volt_combiner_run_(volt_combiner_ *t);

/* Leave *w, which is prepared, to the combiner, or become it. From here *w may be claimed. */
void volt_combining_sem_submit_(volt_combining_sem *sem, volt_waiter *w);

/* Ask the combiner, or answer as the combiner. Returns the answer. */
uint32_t volt_combining_sem_ask_(volt_combining_sem *sem, volt_request_ *r);

#endif
