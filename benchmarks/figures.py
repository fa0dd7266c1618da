"""Numbers in README and docs, from result files.

    python benchmarks/figures.py           rewrite the numbers, and the last section of docs/results/README.md
    python benchmarks/figures.py --copy    first copy result files from benchmarks/results to docs/results
    python benchmarks/figures.py --check   change nothing; list the numbers that differ

docs/figures.toml lists entries: a file, a text of it in which {} stands for each number, and where the numbers are
found, as rows and columns of CSV files in docs/results. Entries whose files do not exist yet are not compared; the last
section of docs/results/README.md names them with the command that measures them.
"""

import argparse
import json
import re
import shutil
import sys
import tomllib
from pathlib import Path

import numpy as np

from _common import RESULTS
from proxcode.experiments import RECORD
from proxcode.experiments.report import read_rows

ROOT = Path(__file__).parents[1]
NUMBER = r"-?(?:\d[\d,]*)?\.?\d+(?:e-?\d+)?"
SECTION = "## Where the numbers come from"
ABOUT = (
    "`make figures` makes the tables and figures of this folder again from its CSV files, and rewrites the numbers in",
    "README and docs that `docs/figures.toml` lists. These numbers are listed there, but not rewritten, because the",
    "result file of the command that measures them is not in this folder:",
)


def read_list(root):
    return tomllib.loads((root / "docs" / "figures.toml").read_text(encoding="utf-8"))


def pattern(text):
    """Return the regular expression of a text: {} is a number, and spaces match line breaks."""
    parts = [r"\s+".join(map(re.escape, part.split(" "))) for part in text.split("{}")]
    return re.compile(f"({NUMBER})".join(parts))


def numbers(entry, results):
    """Return the numbers of an entry as texts; None if one of its files does not exist."""
    found = []
    for value in entry["values"]:
        path = results / value["csv"]
        if not path.exists():
            return None
        ((name, choices),) = value.get("by", {"": [None]}).items()
        for choice in choices:
            where = value.get("where", {}) | ({name: choice} if name else {})
            found.append(shown(one_value(path, where, value), value))
    return found


def one_value(path, where, value):
    """Return one number from the rows that have the given values, as `take` says; docs/figures.toml explains it."""
    rows = [row for row in read_rows(path) if all(row[name] == wanted for name, wanted in where.items())]
    take = value.get("take", "only")
    if not rows or (take == "only" and len(rows) != 1):
        raise ValueError(f"{path.name}: {len(rows)} rows with {where}: expected {'one' if take == 'only' else 'some'}.")
    if take == "spread":
        return max(np.std(group, ddof=1) for group in groups(rows, value["column"]).values())
    if take == "best":
        return best(path, rows, value)
    if take == "gain":
        others = [row for row in read_rows(path) if row["method"] == value["over"]]
        base = groups(others, value["column"])
        return np.mean([np.mean(some) / np.mean(base[key]) - 1 for key, some in groups(rows, value["column"]).items()])
    # A column that is empty in other rows is read as text.
    cells = [float(row[value["column"]]) for row in rows]
    return {"only": np.mean, "mean": np.mean, "min": np.min, "max": np.max}[take](cells)


def best(path, rows, value):
    """Return the largest mean over methods; raise ValueError where it is not that of the method that the text names."""
    of_methods = {}
    for row in rows:
        if row["method"] not in value.get("without", ()) and not np.isnan(row[value["column"]]):
            of_methods.setdefault(row["method"], []).append(row[value["column"]])
    means = {name: np.mean(some) for name, some in of_methods.items()}
    winner = max(means, key=means.get)
    if winner != value["named"]:
        raise ValueError(
            f"{path.name}: the best is {winner} with {means[winner]:.3f}, not {value['named']}: change the text and "
            "docs/figures.toml."
        )
    return means[winner]


def groups(rows, column):
    """Return the values of a column for each protocol and code length."""
    found = {}
    for row in rows:
        found.setdefault((row["protocol"], row["bits"]), []).append(row[column])
    return found


def shown(number, value):
    """Format a number: 3 digits after the point unless stated otherwise, without a zero before the point.

    With an exponent, 0.00011 is 1.1e-04, and zero is 0.
    """
    digits = value.get("digits", 3)
    if value.get("exponent"):
        return f"{number:.{digits}e}" if number else "0"
    text = f"{number * value.get('scale', 1):,.{digits}f}"
    return text if value.get("zero") else re.sub(r"^0\.", ".", text)


def rewritten(text, entries, results):
    """Return a text with the numbers of all entries; raise ValueError if an entry does not occur exactly once."""
    for entry in entries:
        matches = list(pattern(entry["text"]).finditer(text))
        if len(matches) != 1:
            raise ValueError(f"{entry['file']}: {len(matches)} places match {entry['text']!r}: expected one.")
        new = numbers(entry, results) if "values" in entry else None
        if new is None:
            continue
        (match,) = matches
        if len(new) != len(match.groups()):
            raise ValueError(f"{entry['file']}: {entry['text']!r} has {len(match.groups())} numbers, not {len(new)}.")
        for group in range(len(new), 0, -1):
            start, end = match.span(group)
            text = text[:start] + new[group - 1] + text[end:]
    return text


