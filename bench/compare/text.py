"""The tables as text, and as a document."""

from typing import Any

from stats import digits, span

HEADINGS = {
    "p50_ns": "p50 ns", "p99_ns": "p99 ns", "p999_ns": "p99.9 ns", "longest_ns": "longest ns",
    "slowest_share": "slowest share", "lost": "lost", "bytes": "bytes",
    "allocations": "allocations",
}  # fmt: skip


def spread(summary: dict[str, float]) -> str:
    return span(summary["quartile_1"], summary["quartile_3"])


def cells(row: dict[str, Any], arm: dict[str, Any]) -> list[str]:
    """name, kind, median, quartiles, CPU, ratio, its quartiles, columns..., note"""
    time = arm[row["by"]] or arm["ns"]
    other = arm["cpu_ns"] if row["by"] == "ns" else arm["ns"]
    ratio = arm["ratio"]
    fields = [
        digits(arm["fields"][name]["median"]) if name in arm["fields"] else ""
        for name in row["columns"]
    ]
    return [
        arm["label"],
        arm["kind"],
        digits(time["median"]),
        spread(time),
        digits(other["median"]) if other else "",
        f"{ratio['median']:.2f}" if ratio else "",
        spread(ratio) if ratio else "",
        *fields,
        f"{arm['disturbed']}/{arm['rounds']}",
        arm["note"],
    ]


def headings(row: dict[str, Any]) -> list[str]:
    first, second = ("CPU ns", "ns") if row["by"] == "cpu_ns" else ("ns", "CPU ns")
    fields = [HEADINGS.get(name, name) for name in row["columns"]]
    return ["", "", first, "quartiles", second, "x volt", "quartiles", *fields, "disturbed", ""]


def line_of(row: dict[str, Any]) -> str:
    line = row["line_ns"]
    if not line:
        return ""
    extent = span(line["least"], line["most"])
    return f"a cache line one way: {digits(line['median'])} ns ({extent})"


def measured(row: dict[str, Any]) -> list[dict[str, Any]]:
    return [arm for arm in row["arms"] if arm["ns"]]


def table(lines: list[list[str]]) -> str:
    """Columns aligned: the first two and the last to the left."""
    widths = [max(len(cell) for cell in column) for column in zip(*lines, strict=True)]
    left = {0, 1, len(widths) - 1}
    out = []
    for line in lines:
        placed = [
            cell.ljust(width) if i in left else cell.rjust(width)
            for i, (cell, width) in enumerate(zip(line, widths, strict=True))
        ]
        out.append("  " + "  ".join(placed).rstrip())
    return "\n".join(out)


def row_text(row: dict[str, Any]) -> str:
    arms = measured(row)
    if not arms:
        return f"\n{row['title']}: nothing measured"
    probe = line_of(row)
    title = f"\n{row['title']}" + (f"; {probe}" if probe else "")
    return title + "\n" + table([headings(row), *(cells(row, arm) for arm in arms)])


def programs_text(results: dict[str, Any]) -> list[str]:
    out = []
    for program in results["programs"]:
        if program["skipped"]:
            out.append(f"{program['name']}: skipped: {program['skipped']}")
        elif program["versions"]:
            out.append(f"{program['name']}: {', '.join(program['versions'])}")
    return out


def states_lines(results: dict[str, Any]) -> list[list[str]]:
    lines = [["", "", "cheap ns", "rounds", "dear ns", "rounds", ""]]
    for row in results["states"]:
        for i, arm in enumerate(row["arms"]):
            medians = [digits(arm[s]["median"]) if arm[s] else "-" for s in ("cheap", "dear")]
            lines.append([row["title"] if i == 0 else "", arm["label"], medians[0],
                          str(row["cheap"]), medians[1], str(row["dear"]), ""])  # fmt: skip
    return lines


def write_text(results: dict[str, Any]) -> str:
    out = [results["machine"], f"{results['rounds']} rounds, interleaved; medians; ratios within "
           "rounds: above 1, volt is faster", *programs_text(results)]  # fmt: skip
    for section in results["sections"]:
        out.append(f"\n---- {section['title']}")
        out += [row_text(row) for row in section["rows"]]
    for growth in results["growth"]:
        out.append(f"\n---- {growth['title']}, ns per operation")
        out.append(table(growth_lines(growth)))
    out.append("\n---- the engines, by what it costs to move a cache line")
    out.append(table(states_lines(results)))
    out.append("\n---- what is demanded")
    out.append(table([[d["verdict"], d["claim"], d["figures"]] for d in results["demands"]]))
    return "\n".join(out) + "\n"


