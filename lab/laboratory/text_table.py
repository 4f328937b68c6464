"""Tables of texts as Markdown, CSV and LaTeX."""
from __future__ import annotations

import re
from dataclasses import dataclass, field

from .facts import csv_text

WIDEST_COLUMN = 60  # longer cells are sentences: others are not padded to their length


@dataclass
class TextTable:
    header: list[str]
    rows: list[list[str]] = field(default_factory=list)

    def __bool__(self) -> bool:
        return bool(self.rows)

    def markdown(self) -> str:
        lines = [
            [cell.replace("\n", " ").replace("|", "\\|") for cell in line]
            for line in (self.header, *self.rows)
        ]
        widths = [
            max(3, *(min(len(cell), WIDEST_COLUMN) for cell in column)) for column in zip(*lines)
        ]
        texts = [
            "| " + " | ".join(cell.ljust(width) for cell, width in zip(line, widths)) + " |"
            for line in lines
        ]
        return (
            "\n".join([texts[0], "|" + "|".join("-" * (w + 2) for w in widths) + "|", *texts[1:]])
            + "\n"
        )

    def csv(self) -> str:
        return csv_text(self.header, self.rows)

    def latex(self) -> str:
        lines = [
            " & ".join(map(latex_text, line)) + " \\\\\n" for line in (self.header, *self.rows)
        ]
        return (
            f"\\begin{{tabular}}{{l{'c' * (len(self.header) - 1)}}}\n\\toprule\n{lines[0]}\\midrule\n"
            f"{''.join(lines[1:])}\\bottomrule\n\\end{{tabular}}\n"
        )


LATEX_NUMBER = re.compile(r"\b(\d+(?:\.\d+)?e[+-]\d+)(?: ± (\d+(?:\.\d+)?e[+-]\d+))?")
LATEX_SIGNS = {
    "&": r"\&",
    "%": r"\%",
    "$": r"\$",
    "#": r"\#",
    "_": r"\_",
    "{": r"\{",
    "}": r"\}",
    "^": r"\char94{}",
    "~": r"\char126{}",
    "\\": r"\char92{}",
    "<": r"\textless{}",
    ">": r"\textgreater{}",
    "|": r"\textbar{}",
    "\n": " ",
    "−": "$-$",
    "≤": r"$\le$",
    "≥": r"$\ge$",
    "≈": r"$\approx$",
    "≠": r"$\ne$",
    "∞": r"$\infty$",
    "→": r"$\to$",
    "∂": r"$\partial$",
    "∇": r"$\nabla$",
    **{
        letter: f"$\\{name}$"
        for letter, name in zip(
            "αβγδεζηθικλμνξπρστυφχψωΓΔΘΛΞΠΣΥΦΨΩµ",
            "alpha beta gamma delta varepsilon zeta eta theta iota kappa lambda mu nu xi pi rho "
            "sigma tau "
            "upsilon phi chi psi omega Gamma Delta Theta Lambda Xi Pi Sigma Upsilon Phi Psi Omega mu".split(),
        )
    },
}


def latex_text(text: str) -> str:
    """Numbers with a power of ten, and their deviations, are formulas."""

    def number(text: str) -> str:
        digits, exponent = text.split("e")
        return digits + (f" \\cdot 10^{{{int(exponent)}}}" if int(exponent) else "")

    def words(text: str) -> str:
        return "".join(LATEX_SIGNS.get(sign, sign) for sign in text)

    out, at = "", 0
    for found in LATEX_NUMBER.finditer(text):
        out += words(text[at : found.start()]) + " \\pm ".join(
            number(n) for n in found.groups() if n
        ).join("$$")
        at = found.end()
    return out + words(text[at:])
