"""The command line: words, exit statuses, one sentence per failure."""

import errno
import os
import subprocess
import sys

import click
import pytest

import kpareto
from kpareto.errors import BadHierarchy, BadInput, Interrupted, KparetoError, Unsafe
from kpareto.faces import cli


def raising(monkeypatch: pytest.MonkeyPatch, error: BaseException) -> None:
    """Add a command ``fail`` that raises the error."""

    def fail() -> None:
        raise error

    monkeypatch.setitem(cli.commands.commands, "fail", click.Command("fail", callback=fail))


def shell(*arguments: str) -> subprocess.CompletedProcess[str]:
    """Run kpareto in a process of its own."""
    return subprocess.run([sys.executable, "-m", "kpareto", *arguments], capture_output=True, text=True, check=False)


def test_version() -> None:
    """The version is one line that scripts can read."""
    answer = shell("--version")
    assert (answer.returncode, answer.stdout, answer.stderr) == (0, f"kpareto {kpareto.__version__}\n", "")


@pytest.mark.parametrize("arguments", [[], ["--help"], ["-h"]])
def test_help_lists_every_command(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    """Help is an answer: standard output, status 0, each command in it."""
    assert cli.main(arguments) == 0
    out, err = capsys.readouterr()
    assert err == ""
    assert all(f"\n  {name} " in out for name in cli.commands.commands)


@pytest.mark.parametrize("name", sorted(cli.commands.commands))
def test_every_command_has_help(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    """Each command explains itself in a sentence, without loading its room."""
    assert cli.main([name, "--help"]) == 0
    assert capsys.readouterr().out.startswith(f"Usage: kpareto {name}")
    assert cli.commands.commands[name].help


def test_mistyped_command(capsys: pytest.CaptureFixture[str]) -> None:
    """A mistyped command is one sentence with the nearest word, status 2."""
    assert cli.main(["releas"]) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert err.startswith("No command 'releas'. Did you mean 'release'? There are: ")
    assert err.count("\n") == 1


def test_unknown_command_without_a_neighbour(capsys: pytest.CaptureFixture[str]) -> None:
    """A word far from every command gets the list, not a wild guess."""
    assert cli.main(["xyzzy"]) == 2
    assert capsys.readouterr().err.startswith("No command 'xyzzy'. There are: ")


@pytest.mark.parametrize(("word", "what"), [("bench", "benchmarks"), ("papers", "rebuilt papers")])
@pytest.mark.parametrize("more", [[], ["--help"], ["poka", "--quick"]])
def test_commands_that_moved_say_where(
    word: str, what: str, more: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    """What left the command line is one sentence with the place where it is, status 2."""
    assert cli.main([word, *more]) == 2
    sentence = f"The {what} are not in the package: run 'make {word}' in the repository of kpareto.\n"
    assert capsys.readouterr() == ("", sentence)
    assert cli.main(["key", word]) == 2
    assert capsys.readouterr().err.startswith(f"No command '{word}'. ")


def test_mistyped_option(capsys: pytest.CaptureFixture[str]) -> None:
    """A mistyped option is one line and says where to read more."""
    assert cli.main(["demo", "--jsn", "x"]) == 2
    err = capsys.readouterr().err
    assert err == "No such option '--jsn'. Did you mean '--json'? See: kpareto demo --help\n"


def test_json_into_a_folder_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    """--json wants a file; a folder is a sentence, not a traceback."""
    assert cli.main(["demo", "--json", os.curdir]) == 2
    assert "'.' is a directory" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("error", "status", "sentence"),
    [
        (BadInput("No column 'zip'."), 2, "No column 'zip'.\n"),
        (BadHierarchy("It does not nest."), 2, "It does not nest.\n"),
        (KparetoError("Something else."), 2, "Something else.\n"),
        (Unsafe("Class 7 has 3 rows, below k = 5."), 3, "Class 7 has 3 rows, below k = 5.\n"),
        (Interrupted("Continue with --resume."), 130, "Continue with --resume.\n"),
        (KeyboardInterrupt(), 130, "Interrupted.\n"),
        (click.Abort(), 130, "Interrupted.\n"),
        (click.FileError("a.csv", "gone"), 2, "Could not open file 'a.csv': gone.\n"),
        (
            PermissionError(errno.EACCES, "Permission denied", "a.csv"),
            2,
            "Cannot use 'a.csv': Permission denied.\n",
        ),
        (BadInput("two\nlines \x1b[31m"), 2, "two lines \\x1b[31m\n"),
    ],
)
def test_failures_are_one_sentence_and_a_status(
    error: BaseException,
    status: int,
    sentence: str,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """Every expected failure has its own status and prints its sentence, nothing more."""
    raising(monkeypatch, error)
    assert cli.main(["fail"]) == status
    assert capsys.readouterr() == ("", sentence)


@pytest.mark.parametrize("error", [ZeroDivisionError("ours"), OSError(errno.EIO, "no file named")])
def test_our_own_mistakes_are_not_hidden(error: Exception, monkeypatch: pytest.MonkeyPatch) -> None:
    """An error nobody expected keeps its traceback, for the report."""
    raising(monkeypatch, error)
    with pytest.raises(type(error)):
        cli.main(["fail"])


@pytest.mark.skipif(sys.platform == "win32", reason="no pipes of this kind")
def test_broken_pipe_is_quiet() -> None:
    """When the reader goes away (| head), nothing is printed and the status is the usual one."""
    read, write = os.pipe()
    os.close(read)
    with os.fdopen(write, "wb") as pipe:
        answer = subprocess.run(
            [sys.executable, "-m", "kpareto", "--help"],
            stdout=pipe,
            stderr=subprocess.PIPE,
            text=True,
            check=False,
        )
    assert (answer.returncode, answer.stderr) == (141, "")


def test_shell_completion(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    """The shell can ask for the completion of a command."""
    monkeypatch.setenv("_KPARETO_COMPLETE", "bash_complete")
    monkeypatch.setenv("COMP_WORDS", "kpareto de")
    monkeypatch.setenv("COMP_CWORD", "1")
    cli.main([])
    assert "demo" in capsys.readouterr().out


@pytest.mark.parametrize("name", sorted(cli.commands.commands))
def test_help_ends_with_an_example(
    name: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Each command shows one call that can be typed, on one line of 80 columns, with options that it has."""
    monkeypatch.setenv("COLUMNS", "80")
    assert cli.main([name, "--help"]) == 0
    out = capsys.readouterr().out
    example = out.rstrip().splitlines()[-1]
    assert example.startswith(f"  Example: kpareto {name} ")
    for word in example.split():
        if word.startswith("-"):
            assert f" {word}" in out.partition("Options:")[2].replace(",", " ").replace("Example", "\0").split("\0")[0]


def test_help_has_whole_sentences_in_the_order_of_use(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """At 80 columns no text is cut, and a person reads first what is needed first."""
    monkeypatch.setenv("COLUMNS", "80")
    assert cli.main(["--help"]) == 0
    listed = [line.split()[0] for line in capsys.readouterr().out.partition("Commands:\n")[2].splitlines()]
    assert [name for name in listed if name in ("inspect", "front", "release", "verify", "report")] == [
        "inspect",
        "front",
        "release",
        "verify",
        "report",
    ]
    assert cli.main(["--help"]) == 0
    assert "..." not in capsys.readouterr().out.partition("Commands:")[2]
