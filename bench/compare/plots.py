"""Drawings by gnuplot, as SVG to be put into the page: bars, lines and dots.

gnuplot knows the axes; the lines of text are ours, at places of our own, so that no estimate of
their width matters, and every text reaches it as a quoted string, as it is.
"""

import html
import math
import re
import subprocess
from dataclasses import dataclass, field

from colours import INK, MUTED, RULE, STRONG, as_variables, colour
from stats import count, digits, duration, scaled, span

GNUPLOT_SECONDS = 20
LINE = 17  # pixels from one bar to the next
POINTS = (7, 5, 9, 13, 11, 6, 4, 8, 12, 10)  # of gnuplot: filled ones first
DASHES = ("", "8,4", "2,4", "8,3,2,3", "14,5", "4,2")


class NoPlot(Exception):
    """There is no gnuplot, or it failed: the reason."""


@dataclass(frozen=True)
class Bar:
    label: str
    family: str
    value: float
    low: float
    high: float
    pale: bool = False


@dataclass(frozen=True)
class Group:
    title: str
    bars: list[Bar]


@dataclass(frozen=True)
class Dot:
    label: str
    family: str
    point: int
    value: float
    low: float
    high: float


@dataclass(frozen=True)
class DotRow:
    title: str
    dots: list[Dot]  # none: a heading


@dataclass(frozen=True)
class Line:
    label: str
    family: str
    points: list[tuple[float, float, float, float]]  # x, y, low, high
    point: int
    dash: str


@dataclass
class Canvas:
    """A drawing in the making: pixels from outside, the axes' units inside of its margins."""

    key: str
    width: int
    height: int
    left: int = 0
    right: int = 12
    top: int = 8
    bottom: int = 30
    before: list[str] = field(default_factory=list)
    labels: list[str] = field(default_factory=list)
    plots: list[str] = field(default_factory=list)
    tips: list[str] = field(default_factory=list)  # what a plot says when it is pointed at

    def plot(self, what: str, tip: str = "") -> None:
        self.plots.append(what + " notitle")
        self.tips.append(tip)

    def label(self, text: str, x: str, y: str, align: str = "left", how: str = "") -> None:
        self.labels.append(f"set label {_quoted(text)} at {x}, {y} {align} front {how}")

    def pixel_x(self, x: float) -> str:
        return f"screen {x / self.width:.5f}"

    def pixel_y(self, y: float) -> str:
        return f"screen {1 - y / self.height:.5f}"

    def data(self, name: str, rows: list[tuple[float, ...]]) -> str:
        lines = "\n".join(" ".join(f"{v:.8g}" for v in row) for row in rows)
        self.before.append(f"${name} << END\n{lines}\nEND")
        return f"${name}"

    def svg(self) -> str:
        margins = (
            ("lmargin", self.left / self.width),
            ("rmargin", 1 - self.right / self.width),
            ("tmargin", 1 - self.top / self.height),
            ("bmargin", self.bottom / self.height),
        )
        script = [
            "set encoding utf8",
            f"set terminal svg size {self.width},{self.height} dynamic noenhanced "
            "font 'sans-serif,12'",
            *(f"set {name} at screen {at:.5f}" for name, at in margins),
            "unset key",
            f"set border 0 linecolor rgb '{RULE}'",
            f"set tics textcolor rgb '{MUTED}' scale 0",
            f"set grid x y back linetype 1 linewidth 1 linecolor rgb '{RULE}'",
            "set style fill solid 1.0 noborder",
            *self.before,
            *self.labels,
            "plot " + ", \\\n  ".join(self.plots),
        ]
        return _inlined(self.key, drawn("\n".join(script) + "\n"), self.tips)


def _quoted(text: str) -> str:
    """A string in which gnuplot changes nothing."""
    text = "".join(c if c.isprintable() else " " for c in text)
    return "'" + text.replace("'", "''") + "'"


def drawn(script: str) -> str:
    """What gnuplot makes of a script: an SVG."""
    try:
        ended = subprocess.run(["gnuplot", "-"], input=script, capture_output=True, text=True,
                               encoding="utf-8", timeout=GNUPLOT_SECONDS)
    except FileNotFoundError:
        raise NoPlot("there is no gnuplot") from None
    except (OSError, subprocess.TimeoutExpired) as error:
        raise NoPlot(f"gnuplot: {error}") from None
    if ended.returncode != 0 or "</svg>" not in ended.stdout:
        raise NoPlot(f"gnuplot: {ended.stderr.strip()[-300:]}")
    return ended.stdout