def growth_lines(growth: dict[str, Any]) -> list[list[str]]:
    xs = sorted({x for series in growth["series"] for x, _ in series["points"]})
    lines = [[growth["x"], "", *(f"{x:,}" for x in xs), ""]]
    for series in growth["series"]:
        by_x = dict(series["points"])
        times = [digits(by_x[x]) if x in by_x else "" for x in xs]
        lines.append([series["label"], series["kind"], *times, ""])
    return lines


# ---- as a document ----


def markdown_table(lines: list[list[str]], left: int = 2) -> str:
    rule = ["---" if i < left else "--:" for i in range(len(lines[0]))]
    rows = [lines[0], rule, *lines[1:]]
    escaped = [[cell.replace("|", "\\|") for cell in row] for row in rows]
    return "\n".join("| " + " | ".join(row) + " |" for row in escaped)


def markdown_row(row: dict[str, Any]) -> str:
    arms = measured(row)
    probe = line_of(row)
    title = f"**{row['title']}**" + (f"; {probe}" if probe else "")
    lines = [headings(row), *(cells(row, arm) for arm in arms)]
    return f"\n{title}\n\n{markdown_table(lines)}"


def write_markdown(results: dict[str, Any]) -> str:
    out = [
        f"# {results['title']}",
        f"\nWritten by `{results['command']}`: {results['machine']}. {results['rounds']} rounds, "
        "interleaved: in each, every\nline of every table once, in a process of its own, in an "
        "order that changes. Medians; x volt: the ratio to the\ntable's first line, taken within "
        "rounds, above 1 where volt is faster. What an operation is: bench/README.md.\n"
        "fair: serves in the order of arrival. unfair: lets the running overtake those that wait. "
        "spins: never sleeps.\nlimit: what no lock can do with less. disturbed: runs during which "
        "something else had more than 0.3 of a core; they\ncount only if there are too few others. "
        "A cache line: its way from core to core, beside each round.\n",
        *(f"- {line}" for line in programs_text(results)),
        "\n## What is demanded\n",
        markdown_table([["demanded", "here", "figures"],
                        *([d["claim"], d["verdict"], d["figures"]] for d in results["demands"])],
                       3),
    ]  # fmt: skip
    for section in results["sections"]:
        out.append(f"\n## {section['title']}\n\n{section['text']}")
        out += [markdown_row(row) for row in section["rows"] if measured(row)]
    out.append("\n## The engines, by what it costs to move a cache line\n")
    out.append(f"cheap: below {results['dear_line_ns']} ns beside the round. "
               "-: the machine was never in that state.\n")  # fmt: skip
    out.append(markdown_table(states_lines(results)))
    for growth in results["growth"]:
        out.append(f"\n## {growth['title'][0].upper()}{growth['title'][1:]}: ns per operation\n")
        out.append(markdown_table(growth_lines(growth)))
    if instructions := results["instructions"]:
        out.append("\n## Instructions of one operation, with waiters\n")
        out.append(markdown_table(operation_lines(instructions["operations"]), 1))
        out.append("\n## Instructions and read-modify-writes, nobody waiting\n")
        out.append(markdown_table(path_lines(instructions["alone"]), 1))
    return "\n".join(out) + "\n"


def operation_lines(operations: list[dict[str, Any]]) -> list[list[str]]:
    names = ("instructions", "bound", "bar")
    return [["", *names],
            *([o["title"], *("" if o[name] is None else f"{o[name]:g}" for name in names)]
              for o in operations)]  # fmt: skip


def path_lines(alone: list[dict[str, Any]]) -> list[list[str]]:
    names = ("take_instructions", "take_rmw", "give_instructions", "give_rmw")
    heads = ["", "take: instructions", "RMW", "give: instructions", "RMW"]
    return [heads, *([i["path"], *(str(i[name]) for name in names)] for i in alone)]
