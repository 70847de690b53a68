#!/usr/bin/env bash
# The code in the documents compiles, their links lead somewhere, and docs/results.md has every
# function that returns a result code or a future, and every code that its docstring names.
#
# A page is one C file: its blocks in their order, behind a prelude of headers. The word after the
# three backquotes says what a block is:
#   c             declarations and functions
#   c body        statements: in a function of their own, which returns an int
#   c task NAME   statements of a task whose struct is `struct NAME`: `self` and `ctx` are there
#   c fragment    a shape with "..." in it: not compiled
#   c not volt    another library's code: not compiled
#   c of FILE     stands so in that file, which is compiled elsewhere: a path from the root of the tree
# Those of C++ are another file, as C++17, or as C++20 if one of them is a coroutine:
#   cpp           declarations and functions
#   cpp body      statements: in a function of their own
#   cpp coro      statements of a coroutine
#   cpp fragment, cpp of FILE  as above
# Declarations that a reader need not see stand between "<!-- code" and "-->", or "<!-- cpp" and "-->".
# By hand: docs_code.sh PAGE... looks at these pages only. The quick form has one compiler for each language.
set -euo pipefail
cd "$(dirname "$0")/../.."
. tests/compile/whole.sh

prelude='#define _POSIX_C_SOURCE 200809L
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <unistd.h>
#include <volt/runtime.h>
#include <volt/volt.h>'

cpp_prelude='#include <array>
#include <chrono>
#include <cstdio>
#include <memory>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>
#include <volt/io.hpp>
#if __cplusplus >= 202002L
#include <volt/coro.hpp>
#endif
using namespace std::chrono_literals;'

as_cpp() { # <page>: the page as C++
  printf '%s\n' "$cpp_prelude"
  awk -v page="$1" '
    function begin() { print "#line " FNR + 1 " \"" page "\"" }
    /^<!-- cpp$/ { hidden = 1; begin(); next }
    hidden && /^-->$/ { hidden = 0; next }
    hidden { print; next }
    /^```cpp$/ { open = 1; end = ""; begin(); next }
    /^```cpp body$/ { open = 1; end = "}"; print "static void body_" ++count "() {"; begin(); next }
    /^```cpp coro$/ {
      open = 1; end = "}"
      print "static volt::task<void> coro_" ++count "() {"; begin(); next
    }
    /^```$/ { if (open) print end; open = 0; next }
    open { print }' "$1"
}

as_c() { # <page>: the page as C
  printf '%s\n' "$prelude"
  awk -v page="$1" '
    function begin() { print "#line " FNR + 1 " \"" page "\"" }
    /^<!-- code$/ { hidden = 1; begin(); next }
    hidden && /^-->$/ { hidden = 0; next }
    hidden { print; next }
    /^```c$/ { open = 1; end = ""; begin(); next }
    /^```c body$/ {
      open = 1; end = "return VOLT_OK; }"
      print "static int body_" ++count "(void) {"; begin(); next
    }
    /^```c task [a-z_]+$/ {
      open = 1; end = "VOLT_TASK_END(self); }"
      print "static int task_" ++count "(volt_task *t, volt_ctx *ctx) {"
      print "struct " $3 " *self = volt_container_of(t, struct " $3 ", task);"
      print "VOLT_TASK_BEGIN(self);"; begin(); next
    }
    /^```$/ { if (open) print end; open = 0; next }
    open { print }' "$1"
}

compile() { # <page>: with every compiler there is; in the quick form, with the first
  local cc
  for cc in gcc clang; do
    command -v "$cc" > /dev/null || continue
    as_c "$1" | "$cc" -x c -std=c11 -Wall -Wextra -Werror -Wno-unused -Wno-unused-parameter \
      -Wno-missing-field-initializers -Iinclude -fsyntax-only - || return 1
    compiled=$((compiled + 1))
    if ! whole; then break; fi
  done
}

compile_cpp() { # <page>: as above
  local cxx standard=c++17
  # not grep -q, which ends at the first match: as_cpp can then be ended by SIGPIPE, which fails the pipe
  if [[ $(as_cpp "$1" | grep -cE '\bco_(await|return)\b') != 0 ]]; then standard=c++20; fi
  for cxx in g++ clang++; do
    command -v "$cxx" > /dev/null || continue
    as_cpp "$1" | "$cxx" -x c++ "-std=$standard" -Wall -Wextra -Wshadow -Werror -Wno-unused \
      -Wno-unused-parameter -Iinclude -fsyntax-only - || return 1
    compiled=$((compiled + 1))
    if ! whole; then break; fi
  done
}

