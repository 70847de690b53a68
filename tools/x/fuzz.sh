# shellcheck shell=bash
## fuzz NAME [SECONDS]    run a fuzzer (budget, handover, proxy, redis, settings, sight, tls) for SECONDS (60), from its corpus and
##                        what earlier runs have found; with clang and its sanitizers
cmd_fuzz() {
  local name=${1:-} seconds corpus found directory
  corpus=$(compgen -G "tests/fuzz/$name.corpus" || compgen -G "apps/*/tests/fuzz/$name.corpus" || true)
  [[ -n $name && -n $corpus ]] || wrong "there is no fuzzer ${name:-without a name}: ./x help"
  seconds=$(seconds_from 60 "${@:2}")
  need @run clang libclang-rt-dev
  export CC=clang CXX=clang++ VOLT_BUILD_SUFFIX=-clang
  build dev "fuzz_$name" "${name}_fuzzer"
  found=build/fuzz/$name
  mkdir -p "$found"
  directory=$(build_dir dev)
  "$(find "$directory" -name "fuzz_$name" -type f)" "$corpus" "$found"
  (cd "$found" && "$(find "$OLDPWD/$directory" -name "${name}_fuzzer" -type f)" -max_total_time="$seconds" .)
}
