"""Pages with commands, run as their readers would: every ``$`` line, in order, with the answer that stands below."""

from __future__ import annotations

import doctest
import re
import runpy
import shlex
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from kpareto.faces.cli import main

FENCE = re.compile(r"^```(\w*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)


@dataclass(frozen=True)
class Command:
    """One line after a ``$``, and what the page says it answers (nothing where the page does not tell)."""

    words: tuple[str, ...]
    answer: str


def blocks(page: Path) -> list[tuple[str, str]]:
    """The fenced blocks of a page: their language and their text."""
    return FENCE.findall(page.read_text(encoding="utf-8"))


def commands_of(text: str) -> Iterator[Command]:
    """The commands of one block."""
    for part in re.split(r"^\$ ", text, flags=re.MULTILINE)[1:]:
        line, _, answer = part.partition("\n")
        yield Command(tuple(shlex.split(line)), answer)


def run_command(command: Command, folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Do in this folder what a line says; a command of ours must end well and answer what the page says."""
    program, *words = command.words
    if program == "pip":
        return  # what it installs is there
    capsys.readouterr()
    if program == "python":
        runpy.run_path(str(folder / words[0]), run_name="__main__")
        return
    assert program == "kpareto", command
    status = main(words)
    captured = capsys.readouterr()
    assert status == 0, captured.err
    if command.answer:
        same = doctest.OutputChecker().check_output(command.answer, captured.out, doctest.ELLIPSIS)
        assert same, f"{' '.join(command.words)} answered:\n{captured.out}"


def change_job(job: Path, text: str) -> None:
    """Write a block of a page into a job: its keys in the part of that name, for those that stand there."""
    header, *keys = text.strip().splitlines()
    content = job.read_text(encoding="utf-8")
    assert content.count(f"{header}\n") == 1, header
    before, after = content.split(f"{header}\n")
    for key in keys:
        name = key.partition(" ")[0]
        after, changed = re.subn(rf"^{re.escape(name)} = .*$", key, after, count=1, flags=re.MULTILINE)
        assert changed == 1, key
    job.write_text(f"{before}{header}\n{after}", encoding="utf-8")


def run_session(text: str, page: Path) -> None:
    """The ``>>>`` lines of one block print what the page says."""
    test = doctest.DocTestParser().get_doctest(text, {}, page.name, str(page), 0)
    assert doctest.DocTestRunner(optionflags=doctest.ELLIPSIS).run(test).failed == 0


def follow(page: Path, folder: Path, capsys: pytest.CaptureFixture[str]) -> int:
    """Do everything a page says, from top to bottom, in this folder; how many commands of ours it ran."""
    count = 0
    for language, text in blocks(page):
        if language == "console":
            for command in commands_of(text):
                run_command(command, folder, capsys)
                count += command.words[0] == "kpareto"
        elif language == "toml":
            change_job(folder / "job.toml", text)
        elif language == "python":
            run_session(text, page)
    return count
