/* fiber_switch_x86_64.h: fiber_switch.h for x86-64, System V.
 *
 * Nothing is pushed, so a suspended fiber's frame is an ordinary frame of the function that has
 * switched, at the label, and its red zone is left alone. With -fcf-protection the label begins
 * with endbr64, as volt_fiber_entry_() does, whose address is taken. */
#ifndef VOLT_RT_FIBER_FIBER_SWITCH_X86_64_H
#define VOLT_RT_FIBER_FIBER_SWITCH_X86_64_H

#include "fiber_switch.h"

#if defined(__CET__) && (__CET__ & 1)
#define VOLT_SWITCH_LABEL_ "1:\n\tendbr64\n\t"
#else
#define VOLT_SWITCH_LABEL_ "1:\n\t"
#endif

#if defined(__AVX512F__)
#define VOLT_SWITCH_AVX512_                                                                     \
  , "xmm16", "xmm17", "xmm18", "xmm19", "xmm20", "xmm21", "xmm22", "xmm23", "xmm24", "xmm25",   \
      "xmm26", "xmm27", "xmm28", "xmm29", "xmm30", "xmm31", "k1", "k2", "k3", "k4", "k5", "k6", \
      "k7"
#else
#define VOLT_SWITCH_AVX512_
#endif

/* What a call does not preserve either. `from` and `to` are in rdi and rsi, where a function that
 * begins has its arguments, and where the other side finds them behind its label. */
#define VOLT_SWITCH_CLOBBERS_                                                                    \
  "rax", "rcx", "rdx", "r8", "r9", "r10", "r11", "xmm0", "xmm1", "xmm2", "xmm3", "xmm4", "xmm5", \
      "xmm6", "xmm7", "xmm8", "xmm9", "xmm10", "xmm11", "xmm12", "xmm13", "xmm14", "xmm15",      \
      "memory", "cc" VOLT_SWITCH_AVX512_

#define VOLT_SWITCH_SAVE_     \
  "leaq 1f(%%rip), %%rax\n\t" \
  "movq %%rax, (%0)\n\t"      \
  "movq %%rsp, 8(%0)\n\t"     \
  "movq %%rbp, 16(%0)\n\t"    \
  "movq %%rbx, 24(%0)\n\t"

#define VOLT_SWITCH_GO_    \
  "movq 24(%1), %%rbx\n\t" \
  "movq 16(%1), %%rbp\n\t" \
  "movq 8(%1), %%rsp\n\t"  \
  "jmp *(%1)\n" VOLT_SWITCH_LABEL_

static VOLT_INLINED_ void volt_switch_in_(volt_switch_outside_ *from, volt_switch_ *to) {
  __asm__ volatile(VOLT_SWITCH_SAVE_
                   "movq %%r12, 32(%0)\n\t"
                   "movq %%r13, 40(%0)\n\t"
                   "movq %%r14, 48(%0)\n\t"
                   "movq %%r15, 56(%0)\n\t" VOLT_SWITCH_GO_
                   "movq 32(%1), %%r12\n\t" /* volt_switch_out_() has come to here */
                   "movq 40(%1), %%r13\n\t"
                   "movq 48(%1), %%r14\n\t"
                   "movq 56(%1), %%r15"
                   : "+D"(from), "+S"(to)
                   :
                   : VOLT_SWITCH_CLOBBERS_);
}

static VOLT_INLINED_ void volt_switch_out_(volt_switch_ *from, volt_switch_outside_ *to) {
  __asm__ volatile(VOLT_SWITCH_SAVE_ VOLT_SWITCH_GO_
                   : "+D"(from), "+S"(to)
                   :
                   : "r12", "r13", "r14", "r15", VOLT_SWITCH_CLOBBERS_);
}

/* fiber_stack.c: rbx is `at` during the call; DWARF's registers 3, 6 and 16 are rbx, rbp and the
 * return address. The caller's rsp (the CFA) is *(rbx + 8); the others are saved at rbx + 24, + 16
 * and + 0. */
#define VOLT_SWITCH_UNWINDS_                           \
  __asm__(                                             \
      ".text\n\t"                                      \
      ".p2align 4\n\t"                                 \
      ".globl volt_fiber_stack_call_\n\t"              \
      ".hidden volt_fiber_stack_call_\n\t"             \
      ".type volt_fiber_stack_call_, @function\n"      \
      "volt_fiber_stack_call_:\n\t"                    \
      ".cfi_startproc\n\t"                             \
      ".byte 0xf3, 0x0f, 0x1e, 0xfa\n\t" /* endbr64 */ \
      "pushq %rbx\n\t"                                 \
      ".cfi_adjust_cfa_offset 8\n\t"                   \
      ".cfi_rel_offset rbx, 0\n\t"                     \
      "movq %rdi, %rbx\n\t"                            \
      "movq %rdx, %rdi\n\t"                            \
      ".cfi_remember_state\n\t"                        \
      ".cfi_escape 0x0f, 0x03, 0x73, 0x08, 0x06\n\t"   \
      ".cfi_escape 0x10, 0x10, 0x02, 0x73, 0x00\n\t"   \
      ".cfi_escape 0x10, 0x06, 0x02, 0x73, 0x10\n\t"   \
      ".cfi_escape 0x10, 0x03, 0x02, 0x73, 0x18\n\t"   \
      "call *%rsi\n\t"                                 \
      ".cfi_restore_state\n\t"                         \
      "popq %rbx\n\t"                                  \
      ".cfi_adjust_cfa_offset -8\n\t"                  \
      ".cfi_restore rbx\n\t"                           \
      "ret\n\t"                                        \
      ".cfi_endproc\n\t"                               \
      ".size volt_fiber_stack_call_, . - volt_fiber_stack_call_\n");

/* The return address of the first function is 0: there a backtrace ends, and an exception too. */
static inline void volt_switch_prepare_(volt_switch_ *inside, char *bottom, size_t bytes) {
  uintptr_t top = ((uintptr_t)bottom + bytes) & ~(uintptr_t)15;
  void **sp = (void **)top - 3; /* as after a call: 8 below a multiple of 16 */
  *sp = NULL;
  inside->at[0] = (void *)(uintptr_t)volt_fiber_entry_;
  inside->at[1] = sp;
  inside->at[2] = NULL;
  inside->at[3] = NULL;
}

/* MXCSR without its flags, and the control word of the x87. */
static inline uint64_t volt_switch_control_(void) {
  uint32_t mxcsr;
  uint16_t x87;
  __asm__ volatile("stmxcsr %0\n\tfnstcw %1" : "=m"(mxcsr), "=m"(x87));
  return (uint64_t)(mxcsr & 0xffc0u) << 16 | x87;
}

/* rdsspq, which does nothing where there are no shadow stacks. */
static inline bool volt_switch_has_shadow_(void) {
  uint64_t ssp = 0;
  __asm__ volatile(".byte 0xf3, 0x48, 0x0f, 0x1e, 0xc8" : "+a"(ssp));
  return ssp != 0;
}

#endif