def uncovered(root):
    """Return the numbers in the section "Measured" of README that no entry covers."""
    listed = read_list(root)
    text = (root / "README.md").read_text(encoding="utf-8")
    start = text.index("## Measured")
    end = text.index("\n## ", start)
    covered = set()
    for entry in listed["entry"]:
        if entry["file"] == "README.md":
            for match in pattern(entry["text"]).finditer(text):
                covered |= {place for group in range(1, match.re.groups + 1) for place in range(*match.span(group))}
    for constant in listed["not_measured"]:
        places = [match.span() for match in pattern(constant).finditer(text, start, end)]
        if not places:
            raise ValueError(f"docs/figures.toml: {constant!r} does not occur in README: remove it.")
        covered |= {place for span in places for place in range(*span)}
    found = re.finditer(rf"(?<![\w.,]){NUMBER}(?!\w)", text[start:end])
    return [match.group() for match in found if start + match.start() not in covered]


def sources(root):
    """Return the last section of docs/results/README.md: the time of the experiments, and which files are missing."""
    results = root / "docs" / "results"
    lines = [SECTION, ""]
    record = results / RECORD
    if record.exists():
        runs = json.loads(record.read_text())
        minutes = sum(run["seconds"] for run in runs.values()) / 60
        jobs = sorted({run["jobs"] for run in runs.values()})
        times = ", ".join(f"{name} {run['seconds'] / 60:.0f}" for name, run in runs.items())
        repeated = [f"{name} {run['runs']}" for name, run in runs.items() if run["runs"] > 1]
        lines.append(f"All experiments took {minutes:.0f} minutes with {' or '.join(map(str, jobs))} jobs ({times}).")
        if repeated:
            lines.append(f"The times of several runs are added up: {', '.join(repeated)}.")
    else:
        lines.append(f"There is no record of the time of the experiments ({RECORD}) in this folder yet.")
    lines += ["", *ABOUT, ""]
    missing = {}
    listed = read_list(root)
    for entry in listed["entry"]:
        if "values" not in entry or numbers(entry, results) is None:
            missing.setdefault(entry["command"], []).append(entry["file"])
    for command, files in missing.items():
        places = ", ".join(f"{files.count(name)} in {name}" for name in dict.fromkeys(files))
        lines.append(f"- `{command}`: {places}")
    lines += ["- none"] * (not missing)
    lines += ["", "Not listed there, and written by hand:", ""]
    lines += [f"- {other['what']} in {other['file']}: `{other['command']}`" for other in listed["by_hand"]]
    return "\n".join(lines) + "\n"


def with_sources(text, root):
    return text[: text.index(SECTION)] + sources(root) if SECTION in text else f"{text.rstrip()}\n\n{sources(root)}"


def documents(root):
    """Return the text that each file should have, by path."""
    listed = read_list(root)["entry"]
    names = dict.fromkeys([*(entry["file"] for entry in listed), "docs/results/README.md"])
    found = {}
    for name in names:
        text = (root / name).read_text(encoding="utf-8")
        text = rewritten(text, [entry for entry in listed if entry["file"] == name], root / "docs" / "results")
        found[root / name] = with_sources(text, root) if name == "docs/results/README.md" else text
    return found


def differences(root):
    """Return the lines of README and docs that differ from the result files, as texts."""
    found = []
    for path, text in documents(root).items():
        now = path.read_text(encoding="utf-8").splitlines()
        new = text.splitlines()
        if len(now) != len(new):
            found.append(f"{path.relative_to(root)}: {len(now)} lines, expected {len(new)}")
        pairs = zip(now, new, strict=False)
        found += [f"{path.relative_to(root)}: {old!r}, expected {line!r}" for old, line in pairs if old != line]
    return found


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--copy", action="store_true", help="first copy the results of benchmarks")
    parser.add_argument("--check", action="store_true", help="list what differs; change nothing")
    options = parser.parse_args()
    if options.copy:
        for name in read_list(ROOT)["benchmarks"]:
            if (RESULTS / name).exists():
                shutil.copy(RESULTS / name, ROOT / "docs" / "results" / name)
                print(f"copied {name}")
    if options.check:
        sys.exit("\n".join(differences(ROOT)) or 0)
    for path, text in documents(ROOT).items():
        if path.read_text(encoding="utf-8") != text:
            path.write_text(text, encoding="utf-8")
            print(f"rewrote {path.relative_to(ROOT)}")
    for number in uncovered(ROOT):
        print(f"README.md: no entry covers {number}", file=sys.stderr)


if __name__ == "__main__":
    main()
