/* probe.h: static probes (USDT), for bpftrace, perf, SystemTap and gdb.
 *
 *   VOLT_PROBE3(steal, rt, w->index, count);
 *
 * A probe is one nop, and a note in the file, which is not loaded: it says where the nop is, and where
 * the arguments are then, in which register, or in memory behind one. A tracer puts a breakpoint
 * there; as long as none does, the nop is all that it costs. So an argument is something that is at
 * hand: a variable that is live there anyway, or a member behind one. What has to be computed is left
 * to the script. There is no probe where no thread waits and no lock is contended.
 *
 * The notes are those that <sys/sdt.h> of SystemTap would write. That header is not used because gcc
 * takes its assembly for some forty instructions, and inlines less; here `inline` says that it is
 * short, and no package is needed to build.
 *
 * docs/probes.md lists the probes and their arguments; tests/compile/probes.py compares. */
#ifndef VOLT_CORE_OS_PROBE_H
#define VOLT_CORE_OS_PROBE_H

#ifndef VOLT_PROBES /* 0: a build without them */
#if defined(__GNUC__) && defined(__ELF__) && defined(__LP64__) && !defined(__cplusplus) && \
    (defined(__x86_64__) || defined(__aarch64__))
#define VOLT_PROBES 1
#else
#define VOLT_PROBES 0
#endif
#endif

#if VOLT_PROBES

/* A note is: three lengths, "stapsdt", the address of the nop, that of a byte by which a tracer sees
 * whether the file was moved by prelink, 0 (no semaphore), the provider, the name, and the arguments
 * as size@place; the size of a signed one is negative. */
#define VOLT_PROBE_(name, places, ...)                                        \
  __asm__ __inline__ __volatile__(                                            \
      "990: nop\n"                                                            \
      ".pushsection .note.stapsdt,\"?\",\"note\"\n"                           \
      ".balign 4\n"                                                           \
      ".4byte 992f-991f, 994f-993f, 3\n"                                      \
      "991: .asciz \"stapsdt\"\n"                                             \
      "992: .balign 4\n"                                                      \
      "993: .8byte 990b, _.stapsdt.base, 0\n"                                 \
      ".asciz \"volt\"\n"                                                     \
      ".asciz \"" #name "\"\n"                                                \
      ".asciz \"" places "\"\n"                                               \
      "994: .balign 4\n"                                                      \
      ".popsection\n"                                                         \
      ".ifndef _.stapsdt.base\n"                                              \
      ".pushsection .stapsdt.base,\"aG\",\"progbits\",.stapsdt.base,comdat\n" \
      ".weak _.stapsdt.base\n"                                                \
      ".hidden _.stapsdt.base\n"                                              \
      "_.stapsdt.base: .space 1\n"                                            \
      ".size _.stapsdt.base, 1\n"                                             \
      ".popsection\n"                                                         \
      ".endif\n" ::__VA_ARGS__)

#ifdef __clang__ /* it would store to memory what is in a register */
#define VOLT_PROBE_WHERE_(x) "nr"(x)
#else
#define VOLT_PROBE_WHERE_(x) "nor"(x)
#endif

#define VOLT_PROBE_PLACE_(n) "%c[s" #n "]@%[a" #n "]"
#define VOLT_PROBE_SIZE_(x) (_Generic((x), int : -1, default : 1) * (int)sizeof(x))
#define VOLT_PROBE_ARG_(n, x) [s##n] "n"(VOLT_PROBE_SIZE_(x)), [a##n] VOLT_PROBE_WHERE_(x)

/* A member: in memory, and in no register. */
#define VOLT_PROBE_BEHIND_(n, x) [s##n] "n"(VOLT_PROBE_SIZE_(x)), [a##n] "m"(x)

#define VOLT_PROBE1(name, a) VOLT_PROBE_(name, VOLT_PROBE_PLACE_(1), VOLT_PROBE_ARG_(1, a))
#define VOLT_PROBE2(name, a, b)                                                           \
  VOLT_PROBE_(name, VOLT_PROBE_PLACE_(1) " " VOLT_PROBE_PLACE_(2), VOLT_PROBE_ARG_(1, a), \
              VOLT_PROBE_ARG_(2, b))
#define VOLT_PROBE3(name, a, b, c)                                                          \
  VOLT_PROBE_(name, VOLT_PROBE_PLACE_(1) " " VOLT_PROBE_PLACE_(2) " " VOLT_PROBE_PLACE_(3), \
              VOLT_PROBE_ARG_(1, a), VOLT_PROBE_ARG_(2, b), VOLT_PROBE_ARG_(3, c))
