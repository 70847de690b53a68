#!/bin/bash
# echo_test.sh PROGRAM [REFUSED]: see echo_test.py.
exec python3 -B "$(dirname "${BASH_SOURCE[0]}")/echo_test.py" "$1"
