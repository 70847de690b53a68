# shellcheck shell=bash
## house [CHECK]          check the rooms, names, labels and words of the tree, and count; or one of these, or shape
cmd_house() {
  at_most 1 "$@"
  [[ ${1:-rooms} =~ ^(rooms|names|labels|words|shape)$ ]] || wrong "there is no ./x house $1"
  need python3
  python tests/compile/house.py "$@"
}
