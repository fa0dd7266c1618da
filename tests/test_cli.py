"""The installed command, as a user runs it."""

import subprocess
import sys
from pathlib import Path

COMMAND = Path(sys.executable).parent / "proxcode"


def run(*arguments, cwd=None):
    return subprocess.run([COMMAND, *arguments], cwd=cwd, capture_output=True, text=True, check=False)


def test_demo_prints_a_table_and_saves_a_figure(tmp_path):
    result = run("demo", "--output", "pictures", cwd=tmp_path)
    assert result.returncode == 0, result.stderr
    methods = ("PPC", "LSH", "ITQ")
    rows = {tuple(line.split()[:2]): line.split() for line in result.stdout.splitlines() if line[:3] in methods}
    assert list(rows) == [(method, n_bits) for method in methods for n_bits in ("8", "16", "32", "64")]
    for (_, n_bits), row in list(rows.items())[4:]:
        ppc = rows["PPC", n_bits]
        assert float(ppc[3]) > float(row[3]) + 0.2
        assert float(ppc[2]) < float(row[2])
    assert (tmp_path / "pictures" / "digits.png").read_bytes().startswith(b"\x89PNG")
    assert result.stderr == ""


def test_help_names_the_verbs():
    result = run("--help")
    assert result.returncode == 0
    assert "demo" in result.stdout


def test_an_unknown_verb_is_refused_in_one_sentence():
    result = run("fly")
    assert result.returncode == 2
    assert "No such command 'fly'" in result.stderr
