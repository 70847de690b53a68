#!/usr/bin/env bash
# What the classes of volt/volt.hpp and volt/io.hpp refuse does not compile, and the compiler's message
# has the words that say why; what they allow compiles without a warning. In the quick form one compiler
# refuses, because what it refuses is the same for all; what is allowed is so under each.
set -euo pipefail
cd "$(dirname "$0")/../.."
. tests/compile/whole.sh
. tests/compile/verdicts.sh

warnings=(-Wall -Wextra -Wpedantic -Wconversion -Wshadow -Werror)
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT

compilers=()
for compiler in g++:c++17 clang++:c++20; do
  if command -v "${compiler%%:*}" > /dev/null; then compilers+=("$compiler"); fi
done
((${#compilers[@]} > 0)) || exit 77
refusing=("${compilers[0]}")
if whole; then refusing=("${compilers[@]}"); fi

prelude='#include <chrono>
#include <mutex>
#include <string>
#include <volt/io.hpp>
#include <volt/std.hpp>
using namespace std::chrono_literals;
using std::chrono::steady_clock;
using std::chrono::system_clock;
struct open_file { open_file(const open_file &); int number; };'

body() { # <statements>
  cat << END
void use(volt::mutex &m, volt::semaphore &pool, volt::runtime &rt, volt::fd &fd, char *to);
void use(volt::mutex &m, volt::semaphore &pool, volt::runtime &rt, volt::fd &fd, char *to) {
  (void)m, (void)pool, (void)rt, (void)fd, (void)to;
$1
}
END
}

accepted 'each way to wait' '
  auto a = m.lock().wait();
  auto b = pool.acquire().wait_for(50ms);
  auto c = pool.acquire(2).wait_until(steady_clock::now() + 1.5s);
  auto d = volt::as_result(m.lock()).wait();
  auto e = fd.recv(to, 5).result_for(1h);
  volt::lock guard(m);
  volt::permits permit(pool, 3);'
accepted 'what may be sent' '
  volt::channel<int, 4> numbers;
  volt::channel<std::unique_ptr<std::string>> texts(4);
  numbers.send(5).wait();
  texts.send(std::make_unique<std::string>("text")).wait();'
accepted 'locks of std' '
  volt::std_mutex a;
  volt::std_timed_mutex b;
  volt::std_shared_mutex c;
  std::scoped_lock all(a, b, c);
  long n = 3;
  volt::latch done{n};
  volt::as_std::barrier both{n, []() noexcept {}};
  volt::counting_semaphore permits{n};'

# ---- values that must not be dropped ----

ignored="ignoring return|unused-result|nodiscard"
refused 'an operation that is not waited for' "$ignored" '  m.lock();'
for sight in 0 1; do
  refused "a lock that is only an operation, VOLT_SIGHT=$sight" 'unused-variable' \
    '  auto guard = m.lock();' "-DVOLT_SIGHT=$sight"
  refused "permits that are only an operation, VOLT_SIGHT=$sight" 'unused-variable' \
    '  auto p = pool.acquire();' "-DVOLT_SIGHT=$sight"
done
refused 'an operation of others that is stored' 'unused-variable' \
  '  auto both = volt::all(m.lock(), volt::within(pool.acquire(), 1s));'
refused 'an operation of I/O that is stored' 'unused-variable' '  auto n = fd.recv(to, 5);'
refused 'a semaphore that is locked with others' 'permits_of' '  (void)volt::lock_all(m, pool).wait();'
refused 'a guard that is an operation' 'conversion|no viable' '  volt::lock guard = m.lock();'
refused 'an operation of I/O that is not waited for' "$ignored" '  fd.recv(to, 5);'
refused 'a guard that is dropped at once' "$ignored" '  m.lock().wait();'
refused 'permits that are dropped at once' "$ignored" '  pool.acquire().wait();'
refused 'a guard without a name' "$ignored|unused|temporary" '  volt::lock{m};'
refused 'a result that is not looked at' "$ignored" '  m.lock().result();'
refused 'a try that is not looked at' "$ignored" '  m.try_lock();'
refused 'a mutex that is given up by accident' "$ignored" '  volt::lock guard(m); guard.release();'
refused 'a fiber that is cancelled at once' "$ignored|unused|temporary" '  volt::fiber<>(rt, [] {});'

# ---- clocks ----

refused 'a deadline of the system clock' 'no matching' \
  '  (void)m.lock().wait_until(system_clock::now());'
refused 'a deadline of the system clock, with a result' 'no matching' \
  '  (void)m.lock().result_until(system_clock::now());'
refused 'a deadline that is a number' 'no matching' '  (void)m.lock().wait_until(1000);'
refused 'a duration that is a number' 'no matching' '  (void)m.lock().wait_for(50);'
refused 'a sleep until a time of the system clock' 'no matching' \
  '  volt::sleep_until(system_clock::now()).wait();'

# ---- copies ----

copied='use of deleted|call to (implicitly-)?deleted|deleted'
refused 'a copy of a mutex' "$copied" '  volt::mutex other(m);'
refused 'a move of a mutex' "$copied" '  volt::mutex other(std::move(m));'
refused 'a copy of a guard' "$copied" '  volt::lock a(m); volt::lock b(a);'
refused 'a copy of permits' "$copied" '  volt::permits a(pool); volt::permits b = a;'
refused 'a copy of a descriptor' "$copied" '  volt::fd other(fd);'
refused 'a copy of a runtime' "$copied" '  volt::runtime other(rt);'
refused 'a token that looks like a copy' "$copied" '  volt::token a; volt::token b(a);'

# ---- locks of std ----

refused 'std::lock_guard on a volt::mutex' "no member named .unlock|has no member named .unlock" \
  '  std::lock_guard<volt::mutex> guard(m);'
refused 'an unlock by hand' "no member named .unlock|has no member named .unlock" '  m.unlock();'

refused 'a try of std that is not looked at' "$ignored" '  volt::std_mutex it; it.try_lock();'
refused 'a semaphore of more than there can be' 'at most VOLT_SEM_MAX' \
  '  volt::counting_semaphore<PTRDIFF_MAX> it(1);'
refused 'a completion function that may throw' 'is noexcept' \
  '  volt::as_std::barrier it(2, [] {});'
refused 'a number as a semaphore' 'conversion|no viable' '  volt::binary_semaphore it = 1;'

# ---- what is sent ----

refused 'a string through a channel' 'send a unique_ptr' '  volt::channel<std::string, 4> texts;'
refused 'a type that copies itself through a channel' 'send a unique_ptr' \
  '  volt::channel<open_file, 4> files;'
refused 'a unique_ptr whose deleter has a state' 'must have no state' \
  '  volt::channel<std::unique_ptr<int, void (*)(int *)>, 4> objects;'
refused 'a copy of a unique_ptr' 'no matching|deleted' \
  '  volt::channel<std::unique_ptr<int>, 4> c; const std::unique_ptr<int> p; c.send(p).wait();'
refused 'a channel without a capacity' 'no matching' '  volt::channel<int> numbers;'
refused 'a string in a watch' 'a watch copies its value as bytes' \
  '  volt::watch<std::string> text(std::string("text"));'
refused 'a string in a broadcast' 'a broadcast copies its values as bytes' \
  '  volt::broadcast<std::string, 4> texts;'
refused 'a mailbox of what has no node' 'is derived from volt::mailbox_node' \
  '  volt::mailbox<open_file> files;'

# ---- results ----

refused 'a try of what cannot be tried' 'cannot be tried' '  (void)fd.recv(to, 5).result_now();'
refused 'a result as a value' 'cannot convert|no viable|could not convert|conversion from' \
  '  volt::lock guard = m.lock().result();'
refused 'as_result of a value' 'takes an operation|no type named' '  (void)volt::as_result(5);'
refused 'a wait that throws, without exceptions' "no member named .wait" '  (void)m.lock().wait();' \
  -fno-exceptions
refused 'a guard that waits, without exceptions' 'no matching' '  volt::lock guard(m);' -fno-exceptions
refused 'a receive into what is not written' 'no matching' \
  '  const std::string text; (void)fd.recv(text).wait();'

for compiler in "${refusing[@]}"; do judge refused "${compiler%%:*}" "${compiler##*:}" all; done
for compiler in "${compilers[@]}"; do judge accepted "${compiler%%:*}" "${compiler##*:}" all; done
echo "$cases cases in $compiled compilations"
