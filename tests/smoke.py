"""Smoke test of an installed proxcode, run by `make dist` in an environment that has the wheel and its dependencies."""

import subprocess
import sys
import tempfile
from importlib.metadata import version
from importlib.resources import files
from pathlib import Path
from urllib.request import urlopen

import numpy as np
from sklearn.datasets import load_digits

import proxcode
from proxcode.explore import CodeExplorer, ExploreServer


def main():
    package = Path(proxcode.__file__)
    check("site-packages" in package.parts, f"proxcode is imported from {package}, not from the installed wheel")
    check(version("proxcode") == proxcode.__version__, "the version of the wheel is not that of the package")
    check(files("proxcode").joinpath("py.typed").is_file(), "the wheel has no py.typed")
    X, y = load_digits(return_X_y=True)
    with tempfile.TemporaryDirectory() as folder:
        python_codes = in_python(X, y, Path(folder))
        shell_codes = in_the_shell(X, y, Path(folder))
        pages_with_their_scripts(python_codes, Path(folder))
    check(np.array_equal(python_codes, shell_codes), "Python and the command line give different codes")
    sys.stdout.write(f"proxcode {proxcode.__version__}: the smoke test passed in {sys.prefix}\n")


def in_python(X, y, folder):
    """Codes of the digits by the ten lines of the README, through a saved model."""
    model = proxcode.ProximityPreservingCode(n_bits=32, random_state=0).fit(X[:1000], y[:1000])
    model.save(folder / "python.proxcode")
    codes = proxcode.load(folder / "python.proxcode").encode(X)
    found = model.index(codes[:1000]).search(codes[1000:], k=1)
    agree = np.mean(y[:1000][found.neighbor[:, 0]] == y[1000:])
    check(agree > 0.9, f"only {agree:.1%} of the digits have the label of their nearest neighbour")
    return codes


def in_the_shell(X, y, folder):
    """The same codes by the command line."""
    np.save(folder / "X.npy", X)
    np.save(folder / "train.npy", X[:1000])
    np.save(folder / "y.npy", y[:1000])
    command(folder, "fit", "train.npy", "--labels", "y.npy", "--bits", "32", "--seed", "0", "-o", "shell.proxcode")
    command(folder, "encode", "shell.proxcode", "X.npy", "-o", "codes.npy")
    command(folder, "info", "shell.proxcode")
    return np.load(folder / "codes.npy")


def pages_with_their_scripts(codes, folder):
    """A report and the page of explore, whose scripts and styles are files of the wheel."""
    command(folder, "report", "shell.proxcode", "train.npy", "--labels", "y.npy", "--peers", "", "-o", "report.html")
    with ExploreServer(CodeExplorer(proxcode.load(folder / "python.proxcode"), codes)) as server:
        served = urlopen(server.address).read().decode()
    for name, page in {"report": (folder / "report.html").read_text(), "explore": served}.items():
        check("</script>" in page and "</style>" in page, f"the page of {name} has no script or no style")


def command(folder, *arguments):
    proxcode_command = Path(sys.prefix) / "bin" / "proxcode"
    done = subprocess.run([proxcode_command, *arguments], cwd=folder, capture_output=True, text=True, check=False)
    check(done.returncode == 0, f"proxcode {' '.join(arguments)} failed:\n{done.stderr}")


def check(holds, sentence):
    if not holds:
        sys.exit(sentence)


if __name__ == "__main__":
    main()
