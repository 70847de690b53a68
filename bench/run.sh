# shellcheck shell=bash
## bench [--full] [--save] measure volt beside its peers: results/report.html (--help: more)
## bench all --save       write every page of bench/results again: ./x results says which are older than their sources
## bench figures          measure every figure again that docs/ quotes
## bench bcs [--save] [OPT...] batched critical sections alone, in full, with plots
## bench budget [MS]      several things at once: what becomes of a request for all of them, beside std::scoped_lock and the way of
##                        WaitForMultipleObjects; eight threads that contend, beside a semaphore
## bench bypass [--save] [--before COMMIT] [OPT...] locks whose oldest waiter may be passed:
##                        throughput and waits against k; --before: beside those of that commit
## bench io [--save] [OPT...] servers beside raw epoll, raw io_uring, libuv, Tokio, Asio, Go, libevent,
##                        HAProxy, nginx and lighttpd: echo, relay, HTTP, files, cancel storms
## bench tls [--save] [OPT...] servers by TLS beside OpenSSL on raw epoll, tokio-rustls, Go, stunnel and nginx: echo,
##                        handshakes full and resumed, HTTPS
## bench gate [--save] [OPT...] voltgate in front of PostgreSQL, beside PostgreSQL alone, HAProxy and
##                        PgBouncer: pgbench, CPU, memory of those that queue
## bench ways [--save] [OPT...] tasks, fibers and coroutines beside other libraries' (--save: as
##                        bench/results/ways.md)
## bench queue [OPT...]   the operations of the FIFO beside those of bench/variants/
## bench ring [ROUNDS]    one io_uring for many threads: batched critical sections against a mutex
## bench spins [ROUNDS]   how long a thread spins before it queues: throughput and the longest wait
## bench sight [--save] [--before COMMIT] [OPT...] what dumps, counts, watchers and owners cost, each
##                        beside its bar; --before: and the library beside that of that commit
## bench watched [ROUNDS] what it costs programs of Debian to be run by volt-run: docs/volt-run.md
## bench permits [N [RUNS]] a permit that goes from a process to one that waits, beside a bare round trip by a unix
##                        socket; voltgate run true beside true
## bench unpark [OPT...]  waking many threads: futex calls against one io_uring_enter
cmd_bench() {
  case ${1:-} in
    all | bcs | budget | bypass | figures | gate | io | permits | queue | ring | sight | spins | tls | unpark | watched | ways)
      "bench_$1" "${@:2}"
      return
      ;;
    [!-]*) wrong "there is no ./x bench $1" ;;
  esac
  local save=0 full=0 whole=1 programs into=results/bench page=results/report.html
  local options=() run=()
  while (($#)); do
    case $1 in
      --save) save=1 ;;
      --full) full=1 options+=("$1") ;;
      --quick) options+=("$1") ;;
      -h | --help | --list) # runs nothing
        help_by bench/compare "${options[@]}" "$@"
        return
        ;;
      *) whole=0 options+=("$1") ;;
    esac
    shift
  done
  if ((save && !(full && whole))); then wrong '--save keeps whole runs: ./x bench --full --save'; fi
  if has_command python3; then compare "${options[@]}" --list > /dev/null; fi # knows its options
  need @bench
  build bench
  programs=$(build_dir bench)/bench
  mkdir -p results
  if ((whole)); then bench_beside "$programs"; else into=results/part page=results/part.html; fi
  if ((save)); then run+=(--command './x bench --full --save'); fi
  add_programs "$programs"
  compare "${run[@]}" --json "$into.json" --page "$page" \
    --markdown "$into.md" "${options[@]}" | tee "$into.txt"
  echo "the page is $page"
  if ((save)); then keep "$into.md" benchmarks.md; fi
}

# A page becomes one of bench/results, and says of which sources it is.
keep() { # <page> <name>
  cp "$1" "bench/results/$2"
  python tools/results stamp "$2"
}

# Every page, one after the other.
bench_all() {
  local minutes command total
  [[ $* == --save ]] || wrong 'it is ./x bench all --save'
  total=$(python tools/results commands | awk '{ s += $1 } END { print s }')
  echo "x: about $total minutes; nothing else should run here" >&2
  while read -r minutes command; do
    echo "x: $command: about $minutes minutes" >&2
    # shellcheck disable=SC2086 # several words
    $command < /dev/null
  done < <(python tools/results commands)
}

