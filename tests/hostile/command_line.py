#!/usr/bin/env python3
"""Random command lines: every subcommand and option that `lather --help` names, with values that nobody should give.

The answer is a result or a message with status 1, 2 or 3, without escape sequences; whatever was asked for."""
import os
import random
import re
import shutil
import subprocess
import tempfile
from pathlib import Path

from campaign import Campaign, lather

# What each subcommand is called with, so that it has little to do. {run}: a finished run.
BASES = {
    "train": ["small.toml", "--steps", "2", "--quiet", "--threads", "1"],
    "eval": ["{run}"],
    "compare": ["small.toml", "--steps", "1", "--seeds", "1", "--optimizers", "adam,lm", "--quiet"],
    "sweep": ["sweep.toml", "--quiet"],
    "report": ["{run}"],
    "status": ["{run}"],
    "predict": ["{run}", "points.csv"],
    "export": ["{run}"],
    "list": ["problems"],
    "check": ["small.toml"],
    "reference": ["--cache", "cache"],
    "doctor": [],
    "completion": ["bash"],
    "watch": None,  # serves until it is stopped: a campaign of its own
}
LEFT_OUT = {"--watch", "--share", "--help"}  # serve, wait for others, say all
ESCAPE = "\x1b[2J\x1b]0;title\x07"
# Small, or refused: a caller who asks for much work is not hostile.
NUMBERS = ["-1", "0", "1", "2", "1.5", "", "x", "nan", "inf", "-inf", "1e400", "1e-400", "0x10", "1e3x", "99999999999999999999", "-9223372036854775809",
           "18446744073709551616", " 1", "1,", "--", "+1", "1_0", "\u0661", ESCAPE]
WORDS = ["", " ", "adam", "lm", "soap,adam", "adam,adam", ",", "=", "a=b", "a=b=c", ESCAPE, "n" * 5000, "../..", "%s%n%n", "'; ls", "\u202etxt", "quick", "cpu", "cuda",
         "float32", "u_x", "u_xxxxxxxxx", "residual=1e-3", "l2=", "l3=1", "\udcff", "\n", "{}", "0.5", "0.5,0.5", "all", "-", "--quiet"]
SETTINGS = ["network.width=3", "network.width=", "network.width=-1", "network.width=1e999", "network.widht=3", "network=3", "training.steps=2", "training.points.interior=0",
            "training.points=\"", "optimizer.learning_rate=nan", "optimizer.name=adm", "=", "a", "a.b.c.d=1", "training.points.interior=[1", "parameters.nu=1/0", "network.type=" + ESCAPE,
            "." * 300 + "=1", "network.activation=\"tanh\"", "optimizer.then.name=lbfgs", "training.causal_tolerance=-1"]
FILES = ["out", "small.toml", "folder", "", ".", "..", "missing/below", "n" * 300, "n" * 5000, ESCAPE, "a\nb", "fifo", "link", "small.toml/", "out.svg", "out.pdf", "out.csv", "{run}",
         "{run}/config.json", "\udcff", "-", "'", "loop"]


def options_of(command: str) -> list[tuple[str, str]]:
    """(name, kind of value or "") of all options of a subcommand."""
    text = subprocess.run([lather(), command, "--help"], capture_output=True, text=True, check=True).stdout
    found = re.findall(r"^  (?:-\w,)?(--[\w-]+)(?:,--[\w-]+)*(?: ([A-Z][A-Z=]*|\{)\S*)?", text, flags=re.M)
    return [(name, kind) for name, kind in found if name not in LEFT_OUT]


def commands() -> list[str]:
    text = subprocess.run([lather(), "--help"], capture_output=True, text=True, check=True).stdout
    names = re.findall(r"^  ([a-z]+)  ", text.split("Subcommands:")[1], flags=re.M)
    unknown = set(names) ^ set(BASES)
    if unknown:
        raise SystemExit(f"{', '.join(sorted(unknown))}: say in BASES of {__file__} what it is called with")
    return [name for name in names if BASES[name] is not None]


