/* A channel whose elements are smaller than 8 bytes, in a program that is optimised as one with the
 * library: the compiler sees how small TYPE is. One call of each, so that it inlines them. */
#include <volt/volt.h>

int main(void) {
  static uint64_t memory[64];
  volt_chan c;
  volt_waiter w = VOLT_WAITER_INIT;
  const volt_waker nobody = {NULL, NULL};
  TYPE in = 3, out = 0;
  (void)w, (void)nobody;
  if (volt_chan_init(&c, 4, sizeof in, memory, sizeof memory) != VOLT_OK) return 1;
  if (SEND != VOLT_OK || RECV != VOLT_OK) return 2;
  volt_chan_destroy(&c, NULL, NULL);
  return out == in ? 0 : 3;
}