# The runner of ./x bench.
compare() {
  python bench/compare "$@"
}

# What is in a whole run beside the rows. Appends to run how bench/compare is told.
bench_beside() { # <directory of the programs>
  run+=(--bcs "$1/bench-bcs") # a few cells; all of them: ./x bench bcs
  echo 'x: counting instructions' >&2
  rm -f results/instructions.json
  count_instructions "$1" > results/instructions.txt || true # what it counts is there all the same
  if [[ -e results/instructions.json ]]; then
    run+=(--instructions results/instructions.json)
  else
    echo 'x: instructions cannot be counted here' >&2
  fi
}

add_programs() { # <directory of the programs>
  run+=(--program tasks "$1/bench-tasks" --program threads "$1/bench-threads")
  add_peer glibc threads bench-threads-glibc @build
  add_peer nsync threads bench-threads-nsync libnsync-dev
  add_peer ck threads bench-threads-ck libck-dev
  add_peer absl threads bench-threads-absl libabsl-dev
  add_peer tbb threads bench-threads-tbb libtbb-dev
  add_peer moodycamel threads bench-threads-moodycamel libconcurrentqueue-dev
  add_peer rust rust bench-rust @rust
  add_peer go go bench-go @go
  add_peer boost boost bench-boost libboost-fiber-dev
  add_peer pth green bench-pth libpth-dev
  add_peer st green bench-st libst-dev
  add_peer asio coro bench-asio libasio-dev
}

# A peer is not a need: without it the rest runs, and says why.
add_peer() { # <name> <directory in bench/peers> <program> <package>...
  local into
  into=$(build_dir bench)/peers/$2
  if ! (need_all "${@:4}"); then
    run+=(--left-out "$1" "it cannot be installed: $(packages_of "${@:4}" | tr '\n' ' ')")
  elif ! "bench/peers/$2/build.sh" "$into" "$1" >&2; then
    run+=(--left-out "$1" 'it cannot be built')
  else
    run+=(--program "$1" "$into/$3")
  fi
}

bench_figures() {
  at_most 0 "$@"
  cmd_bench --full --save
  bench_bcs --save
  bench_bypass --save
  bench_io --save
  bench_ways --save
  bench_ring
  bench_spins
  bench_unpark
}

bench_ways() {
  need @bench
  build bench
  local programs save=0 run=()
  programs=$(build_dir bench)/bench
  if [[ ${1:-} == --save ]]; then save=1 && shift && run+=(--command './x bench ways --save'); fi
  mkdir -p results
  add_programs "$programs"
  compare "${run[@]}" --json results/ways.json --markdown results/ways.md --only '^ways/' "$@" |
    tee results/ways.txt
  if ((save)); then keep results/ways.md ways.md; fi
}

# The arguments of what may be measured beside another commit: save, before, and the rest as options.
beside_commit() { # <name> [argument]...
  local name=$1
  command="./x bench $name"
  shift
  while (($#)); do
    case $1 in
      -h | --help | --list)
        [[ $1 != --list || $name == sight ]] || wrong "$command has no --list"
        help_by "bench/compare/$name.py" "$1"
        exit
        ;;
      --save) save=1 ;;
      --before)
        before=$(git rev-parse --short --verify --quiet "${2:-}^{commit}") ||
          wrong "there is no commit ${2:-}"
        command+=" --before $before"
        shift
        ;;
      *) options+=("$1") ;;
    esac
    shift
  done
  if ((save && ${#options[@]})); then wrong "--save keeps whole runs: ./x bench $name --save"; fi
}

# The programs of this tree, and those of that commit.
add_both() { # <directory of the programs>
  run+=(--program tasks "$1/bench-tasks" --program threads "$1/bench-threads")
  if [[ -n $before ]]; then
    build_commit "$before"
    run+=(--program before-tasks "build/commits/$before/build/bench/bench/bench-tasks")
    run+=(--program before-threads "build/commits/$before/build/bench/bench/bench-threads")
  fi
}

bench_sight() {
  local save=0 before='' command programs run options=()
  beside_commit sight "$@"
  need @run python3
  build bench bench-tasks bench-threads bench-sight bench-locks bench-locks-sight bench-deadlocks
  programs=$(build_dir bench)/bench
  mkdir -p results
  run=(--program locks "$programs/bench-locks" --program locks-sight "$programs/bench-locks-sight"
    --program deadlocks "$programs/bench-deadlocks" --program sight "$programs/bench-sight")
  add_both "$programs"
  python bench/compare/sight.py "${run[@]}" --command "$command --save" \
    --json results/sight.json --markdown results/sight.md "${options[@]}" | tee results/sight.txt
  if ((save)); then keep results/sight.md sight.md; fi
}

bench_queue() {
  need @run python3
  build bench
  local programs
  programs=$(build_dir bench)/bench
  compare --program tasks "$programs/bench-tasks" --program threads \
    "$programs/bench-threads" --only '^queue/' "$@"
}

bench_bcs() {
  need @run python3 libnsync-dev +gnuplot-nox
  build bench bench-bcs
  local save=0
  if [[ ${1:-} == --save ]]; then save=1 && shift; fi
  mkdir -p results
  python bench/compare/bcs.py --program "$(build_dir bench)/bench/bench-bcs" \
    --command './x bench bcs --save' --json results/bcs.json --markdown results/bcs.md \
    --plot-data results/bcs.dat "$@" | tee results/bcs.txt
  case $* in
    '' | --quick | '--rounds '*) ;;
    *) return ;; # not the whole: neither plotted nor saved
  esac
  gnuplot -e "data='results/bcs.dat'; into='results'" bench/programs/bcs/bcs.gp
  if ((save)); then cp results/bcs-{throughput,fairness}.svg bench/results/ && keep results/bcs.md bcs.md; fi
}

