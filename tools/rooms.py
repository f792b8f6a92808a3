"""Show the packages of outkey, how many imports go down and up, and every circle.

`make rooms` prints it. `rooms_page` is the map of the handbook, one line for each room.
Exit status: 0 all imports go down and there is no circle, 1 otherwise.
"""

import ast
import sys
from collections import Counter
from collections.abc import Iterator, Mapping
from collections.abc import Set as AbstractSet
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

from rich.console import Console
from rich.table import Table

SOURCE = Path(__file__).parent.parent / "src"
# From the top; a package imports only what stands below it. Equal numbers are beside
# each other, and do not import each other.
FLOORS = {
    "testing": 8,
    "hosts": 7,
    "administration": 6,
    "importing": 5,
    "webhooks": 5,
    "sync": 4,
    "integrations": 3,
    "sending": 2,
    "foundation": 1,
    "spar": 0,
}
# Folders without modules, and what is in them.
DATA = {
    "hosts/django/locale": "The German texts of pages and messages.",
    "hosts/django/static": "Style sheets, scripts and icons of the pages.",
    "hosts/django/templates": "Templates of the pages.",
    "hosts/server/static": "Style sheets and icons of the embedded server.",
    "hosts/server/templates": "Templates for signing in, errors and the menu.",
    "presets": "Known providers, one TOML file for each.",
}
Modules = Mapping[str, AbstractSet[str]]  # the modules that each module imports


def read_imports() -> dict[str, set[str]]:
    """Return the modules of outkey that each module imports, also inside functions."""
    names = {module_name(path): path for path in sorted(SOURCE.rglob("*.py"))}
    return {
        name: {found for found in imported(path, names) if found != name}
        for name, path in names.items()
    }


def module_name(path: Path) -> str:
    """Return the dotted name of a module, or of a package for its `__init__`."""
    parts = path.relative_to(SOURCE).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def imported(path: Path, names: Mapping[str, Path]) -> Iterator[str]:
    """Yield the modules that a file imports, but not for type checkers alone."""
    for node in runtime_nodes(ast.parse(path.read_text("utf-8"))):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names if alias.name in names)
        elif isinstance(node, ast.ImportFrom) and node.module in names:
            for alias in node.names:
                module = f"{node.module}.{alias.name}"
                yield module if module in names else str(node.module)


def runtime_nodes(tree: ast.AST) -> Iterator[ast.AST]:
    """Yield all nodes but those below `if TYPE_CHECKING`."""
    for node in ast.iter_child_nodes(tree):
        is_for_types = (
            isinstance(node, ast.If)
            and isinstance(node.test, ast.Name)
            and node.test.id == "TYPE_CHECKING"
        )
        if not is_for_types:
            yield node
            yield from runtime_nodes(node)


def package_of(module: str) -> str:
    """Return the package of a module; "" for `outkey` and `outkey.errors`."""
    parts = module.split(".")
    return parts[1] if len(parts) > 1 and parts[1] in FLOORS else ""


def count_arrows(imports: Modules) -> Counter[tuple[str, str]]:
    """Return how many imports lead from a package to another."""
    return Counter(
        (package_of(module), package_of(other))
        for module, others in imports.items()
        for other in others
        if package_of(module) != package_of(other)
        and package_of(module)
        and package_of(other)
    )


def upward(arrows: Mapping[tuple[str, str], int]) -> dict[tuple[str, str], int]:
    """Return the imports that go up, or sideways."""
    return {
        (source, target): count
        for (source, target), count in arrows.items()
        if FLOORS[source] <= FLOORS[target]
    }


def find_circle(imports: Modules) -> list[str]:
    """Return the modules of a circle of imports; none if there is no circle."""
    try:
        TopologicalSorter(imports).prepare()
    except CycleError as error:
        return list(error.args[1])
    return []


def rooms() -> Iterator[tuple[str, int, str]]:
    """Yield each folder of modules: its name, how many it has, and what it is for."""
    for init in sorted(SOURCE.rglob("__init__.py")):
        modules = [path for path in init.parent.glob("*.py") if path != init]
        summary = (ast.get_docstring(ast.parse(init.read_text("utf-8"))) or "").strip()
        yield module_name(init), len(modules), summary.partition("\n")[0]


def rooms_page() -> Iterator[str]:
    """Yield the lines of the map of the rooms."""
    yield "# The rooms\n"
    yield (
        "Each folder of `src/outkey`, from its docstring. [Architecture]"
        "(../explanation/architecture.md) explains the packages and the layers inside"
        " them; `make rooms` counts the imports between them."
    )
    package = ""
    for name, modules, summary in rooms():
        first = name.split(".")[1] if "." in name else ""
        if first and first != package:
            package = first
            yield f"\n## {package}\n"
            yield "| room | modules | what is there |"
            yield "|---|---|---|"
        if first:
            yield f"| `{name.removeprefix('outkey.')}` | {modules} | {summary} |"
    yield "\n## Folders without modules\n"
    yield "| folder | what is there |"
    yield "|---|---|"
    for folder in data_folders():
        yield f"| `{folder}` | {DATA[folder]} |"
    yield ""


def data_folders() -> Iterator[str]:
    """Yield the topmost folders that have files, but no module."""
    found: list[Path] = []
    for folder in sorted(path for path in SOURCE.rglob("*") if path.is_dir()):
        if any(folder.is_relative_to(other) for other in found):
            continue
        suffixes = {path.suffix for path in folder.rglob("*") if path.is_file()}
        if suffixes and suffixes.isdisjoint({".py", ".pyc"}):
            found.append(folder)
    yield from (str(path.relative_to(SOURCE / "outkey")) for path in found)


def main() -> int:
    """Print the picture, and return the exit status."""
    imports = read_imports()
    arrows = count_arrows(imports)
    sizes = Counter(package_of(module) for module in imports)
    table = Table(title="imports between packages, from the row to the column")
    table.add_column("package")
    table.add_column("modules", justify="right")
    for name in FLOORS:
        table.add_column(name, justify="right")
    for source in FLOORS:
        counts = [str(arrows.get((source, target)) or "") for target in FLOORS]
        table.add_row(source, str(sizes[source]), *counts)
    console = Console(width=160)
    console.print(table)
    wrong = upward(arrows)
    circle = find_circle(imports)
    console.print(
        f"down: {arrows.total() - sum(wrong.values())}, up: {sum(wrong.values())},"
        f" circle: {' → '.join(circle) or 'none'}"
    )
    return 1 if wrong or circle else 0


if __name__ == "__main__":
    sys.exit(main())
