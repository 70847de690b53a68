#!/usr/bin/env bash
# standstill_test.sh STANDSTILL: every way to stand still is found, as docs/sight.md says: by a dump, by the
# watcher, and, in builds that know holders, by the graph of deadlocks.
set -u
export LC_ALL=C
standstill=$(realpath "$1")
# shellcheck source=apps/common/tests/checks.sh
. "$(dirname "${BASH_SOURCE[0]}")/../../common/tests/checks.sh"
scratch=$(mktemp -d)
program=
trap 'kill "$program" 2> /dev/null; rm -rf "$scratch"' EXIT
cd "$scratch" || exit 1

# begin WAY: run it, with its reports in the file err.
begin() {
  "$standstill" "$@" > out 2> err &
  program=$!
  until grep -q process out; do sleep 0.01; done
}

# said REGEX: until its reports say so, or 20 s have passed.
said() {
  local i
  for ((i = 0; i < 400; i++)); do
    grep -qE "$1" err && return 0
    sleep 0.05
  done
  sed 's/^/  /' err >&2
  return 1
}

# dumped REGEX: ask for dumps until one says so.
dumped() {
  local i
  for ((i = 0; i < 200; i++)); do
    kill -QUIT "$program"
    sleep 0.1
    grep -qE "$1" err && return 0
  done
  sed 's/^/  /' err >&2
  return 1
}

end() {
  kill -KILL "$program"
  wait "$program" 2> /dev/null
}

knows_holders() { nm "$standstill" | grep volt_sight_build_1 > /dev/null; }

begin deadlock
check "a deadlock: a dump says who waits for 'ledger', and where" \
  dumped "standstill.c:[0-9]+ transfer_poll: volt_mutex_lock of 'ledger' \(mutex 0x[0-9a-f]+: locked, 1 waits\)"
check "and who waits behind it" dumped "^3 tasks reader_poll wait"
if knows_holders; then
  check "the watcher reports it" said '^deadlock:$'
  check "with both tasks" said "task 0x[0-9a-f]+ transfer_poll waits for 'accounts' .*held by task 0x[0-9a-f]+ transfer_poll"
  check "and the order of the locks" said "'ledger' is locked .* while 'accounts' is held"
  check "a dump says who holds it" dumped 'held by task 0x[0-9a-f]+ transfer_poll'
else
  check "the watcher says what it does not know" said '^who holds a lock is known in builds with VOLT_SIGHT=1'
fi
end

begin leak
check "a leak: three tasks wait for permits, and none is free" \
  dumped "volt_sem_acquire 1 of 'pool' \(semaphore 0x[0-9a-f]+: 0 of 2 free, 3 wait\)"
end

begin futurelock
check "a futurelock: a dump says what both wait for" dumped "flush_poll: volt_mutex_lock of 'cache'"
check "both" dumped "keeper_poll: volt_mutex_lock of 'journal'"
if knows_holders; then
  check "the watcher reports it" said '^deadlock:$'
  check "with the grant that is not polled" said "'cache'.*keeper_poll"
fi
end

begin forgotten
check "a task that nothing can wake is reported" said 'NOTHING CAN WAKE IT'
end

begin computes
check "a task that computes is reported" said "computes_poll for [0-9]+ ms: .*standstill.c:[0-9]+ .*it computes"
check "and dumped" dumped "^A POLL DOES NOT END: 'standstill' worker [01]: runs 0x[0-9a-f]+ computes_poll"
end

begin blocks
check "a task that blocks is reported" said 'blocks_poll for [0-9]+ ms: .*it blocks in the kernel'
end

begin leak 1
wait "$program"
check "it ends by itself" [ $? -eq 0 ]
for wrong in '' nothing 'leak 0' 'leak x y z'; do
  # shellcheck disable=SC2086 # several arguments in one word
  "$standstill" $wrong > out 2> err
  check "wrong usage: $wrong" [ $? -eq 2 ]
done
[ $failures -eq 0 ] || echo "$failures checks failed"
[ $failures -eq 0 ]