def _inlined(key: str, svg: str, tips: list[str]) -> str:
    """Without what only a file of its own needs; what has a name is named after the plot."""

    def tip(match: re.Match[str]) -> str:
        text = tips[int(match[1]) - 1]
        return f"<title>{html.escape(text)}</title>" if text else ""

    svg = svg[svg.index("<svg") :]
    svg = re.sub(r"<title>[^<]*</title>\s*<desc>.*?</desc>", "", svg, count=1, flags=re.S)
    svg = re.sub(r"<filter.*?</filter>", "", svg, flags=re.S)
    svg = re.sub(r"""\s(xmlns(:xlink)?|font-family)=(["'])[^"']*\3""", "", svg)
    svg = re.sub(r"<title>gnuplot_plot_(\d+)</title>", tip, svg.replace("xlink:href", "href"))
    svg = re.sub(r"""(\bid=["']|href=["']#)(?=gp|gnuplot)""", rf"\g<1>{key}-", svg)
    svg = re.sub(r"<g [^>]*>\s*</g>", "", svg)
    svg = re.sub(r"\s*\n\s*", "\n", as_variables(svg))
    for default in ("color=\"currentColor\"", "stroke-width=\"1.00\"", "stroke-linecap=\"butt\"",
                    "stroke-linejoin=\"miter\"", "font-size=\"12.00\"", "stroke-width='1'"):
        svg = svg.replace(f" {default}", "")
    return svg.replace("<svg", '<svg role="img"', 1)


def _log_ticks(low: float, high: float, steps: tuple[int, ...] = ()) -> list[float]:
    steps = steps or ((1, 2, 5) if high / low < 120 else (1,))
    decades = range(math.floor(math.log10(low)), math.ceil(math.log10(high)) + 1)
    ticks = [step * 10.0**decade for decade in decades for step in steps]
    return [tick for tick in ticks if low * 0.999 <= tick <= high * 1.001]


def _linear_ticks(high: float) -> list[float]:
    step = 10.0 ** math.floor(math.log10(high / 2))
    step *= next(f for f in (1, 2, 5, 10) if high / (step * f) <= 5)
    return [step * i for i in range(int(high / step) + 1)]


def _ticks(axis: str, ticks: list[tuple[str, float]]) -> str:
    return f"set {axis}tics (" + ", ".join(f"{_quoted(text)} {at:.8g}" for text, at in ticks) + ")"


def _bar_axis(c: Canvas, everything: list[Bar], log: bool, unit: str) -> float:
    """The axis of values; returns where bars begin."""
    most = max(bar.high for bar in everything)
    inside = c.width - c.left - c.right
    text_room = 48 / inside  # of what is written at a bar's end
    if not log:
        high, low, ticks = most / (1 - text_room), 0.0, _linear_ticks(most)
    else:
        least = min(min(bar.low, bar.value) for bar in everything)
        low = 1.0 if unit == "×" else _log_ticks(least / 20, least * 0.8, (1, 2, 5))[-1]
        high = low * (most / low) ** (1 / (1 - text_room)) * 1.02
        ticks = _log_ticks(low, high)
        c.before.append("set logscale xx2")
    shown = duration if unit == "ns" else count
    suffix = "" if unit == "ns" else unit
    c.before += [f"set xrange [{low:.8g}:{high:.8g}]", f"set x2range [{low:.8g}:{high:.8g}]",
                 _ticks("x", [(shown(tick) + suffix, tick) for tick in ticks]),
                 _ticks("x2", [(shown(tick) + suffix, tick) for tick in ticks])]
    return low


def bars(key: str, groups: list[Group], unit: str = "ns", log: bool = True,
         beside: list[Group] | None = None) -> str:
    """Horizontal bars in groups, each with its name, its value and its quartiles. The axis is that
    of the groups beside, if they are given."""
    height = sum(LINE * (len(g.bars) + 1.4 + (g.title == "") * -1.2) for g in groups)
    c = Canvas(key, 580, round(height) + 54, left=196, right=24, top=28, bottom=26)
    begin = _bar_axis(c, [bar for g in beside or groups for bar in g.bars], log, unit)
    c.before += ["unset ytics", f"set yrange [{height:.1f}:0]"]
    y, number = 0.0, 0
    for group in groups:
        if group.title:
            c.label(group.title, c.pixel_x(4), f"first {y + LINE * 0.8:.1f}",
                    how=f"textcolor rgb '{STRONG}'")
        y += LINE * (1.4 if group.title else 0.2)
        for bar in group.bars:
            middle = y + LINE / 2
            half = LINE * 0.38
            at = c.data(f"b{number}", [(bar.value, middle, begin, bar.value, middle - half,
                                        middle + half, bar.low, bar.high)])
            paint = f"linecolor rgb '{colour(bar.family)}'"
            fill = "fillstyle transparent solid 0.45 noborder" if bar.pale else ""
            c.plot(f"{at} using 1:2:3:4:5:6 with boxxyerror {paint} {fill}",
                   f"{bar.label}: {digits(bar.value)} ({span(bar.low, bar.high)})")
            if bar.high > bar.low:
                c.plot(f"{at} using 7:2:($8-$7):(0) with vectors nohead linewidth 1.5 "
                       f"linecolor rgb '{INK}'")
            c.label(bar.label, c.pixel_x(c.left - 6), f"first {middle:.1f}", "right",
                    f"textcolor rgb '{STRONG}'" if bar.family == "volt" else "")
            c.label(digits(bar.value), f"first {max(bar.value, bar.high):.8g}",
                    f"first {middle:.1f}", how=f"offset 0.6,0 textcolor rgb '{MUTED}'")
            number += 1
            y += LINE
    return c.svg()


