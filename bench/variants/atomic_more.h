/* atomic_more.h: the atomic operations that only the variants use, in the form of
 * volt/detail/atomic.h. */
#ifndef VOLT_VARIANTS_ATOMIC_MORE_H
#define VOLT_VARIANTS_ATOMIC_MORE_H

#include <volt/detail/atomic.h>

#if !defined(VOLT_MODEL) /* model_atomic.hpp brings its own */

#define volt_fetch_or_release(p, v) \
  VOLT_ATOMIC_FN_(atomic_fetch_or_explicit)(VOLT_AT_(p), (v), VOLT_ORDER_(release))
#define volt_store_seq_cst(p, v) \
  VOLT_ATOMIC_FN_(atomic_store_explicit)(VOLT_AT_(p), (v), VOLT_ORDER_(seq_cst))
#define volt_cas_seq_cst(p, seen, want) VOLT_CAS_(strong, p, seen, want, seq_cst)

#endif
#endif
