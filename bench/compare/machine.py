"""On what it was measured."""

import os
import platform
import subprocess
from datetime import datetime, timezone


def first_line(*argv: str) -> str:
    try:
        said = subprocess.run(argv, capture_output=True, text=True, check=True).stdout
    except (OSError, subprocess.CalledProcessError):
        return "unknown"
    return said.splitlines()[0].strip() if said.strip() else "unknown"


def processor() -> str:
    with open("/proc/cpuinfo") as info:
        for line in info:
            name, _, value = line.partition(":")
            if name.strip() == "model name":
                return value.strip()
    return platform.machine()


def commit() -> str:
    changed = first_line("git", "status", "--porcelain", "--untracked-files=no") != "unknown"
    return first_line("git", "rev-parse", "--short", "HEAD") + (" and changes" if changed else "")


def describe() -> str:
    """On one line."""
    cores = len(os.sched_getaffinity(0))
    now = datetime.now(timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ")
    return (f"{processor()}, {cores} cores, Linux {platform.release()}, "
            f"{first_line('gcc', '--version')}, commit {commit()}, {now}")  # fmt: skip