#define VOLT_PROBE4(name, a, b, c, d)                                              \
  VOLT_PROBE_(name,                                                                \
              VOLT_PROBE_PLACE_(1) " " VOLT_PROBE_PLACE_(2) " " VOLT_PROBE_PLACE_( \
                  3) " " VOLT_PROBE_PLACE_(4),                                     \
              VOLT_PROBE_ARG_(1, a), VOLT_PROBE_ARG_(2, b), VOLT_PROBE_ARG_(3, c), \
              VOLT_PROBE_ARG_(4, d))
#define VOLT_PROBE5(name, a, b, c, d, e)                                           \
  VOLT_PROBE_(name,                                                                \
              VOLT_PROBE_PLACE_(1) " " VOLT_PROBE_PLACE_(2) " " VOLT_PROBE_PLACE_( \
                  3) " " VOLT_PROBE_PLACE_(4) " " VOLT_PROBE_PLACE_(5),            \
              VOLT_PROBE_ARG_(1, a), VOLT_PROBE_ARG_(2, b), VOLT_PROBE_ARG_(3, c), \
              VOLT_PROBE_ARG_(4, d), VOLT_PROBE_ARG_(5, e))

/* A task, its function, and another member of it. */
#define VOLT_PROBE_TASK(name, t, member)                                                    \
  VOLT_PROBE_(name, VOLT_PROBE_PLACE_(1) " " VOLT_PROBE_PLACE_(2) " " VOLT_PROBE_PLACE_(3), \
              VOLT_PROBE_ARG_(1, t), VOLT_PROBE_BEHIND_(2, (t)->poll),                      \
              VOLT_PROBE_BEHIND_(3, (t)->member))

/* A task, the line of its await, and something else. */
#define VOLT_PROBE_AWAITS(name, t, last)                                                    \
  VOLT_PROBE_(name, VOLT_PROBE_PLACE_(1) " " VOLT_PROBE_PLACE_(2) " " VOLT_PROBE_PLACE_(3), \
              VOLT_PROBE_ARG_(1, t), VOLT_PROBE_BEHIND_(2, (t)->frame.step),                \
              VOLT_PROBE_ARG_(3, last))

/* Of a future that is a leaf: its object, w, result, and its operations. */
#define VOLT_PROBE_LEAF(name, f, w, result)                                        \
  VOLT_PROBE_(name,                                                                \
              VOLT_PROBE_PLACE_(1) " " VOLT_PROBE_PLACE_(2) " " VOLT_PROBE_PLACE_( \
                  3) " " VOLT_PROBE_PLACE_(4),                                     \
              VOLT_PROBE_BEHIND_(1, (f)->object), VOLT_PROBE_ARG_(2, w),           \
              VOLT_PROBE_ARG_(3, result), VOLT_PROBE_BEHIND_(4, (f)->ops))

/* Of a waiter: what it waits for, the waiter, the ctx of its waker, and last. The two members are
 * read from it, so that no register has to keep them. */
#define VOLT_PROBE_WAITER(name, w, last)                                           \
  VOLT_PROBE_(name,                                                                \
              VOLT_PROBE_PLACE_(1) " " VOLT_PROBE_PLACE_(2) " " VOLT_PROBE_PLACE_( \
                  3) " " VOLT_PROBE_PLACE_(4),                                     \
              VOLT_PROBE_BEHIND_(1, (w)->queue), VOLT_PROBE_ARG_(2, w),            \
              VOLT_PROBE_BEHIND_(3, (w)->ctx), last)

/* It was armed, and is linked, or was unlinked by its owner. */
#define VOLT_PROBE_ARMED(name, w) VOLT_PROBE_WAITER(name, w, VOLT_PROBE_BEHIND_(4, (w)->want))

/* It was claimed, and completes with state. */
#define VOLT_PROBE_CLAIMED(name, w, state) VOLT_PROBE_WAITER(name, w, VOLT_PROBE_ARG_(4, state))

#else

#define VOLT_PROBE_TASK(name, t, member) VOLT_PROBE1(name, t)
#define VOLT_PROBE_AWAITS(name, t, last) VOLT_PROBE2(name, t, last)
#define VOLT_PROBE_LEAF(name, f, w, result) VOLT_PROBE3(name, f, w, result)
#define VOLT_PROBE_ARMED(name, w) VOLT_PROBE1(name, w)
#define VOLT_PROBE_CLAIMED(name, w, state) VOLT_PROBE2(name, w, state)

/* The compiler looks at the arguments, and computes none. */
#define VOLT_PROBE1(name, a) ((void)sizeof(a))
#define VOLT_PROBE2(name, a, b) ((void)sizeof(a), VOLT_PROBE1(name, b))
#define VOLT_PROBE3(name, a, b, c) ((void)sizeof(a), VOLT_PROBE2(name, b, c))
#define VOLT_PROBE4(name, a, b, c, d) ((void)sizeof(a), VOLT_PROBE3(name, b, c, d))
#define VOLT_PROBE5(name, a, b, c, d, e) ((void)sizeof(a), VOLT_PROBE4(name, b, c, d, e))

#endif

#endif
