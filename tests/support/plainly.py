#!/usr/bin/env python3
"""usage: plainly.py PROGRAM [ARGUMENT]...

Runs a Python program for ./x. What the program does not catch is said in one sentence instead of a
traceback: a tool or a file that is missing by its name. VOLT_TRACEBACK=1 shows where it happened."""

import os
import runpy
import sys


def sentence(error: BaseException) -> str:
    missing = getattr(error, "filename", None)
    if isinstance(error, FileNotFoundError) and missing is not None:
        return f"there is no {os.fsdecode(missing)}"
    if isinstance(error, ModuleNotFoundError):
        return f"this Python has no module {error.name}"
    text = " ".join(str(error).split())
    return f"{type(error).__name__}: {text}" if text else type(error).__name__


def main() -> None:
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    del sys.argv[0]
    program = sys.argv[0]
    sys.path[0] = os.path.realpath(program if os.path.isdir(program) else os.path.dirname(program))
    try:
        runpy.run_path(program, run_name="__main__")
    except KeyboardInterrupt:
        sys.exit(130)
    except Exception as error:
        if os.environ.get("VOLT_TRACEBACK"):
            raise
        sys.exit(f"{program}: {sentence(error)} (VOLT_TRACEBACK=1 shows where)")


if __name__ == "__main__":
    main()
