#!/usr/bin/env bash
# usage: walk.sh [--from HEADING] PAGE...: follow pages of the documents as a reader does.
#
# Of a page, from its top or from a heading on, in its order and in one shell: a block of `sh` is run; a block
# behind a line "`NAME`:" becomes the file NAME; a block behind a line "It prints:" is what the last `sh` has
# printed. It changes what the pages say it does, which may be /usr/local: ./x bare gives it a Debian to change.
set -euo pipefail

from=''
if [[ ${1:-} == --from ]]; then from=$2 && shift 2; fi
(($#)) || { sed -n '2s/^# //p' "$0" >&2; exit 2; }

# The page as a script.
script_of() { # <page>
  awk -v from="$from" -v page="$1" '
    BEGIN { on = from == "" }
    !open && /^## / { if (substr($0, 4) == from) on = 1 }
    !open && /^```/ {
      open = 1; kind = substr($0, 4); what = ""
      if (on && kind == "sh") { what = "sh"; printf "at %d\n{\n", NR }
      else if (on && before ~ /^`[^`]+`:$/) { what = "file"; print "cat > " substr(before, 2, length(before) - 3) " <<\"-- end --\"" }
      else if (on && before == "It prints:") { what = "prints"; print "prints <<\"-- end --\"" }
      next
    }
    open && /^```$/ {
      open = 0
      if (what == "sh") print "} > \"$printed\" 2>&1\nsaw"
      else if (what != "") print "-- end --"
      count += what != ""; before = ""
      next
    }
    open { if (what != "") print; next }
    /[^ ]/ { before = $0 }
    END { if (!on || !count) { print page ": nothing to follow" > "/dev/stderr"; exit 1 } }' "$1"
}

for page; do
  script=$(script_of "$page")
  printed=$(mktemp)
  export page printed
  bash -euo pipefail -c '
    at() { line=$1; }
    saw() { cat "$printed"; }
    prints() {
      diff --label "$page" --label printed -u - "$printed" || exit 1
      echo "$page:$line: it prints what the page says"
    }
    exec 3>&2 # where it is run, that goes into the file
    failed() { cat "$printed" >&3; echo "$page:$line: failed" >&3; }
    trap failed ERR
    trap "rm -f \"$printed\"" EXIT
    eval "$1"' walk "$script"
  echo "$page: followed to its end"
done
