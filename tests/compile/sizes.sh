#!/usr/bin/env bash
# What docs/ say an object costs is its size, on a 64-bit machine; and what the headers say that it costs
# at most is held by every compiler that reads them, of C and of C++.
set -euo pipefail
cd "$(dirname "$0")/../.."

# document|the words around the number, as a regular expression|type
claims=(
  'runtime.md|header of ([0-9]+) bytes|volt_task'
  'runtime.md|A future is ([0-9]+) bytes|volt_future'
  'runtime.md|sleep ([0-9]+), in|volt_sleep_op'
  'design.md|`volt_waiter` \(([0-9]+) bytes\)|volt_waiter'
  'primitives/select.md|([0-9]+) bytes for a select|volt_select'
  'primitives/select.md|([0-9]+) for a join|volt_join'
)
for page in docs/primitives/*.md; do # "Cost. N bytes" of a page is the size of what it is about
  name=$(basename "$page" .md)
  case $name in
    semaphore) type=volt_sem ;;
    channel) type=volt_chan ;;
    *) type=volt_$name ;;
  esac
  if grep -qE '^\*\*Cost\.\*\* [0-9]+ bytes\.' "$page"; then
    claims+=("primitives/$name.md|^\\*\\*Cost\\.\\*\\* ([0-9]+) bytes\\.|$type")
  fi
done

scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
printf '#include <volt/%s.h>\n' net process volt > "$scratch/claims.c"
for claim in "${claims[@]}"; do
  page=${claim%%|*} type=${claim##*|} words=${claim#*|}
  words=${words%|*}
  # lines are joined: a sentence may be broken anywhere
  said=$(grep -v '^|' "docs/$page" | if [[ $words == ^* ]]; then cat; else paste -sd ' '; fi |
    sed -nE "s/(^|.*[^0-9])${words#^}.*/\\2/p" | head -n 1)
  [[ -n $said ]] || { echo "docs/$page does not say '$words' any more: $0" >&2; exit 1; }
  echo "_Static_assert(sizeof(void *) != 8 || sizeof($type) == $said, \"docs/$page: $type\");" \
    >> "$scratch/claims.c"
done
rows=$(grep -oE '`volt_[a-z_]+` \| [0-9]+' docs/platforms.md | tr -d '`|')
while read -r type said; do
  echo "_Static_assert(sizeof(void *) != 8 || sizeof($type) == $said, \"docs/platforms.md: $type\");"
done <<< "$rows" >> "$scratch/claims.c"
"${CC:-cc}" -std=c11 -Iinclude -fsyntax-only "$scratch/claims.c"

# both can fail: a page that says too much, a limit that is too low
sed -E '$s/== [0-9]+/== 7/' "$scratch/claims.c" > "$scratch/wrong.c"
! "${CC:-cc}" -std=c11 -Iinclude -fsyntax-only "$scratch/wrong.c" 2> /dev/null ||
  { echo "the check does not see a wrong page" >&2; exit 1; }
limits=$(grep -c '^VOLT_SIZE_AT_MOST_(' include/volt/*.h | awk -F: '{ n += $2 } END { print n }')
cp -r include "$scratch"
sed -Ei 's/^(VOLT_SIZE_AT_MOST_\(volt_latch), [0-9]+/\1, 3/' "$scratch/include/volt/latch.h"
for language in c c++; do
  ! echo '#include <volt/latch.h>' |
    "${CC:-cc}" -x "$language" -I"$scratch/include" -fsyntax-only - 2> /dev/null ||
    { echo "a limit in a header is not held in $language" >&2; exit 1; }
done
echo "$((${#claims[@]} + $(wc -l <<< "$rows"))) sizes in docs/, $limits limits in headers"