bench_bypass() {
  local save=0 before='' command run=() options=()
  beside_commit bypass "$@"
  need @bench
  build bench bench-tasks bench-threads
  mkdir -p results
  add_both "$(build_dir bench)/bench"
  add_peer glibc threads bench-threads-glibc @build
  add_peer rust rust bench-rust @rust
  add_peer go go bench-go @go
  python bench/compare/bypass.py "${run[@]}" --command "$command --save" \
    --json results/bypass.json --markdown results/bypass.md --plots results "${options[@]}" |
    tee results/bypass.txt
  if ((save)); then cp results/bypass-{throughput,waits}.svg bench/results/ && keep results/bypass.md bypass.md; fi
}

bench_io() {
  bench_servers io servers.py io_peers "$@"
}

bench_tls() {
  bench_servers tls tls.py tls_peers "$@"
}

bench_servers() { # <name> <of bench/compare> <function: its peers> [argument]...
  local name=$1 script=bench/compare/$2 peers=$3 save=0 programs run=() option command
  shift 3
  for option; do
    case $option in
      -h | --help)
        help_by "$script" --help
        return
        ;;
    esac
  done
  command="./x bench $name $*"
  if [[ ${1:-} == --save ]]; then save=1 && shift; fi
  if ((save)) && [[ $* == *--only* ]]; then wrong '--save keeps whole runs: no --only'; fi
  need @run +liburing-dev python3 +wrk
  build bench
  programs=$(build_dir bench)
  mkdir -p results
  "$peers"
  python "$script" --ours "$programs/bench" --apps "$programs/apps" \
    --peers "$programs/peers/io" "${run[@]}" --command "$command" \
    --json "results/$name.json" --markdown "results/$name.md" "$@" | tee "results/$name.txt"
  if ((save)); then keep "results/$name.md" "$name.md"; fi
}

# What servers are measured beside. They append to run what is left out.
tls_peers() {
  need +openssl
  io_peer tokio-tls @rust librust-tokio-rustls-dev librust-rustls-pemfile-dev
  io_peer go-tls golang-go
  io_daemon nginx
  io_daemon stunnel4
}

io_peers() {
  io_peer libuv libuv1-dev
  io_peer libevent libevent-dev
  io_peer asio g++ libboost-dev
  io_peer tokio @rust
  io_peer go golang-go
  io_daemon haproxy
  io_daemon nginx
  io_daemon lighttpd
}

# As add_peer, for the servers of bench/peers/io.
io_peer() { # <name> <package>...
  if ! (need_all "${@:2}"); then
    run+=(--left-out "$1" "it cannot be installed: $(packages_of "${@:2}" | tr '\n' ' ')")
  elif ! bench/peers/io/build.sh "$(build_dir bench)/peers/io" "$1" >&2; then
    run+=(--left-out "$1" 'it cannot be built')
  fi
}

io_daemon() { # <program>
  daemon "$1" || run+=(--left-out "$1" 'it cannot be fetched')
}

