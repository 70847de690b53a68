# shellcheck shell=bash
## amalgamate [DIR]       volt as files to copy into a program, volt.h, volt.c and, for C++, volt.hpp: into DIR
##                        (build/amalgamation)
## amalgamate --prove     every unit test with them in place of the libraries, as a release is compiled
cmd_amalgamate() {
  local directory=${1:-build/amalgamation}
  at_most 1 "$@"
  if [[ $directory == --prove ]]; then
    need @test
    build release amalgam_tests
    ctest --preset release -j2 -L '^amalgam$'
    return
  fi
  [[ $directory != -* ]] || wrong "not an option of amalgamate: $directory"
  need python3
  python tools/amalgamate.py "$directory"
  wc -l "$directory"/volt.{h,c,hpp}
}
