# shellcheck shell=bash
# What the commands of x say of their arguments.

# Arguments are looked at before anything is installed or built.
wrong() { # <what>
  echo "x: $1" >&2
  exit 2
}

at_most() { # <how many arguments a command takes> [argument]...
  (($# - 1 <= $1)) || wrong "too many arguments: ${*:2}"
}

is_number() { [[ $1 =~ ^[1-9][0-9]*$ ]]; }

seconds_from() { # <default> [seconds]
  at_most 1 "${@:2}"
  local seconds=${2:-$1}
  is_number "$seconds" || wrong "not a number of seconds: $seconds"
  echo "$seconds"
}