# Programs under volt-run, beside the same programs alone.
bench_watched() { # [ROUNDS]
  need @bench +pigz +xz-utils +zstd +memcached +redis-server +redis-tools
  build bench volt_run
  python tools/volt-run/tests/overhead.py "$(build_dir bench)/tools/volt-run/volt-run" "$@"
}

# The gate in front of PostgreSQL, beside HAProxy and PgBouncer.
bench_gate() {
  local save=0 option
  local command="./x bench gate $*"
  if [[ ${1:-} == --save ]]; then save=1 && shift; fi
  for option; do
    case $option in
      -h | --help)
        help_by bench/compare/gate.py --program '' --help
        return
        ;;
    esac
  done
  if ((save)) && [[ $* == *--only* ]]; then wrong '--save keeps whole runs: no --only'; fi
  need @gate +gnuplot-nox
  daemon postgres || wrong 'bench gate: there is no PostgreSQL'
  daemon haproxy || true
  daemon pgbouncer || true
  build bench voltgate
  mkdir -p results
  python bench/compare/gate.py --program "$PWD/$(build_dir bench)/apps/voltgate/voltgate" \
    --command "$command" "$@"
  if ((save)); then cp results/gate-*.svg bench/results/ && keep results/gate.md gate.md; fi
}

# bench-tasks and bench-threads of another commit, in build/commits.
build_commit() { # <commit>
  local at=build/commits/$1
  if [[ ! -e $at/x ]]; then
    mkdir -p "$at"
    git archive "$1" | tar -x -C "$at"
  fi
  (cd "$at" && cmake --preset bench > /dev/null 2>&1 &&
    cmake --build --preset bench --target bench-tasks bench-threads) >&2
}

bench_ring() {
  at_most 1 "$@"
  is_number "${1:-1}" || wrong "not a number of rounds: $1"
  need @run +liburing-dev
  build bench ringread
  mkdir -p results
  bench/programs/ring.sh "$(build_dir bench)/apps/ringread" "$@" | tee results/ring.txt
}

bench_spins() {
  at_most 1 "$@"
  is_number "${1:-1}" || wrong "not a number of rounds: $1"
  need @build
  mkdir -p results
  bench/programs/spins.sh build/spins "$@" | tee results/spins.txt
}

bench_budget() {
  at_most 1 "$@"
  is_number "${1:-1}" || wrong "not a number of milliseconds: $1"
  need @build
  build bench bench-budget
  mkdir -p results
  "$(build_dir bench)/bench/bench-budget" "$@" | tee results/budget.txt
}

bench_permits() {
  at_most 2 "$@"
  need @gate
  build bench voltgate bench-permits
  mkdir -p results
  "$(build_dir bench)/bench/bench-permits" "$PWD/$(build_dir bench)/apps/voltgate/voltgate" "$@" | tee results/permits.txt
}

bench_unpark() {
  need @run +liburing-dev
  build bench bench-unpark
  mkdir -p results
  "$(build_dir bench)/bench/bench-unpark" "$@" | tee results/unpark.txt
}

## instructions [--save] [--update] [--tokio] count the instructions of one operation, beside the
##                        bounds that ./x test holds; --save: as bench/results/instructions.md;
##                        --update: lower the bounds to what is counted; --tokio: count Tokio's,
##                        which are the bars of some rows
cmd_instructions() {
  local save=0 code=0 tokio=0 options=() run=()
  while (($#)); do
    case $1 in
      --save) save=1 ;;
      --update) options+=("$1") ;;
      --tokio) tokio=1 ;;
      *) wrong "not an option of instructions: $1" ;;
    esac
    shift
  done
  need @run python3 +valgrind
  build bench bench-tasks paths rmw
  if ((tokio)); then
    add_peer rust rust bench-rust @rust
    [[ ${run[0]} == --program ]] || wrong "instructions --tokio: ${run[2]}"
    options+=(--tokio "${run[2]}")
  fi
  mkdir -p results
  count_instructions "$(build_dir bench)/bench" "${options[@]}" || code=1
  if ((save)); then keep results/instructions.md instructions.md; fi
  return $code
}

count_instructions() { # <directory of the programs> [option]...
  python bench/compare/instructions.py --programs "$1" --compiler "${CC:-gcc}" \
    --json results/instructions.json --markdown results/instructions.md "${@:2}"
}
