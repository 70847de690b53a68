#!/usr/bin/env bash
# What the macros of volt/async.h cannot do does not compile, and the compiler's message has the
# word that tells why; what they can do compiles without a warning, as C11 and as C++17.
set -euo pipefail
cd "$(dirname "$0")/../.."

warnings=(-Wall -Wextra -Wpedantic -Wconversion -Wshadow -Werror)
compiled=0
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT

compilers=()
for compiler in gcc:c:c11 clang:c:c11 g++:c++:c++17 clang++:c++:c++17; do
  if command -v "${compiler%%:*}" > /dev/null; then compilers+=("$compiler"); fi
done
((${#compilers[@]} > 0)) || exit 77

source_with() { # <parameter> <body>
  cat << END
#include <volt/volt.h>
struct run {
  volt_async async;
  volt_future first;
  volt_future second;
  volt_sem *sem;
  int result;
  int turn;
};
int run_poll(volt_async *a, volt_ctx *$1);
int run_poll(volt_async *a, volt_ctx *$1) {
  struct run *self = volt_container_of(a, struct run, async);
$2
}
END
}

compile() { # <compiler:language:standard> <level> <file>: messages in $scratch/messages
  local IFS=:
  local how=($1)
  compiled=$((compiled + 1))
  LC_ALL=C "${how[0]}" -x "${how[1]}" -std="${how[2]}" "${warnings[@]}" "$2" -Iinclude -c \
    -o "$scratch/object" "$3" 2> "$scratch/messages"
}

refused() { # <what> <telling words> <parameter> <body>
  source_with "$3" "$4" > "$scratch/refused"
  for compiler in "${compilers[@]}"; do
    if compile "$compiler" -O0 "$scratch/refused"; then
      echo "$compiler compiles $1" >&2
      exit 1
    fi
    grep -qE "error: .*($2)" "$scratch/messages" && continue
    echo "$compiler does not say '$2' of $1, but:" >&2
    cat "$scratch/messages" >&2
    exit 1
  done
}

accepted() { # <what> <body>
  source_with ctx "$2" > "$scratch/accepted"
  for compiler in "${compilers[@]}"; do
    for level in -O0 -O2; do
      compile "$compiler" "$level" "$scratch/accepted" && continue
      echo "$compiler $level does not compile $1:" >&2
      cat "$scratch/messages" >&2
      exit 1
    done
  done
}

first='volt_sem_acquire_future(&self->first, self->sem, 1)'
second='volt_sem_acquire_future(&self->second, self->sem, 1)'
await_first="  VOLT_AWAIT(self, $first);"
begin='  VOLT_ASYNC_BEGIN(self);'
end='  VOLT_ASYNC_END(self);'

accepted "one await" "$begin
$await_first
$end"
accepted "every macro" "  if (self->turn < 0) return VOLT_EINVAL;
$begin
  for (self->turn = 0; self->turn < 3; self->turn++) {
    $await_first
    if (self->turn == 1) {
      VOLT_AWAIT_RESULT(self, self->result, $second);
    } else {
      VOLT_YIELD(self);
    }
    if (self->result == VOLT_ECLOSED) VOLT_RETURN(self, VOLT_ECLOSED);
  }
  VOLT_FINALLY(self);
  VOLT_AWAIT(self, $second);
$end"
accepted "no await" "  (void)ctx;
$begin
  self->turn++;
$end"

refused "an await before BEGIN" volt_await_outside_of_BEGIN_and_END ctx "$await_first
$begin
$end"
refused "an await without BEGIN" volt_await_outside_of_BEGIN_and_END ctx "$await_first
  return 0;"
refused "a yield before BEGIN" volt_await_outside_of_BEGIN_and_END ctx "  VOLT_YIELD(self);
$begin
$end"
refused "two awaits on one line" 'duplicate case' ctx "$begin
  VOLT_AWAIT(self, $first); VOLT_AWAIT(self, $second);
$end"
refused "an await and a yield on one line" 'duplicate case' ctx "$begin
  VOLT_AWAIT(self, $first); VOLT_YIELD(self);
$end"
refused "two VOLT_FINALLY" 'duplicate case' ctx "$begin
  VOLT_FINALLY(self);
  VOLT_FINALLY(self);
$await_first
$end"
refused "a parameter that is not called ctx" "ctx" poller "  (void)poller;
$begin
$await_first
$end"
refused "a yield whose parameter is not called ctx" "ctx" poller "  (void)poller;
$begin
  VOLT_YIELD(self);
$end"

echo "$compiled compilations"
