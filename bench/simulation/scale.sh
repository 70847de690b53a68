# shellcheck shell=bash
## scale [--save] [OPT...] the library on a simulated machine of 2 to 128 cores: docs/scale.md
cmd_scale() {
  local save=0
  if [[ ${1:-} == --save ]]; then save=1 && shift; fi
  need @build python3 +gnuplot-nox
  build bench bench-scale
  build bench bench-scale-wide
  local programs
  programs=$(build_dir bench)/bench/simulation
  python bench/simulation/scale.py --program "$programs/bench-scale" \
    --wide "$programs/bench-scale-wide" --measured bench/results/benchmarks.md \
    --into results/scale --jobs "$(nproc)" "$@"
  if ((save && $# == 0)); then cp results/scale/scale-*.svg bench/results/ && keep results/scale/scale.md scale.md; fi
}
