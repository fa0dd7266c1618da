"""Print the path of a Chromium: one that is installed, or the one in the npm package @sparticuz/chromium."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

NAMES = ("chromium", "chromium-browser", "google-chrome")
FOLDER = Path(__file__).parent
PACKAGE = FOLDER / "node_modules" / "@sparticuz" / "chromium"
UNPACK = "import('@sparticuz/chromium').then((it) => it.default.executablePath())"
# The package unpacks its libraries (nss, nspr, expat) only where it takes the machine for one of Amazon's.
AMAZON = {"AWS_EXECUTION_ENV": "AWS_Lambda_nodejs20.x"}
# Libraries and fonts may be missing where nobody can install packages; without a font no text has any height.
FONTS = """<?xml version="1.0"?>
<!DOCTYPE fontconfig SYSTEM "fonts.dtd">
<fontconfig><dir>/usr/share/fonts</dir><dir>{folder}/fonts</dir><cachedir>{folder}/cache</cachedir></fontconfig>
"""
START = """#!/bin/sh
export LD_LIBRARY_PATH="{folder}/al2023/lib" FONTCONFIG_FILE="{folder}/fonts.xml"
exec "{folder}/chromium" "$@"
"""


def installed():
    return next((path for path in map(shutil.which, NAMES) if path), None)


def unpacked():
    """The browser of the npm package, unpacked beside it, as a script that starts it with what the package holds."""
    if not PACKAGE.exists():
        return None
    folder, partial = PACKAGE.parent / "unpacked", PACKAGE.parent / "partial"
    if not folder.exists():
        shutil.rmtree(partial, ignore_errors=True)
        partial.mkdir()
        environment = {**os.environ, **AMAZON, "TMPDIR": str(partial)}
        subprocess.run(["node", "-e", UNPACK], cwd=FOLDER, env=environment, check=True)
        partial.rename(folder)
    (folder / "fonts.xml").write_text(FONTS.format(folder=folder))
    start = folder / "start"
    start.write_text(START.format(folder=folder))
    start.chmod(0o755)
    return str(start)


if __name__ == "__main__":
    path = installed() or unpacked()
    if path is None:
        sys.exit("no Chromium: install Debian's package chromium, or run npm install in tests/browser")
    sys.stdout.write(path + "\n")
