/* ignore.h: for a call that is to abort, or that is made for what it leaves behind: its result says
 * nothing. (gcc does not take a cast to void for that where a result must be looked at.) */
#ifndef VOLT_TEST_IGNORE_H
#define VOLT_TEST_IGNORE_H

static inline void ignore_result(int result) {
  (void)result;
}

#endif
