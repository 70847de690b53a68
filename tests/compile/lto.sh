#!/usr/bin/env bash
# A program that gcc optimises as one with the library (-flto) compiles without a warning, for each way
# to send and to receive an element of less than 8 bytes, and runs.
set -euo pipefail
cd "$(dirname "$0")/../.."
. tests/compile/objects.sh

command -v gcc > /dev/null || { echo "skipped: there is no gcc" && exit 77; }
ways=(
  'uint8_t|volt_chan_try_send(&c, &in)|volt_chan_try_recv(&c, &out)'
  'uint16_t|volt_chan_send_waiter(&c, &w, &in, nobody)|volt_chan_recv_waiter(&c, &w, &out, nobody)'
  'uint32_t|volt_chan_send_until(&c, &in, 0)|volt_chan_recv_until(&c, &out, 0)'
)
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
ran=0

# A channel whose elements are smaller than 8 bytes, in a program that is optimised as one with the
# library: the compiler sees how small TYPE is. One call of each, so that it inlines them.
cat > "$scratch/lto.c" << 'EOF'
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
EOF

compile() { # <option or file>...: messages are errors
  gcc -std=c11 -Wall -Wextra -Werror -Iinclude "$@" 2> "$scratch/log" && ! grep 'warning:' "$scratch/log" ||
    { cat "$scratch/log" >&2; exit 1; }
}

release_objects # what the program is not inlined with
cp "$objects"/*.o "$scratch"
rm "$scratch"/{channel,channel_future}.c.o
for level in -O2 -O3; do
  for source in channel channel_future; do
    compile "$level" -flto -c "src/sync/$source.c" -o "$scratch/$source.o"
  done
  for way in "${ways[@]}"; do
    IFS='|' read -r type send recv <<< "$way"
    compile "$level" -flto "-DTYPE=$type" "-DSEND=$send" "-DRECV=$recv" "$scratch/lto.c" \
      "$scratch"/*.o -pthread -o "$scratch/program"
    "$scratch/program"
    ran=$((ran + 1))
  done
done
echo "$ran programs"
