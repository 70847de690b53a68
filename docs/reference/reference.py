#!/usr/bin/env python3
"""reference.py [--man DIR] [--html DIR] [--root DIR] [--lenient]

The reference of the library, of what the headers say of themselves: manual pages into DIR/man3, and
HTML with the guide into DIR (index.html). Nothing but Python 3.10 is needed.

Exit code 1, with file and line, if a public function has no docstring or one that breaks the form
(CONTRIBUTING.md), or if Markdown leads nowhere; the pages are written all the same.
--lenient: exit code 0 then.
"""

import argparse
import sys
from pathlib import Path

sys.dont_write_bytecode = True

import headers  # noqa: E402
import man  # noqa: E402
import web  # noqa: E402


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--man", type=Path)
    parser.add_argument("--html", type=Path)
    parser.add_argument("--root", type=Path, default=Path(__file__).resolve().parents[2])
    parser.add_argument("--lenient", action="store_true")
    options = parser.parse_args()
    try:
        library = headers.read_library(options.root)
        problems = library.problems
        if options.man:
            man.write_pages(library, options.man)
        if options.html:
            site = web.Site(library, options.root)
            site.write(options.html)
            problems = problems + site.problems
    except (headers.Unreadable, OSError) as error:
        print(error, file=sys.stderr)
        return 1
    for problem in problems:
        print(problem, file=sys.stderr)
    return 1 if problems and not options.lenient else 0


if __name__ == "__main__":
    sys.exit(main())