def value(chance: random.Random, kind: str) -> str:
    lists = {"INT": NUMBERS, "UINT": NUMBERS, "FLOAT": NUMBERS, "FILE": FILES, "DIR": FILES, "RUN": FILES, "KEY=VALUE": SETTINGS, "OPTIMIZER": SETTINGS}
    return chance.choice(lists.get(kind, WORDS) if not chance.random() < 0.05 else WORDS)


def prepare(chance: random.Random, folder: Path, run: Path) -> None:
    title = ESCAPE if chance.random() < 0.3 else "small"
    (folder / "small.toml").write_text(small(title), encoding="utf-8")
    (folder / "sweep.toml").write_text('name = "s"\nproblem = "small.toml"\nseeds = 1\nsteps = 1\n[[optimizer]]\nname = "adam"\naxes.network.width = [2, 3]\n')
    (folder / "points.csv").write_text("t\n0\n0.5\n")
    (folder / "folder").mkdir()
    os.mkfifo(folder / "fifo")
    (folder / "link").symlink_to("small.toml")
    (folder / "loop").symlink_to("loop")
    shutil.copytree(run, folder / "run")


def small(title: str) -> str:
    title = title.encode("unicode_escape").decode().replace("\\x", "\\u00")
    return f"""name = "small"\ntitle = "{title}"\ncoordinates = ["t"]\nfields = ["u"]\n[domain]\nt = [0, 1]\n[network]\nwidth = 4\ndepth = 1
[[equation]]\nname = "decay"\nresidual = "u_t + u"\n[[condition]]\nname = "start"\nwhere = "t = 0"\nresidual = "u - 1"\n[reference]\nu = "exp(-t)"
[training]\noptimizer = "lm"\nsteps = 2\npoints = {{interior = 8, start = 1}}\n"""


def judge(campaign: Campaign, done: subprocess.CompletedProcess, line: list[str]) -> None:
    words = done.stdout + done.stderr
    if done.returncode not in (0, 1, 2, 3):
        campaign.silent(f"status {done.returncode}", repr(line))
    elif done.returncode != 0 and not words.strip():
        campaign.silent("fails without a word", repr(line))
    elif b"\x1b" in words or b"\x07" in words:
        campaign.silent("escape sequences reach the terminal", repr(line))
    elif any(inner in words for inner in (b"std::", b"basic_string", b"terminate called", b"bad_", b"vector::")):
        campaign.silent("a message that speaks of the inside: " + repr(words[-300:]), repr(line))


def main() -> None:
    campaign = Campaign("command line", cases=250)
    known = {command: options_of(command) for command in commands()}
    with tempfile.TemporaryDirectory() as top:
        environment = {**os.environ, "LATHER_CACHE": top + "/cache", "HOME": top}
        first = Path(top) / "first"
        first.mkdir()
        (first / "small.toml").write_text(small("small"))
        subprocess.run([lather(), "train", "small.toml", "--out", "run", "--quiet"], cwd=first, check=True, env=environment)
        while campaign.more():
            chance = campaign.chance()
            folder = Path(tempfile.mkdtemp(dir=top))
            prepare(chance, folder, first / "run")
            command = chance.choice(list(known))
            line = [word.replace("{run}", "run") for word in BASES[command]]
            if line and chance.random() < 0.3:
                line[0] = chance.choice(FILES if chance.random() < 0.7 else WORDS).replace("{run}", "run")
            for _ in range(chance.choice((0, 1, 1, 2, 3)) if known[command] else 0):
                name, kind = chance.choice(known[command])
                line += [name] if not kind and chance.random() < 0.9 else [name, value(chance, kind).replace("{run}", "run")]
            line = [lather(), command, *line]
            done = campaign.run(line, cwd=folder, env=environment)
            if done is not None:
                judge(campaign, done, line)
            shutil.rmtree(folder, ignore_errors=True)
    campaign.end()


main()
