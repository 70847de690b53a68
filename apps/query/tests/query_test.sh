#!/bin/bash
# query_test.sh PROGRAM [REFUSED]: see query_test.py.
exec python3 -B "$(dirname "${BASH_SOURCE[0]}")/query_test.py" "$1"
