/* mail.h: operations that threads leave for the worker that has submitted them, because that worker
 * alone can end them early. A stack: any thread leaves, the home takes all. It allocates nothing,
 * because an operation is left once at most (volt_op.mail).
 *
 * Races
 *   R1  Interleaving: the home finds no mail and sleeps; a thread leaves some. Prevented by: the
 *       thread leaves it, and then calls volt_rt_mail_left_(), which does an RMW on the idle word
 *       (idle:K2) before it looks for the home's bit. The home sets its bit (idle:D4, an RMW), and
 *       then asks whether there is mail. One of the two RMWs is first.
 *   R2  Interleaving: a thread reads the top, A; the home takes all, ends A, and A is used and left
 *       again; the thread's CAS finds A on top once more. Harmless: a thread that leaves links its
 *       own operation to A, and reads nothing of A. Whatever is below A then belongs there.
 *
 * Labels: mail */
#ifndef VOLT_IO_BACKEND_MAIL_H
#define VOLT_IO_BACKEND_MAIL_H

#include <volt/io.h>

typedef struct volt_mail_ {
  VOLT_ATOMIC(volt_op *) top;
} volt_mail_;

static inline void volt_mail_init_(volt_mail_ *m) {
  volt_store_relaxed(&m->top, NULL); /* not shared yet */
}

/* Leave op. volt_rt_mail_left_() has to follow (R1). */
static inline void volt_mail_leave_(volt_mail_ *m, volt_op *op) {
  volt_op *top = volt_load_relaxed(&m->top); /* a guess: the CAS decides */
  do {
    op->mail = top;
    /* mail:L1 -> mail:T1: the home sees op, and what this thread did to it */
  } while (!volt_cas_weak_release(&m->top, &top, op));
}

/* Whether there is any. R1 says when the answer is certain. */
static inline bool volt_mail_has_any_(volt_mail_ *m) {
  return volt_load_relaxed(&m->top) != NULL; /* relaxed: ordered by idle:K2 and idle:D4 */
}

/* Take all. Returns the one that was left last; volt_op.mail leads to the others. The home
 * alone. */
static inline volt_op *volt_mail_take_(volt_mail_ *m) {
  if (!volt_mail_has_any_(m)) return NULL;
  /* mail:T1 <- mail:L1: sees each operation, and what its thread did to it */
  return volt_exchange_acquire(&m->top, NULL);
}

#endif
