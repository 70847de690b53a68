#!/usr/bin/env bash
# volt/coro.hpp: what it refuses does not compile, and the message has the words that say why; what it
# allows compiles without a warning, also without exceptions. It has no atomic operation of its own. A
# frame is as large as is said here. Children need no stack at any level of optimisation.
# In the quick form one compiler refuses, one compiles without exceptions, and of the levels of optimisation
# none and -O2 are tried.
set -euo pipefail
cd "$(dirname "$0")/../.."
. tests/compile/whole.sh
. tests/compile/objects.sh
. tests/compile/verdicts.sh

warnings=(-Wall -Wextra -Wpedantic -Wconversion -Wshadow -Werror)
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT

compilers=()
for compiler in g++ clang++; do
  if command -v "$compiler" > /dev/null; then compilers+=("$compiler"); fi
done
((${#compilers[@]} > 0)) || exit 77
some=("${compilers[0]}") levels=(-O0 -O2)
if whole; then some=("${compilers[@]}") levels=(-O0 -Og -O1 -O2 -O3 -Os); fi

fail() {
  echo "coro.sh: $*" >&2
  exit 1
}

# ---- no atomic of its own: nothing concurrent is added, so there is no model of it ----

if grep -nE 'atomic|volt_(load|store|exchange|cas|fetch)_|__sync|thread_local' include/volt/coro.hpp \
  include/volt/cpp/coro_*.hpp include/volt/cpp/{branch,deadline,select,blocking}.hpp; then
  fail "coroutines have an atomic operation of their own"
fi

# ---- what does not compile, and what does ----

prelude='#include <volt/coro.hpp>
using namespace std::chrono_literals;'

body() { # <declarations> <body of a coroutine>
  cat << END
$1
volt::task<int> run(volt::mutex &m, volt::semaphore &pool, volt_rt *rt);
volt::task<int> run(volt::mutex &m, volt::semaphore &pool, volt_rt *rt) {
  (void)m, (void)pool, (void)rt;
$2
  co_return 0;
}
END
}

child='volt::task<int> child(int n); volt::task<int> child(int n) { co_return n; }'

accepted "every await" "$child" '
  auto guard = co_await m.lock();
  auto permit = co_await volt::within(pool.acquire(2), 5ms);
  int n = co_await child(1);
  auto r = co_await volt::as_result(child(n));
  auto first = co_await volt::select(pool.acquire(), child(2), volt::sleep_for(1s));
  auto [a, b] = co_await volt::all(child(3), pool.acquire());
  auto handle = volt::spawn(rt, child, 4);
  n += co_await handle + a + *r + static_cast<int>(first.index() + b.count());
  n += co_await volt::finally(child(n), [] () -> volt::task<> { co_await volt::yield(); }());
  n += co_await volt::blocking(rt, [&] { return n; });
  n += co_await volt::invoke([&](volt::kept, int k) -> volt::task<int> { co_return n + k; }, 1);
  co_return n;'
accepted "results without exceptions" "$child" '
  auto r = co_await volt::as_result(volt::within(pool.acquire(), 5ms));
  auto guard = co_await volt::as_result(m.lock());
  auto y = co_await volt::yield();
  auto both = co_await volt::as_result(volt::all(volt::as_result(pool.acquire()), child(1)));
  auto handle = volt::spawn(rt, child, 4);
  auto joined = co_await volt::as_result(handle.join());
  co_return co_await child(r && guard && y && both && joined ? *joined : 0);' -fno-exceptions
accepted "a lambda without captures" "$child" '
  auto lambda = [](int n) -> volt::task<int> { co_return n; };
  co_return co_await lambda(1);'
accepted "a class of functions, and a callable by value" \
  'struct object { int n = 1; volt::task<int> operator()() { co_return n; } };
   template <class F> volt::task<int> calls(F f) { co_return f(); }' '
  object o;
  int n = 2;
  co_return co_await o() + co_await calls([&] { return n; });'

passes=("$child"'
volt::task<int> passes_on(int n); volt::task<int> passes_on(int n) { return child(n); }
volt::task<int> moves_on(volt::task<int> t); volt::task<int> moves_on(volt::task<int> t) { return t; }
struct object { volt::task<int> get() { return child(1); } };' '
  object o;
  auto lambda = [](int k) { return child(k); };
  auto f = [&pool](volt::kept) -> volt::task<int> { auto p = co_await pool.acquire(); co_return 1; };
  co_await volt::with_group(rt, [](volt::task_group &) -> volt::task<> { co_return; });
  co_return co_await passes_on(1) + co_await moves_on(child(2)) + co_await o.get() + co_await lambda(3) +
    co_await volt::invoke(std::move(f)) + co_await volt::finally(child(4), volt::task<>());')
accepted "functions that pass a task on" "${passes[@]}"

refused "a lambda with captures" 'pass the lambda to volt::invoke' "" '
  int n = 1;
  auto lambda = [n]() -> volt::task<int> { co_return n; };
  co_return co_await lambda();'
refused "a generic lambda with captures" 'pass the lambda to volt::invoke' "" '
  int n = 1;
  auto lambda = [&](auto k) -> volt::task<int> { co_return n + k; };
  co_return co_await lambda(1);'
refused "a volt::kept of its own" 'private|calling a private constructor' "" '
  volt::kept mine;
  (void)mine;'
refused "an await of a task that stays" 'deleted' "$child" '
  auto t = child(1);
  co_return co_await t;'
refused "a task that is dropped" 'nodiscard|unused' "$child" '
  child(1);'
refused "an operation that is dropped" 'nodiscard|unused' "" '
  pool.acquire();'
refused "a copy of a task" 'deleted|implicitly' "$child" '
  auto t = child(1);
  auto copy = t;
  (void)copy;'
refused "a deadline of another clock" 'no match' "" '
  (void)co_await volt::until(pool.acquire(), std::chrono::system_clock::now());'
refused "an operation without exceptions and without as_result" 'co_await volt::as_result' "" '
  (void)co_await pool.acquire();' -fno-exceptions
refused "what is not of volt" 'no match|no viable' "" '
  co_await std::suspend_always();'

for compiler in "${some[@]}"; do judge refused "$compiler" c++20 all; done
for compiler in "${compilers[@]}"; do judge accepted "$compiler" c++20 plain; done
by=("${compilers[-1]}")
if whole; then by=("${compilers[@]}"); fi
for compiler in "${by[@]}"; do judge accepted "$compiler" c++20 options; done

# ---- other versions of the compilers ----

# Each that is installed compiles the header, and functions of programs that pass a task on; in the quick form as
# C++23 alone, because the two above compile them as C++20.
{ echo "$prelude" && body "${passes[@]}"; } > "$scratch/passes.cpp"
standards=(c++2b)
if whole; then standards=(c++20 c++2b); fi
mapfile -t versions < <(compgen -c | grep -xE '(g|clang)\+\+-[0-9]+' | sort -u)
for compiler in "${versions[@]}"; do
  if [[ ${compiler##*-} -lt 11 ]]; then continue; fi
  for standard in "${standards[@]}"; do
    LC_ALL=C "$compiler" -std=$standard "${warnings[@]}" -Iinclude -fsyntax-only "$scratch/passes.cpp" ||
      fail "$compiler -std=$standard does not compile volt/coro.hpp"
    compiled=$((compiled + 1))
  done
done

# ---- frames ----

release_objects

# Of gcc 12 and clang 14, at -O2. An await costs its operation, once or twice, and no slot.
declare -A pinned=(
  [g++-12]="empty 72 lock_1 120 lock_4 216 sleep_1 144 sleep_4 336 within_1 200 within_4 536 child_1 104 child_4 176"
  [clang++-14]="empty 64 lock_1 96 lock_4 120 sleep_1 120 sleep_4 192 within_1 176 within_4 320 child_1 88 child_4 88"
)
for compiler in "${compilers[@]}"; do
  # clang would put them onto the stack of main()
  "$compiler" -std=c++20 -O2 -fno-inline-functions -Iinclude -o "$scratch/frames" \
    tests/compile/coro_frames.cpp "$objects"/*.o -pthread -Wl,-z,muldefs # its own volt_rt_alloc_()
  sizes=$("$scratch/frames" | tr '\n' ' ')
  compiled=$((compiled + 1))
  read -ra all <<< "$sizes"
  declare -A bytes=()
  for ((i = 0; i < ${#all[@]}; i += 2)); do bytes[${all[i]}]=${all[i + 1]}; done
  for kind in lock sleep within child; do
    each=$(((bytes[${kind}_4] - bytes[${kind}_1]) / 3))
    ((each <= 128)) || fail "$compiler: each co_await of $kind adds $each bytes to a frame: $sizes"
  done
  version=$compiler-$("$compiler" -dumpversion | cut -d. -f1)
  [[ -v pinned[$version] ]] || continue
  for pin in ${pinned[$version]}; do
    case $pin in
      [a-z]*) name=$pin ;;
      *) ((bytes[$name] == pin)) ||
        fail "$version: the frame of $name has ${bytes[$name]} bytes, not $pin: $sizes" ;;
    esac
  done
done

# ---- captures, and the stack ----

for compiler in "${compilers[@]}"; do
  for level in "${levels[@]}"; do
    "$compiler" -std=c++20 "$level" "${warnings[@]}" -Iinclude -o "$scratch/runs" tests/compile/coro_runs.cpp \
      "$objects"/*.o -pthread
    (ulimit -s 256 && "$scratch/runs") || fail "$compiler $level: captures are not destroyed once, or children need stack"
    compiled=$((compiled + 1))
  done
done

echo "$cases cases, $compiled compilations"
