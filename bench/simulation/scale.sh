# shellcheck shell=bash
## scale [--save] [OPT...] the library on a simulated machine of 2 to 128 cores: docs/scale.md
## scale io [--save] [OPT...] the same with I/O: connections on 1 to 64 cores
cmd_scale() {
  if [[ ${1:-} == io ]]; then
    scale_io "${@:2}"
    return
  fi
  local save=0
  if [[ ${1:-} == --save ]]; then save=1 && shift; fi
  need @build python3 +gnuplot-nox
  scale_by scale.py benchmarks.md "$@"
  if ((save && $# == 0)); then cp results/scale/scale-*.svg bench/results/ && keep results/scale/scale.md scale.md; fi
}

scale_io() {
  local save=0
  if [[ ${1:-} == --save ]]; then save=1 && shift; fi
  need @build python3
  scale_by scale_io.py io.md "$@"
  if ((save && $# == 0)); then keep results/scale/scale_io.md scale_io.md; fi
}

scale_by() { # <program> <the page of what was measured> [OPT...]
  build bench bench-scale
  build bench bench-scale-wide
  local programs
  programs=$(build_dir bench)/bench/simulation
  python "bench/simulation/$1" --program "$programs/bench-scale" --wide "$programs/bench-scale-wide" \
    --measured "bench/results/$2" --into results/scale --jobs "$(nproc)" "${@:3}"
}
