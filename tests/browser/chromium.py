"""Print the path of a Chromium: one that is installed, or the one in the npm package @sparticuz/chromium."""

import shutil
import subprocess
import sys
from pathlib import Path

NAMES = ("chromium", "chromium-browser", "google-chrome")
FOLDER = Path(__file__).parent
UNPACK = "import('@sparticuz/chromium').then(async (it) => console.log(await it.default.executablePath()))"


def installed():
    return next((path for path in map(shutil.which, NAMES) if path), None)


def unpacked():
    """The browser of the npm package, which it unpacks below the folder for temporary files."""
    if not (FOLDER / "node_modules" / "@sparticuz").exists():
        return None
    done = subprocess.run(["node", "-e", UNPACK], cwd=FOLDER, capture_output=True, text=True, check=True)
    return done.stdout.strip()


if __name__ == "__main__":
    path = installed() or unpacked()
    if path is None:
        sys.exit("no Chromium: install Debian's package chromium, or run npm install in tests/browser")
    sys.stdout.write(path + "\n")
