"""Digests of the source code that computes a result, so that a change of the code repeats the measurement.

A result depends on the definitions (functions, classes and constants at the top level of a module of proxcode) that are
used to compute it:

1. The roots are named: the class of the estimator and of its components, the split, the measures.
2. A definition uses all definitions whose names occur in it, its imports inside functions included. A name imported
   from a package is followed through the `__init__` of the package to the module that defines it. Names that are only
   read through strings are not seen.
3. Statements that define nothing, such as `np.seterr(...)`, count for each definition of their module.
4. The digest is the SHA-256 of the source of all definitions reached, without comments, docstrings and annotations of
   types: a change of words repeats nothing.
"""

import ast
import hashlib
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

PACKAGE = Path(__file__).parents[1]
ROOT = PACKAGE.name
# Modules that are used by estimators but have no influence on codes: files, display, the index.
WITHOUT_INFLUENCE = tuple(
    f"{ROOT}.{name}."
    for name in (
        "model.checkpoints",
        "model.saving",
        "storage",
        "stores",
        "search.index",
        "utils.html",
        "utils.locks",
        "utils.progress",
    )
)

# What a name stands for: a module and the name of a definition in it, or None for the module itself.
Target = tuple[str, str | None]


class _Module(NamedTuple):
    """Top-level definitions of a module by name, its other statements, and what imported names stand for."""

    definitions: dict[str, list[ast.stmt]]
    statements: list[ast.stmt]
    imports: dict[str, Target]


@cache
def digest(*roots: str, package: Path = PACKAGE) -> str:
    """Return the digest of definitions and of all that they use.

    Parameters
    ----------
    *roots : str
        Full names of definitions, such as "proxcode.peers.sdh.SDH".
    package : Path, default=PACKAGE
        Folder of the source code of proxcode.

    Examples
    --------
    >>> digest("proxcode.peers.lsh.LSH") == digest("proxcode.peers.sdh.SDH")
    False
    """
    reached = definitions(*roots, package=package)
    texts = (f"{module} {name}\n{_text(package, module, name)}" for module, name in sorted(reached))
    return hashlib.sha256("\n".join(texts).encode()).hexdigest()


@cache
def definitions(*roots: str, package: Path = PACKAGE) -> frozenset[tuple[str, str]]:
    """Return module and name of all definitions that are reached from the given ones."""
    waiting = [_resolved(package, *root.rsplit(".", 1)) for root in roots]
    reached: set[tuple[str, str]] = set()
    while waiting:
        module, name = waiting.pop()
        if f"{module}.".startswith(WITHOUT_INFLUENCE):
            continue
        names = list(_parsed(package, module).definitions) if name is None else [name]
        for defined in names:
            if (module, defined) not in reached:
                reached.add((module, defined))
                waiting += _used(package, module, defined)
    return frozenset(reached)


def classes_of(estimator: Any) -> list[str]:
    """Return the full names of the classes of proxcode of an estimator that is not fitted, and of its components.

    Examples
    --------
    >>> from proxcode import LinearHash, ProximityPreservingCode
    >>> classes_of(ProximityPreservingCode(hash_function=LinearHash()))[-1]
    'proxcode.hashing.base.HashFunction'
    """
    found = [full_name(kind) for kind in type(estimator).__mro__ if kind.__module__.startswith(f"{ROOT}.")]
    if found:
        for component in vars(estimator).values():
            found += classes_of(component)
    return list(dict.fromkeys(found))


def full_name(definition: Any) -> str:
    """Return the name of a function or class with that of its module."""
    return f"{definition.__module__}.{definition.__qualname__}"


@cache
def _parsed(package: Path, module: str) -> _Module:
    tree = ast.parse(_file(package, module).read_text(encoding="utf-8"))
    found = _Module({}, [], {})
    for statement in tree.body:
        if isinstance(statement, ast.If) and ast.unparse(statement.test) == "TYPE_CHECKING":
            # Names of types alone; but the package itself lists its public names there.
            if module == ROOT:
                found.imports.update(_imports(statement))
            continue
        found.imports.update(_imports(statement) if not _names(statement) else {})
        if isinstance(statement, ast.Import | ast.ImportFrom):
            continue
        plain = _WithoutWords().visit(statement)
        if plain is None:
            continue
        for name in _names(statement):
            found.definitions.setdefault(name, []).append(plain)
        if not _names(statement):
            found.statements.append(plain)
    return found


@cache
def _used(package: Path, module: str, name: str) -> tuple[Target, ...]:
    """Return what the names in a definition, and in the statements of its module, stand for."""
    parsed = _parsed(package, module)
    targets: dict[Target, None] = {}
    for statement in (*parsed.definitions[name], *parsed.statements):
        known = {**{own: (module, own) for own in parsed.definitions}, **parsed.imports, **_imports(statement)}
        for chain in _chains(statement):
            if chain[0] in known:
                targets[_followed(package, known[chain[0]], chain[1:])] = None
    return tuple(targets)


