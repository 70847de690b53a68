/* detail/base.h: what the compilers spell in different ways. Not an interface. */
#ifndef VOLT_DETAIL_BASE_H
#define VOLT_DETAIL_BASE_H

#include <stddef.h>

#if !defined(__cplusplus) && (!defined(__STDC_VERSION__) || __STDC_VERSION__ < 201112L)
#error "volt needs C11: compile with -std=c11, -std=gnu11 or a later one"
#define VOLT_TOO_OLD_ /* and that is all there is to say */
#endif

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
#define VOLT_UNLIKELY(x) __builtin_expect(!!(x), 0)
#define VOLT_NODISCARD __attribute__((warn_unused_result))
#define VOLT_HIGHEST_BIT_(x) (63 - (unsigned)__builtin_clzll(x)) /* x: 64 bits, not 0 */
#define VOLT_UNUSED_OK_ __attribute__((unused))
#define VOLT_KEPT_ __attribute__((used)) /* although no code reads it */
#define VOLT_TLS_FROM_THE_BEGINNING_ __attribute__((tls_model("initial-exec")))
#define VOLT_IS_CONSTANT_(x) __builtin_constant_p(x)
#define VOLT_FORGET_(pointer) __asm__("" : "+r"(pointer)) /* no instruction: what it points to */
#define VOLT_FORGET_AGAIN_(pointer) __asm__ volatile("" : "+r"(pointer)) /* at each call of this */
#define VOLT_ASSUME_(x) ((x) ? (void)0 : __builtin_unreachable())
#define VOLT_ABI_TAG_(tag) __attribute__((__abi_tag__(tag))) /* C++: part of a symbol's name */
#define VOLT_MAY_ALIAS_ __attribute__((may_alias)) /* of a type: it reads members of any */
#if defined(__clang__) /* a function: ThreadSanitizer does not see what it reads */
#define VOLT_UNWATCHED_ __attribute__((noinline, no_sanitize("thread")))
#else
#define VOLT_UNWATCHED_ __attribute__((noinline, no_sanitize_thread))
#endif
/* As default arguments: where the call stands. */
#define VOLT_CALLERS_FILE_ __builtin_FILE()
#define VOLT_CALLERS_FUNCTION_ __builtin_FUNCTION()
#define VOLT_CALLERS_LINE_ __builtin_LINE()
#define VOLT_CALLERS_PLACE_ __builtin_source_location() /* where <source_location> is */
/* Of a function: called when its library is loaded, in the order of the places; when it is unloaded. */
#if defined(VOLT_MODEL)
#define VOLT_AT_LOAD_(place) VOLT_UNUSED_OK_
#define VOLT_AT_UNLOAD_ VOLT_UNUSED_OK_
#elif !defined(VOLT_AT_LOAD_) /* the simulation has neither */
#define VOLT_AT_LOAD_(place) __attribute__((__constructor__(place)))
#define VOLT_AT_UNLOAD_ __attribute__((__destructor__))
#endif
#else
#define VOLT_API
#define VOLT_NOINLINE
#define VOLT_INLINED_ inline
#define VOLT_NORETURN
#define VOLT_LIKELY(x) (!!(x))
static inline unsigned volt_highest_bit_(unsigned long long x) {
  unsigned bit = 0;
  while (x >>= 1) bit++;
  return bit;
}
#define VOLT_HIGHEST_BIT_(x) volt_highest_bit_(x)
#define VOLT_UNLIKELY(x) (!!(x))
#define VOLT_NODISCARD
#define VOLT_UNUSED_OK_
#define VOLT_KEPT_
#define VOLT_TLS_FROM_THE_BEGINNING_
#define VOLT_IS_CONSTANT_(x) 0
#define VOLT_FORGET_(pointer) ((void)0)
#define VOLT_FORGET_AGAIN_(pointer) ((void)0)
#define VOLT_ASSUME_(x) ((void)0)
#define VOLT_ABI_TAG_(tag)
#define VOLT_MAY_ALIAS_
#define VOLT_UNWATCHED_
#define VOLT_CALLERS_FILE_ ""
#define VOLT_CALLERS_FUNCTION_ ""
#define VOLT_CALLERS_LINE_ 0
#define VOLT_CALLERS_PLACE_ NULL
#define VOLT_AT_LOAD_(place) VOLT_UNUSED_OK_
#define VOLT_AT_UNLOAD_ VOLT_UNUSED_OK_
#endif

/* A function with an inline body in its header and, for callers that cannot inline it (other
 * languages, unoptimised builds), a symbol in the library. */
#define VOLT_INLINE VOLT_API inline

/* Whether the holders of objects are known: detail/holders.h. A program and the library are built
 * alike. The models are of builds without. */
#if defined(VOLT_MODEL)
#undef VOLT_SIGHT
#define VOLT_SIGHT 0
#elif !defined(VOLT_SIGHT)
#if defined(VOLT_DEBUG) && VOLT_DEBUG + 0
#define VOLT_SIGHT 1
#else
#define VOLT_SIGHT 0
#endif
#endif

/* Beside each type that programs embed: how large it is at most, and that malloc() can place it. */
#if defined(VOLT_MODEL) || defined(VOLT_TOO_OLD_) /* the model checker's types are larger */
#define VOLT_STATIC_ASSERT_(condition, text) struct volt_model_unused
#elif defined(__cplusplus)
#define VOLT_STATIC_ASSERT_(condition, text) static_assert((condition), text)
#define VOLT_ALIGNMENT_(type) alignof(type)
#else
#define VOLT_STATIC_ASSERT_(condition, text) _Static_assert((condition), text)
#define VOLT_ALIGNMENT_(type) _Alignof(type)
#endif
#if defined(VOLT_TOO_OLD_)
#define VOLT_SIZE_AT_MOST_(type, bytes) VOLT_STATIC_ASSERT_(true, "")
#elif VOLT_SIGHT /* there types are larger */
#define VOLT_SIZE_AT_MOST_(type, bytes)                                      \
  VOLT_STATIC_ASSERT_(VOLT_ALIGNMENT_(type) <= VOLT_ALIGNMENT_(max_align_t), \
                      #type " is over-aligned")
#else
#define VOLT_SIZE_AT_MOST_(type, bytes)                                          \
  VOLT_STATIC_ASSERT_(sizeof(type) <= (bytes), #type " is larger than " #bytes); \
  VOLT_STATIC_ASSERT_(VOLT_ALIGNMENT_(type) <= VOLT_ALIGNMENT_(max_align_t),     \
                      #type " is over-aligned")
#endif

#endif
