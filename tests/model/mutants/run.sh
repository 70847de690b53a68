#!/usr/bin/env bash
# Apply one mutant to a copy of the sources, build one model on it, and expect that to fail.
#
#   run.sh PATCH ROOT PROGRAMS WORK [MODEL_OPTION...]
#
# PATCH     a patch against ROOT; the text before its first "---" says "Killed by: MODEL", and if it
#           is a patch of a variant, "Program: VARIANT"; "Options: ..." more model options
# PROGRAMS  a directory with a PROGRAM.objects (paths of unmutated objects, a line each) and a
#           PROGRAM.flags (how they were compiled) for each program of models
# WORK      a directory to build in
# CXX       the compiler. Exit code 0: rejected; 1: survived; 2: the mutant itself is broken.
set -u
patch_file=$1 root=$2 programs=$3 work=$4
shift 4
name=$(basename "$patch_file" .patch)

broken() {
  printf 'mutant %s: %s\n' "$name" "$*" >&2
  exit 2
}

killer=$(sed -n 's/^Killed by: //p' "$patch_file")
[ -n "$killer" ] || broken 'the patch does not say which model kills it'
model=$(grep -lE "^(MODEL|MUST_FAIL)\($killer," "$root"/tests/model/*_model.cpp)
[ -n "$model" ] || broken "there is no model $killer"
program=$(sed -n 's/^Program: //p' "$patch_file")
if [ -n "$program" ]; then
  objects=$programs/$program.objects
else
  objects=$(grep -l "$(basename "$model")" "$programs"/*.objects | xargs grep -L /variants/ | head -n 1)
fi
[ -f "$objects" ] || broken "there is no program of $model"
flags=$(cat "${objects%.objects}.flags")

rm -rf "$work" && mkdir -p "$work" || broken "cannot write $work"
cp -r "$root/include" "$root/src" "$root/variants" "$work" || broken 'cannot copy the sources'
patch -s -d "$work" -p1 <"$patch_file" || broken 'the patch does not apply'

compile() { # <source> <object>
  # shellcheck disable=SC2086
  ${CXX:-c++} -I"$work/include" -I"$work/src" -I"$work/variants" -I"$root/tests/model/support" \
    -I"$root/tests/support" $flags -w -x c++ -c "$1" -o "$2" || broken "$1 does not compile"
}

# The names of all files that have changed or include one that has.
changed=$(sed -n 's,^+++ b/.*/\([^/[:space:]]*\).*,\1,p' "$patch_file")
while :; do
  pattern="#include [<\"](.*/)?($(printf '%s' "$changed" | sed 's/\./\\./g' | paste -sd '|'))[>\"]"
  more=$(cd "$work" && grep -lE "$pattern" include/volt/*.h include/volt/detail/*.h src/*/*.[ch] variants/*.h variants/*.c | sed 's,.*/,,')
  more=$(printf '%s\n' "$changed" "$more" | sort -u)
  [ "$more" != "$changed" ] || break
  changed=$more
done
has_changed() { printf '%s\n' "$changed" | grep -qxF "$1"; }

# The program is the library, the runner and the one model; what may see the change is built again.
link=()
while read -r object; do
  unit=$(basename "$object" .o)
  case $unit in
    *_model.cpp) [ "$unit" = "$(basename "$model")" ] || continue ;;
  esac
  mutated=$work/${object##*.dir/__/__/}
  mutated=${mutated%.o}
  if [ "$unit" = "$(basename "$model")" ] && grep -qE '^\+\+\+ b/.*\.h' "$patch_file"; then
    compile "$model" "$work/$unit.o"
    object=$work/$unit.o
  elif [ -f "$mutated" ] && has_changed "$unit"; then
    compile "$mutated" "$work/$unit.o"
    object=$work/$unit.o
  fi
  link+=("$object")
done <"$objects"
${CXX:-c++} "${link[@]}" -o "$work/models" || broken 'does not link'

options=$(sed -n 's/^Options: //p' "$patch_file")
# shellcheck disable=SC2086
"$work/models" "$@" $options "$killer" >"$work/output" 2>&1
grep -q "^$killer " "$work/output" || broken "the model did not run: $(cat "$work/output")"
! grep -q 'the checker itself' "$work/output" || broken "$(cat "$work/output")"
if grep -q "^$killer  *FAILED" "$work/output"; then
  printf 'rejected: %s, by %s\n' "$name" "$(grep -m 1 "^$killer " "$work/output" | tr -s ' ')"
  exit 0
fi
printf 'SURVIVED: %s\n' "$name"
cat "$work/output"
exit 1