def _followed(package: Path, target: Target, attributes: list[str]) -> Target:
    """Return the definition that `module.name` stands for, or the whole module where no attribute is named."""
    module, name = target if target[1] is None else _resolved(package, target[0], target[1])
    for attribute in attributes:
        if name is not None:
            break
        module, name = _resolved(package, module, attribute)
    return module, name


def _resolved(package: Path, module: str, name: str) -> Target:
    """Return where a name of a module is defined, through the modules that import it."""
    parsed = _parsed(package, module)
    if name in parsed.definitions:
        return module, name
    if name in parsed.imports:
        source, original = parsed.imports[name]
        return (source, None) if original is None else _resolved(package, source, original)
    if _exists(package, f"{module}.{name}"):
        return f"{module}.{name}", None
    raise ValueError(f"{module}.{name}: no such definition in {_file(package, module)}.")


def _names(statement: ast.stmt) -> list[str]:
    """Return the names that a statement defines."""
    if isinstance(statement, ast.FunctionDef | ast.ClassDef):
        return [statement.name]
    targets: list[ast.expr] = []
    if isinstance(statement, ast.Assign):
        targets = statement.targets
    elif isinstance(statement, ast.AnnAssign | ast.AugAssign):
        targets = [statement.target]
    nodes = [node for target in targets for node in (target.elts if isinstance(target, ast.Tuple) else [target])]
    names = [node.id for node in nodes if isinstance(node, ast.Name)]
    return names if len(names) == len(nodes) else []


def _imports(statement: ast.AST) -> dict[str, Target]:
    """Return what the names that a statement imports from proxcode stand for."""
    found: dict[str, Target] = {}
    for node in ast.walk(statement):
        if isinstance(node, ast.ImportFrom):
            if node.level:
                raise ValueError(f"relative import of {node.module}: expected the full name of the module.")
            if _is_own(node.module or ""):
                found |= {alias.asname or alias.name: (str(node.module), alias.name) for alias in node.names}
        elif isinstance(node, ast.Import):
            for alias in node.names:
                if _is_own(alias.name):
                    found |= {alias.asname: (alias.name, None)} if alias.asname else {ROOT: (ROOT, None)}
    return found


def _is_own(module: str) -> bool:
    return module.split(".", maxsplit=1)[0] == ROOT


def _chains(statement: ast.AST) -> Iterator[list[str]]:
    """Yield each name that a statement reads, with its attributes: ["cut", "Restarts"]."""
    waiting = [statement]
    while waiting:
        node = waiting.pop()
        attributes: list[str] = []
        inner = node
        while isinstance(inner, ast.Attribute):
            attributes.insert(0, inner.attr)
            inner = inner.value
        if isinstance(inner, ast.Name):
            yield [inner.id, *attributes]
        else:
            waiting += ast.iter_child_nodes(inner)


class _WithoutWords(ast.NodeTransformer):
    """Removes docstrings and annotations of types."""

    def visit_Expr(self, node: ast.Expr) -> ast.AST | None:
        """Remove a text that is not used, which documents something."""
        is_text = isinstance(node.value, ast.Constant) and isinstance(node.value.value, str)
        return None if is_text else self.generic_visit(node)

    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.AST:
        """Remove the type of the result."""
        node.returns = None
        return self._with_body(node)

    def visit_ClassDef(self, node: ast.ClassDef) -> ast.AST:
        """Remove words from a class."""
        return self._with_body(node)

    def visit_arg(self, node: ast.arg) -> ast.AST:
        """Remove the type of a parameter."""
        node.annotation = None
        return node

    def visit_AnnAssign(self, node: ast.AnnAssign) -> ast.AST:
        """Remove the type of a variable, which fields of data classes keep as a name."""
        node.annotation = ast.Constant(None)
        return self.generic_visit(node)

    def _with_body(self, node: Any) -> ast.AST:
        self.generic_visit(node)
        node.body = node.body or [ast.Pass()]
        return ast.fix_missing_locations(node)


@cache
def _text(package: Path, module: str, name: str) -> str:
    parsed = _parsed(package, module)
    return "\n".join(ast.unparse(statement) for statement in (*parsed.definitions[name], *parsed.statements))


def _exists(package: Path, module: str) -> bool:
    try:
        return _file(package, module).is_file()
    except FileNotFoundError:
        return False


def _file(package: Path, module: str) -> Path:
    """Return the file of a module, the `__init__` of a package."""
    path = package.joinpath(*module.split(".")[1:])
    for file in (path / "__init__.py", path.with_name(f"{path.name}.py") if path != package else path):
        if file.is_file():
            return file
    raise FileNotFoundError(f"{module}: no source file in {package}.")
