"""The scaffold: pinned versions without addresses, and the two commands that outsiders rely on."""

import os
import re
import tomllib
from pathlib import Path
from typing import Any

import pytest

import kpareto
from tests.twins.sources import PROGRAMS

ROOT = Path(__file__).parent.parent
PINS = [line for line in (ROOT / "constraints.txt").read_text().splitlines() if not line.startswith("#")]


def settings() -> dict[str, Any]:
    """What pyproject.toml says."""
    return tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))


def plain(name: str) -> str:
    """A package name as registries compare it."""
    return re.sub(r"[-_.]+", "-", name).lower()


def test_constraints_hold_names_and_versions_only() -> None:
    """No address, path or hash of the place where the file was made gets into it."""
    assert PINS
    assert [pin for pin in PINS if not re.fullmatch(r"[A-Za-z0-9._-]+==[A-Za-z0-9.!+_-]+", pin)] == []


def test_every_dependency_is_pinned_and_bounded_below() -> None:
    """pyproject.toml gives lower bounds only, and constraints.txt one version for each."""
    project = settings()["project"]
    extras: dict[str, list[str]] = project["optional-dependencies"]
    wanted = [*project["dependencies"], *(package for extra in extras.values() for package in extra)]
    names = []
    for requirement in wanted:
        if not requirement.startswith("kpareto["):
            bounded = re.fullmatch(r"([A-Za-z0-9._-]+)(?:\[[a-z]+\])?>=[0-9.]+", requirement)
            assert bounded, f"{requirement!r} is not a plain lower bound"
            names.append(plain(bounded[1]))
    pinned = {plain(pin.split("==")[0]) for pin in PINS}
    assert [name for name in names if name not in pinned] == [], "renew with: make constraints"


@pytest.mark.parametrize(
    "target", ["demo", "quick", "test", "test-all", "rest", "docs", "lint", "types", "venv", "bench", "papers", "clean"]
)
def test_make_targets(target: str) -> None:
    """The targets that the documentation names are there."""
    assert re.search(rf"^{target}:", (ROOT / "Makefile").read_text(), re.MULTILINE)


def test_the_wheel_is_the_package_alone() -> None:
    """Benchmarks and rebuilt papers come with the sources, and nobody installs them."""
    build = settings()["tool"]["hatch"]["build"]["targets"]
    assert build["wheel"] == {
        "packages": ["src/kpareto"],
        "artifacts": ["src/kpareto/kernels/ready/**"],
        "force-include": {"examples": "kpareto/jobs/examples"},
    }
    assert set(PROGRAMS) <= set(build["sdist"]["include"])
    assert not [path for program in PROGRAMS for path in (ROOT / "src" / "kpareto").rglob(f"{program}*")]


@pytest.mark.skipif(os.name == "nt", reason="no executable bits")
def test_ci_runs_every_ring_once() -> None:
    """Continuous integration runs what people run before a change, and then the rest."""
    script = ROOT / ".ci" / "run"
    assert os.access(script, os.X_OK)
    assert script.read_text().rstrip().endswith("make test\nmake rest")


def test_the_version_and_the_changelog_agree() -> None:
    """The newest section of the changelog is the version of the package; all sections below it have a date."""
    text = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    sections = re.findall(r"^## (.*)$", text, re.MULTILINE)
    assert re.fullmatch(rf"\[{re.escape(kpareto.__version__)}\] - (?:\d{{4}}-\d\d-\d\d|unreleased)", sections[0])
    assert [each for each in sections[1:] if not re.fullmatch(r"\[[\d.]+\] - \d{4}-\d\d-\d\d", each)] == []


def test_the_project_names_no_address_that_the_readme_does_not() -> None:
    """What package indexes show as the project's addresses stands in the README too."""
    project = settings()["project"]
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    assert project["urls"]
    assert [address for address in project["urls"].values() if address not in text] == []
