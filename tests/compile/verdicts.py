#!/usr/bin/env python3
"""usage: verdicts.py COMPILER CASES MESSAGES

That a compiler refuses each case of a file, for the reason that is expected. CASES: a line each, "N<tab>what<tab>
words"; MESSAGES: what it says, where "case-N:" is a place in case N (verdicts.sh).
"""
import re
import sys
from pathlib import Path

ERROR = re.compile(r": (fatal )?error: ")
BEFORE = re.compile(r"^In file included from|^[^ ]+: In |^[^ ]+: At |:   (required|in) ")  # lines that lead to an error
CASE = re.compile(r"\bcase-(\d+):")


def errors_of(lines):
    """What is said of each error: what leads to it, the error, its notes."""
    blocks, block, has_error = [], [], False
    for line in lines:
        if has_error and (ERROR.search(line) or BEFORE.search(line)):
            blocks.append(block)
            block, has_error = [], False
        if not has_error and blocks and ": note: " in line:  # what was before belonged to this note
            blocks[-1] += [*block, line]
            block = []
            continue
        block.append(line)
        has_error = has_error or bool(ERROR.search(line))
    if has_error:
        blocks.append(block)
    elif blocks:
        blocks[-1] += block
    return blocks


def main():
    compiler, cases, messages = sys.argv[1], Path(sys.argv[2]), Path(sys.argv[3]).read_text(errors="replace")
    said = {}
    for block in errors_of(messages.splitlines()):
        for case in set(CASE.findall("\n".join(block))):
            said.setdefault(case, []).extend(block)
    wrong = []
    for line in cases.read_text().splitlines():
        number, what, words = line.split("\t")
        if number not in said:
            wrong.append(f"{compiler} compiles {what}")
        elif not any(re.search(f"error: .*({words})", line) for line in said[number]):
            wrong.append("\n".join([f"{compiler} does not say '{words}' of {what}, but:", *said[number]]))
    if wrong:
        sys.exit("\n".join(wrong))


if __name__ == "__main__":
    main()
