"""The report: one file of HTML, with nothing outside of it and nothing to run.

Whatever is not in the results is left out. All text of theirs is escaped where it enters.
"""

from dataclasses import dataclass
from pathlib import Path

import colours
import figures
import tables
from run import DISTURBED
from tables import text


@dataclass(frozen=True)
class Part:
    """What the contents list."""

    key: str
    title: str
    body: str

    def html(self) -> str:
        return f'<section id="{self.key}"><h2>{text(self.title)}</h2>{self.body}</section>'


def paragraph(words: str) -> str:
    return f"<p>{text(words)}</p>" if words else ""


def in_short(results: dict) -> str:
    counted = tables.in_short(results)
    if not counted:
        return ""
    losses = tables.losses(results)
    listed = "<p>There is no row in which volt loses.</p>"
    if losses:
        listed = (
            "<h3>Where volt loses</h3>"
            "<p>Who is ahead, with its time as a share of volt's.</p>" + losses
        )
    level = (
        "Each library in each row, beside volt."
        " Level: the quartiles of the ratio are not on one side of 1."
    )
    return paragraph(level) + counted + figures.ratios(results) + listed


def how(results: dict) -> str:
    rounds = results.get("rounds") or 0
    return "".join(f"<p>{words}</p>" for words in (
        f"{text(rounds)} {'round' if rounds == 1 else 'rounds'}, interleaved: in each, every arm of"
        " every row runs once, in a process of its own, right after the others of its row, in an"
        " order that changes from round to round."
        + (" This was a quick run." if results.get("quick") else ""),
        "Times are medians over the rounds, in nanoseconds per operation, from the first start to"
        " the last end as the tasks themselves stamp them; beside them stand the quartiles. CPU ns"
        " is the CPU time of the whole process. A ratio is an arm's time over volt's <em>in the"
        " same round</em>, then the median of these: above 1, volt is faster. Where only one thread"
        " is at work it is taken by CPU time, elsewhere by wall time.",
        f"A run is disturbed when other processes used {DISTURBED:g} of a core or more meanwhile;"
        " it is repeated if that does not take too long, and counts only if there are too few"
        " others. Where several cores meet, what it costs to move a cache line between them is"
        " probed beside each round: it changes with where the machine places them, and all"
        " contended times with it.",
        f"What the marks say: {marks()}.",
    ))


def marks() -> str:
    return "; ".join(f"{tables.badge(kind)} {text(what)}" for kind, what in tables.BADGES.items())


def section(one: dict) -> str:
    rows = "".join(tables.row(one, row) for row in one.get("rows") or [])
    return paragraph(one.get("text") or "") + tables.glance(one) + figures.latency(one) + rows


def bcs(given: dict, results: dict) -> str:
    out = figures.bcs(results)
    for key, heading in (("bars", "demanded"), ("hypotheses", "what the published text says")):
        if given.get(key):
            out += tables.verdicts(given[key], (heading, "here", "figures"))
    return out + tables.bcs_cells(given)


def states(results: dict) -> str:
    found = tables.states(results)
    if not found:
        return ""
    limit = results.get("dear_line_ns")
    dear = f"; dear: from {text(limit)} ns on" if limit else ""
    return (
        "<p>The rounds apart, by what it cost to move a cache line from core to core"
        f"{dear}.</p>{found}"
    )


def parts(results: dict) -> list[Part]:
    demands = results.get("demands") or []
    every = [
        Part("in-short", "In short", in_short(results)),
        Part("demands", "What is demanded",
             tables.verdicts(demands, ("demanded", "here", "figures")) if demands else ""),
        Part("how", "How it was measured", how(results)),
        Part("programs", "Who was measured", tables.programs(results.get("programs") or [])),
    ]
    for one in results.get("sections") or []:
        key = "section-" + figures.row_id({}, one)[5:]
        every.append(Part(key, one.get("title") or one.get("key") or "?", section(one)))
    instructions = results.get("instructions") or {}
    every += [
        Part("states", "The engines, by what a cache line costs", states(results)),
        Part("growth", "When there are more and more", figures.growth(results)),
        Part("fairness", "Fairness", figures.fairness(results)),
        Part("memory", "Memory per waiting task", figures.memory(results)),
        Part("instructions", "Instructions",
             tables.operations(instructions.get("operations") or [])
             + tables.paths(instructions.get("alone") or [])),
        Part("bcs", "Batched critical sections", bcs(results.get("bcs") or {}, results)),
    ]
    return [part for part in every if part.body]


def style() -> str:
    dark = "@media screen and (prefers-color-scheme: dark)"
    return (
        f":root {{ {colours.variables(dark=False)} }}\n"
        f"{dark} {{ :root {{ {colours.variables(dark=True)} }} }}\n"
        + Path(__file__).with_name("page.css").read_text()
    )


def html(results: dict) -> str:
    title = text(results.get("title") or "Benchmarks")
    every = parts(results)
    contents = "".join(f'<li><a href="#{p.key}">{text(p.title)}</a></li>' for p in every)
    command = results.get("command")
    by = f"<p>Written by <code>{text(command)}</code>, which also writes all of it as JSON.</p>"
    return (
        '<!doctype html>\n<html lang="en"><head><meta charset="utf-8">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        '<meta name="color-scheme" content="light dark">\n'
        f"<title>volt: {title}</title>\n<style>\n{style()}</style></head>\n<body>\n"
        f'<header><p class="brand">volt</p><h1>{title}</h1>'
        f'<p class="machine">{text(results.get("machine"))}</p>{by if command else ""}</header>\n'
        f'<nav aria-label="contents"><ol>{contents}</ol></nav>\n<main>\n'
        + "\n".join(part.html() for part in every)
        + "\n</main>\n</body></html>\n"
    )


def write(path: str, results: dict) -> None:
    Path(path).write_text(html(results), encoding="utf-8")
