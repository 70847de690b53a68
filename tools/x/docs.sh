# shellcheck shell=bash
## docs [open]            manual pages, and the guide and reference as HTML: build/docs; open: in a browser
cmd_docs() {
  at_most 1 "$@"
  [[ ${1:-open} == open ]] || wrong "not an option of docs: $1"
  need python3
  local page=build/docs/html/index.html code=0
  python docs/reference/reference.py --man build/docs/man --html "${page%/*}" || code=1
  echo "HTML: $page"
  echo "manual pages: man -M build/docs/man volt"
  if [[ ${1:-} == open ]]; then xdg-open "$page"; fi
  return $code
}
