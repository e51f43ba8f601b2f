"""What things are called: functions are verbs, locals are nouns, classes exist once, and no public name is lost."""

from __future__ import annotations

import ast
import re
from collections import Counter
from collections.abc import Iterator

import pytest

import kpareto
from tests.twins.sources import all_files, files, listed, name_of, tree_of

Function = ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda
# Past participles that do not end in -ed.
IRREGULAR = {
    "built",
    "chosen",
    "done",
    "drawn",
    "found",
    "given",
    "gone",
    "held",
    "kept",
    "known",
    "left",
    "made",
    "meant",
    "met",
    "said",
    "sent",
    "shown",
}
IRREGULAR |= {"spent", "taken", "told", "written"}
VAGUE = {"found", "made", "given", "held", "said"}  # which say how a thing came about, where a noun says what it is
VERBS = {"breed", "embed", "feed", "need", "seed"}  # which only look like one
# constrained is public, named and compiled are decorators, suppressed is a measure, relaxed is Mondrian's word for it.
ALLOWED = {"constrained", "named", "compiled", "suppressed", "relaxed"}
MOST_ARGUMENTS = 12  # of a kernel

# The public names of version 0.1.0; later ones may be added, none may go.
PUBLIC = [
    "Csv",
    "Front",
    "Handling",
    "Hierarchy",
    "Interrupted",
    "Job",
    "KparetoError",
    "Measure",
    "BadInput",
    "Partition",
    "Point",
    "Postgres",
    "Problem",
    "Recoding",
    "Release",
    "Schema",
    "SparkTable",
    "Suppression",
    "Table",
    "Unsafe",
    "adult",
    "adult_hierarchies",
    "adult_table",
    "anonymize",
    "apply",
    "attack",
    "constrained",
    "fingerprint",
    "front",
    "inspect",
    "lint",
    "load",
    "load_job",
    "make",
    "problem",
    "read",
    "release",
    "remarks",
    "risks",
    "run",
    "save_picture",
    "store",
    "verify",
    "__version__",
]


def is_participle(name: str) -> bool:
    """Whether a name is one word that says what was done to something, where it should say what it does."""
    word = name.strip("_")
    return (re.fullmatch(r"[a-z]+ed", word) is not None or word in IRREGULAR) and word not in VERBS | ALLOWED


def functions_of(tree: ast.AST, inside: str = "") -> Iterator[tuple[str, Function]]:
    """Every function below a node of a syntax tree with its full name, such as Front.choose; lambdas are functions."""
    for node in ast.iter_child_nodes(tree):
        name = inside
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef | ast.Lambda):
            own = "<lambda>" if isinstance(node, ast.Lambda) else node.name
            name = f"{inside}.{own}" if inside else own
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda):
            yield name, node
        yield from functions_of(node, name)


def bound_names(function: Function) -> set[str]:
    """The arguments and local variables of a function, without those of the functions and classes inside it."""
    arguments = function.args
    listed = [*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs, arguments.vararg, arguments.kwarg]
    names = {argument.arg for argument in listed if argument is not None}
    waiting: list[ast.AST] = [function.body] if isinstance(function, ast.Lambda) else list(function.body)
    while waiting:
        node = waiting.pop()
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef | ast.Lambda):
            continue
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            names.add(node.id)
        elif isinstance(node, ast.ExceptHandler | ast.MatchAs | ast.MatchStar) and node.name:
            names.add(node.name)
        elif isinstance(node, ast.MatchMapping) and node.rest:
            names.add(node.rest)
        elif isinstance(node, ast.alias):
            names.add(node.asname or node.name)
        waiting.extend(ast.iter_child_nodes(node))
    return names


def vague_names(tree: ast.AST, file: str) -> list[str]:
    """A sentence for each argument or local variable of a file that does not say what it holds."""
    return [
        f"{file}:{node.lineno}: {function} calls an argument or a local variable {name!r}. Take a noun that says what it holds."
        for function, node in functions_of(tree)
        for name in sorted(bound_names(node) & VAGUE)
    ]


def test_locals_say_what_they_hold() -> None:
    """No function has an argument or a local variable called found, made, given, held or said."""
    offenders = [sentence for file in all_files() for sentence in vague_names(tree_of(file), name_of(file))]
    assert not offenders, listed(offenders)


@pytest.mark.parametrize(
    ("code", "function"),
    [
        ("def f(found): pass", "f"),
        ("def f(*made, **other): pass", "f"),
        ("class A:\n    async def f(self, *, held=1): pass", "A.f"),
        ("def f():\n    found, other = 1, 2", "f"),
        ("def f():\n    return [given for given in ()]", "f"),
        ("def f():\n    def g():\n        with open('x') as held: pass", "f.g"),
        ("def f():\n    try: pass\n    except OSError as found: pass", "f"),
        ("def f(x):\n    match x:\n        case [1, *made]: pass", "f"),
        ("def f(x):\n    match x:\n        case {**given}: pass", "f"),
        ("def f():\n    import os as held", "f"),
        ("def f(x):\n    if (made := x): pass", "f"),
        ("table = sorted((), key=lambda given: 1)", "<lambda>"),
    ],
)
def test_a_vague_name_is_seen(code: str, function: str) -> None:
    """Wherever a function may take or bind a name, the name is caught once, with the file and the function."""
    (sentence,) = vague_names(ast.parse(code), "fronts/front.py")
    assert re.match(rf"fronts/front\.py:\d: {function} calls an argument or a local variable ", sentence)
    assert any(repr(name) in sentence for name in VAGUE)


@pytest.mark.parametrize(
    "code",
    ["def f(x):\n    return x.found(made=x.given)", "class A:\n    held: int = 1", "def f(x):\n    x.held = 'found'"],
)
def test_other_uses_of_a_word_pass(code: str) -> None:
    """Attributes, keywords of other functions, fields and texts are no local variables."""
    assert vague_names(ast.parse(code), "fronts/front.py") == []


def test_functions_are_verbs() -> None:
    """No function of a file is called by a past participle."""
    offenders = [
        f"{name_of(file)}:{node.lineno}: {node.name} says what was done, not what it does"
        for file in all_files()
        for node in tree_of(file).body
        if isinstance(node, ast.FunctionDef) and is_participle(node.name)
    ]
    assert not offenders, listed(offenders)


@pytest.mark.parametrize(("name", "caught"), [("opened", True), ("_held", True), ("open_file", False), ("seed", False)])
def test_a_participle_is_seen(name: str, caught: bool) -> None:
    """Regular ones, irregular ones and private ones are caught; verbs are not."""
    assert is_participle(name) is caught


def test_classes_exist_once() -> None:
    """Two classes never share a name."""
    names = Counter(
        node.name
        for file in all_files()
        for node in ast.walk(tree_of(file))
        if isinstance(node, ast.ClassDef) and not node.name.startswith("_")
    )
    assert [name for name, count in names.items() if count > 1] == []


def test_kernels_take_few_arguments() -> None:
    """What a loop needs comes in named records rather than in a long list."""
    offenders = [
        f"{name_of(file)}:{node.lineno}: {node.name} takes {len(node.args.args)} arguments"
        for file in files()
        if name_of(file).startswith("kernels/")
        for node in tree_of(file).body
        if isinstance(node, ast.FunctionDef) and len(node.args.args) > MOST_ARGUMENTS
    ]
    assert not offenders, listed(offenders)


def test_no_public_name_is_lost() -> None:
    """The names that people import from the package are the ones of before."""
    assert set(PUBLIC) - set(dir(kpareto)) == set()
