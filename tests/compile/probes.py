#!/usr/bin/env python3
"""The static probes of the libraries that are given are those of docs/probes.md, with as many
arguments; and at each of them is a nop.

    probes.py <library>...
"""
import re
import struct
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
NOPS = {62: b"\x90", 183: b"\x1f\x20\x03\xd5"}  # by the processor of an ELF file
SKIPPED = 77


def documented() -> dict[str, int]:
    """How many arguments each probe has."""
    rows = re.findall(r"^\| `(\w+)` \| ([^|]+) \|", (ROOT / "docs/probes.md").read_text(), re.M)
    return {name: len(arguments.split(",")) for name, arguments in rows}


def of_library(path: str):
    """(name, address, arguments) of each place."""
    notes = subprocess.run(["readelf", "-n", path], check=True, capture_output=True, text=True,
                           env={"LC_ALL": "C", "PATH": "/usr/bin:/bin"}).stdout  # fmt: skip
    found = re.findall(r"Provider: (\w+)\s+Name: (\w+)\s+Location: (0x[0-9a-f]+),.*\n\s+Arguments: ?(.*)", notes)
    for provider, name, address, arguments in found:
        if provider == "volt":
            yield name, int(address, 16), arguments.split(" ")


def bytes_at(content: bytes, address: int, count: int) -> bytes:
    """Of an ELF file of 64 bits, by its table of what is loaded where."""
    table, = struct.unpack_from("<Q", content, 32)
    size, entries = struct.unpack_from("<HH", content, 54)
    for at in range(table, table + size * entries, size):
        kind, _, offset, virtual, _, length = struct.unpack_from("<IIQQQQ", content, at)
        if kind == 1 and virtual <= address < virtual + length:
            return content[offset + address - virtual :][:count]
    return b""


def main() -> int:
    expected, wrong, found, places = documented(), [], set(), 0
    for library in sys.argv[1:]:
        content = Path(library).read_bytes()
        processor, = struct.unpack_from("<H", content, 18)
        if processor not in NOPS or content[4] != 2:
            print(f"skipped: {library} is for a processor without probes")
            return SKIPPED
        for name, address, arguments in of_library(library):
            found.add(name)
            places += 1
            where = f"{Path(library).name}: {name} at {address:#x}"
            if name in expected and len(arguments) != expected[name]:
                wrong.append(f"{where} has {len(arguments)} arguments: {' '.join(arguments)}")
            if bytes_at(content, address, len(NOPS[processor])) != NOPS[processor]:
                wrong.append(f"{where}: there is no nop")
    wrong += [f"{name} is not in docs/probes.md" for name in sorted(found - set(expected))]
    wrong += [f"{name} of docs/probes.md is in no library" for name in sorted(set(expected) - found)]
    print("\n".join(wrong), end="\n" if wrong else "")
    print(f"{len(found)} probes at {places} places; {len(wrong)} not in order")
    return 1 if wrong or not places else 0


if __name__ == "__main__":
    sys.exit(main())
