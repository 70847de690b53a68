/* fiber_switch_aarch64.h: fiber_switch.h for aarch64.
 *
 * br x16 may go to a `bti j`, as at the label, and to a `bti c`, with which volt_fiber_entry_()
 * begins. */
#ifndef VOLT_RT_FIBER_FIBER_SWITCH_AARCH64_H
#define VOLT_RT_FIBER_FIBER_SWITCH_AARCH64_H

#include "fiber_switch.h"

#if defined(__ARM_FEATURE_BTI_DEFAULT)
#define VOLT_SWITCH_LABEL_ "1:\n\thint #36\n\t" /* bti j */
#else
#define VOLT_SWITCH_LABEL_ "1:\n\t"
#endif

/* `from` and `to` are in x0 and x1, where a function that begins has its arguments, and where the
 * other side finds them behind its label. x30, the return address of the first function, is 0: there
 * a backtrace ends, and an exception too. A call preserves the lower halves of v8 to v15. */
#define VOLT_SWITCH_CLOBBERS_                                                                      \
  "x2", "x3", "x4", "x5", "x6", "x7", "x8", "x9", "x10", "x11", "x12", "x13", "x14", "x15", "x16", \
      "x17", "x18", "x30", "v0", "v1", "v2", "v3", "v4", "v5", "v6", "v7", "v8", "v9", "v10",      \
      "v11", "v12", "v13", "v14", "v15", "v16", "v17", "v18", "v19", "v20", "v21", "v22", "v23",   \
      "v24", "v25", "v26", "v27", "v28", "v29", "v30", "v31", "memory", "cc"

#define VOLT_SWITCH_SAVE_  \
  "adr x16, 1f\n\t"        \
  "mov x17, sp\n\t"        \
  "stp x16, x17, [%0]\n\t" \
  "stp x29, x19, [%0, #16]\n\t"

#define VOLT_SWITCH_GO_         \
  "ldp x16, x17, [%1]\n\t"      \
  "ldp x29, x19, [%1, #16]\n\t" \
  "mov sp, x17\n\t"             \
  "mov x30, xzr\n\t"            \
  "br x16\n" VOLT_SWITCH_LABEL_

static VOLT_INLINED_ void volt_switch_in_(volt_switch_outside_ *from_, volt_switch_ *to_) {
  register volt_switch_outside_ *from __asm__("x0") = from_;
  register volt_switch_ *to __asm__("x1") = to_;
  __asm__ volatile(VOLT_SWITCH_SAVE_
                   "stp x20, x21, [%0, #32]\n\t"
                   "stp x22, x23, [%0, #48]\n\t"
                   "stp x24, x25, [%0, #64]\n\t"
                   "stp x26, x27, [%0, #80]\n\t"
                   "str x28, [%0, #96]\n\t" VOLT_SWITCH_GO_
                   "ldp x20, x21, [%1, #32]\n\t" /* volt_switch_out_() has come to here */
                   "ldp x22, x23, [%1, #48]\n\t"
                   "ldp x24, x25, [%1, #64]\n\t"
                   "ldp x26, x27, [%1, #80]\n\t"
                   "ldr x28, [%1, #96]"
                   : "+r"(from), "+r"(to)
                   :
                   : VOLT_SWITCH_CLOBBERS_);
}

static VOLT_INLINED_ void volt_switch_out_(volt_switch_ *from_, volt_switch_outside_ *to_) {
  register volt_switch_ *from __asm__("x0") = from_;
  register volt_switch_outside_ *to __asm__("x1") = to_;
  __asm__ volatile(VOLT_SWITCH_SAVE_ VOLT_SWITCH_GO_
                   : "+r"(from), "+r"(to)
                   :
                   : "x20", "x21", "x22", "x23", "x24", "x25", "x26", "x27", "x28",
                     VOLT_SWITCH_CLOBBERS_);
}

/* fiber_stack.c: x19 is `at` during the call; DWARF's registers 19, 29 and 30 are x19, x29 and the
 * return address. The caller's sp (the CFA) is *(x19 + 8); the others are saved at x19 + 24, + 16
 * and + 0. */
#define VOLT_SWITCH_UNWINDS_                         \
  __asm__(                                           \
      ".text\n\t"                                    \
      ".p2align 4\n\t"                               \
      ".globl volt_fiber_stack_call_\n\t"            \
      ".hidden volt_fiber_stack_call_\n\t"           \
      ".type volt_fiber_stack_call_, %function\n"    \
      "volt_fiber_stack_call_:\n\t"                  \
      ".cfi_startproc\n\t"                           \
      "hint #34\n\t" /* bti c */                     \
      "stp x29, x30, [sp, #-32]!\n\t"                \
      ".cfi_def_cfa_offset 32\n\t"                   \
      ".cfi_offset x29, -32\n\t"                     \
      ".cfi_offset x30, -24\n\t"                     \
      "str x19, [sp, #16]\n\t"                       \
      ".cfi_offset x19, -16\n\t"                     \
      "mov x29, sp\n\t"                              \
      "mov x19, x0\n\t"                              \
      "mov x0, x2\n\t"                               \
      ".cfi_remember_state\n\t"                      \
      ".cfi_escape 0x0f, 0x03, 0x83, 0x08, 0x06\n\t" \
      ".cfi_escape 0x10, 0x1e, 0x02, 0x83, 0x00\n\t" \
      ".cfi_escape 0x10, 0x1d, 0x02, 0x83, 0x10\n\t" \
      ".cfi_escape 0x10, 0x13, 0x02, 0x83, 0x18\n\t" \
      "blr x1\n\t"                                   \
      ".cfi_restore_state\n\t"                       \
      "ldr x19, [sp, #16]\n\t"                       \
      ".cfi_restore x19\n\t"                         \
      "ldp x29, x30, [sp], #32\n\t"                  \
      ".cfi_restore x29\n\t"                         \
      ".cfi_restore x30\n\t"                         \
      ".cfi_def_cfa_offset 0\n\t"                    \
      "ret\n\t"                                      \
      ".cfi_endproc\n\t"                             \
      ".size volt_fiber_stack_call_, . - volt_fiber_stack_call_\n");

static inline void volt_switch_prepare_(volt_switch_ *inside, char *bottom, size_t bytes) {
  inside->at[0] = (void *)(uintptr_t)volt_fiber_entry_;
  inside->at[1] = (void *)(((uintptr_t)bottom + bytes) & ~(uintptr_t)15);
  inside->at[2] = NULL;
  inside->at[3] = NULL;
}

/* FPCR. */
static inline uint64_t volt_switch_control_(void) {
  uint64_t fpcr;
  __asm__ volatile("mrs %0, fpcr" : "=r"(fpcr));
  return fpcr;
}

/* chkfeat x16: clears the bit of what is on (0: the guarded control stack), and does nothing on a
 * processor that does not know it. */
static inline bool volt_switch_has_shadow_(void) {
  register uint64_t x16 __asm__("x16") = 1;
  __asm__ volatile("hint #40" : "+r"(x16));
  return x16 == 0;
}

#endif