tags() { # <page>...: blocks that begin in another way than the ones above
  grep -nHE '^ *```' "$@" |
    grep -vE ':```(c|c body|c task [a-z_]+|c fragment|c not volt|c(pp)? of [^ ]+|cpp|cpp body|cpp coro|cpp fragment|python|sh|sql|cmake|make|go|rust|ini|text|)$' || true
}

quotations() { # <page>: blocks that do not stand so in the file that they are of
  awk -v page="$1" '
    function text_of(file,   text, line) {
      text = "\n"
      while ((getline line < file) > 0) text = text line "\n"
      close(file)
      return text
    }
    /^```c(pp)? of / { file = $3; at = FNR; block = "\n"; next }
    /^```$/ && file {
      if (block == "\n" || !index(text_of(file), block)) print page ":" at ": not so in " file
      file = ""
    }
    file { block = block $0 "\n" }' "$1"
}

anchors() { # <page>: its headings, as they are linked to
  sed -nE 's/^#+ +//p' "$1" | tr 'A-Z ' 'a-z-' | sed 's/[^a-z0-9_-]//g'
}

links() { # <page>: links that lead nowhere
  local target file anchor
  sed '/^```/,/^```/d' "$1" | grep -oE '\]\([^) ]+\)' | sed 's/^](//; s/)$//' | sort -u |
    while read -r target; do
      [[ $target =~ ^(https?|mailto): ]] && continue
      file=${target%%#*} anchor=${target#"${target%%#*}"}
      file=${file:+$(dirname "$1")/$file} file=${file:-$1}
      if [[ ! -e $file ]]; then
        echo "$1: no file: $target"
      elif [[ -n $anchor ]] && [[ $(anchors "$file" | grep -cx -- "${anchor#\#}") == 0 ]]; then
        echo "$1: no heading: $target"
      fi
    done
}

functions() { # <header>...: those that return an int or a future, less the private ones
  local result='VOLT_(API|INLINE) (VOLT_NODISCARD )?(int |volt_future \*)'
  sed -nE "s/^$result(volt_[a-z0-9_]*[a-z0-9])\(.*/\4/p" "$@" | sort
}

rows() { # <page>: the functions that its tables have a row for
  awk -F'|' '/^\| `volt_/ { print $2 }' "$1" | grep -oE '`volt_[a-z0-9_]+`' | tr -d '`' | sort
}

missing() { # <page> <header>...: functions without a row, rows without a function, and doubles
  comm -13 <(rows "$1" | uniq) <(functions "${@:2}") | sed "s|^|$1: no row: |"
  comm -23 <(rows "$1") <(functions "${@:2}") | sed "s|^|$1: no such function, or a second row: |"
}

codes() { # <page> <header>...: codes that a function's docstring names and its rows do not
  awk '
    function take(text, into, of) { # the codes in text: set into[of, code]
      while (match(text, /(^|[^A-Z_])(VOLT_)?(OK|PENDING|LEADER|DONE|E[A-Z][A-Z][A-Z]+)/)) {
        code = substr(text, RSTART, RLENGTH)
        text = substr(text, RSTART + RLENGTH)
        sub(/.*[^A-Z]/, "", code)
        into[of, code] = 1
      }
    }
    FNR == NR { # the page: a row without a name goes on with the one above
      if (split($0, cell, "|") < 4) next
      if (cell[2] ~ /volt_/) names = cell[2]
      count = split(names, name, /[^a-z0-9_]+/)
      for (i = 1; i <= count; i++) take(cell[3] " " cell[4], listed, name[i])
      next
    }
    /^\/\*/ { doc = "" }
    /^(\/| )\*/ { doc = doc " " $0; next }
    /^VOLT_(API|INLINE) (VOLT_NODISCARD )?int volt_[a-z0-9_]*[a-z0-9]\(/ {
      sub(/\(.*/, ""); sub(/.* /, "")
      split("", named)
      gsub(/[^A-Z_]VOLT_[A-Z]+_/, "", doc)
      take(doc, named, $0)
      for (key in named) if (!(key in listed)) {
        split(key, part, SUBSEP)
        print part[1] ": " part[2] " is in its docstring, and not in its rows"
      }
    }
    { doc = "" }' "$@"
}

# each check can fail
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
page=$scratch/page.md header=$scratch/header.h compiled=0
must_fail() { echo "the check misses: $1" >&2; exit 1; }
printf '%s\n' '```c body' 'volt_sem s = VOLT_SEM_INIT(1);' 'volt_sem_acquire_waiter(&s, 1);' '```' > "$page"
! compile "$page" 2> /dev/null || must_fail "a call with too few arguments"
printf '%s\n' '```c' 'static volt_sem s = VOLT_SEM_INIT(1);' '```' > "$page"
compile "$page" || { echo "the check refuses what is right" >&2; exit 1; }
printf '%s\n' '```cpp body' 'volt::mutex m;' 'm.unlock();' '```' > "$page"
! compile_cpp "$page" 2> /dev/null || must_fail "C++ that calls what is not there"
printf '%s\n' '<!-- cpp' 'static volt::mutex m;' '-->' '```cpp body' 'volt::lock guard(m);' '```' > "$page"
compile_cpp "$page" || { echo "the check refuses C++ that is right" >&2; exit 1; }
printf '%s\n' '```C' '```' > "$page"
[[ -n $(tags "$page") ]] || must_fail "a block of an unknown kind"
printf '%s\n' one two three > "$scratch/file"
printf '%s\n' "\`\`\`c of $scratch/file" two three '```' > "$page"
[[ -z $(quotations "$page") ]] || must_fail "that a quotation stands in its file"
printf '%s\n' "\`\`\`c of $scratch/file" one three '```' "\`\`\`cpp of $scratch/gone" one '```' > "$page"
[[ $(quotations "$page" | wc -l) == 2 ]] || must_fail "a quotation that is not so in its file, or of no file"
printf '%s\n' '# One' '[1](nowhere.md)' '[2](#two)' '[3](#one)' '[4](page.md)' > "$page"
[[ $(links "$page" | wc -l) == 2 ]] || must_fail "a link to no file, or to no heading"
printf 'VOLT_API int volt_%s(void);\n' a b c_ > "$header"
printf '| `volt_%s` | |\n' a a x > "$page"
[[ $(missing "$page" "$header" | wc -l) == 3 ]] || must_fail "a function without a row"
printf '%s\n' '/* Returns VOLT_OK,' ' * or VOLT_EAGAIN. */' 'VOLT_API int volt_a(void);' > "$header"
printf '%s\n' '| `volt_a` | OK | held |' > "$page"
[[ $(codes "$page" "$header" | wc -l) == 1 ]] || must_fail "a code that is not in the row"
printf '%s\n' '| | EAGAIN | not |' >> "$page"
[[ -z $(codes "$page" "$header") ]] || must_fail "that a second row has the code"

shopt -s nullglob
pages=("$@")
(($# > 0)) || pages=(README.md CONTRIBUTING.md SECURITY.md docs/*.md docs/*/*.md)
headers=(include/volt/*.h)
compiled=0 failed=0
for page in "${pages[@]}"; do
  if grep -qE '^```c( body| task .*)?$' "$page"; then compile "$page" || failed=1; fi
  if grep -qE '^```cpp( body| coro)?$' "$page"; then compile_cpp "$page" || failed=1; fi
done
wrong=$(
  tags "${pages[@]}"
  for page in "${pages[@]}"; do links "$page"; done
  for page in "${pages[@]}"; do quotations "$page"; done
  missing docs/results.md "${headers[@]}"
  codes docs/results.md "${headers[@]}"
)
if [[ -n $wrong ]]; then
  printf '%s\n' "$wrong" >&2
  exit 1
fi
((failed == 0)) || exit 1

count() { cat "${pages[@]}" | grep -cE "$1" || true; }
((compiled > 0)) || exit 77
echo "$(count '^```c(pp)?( body| coro| task .*)?$') blocks in $compiled compilations," \
  "$(count '^```c(pp)? (fragment|not volt)$') not compiled," \
  "$(count '^```c(pp)? of ') quoted;" \
  "$(for page in "${pages[@]}"; do grep -oE '\]\([^) ]+\)' "$page" || true; done | wc -l) links;" \
  "$(functions "${headers[@]}" | wc -l) functions in docs/results.md"
