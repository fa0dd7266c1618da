"""The lowest versions that pyproject.toml accepts, as constraints of pip.

python tests/helpers/lowest_versions.py > constraints-lowest.txt
"""

import re
import sys
import tomllib
from pathlib import Path

PYPROJECT = Path(__file__).parents[2] / "pyproject.toml"


def lowest_versions(pyproject):
    """Return one line `name==version` for each requirement with a lower bound, of the package and of its extras.

    Examples
    --------
    >>> lowest_versions({"dependencies": ["numpy>=2.0"], "optional-dependencies": {"dev": ["ruff", "h5py>=3.11"]}})
    ['numpy==2.0', 'h5py==3.11']
    """
    extras = pyproject["optional-dependencies"].values()
    requirements = [*pyproject["dependencies"], *(name for extra in extras for name in extra)]
    bounds = (re.fullmatch(r"([\w-]+)(?:\[\w+\])?>=([\d.]+)", requirement) for requirement in requirements)
    return [f"{bound[1]}=={bound[2]}" for bound in bounds if bound]


if __name__ == "__main__":
    project = tomllib.loads(PYPROJECT.read_text())["project"]
    sys.stdout.writelines(f"{line}\n" for line in lowest_versions(project))
