"""The versions of libraries that pyproject.toml accepts."""

import re
import tomllib

from helpers.lowest_versions import PYPROJECT, lowest_versions


def test_every_library_that_is_used_has_a_lowest_version():
    project = tomllib.loads(PYPROJECT.read_text())["project"]
    extras = {name: extra for name, extra in project["optional-dependencies"].items() if name != "dev"}
    requirements = [*project["dependencies"], *(requirement for extra in extras.values() for requirement in extra)]
    assert lowest_versions(project) == [
        re.sub(r"\[\w+\]", "", requirement).replace(">=", "==") for requirement in requirements
    ]
