/* detail/base.h: what the compilers spell in different ways. Not an interface. */
#ifndef VOLT_DETAIL_BASE_H
#define VOLT_DETAIL_BASE_H

#include <stddef.h>

#ifdef __cplusplus
#define VOLT_BEGIN_DECLS extern "C" {
#define VOLT_END_DECLS }
#else
#define VOLT_BEGIN_DECLS
#define VOLT_END_DECLS
#endif

/* GNU extensions appear behind these macros only; without them the library is plain C11. */
#if defined(__GNUC__) || defined(__clang__)
#define VOLT_API __attribute__((visibility("default")))
#define VOLT_NOINLINE __attribute__((noinline))
#define VOLT_INLINED_ __attribute__((always_inline)) inline
#define VOLT_NORETURN __attribute__((noreturn))
#define VOLT_LIKELY(x) __builtin_expect(!!(x), 1)
#define VOLT_NODISCARD __attribute__((warn_unused_result))
#define VOLT_UNUSED_OK_ __attribute__((unused))
#define VOLT_IS_CONSTANT_(x) __builtin_constant_p(x)
#define VOLT_FORGET_(pointer) __asm__("" : "+r"(pointer)) /* no instruction: what it points to */
#else
#define VOLT_API
#define VOLT_NOINLINE
#define VOLT_INLINED_ inline
#define VOLT_NORETURN
#define VOLT_LIKELY(x) (!!(x))
#define VOLT_NODISCARD
#define VOLT_UNUSED_OK_
#define VOLT_IS_CONSTANT_(x) 0
#define VOLT_FORGET_(pointer) ((void)0)
#endif

/* A function with an inline body in its header and, for callers that cannot inline it (other
 * languages, unoptimised builds), a symbol in the library. */
#define VOLT_INLINE VOLT_API inline

/* Beside each type that programs embed: how large it is at most, and that malloc() can place it. */
#if defined(VOLT_MODEL) /* the model checker's types are larger */
#define VOLT_STATIC_ASSERT_(condition, text) struct volt_model_unused
#elif defined(__cplusplus)
#define VOLT_STATIC_ASSERT_(condition, text) static_assert((condition), text)
#define VOLT_ALIGNMENT_(type) alignof(type)
#else
#define VOLT_STATIC_ASSERT_(condition, text) _Static_assert((condition), text)
#define VOLT_ALIGNMENT_(type) _Alignof(type)
#endif
#define VOLT_SIZE_AT_MOST_(type, bytes)                                          \
  VOLT_STATIC_ASSERT_(sizeof(type) <= (bytes), #type " is larger than " #bytes); \
  VOLT_STATIC_ASSERT_(VOLT_ALIGNMENT_(type) <= VOLT_ALIGNMENT_(max_align_t),     \
                      #type " is over-aligned")

#endif
