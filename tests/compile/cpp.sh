#!/usr/bin/env bash
# The headers of C++ have no atomic operation of their own; programs of several files that include them
# link, and run, under every compiler there is: as C++17, C++20 and C++23, with and without exceptions
# and RTTI, optimised and not; and two files of one program may be of two standards. The quick form has
# two programs of each compiler, which together have each of these once.
set -euo pipefail
cd "$(dirname "$0")/../.."
. tests/compile/whole.sh
. tests/compile/objects.sh

scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
mapfile -t warnings < tests/compile/warnings.txt

# ---- atomics ----

atomics() { # <file>...: the lines in which one is spelled
  grep -nHE '\batomic|memory_order|__sync_|volatile|volt_(load|store|cas|fetch)_' "$@" |
    grep -vE '^[^:]*:[0-9]+: ?(/\*| \*|//)' || true
}

echo 'std::atomic<int> count;' > "$scratch/broken.hpp"
[[ -n $(atomics "$scratch/broken.hpp") ]] || { echo 'the check does not see an atomic' >&2; exit 1; }
found=$(atomics include/volt/*.hpp include/volt/cpp/*.hpp)
if [[ -n $found ]]; then
  printf '%s\nThe headers of C++ leave atomics to the library\n' "$found" >&2
  exit 1
fi

# ---- programs ----

command -v cc > /dev/null || exit 77
release_objects

# What all standards and all builds have: volt::result, and waits that throw nothing.
cat > "$scratch/one.cpp" << 'END'
#include <volt/std.hpp>
#include <volt/volt.hpp>

long one(volt::channel<int, 4> &numbers);

volt::mutex lock_of_both;
volt::as_std::mutex lock_of_std;
static volt::batch_lock batches;

long one(volt::channel<int, 4> &numbers) {
  auto guard = lock_of_both.lock().result();
  for (int i = 1; i < 4; i++) {
    if (!numbers.send(i).result_for(std::chrono::seconds(1))) return -1;
  }
  numbers.close();
  std::lock_guard std_guard(lock_of_std);
  return batches.run([]() noexcept { return 100L; });
}
END
cat > "$scratch/two.cpp" << 'END'
#include <thread>
#include <volt/std.hpp>
#include <volt/volt.hpp>

long one(volt::channel<int, 4> &numbers);
extern volt::mutex lock_of_both;
extern volt::as_std::mutex lock_of_std;

struct letter : volt::mailbox_node {};

/* What waits without a result, in a fiber that is cancelled: ends with an exception, or waits on. */
template <class Object, class Wait, class Let>
static bool is_cancelled(volt::runtime &rt, Object &object, Wait wait, Let let) {
  auto f = volt::fiber<int>::make(rt, [&] {
    wait();
    return 1;
  });
  while (object.waiters() == 0) std::this_thread::yield();
  f->cancel();
  if (!VOLT_CPP_THROWS_) let();
  auto r = f->join().result();
  return VOLT_CPP_THROWS_ ? r.code() == VOLT_ECANCELED : r && *r == 1;
}

static bool std_is_cancelled(volt::runtime &rt) {
  volt::binary_semaphore flag(0);
  volt::latch opened(1);
  volt::std_barrier<> both(2);
  return is_cancelled(rt, flag, [&] { flag.acquire(); }, [&] { flag.release(); }) &&
         is_cancelled(rt, opened, [&] { opened.wait(); }, [&] { opened.count_down(); }) &&
         is_cancelled(rt, both, [&] { both.arrive_and_wait(); }, [&] { both.arrive_and_drop(); });
}

int main() {
  volt::channel<int, 4> numbers;
  long sum = one(numbers);
  if (!lock_of_both.try_lock()) return 1;
  if (!std::unique_lock<volt::as_std::mutex>(lock_of_std, std::try_to_lock)) return 5;
  for (;;) {
    auto n = numbers.recv().result();
    if (!n) break;
    sum += *n;
  }
  auto rt = volt::runtime::make();
  if (!rt) return 2;
  auto f = volt::fiber<int>::make(*rt, [] { return 7; });
  if (f) sum += *f->join().result();
  volt::mailbox<letter> letters;
  letters.send(std::make_unique<letter>());
  volt::watch<int> watched(1);
  if (volt::watcher<int>(watched).next().result().code() != VOLT_OK) return 3;
  if (!std_is_cancelled(*rt)) return 6;
  return sum == 113 ? 0 : 4;
}
END

programs=0
object() { # <compiler> <name> <option>...
  "$1" "${warnings[@]}" "${@:3}" -Iinclude -c "$scratch/$2.cpp" -o "$scratch/$2.o"
}

program() { # <compiler>: of the two objects
  "$1" "$scratch/one.o" "$scratch/two.o" "$objects"/*.o -pthread -o "$scratch/program"
  "$scratch/program" || { echo "the program of $1 ends with $?" >&2; exit 1; }
  programs=$((programs + 1))
}

for cxx in g++ clang++; do
  command -v "$cxx" > /dev/null || continue
  ways=('-std=c++17 -O2 -fno-exceptions -fno-rtti')
  if [[ $cxx == clang++ ]]; then ways=('-std=c++20 -O0 -fno-exceptions'); fi
  if whole; then
    ways=('-std=c++17 -O0' '-std=c++20 -O2' '-std=c++2b -O2' '-std=c++17 -O2 -fno-rtti'
      '-std=c++17 -O2 -fno-exceptions -fno-rtti' '-std=c++20 -O0 -fno-exceptions')
  fi
  for options in "${ways[@]}"; do
    read -ra how <<< "$options"
    object "$cxx" one "${how[@]}"
    object "$cxx" two "${how[@]}"
    program "$cxx"
  done
  object "$cxx" one -std=c++17 -O2
  object "$cxx" two -std=c++2b -O0
  program "$cxx"
done

echo "no atomics; $programs programs"
((programs > 0)) || exit 77
