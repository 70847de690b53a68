# shellcheck shell=bash disable=SC2154 # $files is that of x

## help                   this text
cmd_help() {
  echo "usage: ./x COMMAND"
  sed -n 's/^## /  /p' "${files[@]}"
}

help_of() { # <command>
  echo "usage: ./x COMMAND"
  awk -v command="$1" '/^## / {
    if ($2 ~ /^[a-z0-9]/ && !/^##  /) mine = $2 == command
    if (mine) print substr($0, 2)
  }' "${files[@]}" | sed 's/^# /  /'
}
