# shellcheck shell=bash disable=SC2154 # $files is that of x

usage() {
  echo 'usage: ./x [--no-install] COMMAND'
  echo '  --no-install           install and fetch nothing: say what is missing, and what is left out for it'
}

## help                   this text
cmd_help() {
  usage
  sed -n 's/^## /  /p' "${files[@]}"
}

help_of() { # <command>
  usage
  awk -v command="$1" '/^## / {
    if ($2 ~ /^[a-z0-9]/ && !/^##  /) mine = $2 == command
    if (mine) print substr($0, 2)
  }' "${files[@]}" | sed 's/^# /  /'
}