def lines(key: str, series: list[Line], x_ticks: list[tuple[str, float]], x_title: str,
          y_title: str, log_y: bool = True) -> str:
    """Lines over a logarithmic x, with the spread of each point where there is one."""
    c = Canvas(key, 580, 340, left=58, top=30, bottom=48)
    values = [v for line in series for _, *ys in line.points for v in ys if v > 0 or not log_y]
    if log_y:
        low, high = min(values) / 1.3, max(values) * 1.3
        ticks = _log_ticks(low, high)
        c.before.append("set logscale xy")
    else:
        low, high = 0.0, max(values) * 1.05
        ticks = _linear_ticks(high)
        c.before.append("set logscale x")
    xs = [x for _, x in x_ticks]
    c.before += [f"set yrange [{low:.8g}:{high:.8g}]",
                 f"set xrange [{min(xs) / 1.5:.8g}:{max(xs) * 1.5:.8g}]",
                 _ticks("x", x_ticks), _ticks("y", [(scaled(t), t) for t in ticks])]
    c.label(y_title, c.pixel_x(4), c.pixel_y(14), how=f"textcolor rgb '{MUTED}'")
    c.label(x_title, "graph 0.5", c.pixel_y(c.height - 10), "center", f"textcolor rgb '{MUTED}'")
    for number, line in enumerate(series):
        at = c.data(f"s{number}", line.points)
        heavy = line.family == "volt" and not line.dash
        dash = f"dashtype ({line.dash})" if line.dash else ""
        paint = f"linecolor rgb '{colour(line.family)}'"
        c.plot(f"{at} using 1:2 with lines linewidth {3.5 if heavy else 2} {dash} {paint}",
               line.label)
        if any(high > low for _, _, low, high in line.points):
            c.plot(f"{at} using 1:3:(0):($4-$3) with vectors nohead linewidth 1.2 {paint}")
        c.plot(f"{at} using 1:2 with points pointtype {line.point} pointsize 0.8 {paint}",
               line.label)
    return c.svg()


def dots(key: str, rows: list[DotRow], limits: tuple[float, float]) -> str:
    """A line of dots for each row: ratios, beside the one at which nobody is ahead."""
    height = 18 * len(rows)
    c = Canvas(key, 800, height + 70, left=326, right=18, top=44, bottom=26)
    low, high = limits
    ticks = [(f"{tick:g}", tick) for tick in _log_ticks(low, high)]
    c.before += ["set logscale xx2", f"set xrange [{low:.8g}:{high:.8g}]",
                 f"set x2range [{low:.8g}:{high:.8g}]", _ticks("x", ticks), _ticks("x2", ticks),
                 _ticks("y", [("", n + 0.5) for n, row in enumerate(rows) if row.dots]),
                 f"set yrange [{len(rows)}:0]",
                 f"set arrow 1 from 1,0 to 1,{len(rows)} nohead back linewidth 2 "
                 f"linecolor rgb '{colour('volt')}'"]
    c.label("volt is slower", "first 0.93", c.pixel_y(10), "right", f"textcolor rgb '{MUTED}'")
    c.label("volt is faster", "first 1.07", c.pixel_y(10), "left", f"textcolor rgb '{STRONG}'")
    for number, row in enumerate(rows):
        y = number + 0.5
        how = "" if row.dots else f"textcolor rgb '{STRONG}'"
        c.label(row.title, c.pixel_x(c.left - 8), f"first {y}", "right", how)
    everything = [(number + 0.5, dot) for number, row in enumerate(rows) for dot in row.dots]
    for number, (y, dot) in enumerate(everything):
        value, inner_low, inner_high = (min(max(v, low), high) for v in
                                        (dot.value, dot.low, dot.high))
        at = c.data(f"d{number}", [(value, y, inner_low, inner_high)])
        paint = f"linecolor rgb '{colour(dot.family)}'"
        c.plot(f"{at} using 3:2:($4-$3):(0) with vectors nohead linewidth 1 {paint}")
        c.plot(f"{at} using 1:2 with points pointtype {dot.point} pointsize 0.85 linewidth 1.6 "
               f"{paint}", f"{dot.label}: {digits(dot.value)}")
    return c.svg()
