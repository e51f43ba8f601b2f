"""The checks every Measure must pass, ours or a user's, on small random tables, and those of a Search.

``check_measure(mine)`` runs them all and raises AssertionError with a sentence and the round that shows the fault::

    def test_my_measure() -> None:
        check_measure(MyMeasure())

The random tables have quasi-identifiers q0, q1, … , a sensitive column ``sensitive`` and a numeric target ``target``;
a measure that needs others brings its own ``tables``, and one that needs a population gets tables drawn from one.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property, lru_cache
from typing import Literal

import numpy as np

from kpareto.fronts.dominance import non_dominated
from kpareto.fronts.problem import Problem
from kpareto.measures.measure import Measure, Model, aspect_of, exact, is_privacy
from kpareto.measures.sensitive import distinct_l
from kpareto.measures.sizes import is_smallest_class
from kpareto.measures.sizes import k as smallest_class
from kpareto.searches import Search
from kpareto.searches.proposals import leading_rows
from kpareto.searches.run import run
from kpareto.tables.hierarchy import Hierarchy, bits_cut, cut_bits, levels_tree
from kpareto.tables.lattice import Space
from kpareto.tables.partition import RULES, Partition, Rule, Suppression, partition
from kpareto.tables.recoding import Recoding
from kpareto.tables.schema import Schema
from kpareto.tables.table import Population, Table, make_table

Tables = Callable[[np.random.Generator], Table]
CLOSE = 1e-9


def check_measure(measure: Measure, rounds: int = 300, seed: int = 0, tables: Tables | None = None) -> None:
    """Run every check of a measure."""
    check_description(measure)
    tables = tables or (random_sample if aspect_of(measure).population else None)
    check_numbers(measure, max(rounds // 3, 1), seed, tables)
    check_column_order(measure, max(rounds // 6, 1), seed, tables)
    check_trend(measure, rounds, seed, tables)
    if isinstance(measure, Model):
        check_model(measure, max(rounds // 6, 1), seed, tables)


def _demand(holds: bool, sentence: str) -> None:
    if not holds:
        raise AssertionError(sentence)


def check_description(measure: Measure) -> None:
    """It has a name, a direction, a unit, and a trend for each suppression rule."""
    _demand(isinstance(measure.name, str) and measure.name != "", "A measure needs a name.")
    name = measure.name
    _demand(measure.better in ("lower", "higher"), f"{name}: better is {measure.better!r}, not 'lower' or 'higher'.")
    _demand(isinstance(measure.unit, str) and measure.unit != "", f"{name}: say in unit what the number counts.")
    missing = [rule for rule in RULES if measure.trend.get(rule) not in ("rises", "falls", "either")]
    _demand(not missing, f"{name}: trend is not rises, falls or either for {', '.join(missing)}.")
    _demand(
        measure.trend["as-needed"] == "either",
        f"{name}: as-needed makes several partitions of one recoding, so its trend must be 'either'.",
    )


def check_numbers(measure: Measure, rounds: int = 100, seed: int = 0, tables: Tables | None = None) -> None:
    """It gives the same number twice, never not-a-number, close to its exact value, and leaves the partition alone."""
    for trial in trials(rounds, seed, tables):
        for rule in RULES:
            partition = trial.partition(trial.fine, rule)
            where = f"{measure.name}, {trial} under {rule}"
            try:
                value = measure(partition)
            except ValueError as error:
                if "read-only" in str(error):
                    raise AssertionError(f"{where}: the measure changes the partition it was given.") from error
                raise
            _demand(isinstance(value, float) and not math.isnan(value), f"{where}: the value {value!r} is no number.")
            _demand(measure(partition) == value, f"{where}: a second call gives another number.")
            fraction = exact(measure, partition)
            agrees = fraction is None or abs(float(fraction) - value) <= CLOSE * max(1.0, abs(value))
            _demand(agrees, f"{where}: the exact value {fraction} is not the value {value!r}.")


def check_column_order(measure: Measure, rounds: int = 50, seed: int = 0, tables: Tables | None = None) -> None:
    """The order of the columns, and with it the order of the classes, changes nothing."""
    for trial in trials(rounds, seed, tables):
        turned = trial.turned
        for rule in RULES:
            one = measure(trial.partition(trial.fine, rule))
            other = measure(turned.partition(turned.fine, rule))
            near = one == other or abs(one - other) <= CLOSE * max(1.0, abs(one))
            _demand(near, f"{measure.name}, {trial} under {rule}: {one!r} becomes {other!r} with the columns reversed.")


def check_trend(measure: Measure, rounds: int = 300, seed: int = 0, tables: Tables | None = None) -> None:
    """Its number moves as promised when classes merge, under every rule that it promises something for.

    Where a person has rows in several classes, privacy promises nothing but of the smallest class: persons are then
    taken as rows.
    """
    promised = [rule for rule in RULES if measure.trend[rule] != "either"]
    if not promised:
        return
    anywhere = not is_privacy(measure) or is_smallest_class(measure)
    for trial in trials(rounds, seed, tables):
        if not anywhere and not _stay_together(trial.table):
            trial = replace(trial, table=replace(trial.table, persons=None), made={})
        for rule in promised:
            trend = measure.trend[rule]
            fine, wide = (measure(trial.partition(recoding, rule)) for recoding in (trial.fine, trial.wide))
            slack = 0.0 if math.isinf(fine) or math.isinf(wide) else CLOSE * max(1.0, abs(fine))
            keeps = wide >= fine - slack if trend == "rises" else wide <= fine + slack
            _demand(
                keeps,
                f"{measure.name} promises that it {trend} as classes merge under {rule}, "
                f"but goes from {fine!r} to {wide!r} in {trial}.",
            )


def _stay_together(table: Table) -> bool:
    """Whether all rows of each person are alike, so that nobody is in two classes."""
    return table.persons is None or len(np.unique(table.persons.code)) == len(table.persons.code)


def check_model(measure: Model, rounds: int = 50, seed: int = 0, tables: Tables | None = None) -> None:
    """A privacy model is its worst visible class, and a class that meets the threshold does not fail."""
    for trial in trials(rounds, seed, tables):
        for rule in RULES:
            partition = trial.partition(trial.fine, rule)
            values = measure.by_class(partition)
            where = f"{measure.name}, {trial} under {rule}"
            _demand(
                values.shape == partition.rows.shape,
                f"{where}: by_class gives {values.shape}, not one number per class.",
            )
            if partition.empty:
                continue
            seen = values[partition.visible]
            worst = float(seen.min() if measure.better == "higher" else seen.max())
            _demand(
                measure(partition) == worst,
                f"{where}: the measure is {measure(partition)!r}, its worst class {worst!r}.",
            )
            failing = measure.fails(worst)(partition)
            _demand(
                not failing[partition.visible].any(), f"{where}: a class fails the threshold {worst!r} that it meets."
            )


@dataclass(frozen=True)
class Trial:
    """A random table, a recoding of it, a coarser one, and how to suppress."""

    number: int
    seed: int
    table: Table
    fine: Recoding
    wide: Recoding
    suppressions: Mapping[Rule, Suppression]
    made: dict[tuple[int, Rule], Partition] = field(default_factory=dict)  # partitions so far

    def __str__(self) -> str:
        return f"round {self.number} of seed {self.seed}"

    def partition(self, recoding: Recoding, rule: Rule) -> Partition:
        """The partition of one of the two recodings under a rule; its arrays cannot be written to."""
        key = (id(recoding), rule)
        if key not in self.made:
            fresh_partition = partition(self.table, recoding, self.suppressions[rule])
            for name in ("members", "groups", "rows", "sizes", "suppressed", "visible"):
                getattr(fresh_partition, name).flags.writeable = False
            self.made[key] = fresh_partition
        return self.made[key]

    @cached_property
    def turned(self) -> Trial:
        """The trial with its columns in reverse order."""
        table = self.table
        back = replace(
            table,
            schema=replace(table.schema, quasi=table.schema.quasi[::-1]),
            hierarchies=table.hierarchies[::-1],
            codes=table.codes[:, ::-1],
        ).bind(())
        fine, wide = (Recoding(back.hierarchies, recoding.cuts[::-1]) for recoding in (self.fine, self.wide))
        return replace(self, table=back, fine=fine, wide=wide, made={})


def trials(rounds: int, seed: int = 0, tables: Tables | None = None) -> Iterator[Trial]:
    """Random trials, one after the other; equal seeds give equal trials."""
    for number in range(rounds):
        yield _known_trial(seed, number) if tables is None else _trial(seed, number, tables)


@lru_cache(maxsize=1024)
def _known_trial(seed: int, number: int) -> Trial:
    """Trials are kept, because many measures are checked on the same ones."""
    return _trial(seed, number, random_table)


def _trial(seed: int, number: int, tables: Tables) -> Trial:
    rng = np.random.default_rng((seed, number))
    table = tables(rng)
    fine = random_recoding(rng, table)
    return Trial(number, seed, table, fine, random_merge(rng, fine), random_suppressions(rng, table))


def random_table(rng: np.random.Generator) -> Table:
    """One to three columns of two to five leaves, up to twelve rows, half of the tables with persons."""
    columns = int(rng.integers(1, 4))
    trees = tuple(random_hierarchy(rng, f"q{column}") for column in range(columns))
    rows = int(rng.integers(2, 13))
    codes = np.stack([rng.integers(0, len(tree.leaves), rows) for tree in trees], axis=1).astype(np.int32)
    persons = bool(rng.integers(0, 2))
    numbers = np.array([-1.0, 0.0, 2.5, 8.0])
    extras: dict[str, tuple[tuple[str, ...], np.ndarray, np.ndarray | None]] = {
        "sensitive": (("a", "b", "c"), rng.integers(0, 3, rows), None),
        "target": (tuple(str(number) for number in numbers), rng.integers(0, 4, rows), numbers),
        "person": (tuple(f"p{i}" for i in range(5)), rng.integers(0, 5, rows), None),
    }
    if rng.integers(0, 2):  # nobody has rows that differ
        person_codes = 3 * np.unique(codes, axis=0, return_inverse=True)[1].ravel() + rng.integers(0, 3, rows)
        extras["person"] = (tuple(f"p{i}" for i in range(3 * rows)), person_codes, None)
    schema = Schema(
        quasi=tuple(tree.name for tree in trees),
        sensitive=("sensitive",),
        target=("target",),
        person="person" if persons else None,
    )
    table = make_table(schema, trees, codes, rng.integers(1, 3, rows), extras)
    return replace(table, domain="observed" if rng.integers(0, 2) else "declared")


def random_sample(rng: np.random.Generator) -> Table:
    """A random table without persons, drawn from a population that has its rows and up to twelve others."""
    table = random_table(rng)
    table = replace(table, schema=replace(table.schema, person=None), persons=None)
    others = int(rng.integers(0, 13))
    more = [rng.integers(0, len(tree.leaves), others) for tree in table.hierarchies]
    codes = np.concatenate((table.codes, np.stack(more, axis=1))).astype(np.int32)
    weights = np.append(table.weights, rng.integers(1, 4, others))
    everybody = make_table(Schema(table.schema.quasi), table.hierarchies, codes, weights, {})
    return table.drawn_from(Population(table=everybody))


def random_hierarchy(rng: np.random.Generator, name: str) -> Hierarchy:
    """Two to five leaves, one to three levels above them, half of them numbers with loss by distance."""
    count = int(rng.integers(2, 6))
    bits = np.ones(count - 1, dtype=np.int64)
    cuts = [bits_cut(bits)]
    for _ in range(int(rng.integers(0, 3))):
        bits = bits * rng.integers(0, 2, count - 1)
        cuts.append(bits_cut(bits))
    if cuts[-1].any():
        cuts.append(np.zeros(count, dtype=np.int32))
    numeric = bool(rng.integers(0, 2))
    lows = np.cumsum(rng.integers(1, 9, count)) / 2
    leaves = tuple(str(low) if numeric else f"{name}-{place}" for place, low in enumerate(lows.tolist()))
    groups = np.array(cuts, dtype=np.int32)
    labels = [
        leaves,
        *(tuple(f"{level}.{g}" for g in range(int(cut[-1]) + 1)) for level, cut in enumerate(cuts[1:], 1)),
    ]
    return Hierarchy(
        name,
        leaves,
        groups,
        tuple(labels),
        levels_tree(groups, labels),
        ordered=numeric,
        spans=np.stack((lows, lows), axis=1) if numeric else None,
        loss="distance" if numeric else "leaves",
    )


def random_recoding(rng: np.random.Generator, table: Table) -> Recoding:
    """Any cut of each column."""
    cuts = (bits_cut(rng.random(len(h.leaves) - 1) < 0.7) for h in table.hierarchies)
    return Recoding(table.hierarchies, tuple(cuts))


def random_merge(rng: np.random.Generator, recoding: Recoding) -> Recoding:
    """A coarser recoding: usually one border fewer, sometimes several."""
    cuts = [cut_bits(cut).astype(np.int64) for cut in recoding.cuts]
    borders = [(column, int(place)) for column, bits in enumerate(cuts) for place in np.flatnonzero(bits)]
    count = min(len(borders), 1 if rng.random() < 0.7 else int(rng.integers(1, 4)))
    for chosen in rng.permutation(len(borders))[:count].tolist():
        column, place = borders[chosen]
        cuts[column][place] = 0
    return Recoding(recoding.hierarchies, tuple(bits_cut(bits) for bits in cuts))


def random_suppressions(rng: np.random.Generator, table: Table) -> dict[Rule, Suppression]:
    """One suppression per rule."""
    style: Literal["drop", "mask"] = "drop" if rng.random() < 0.7 else "mask"
    limit = int(rng.integers(1, max(table.rows, 2)))
    fails = [smallest_class().fails(int(rng.integers(1, 5)))]
    if table.sensitive:
        fails.append(distinct_l().fails(int(rng.integers(1, 3))))
    return {
        "none": Suppression("none"),
        "below-k": Suppression("below-k", k=int(rng.integers(1, 6)), rows=style),
        "cap-max-k": Suppression("cap-max-k", limit, rows=style),
        "as-needed": Suppression("as-needed", limit, rows=style, fails=tuple(fails)),
    }


# -- searches ----------------------------------------------------------------------------------------------------------


def check_search(search: Search, problem: Problem, space: Space, budget: int = 400) -> None:
    """Raise AssertionError with a sentence unless the search behaves.

    It proposes genomes inside the box and of the right shape, gives the same bits for the same seed, keeps within the
    budget, never claims completeness, and what is returned is feasible and mutually non-dominated.
    """
    named = bool(search.name) and search.name.strip() == search.name
    _demand(named, f"The search's name is {search.name!r}: give it a word for jobs and reports.")
    _check_proposals(search, problem, space, budget)
    first = run(problem, space, search, budget, seed=11)
    again = run(problem, space, search, budget, seed=11)
    name, provenance = search.name, first.provenance
    same = first.genomes.tobytes() == again.genomes.tobytes()
    _demand(same, f"{name}: equal seeds gave different fronts. Draw all chance from the given rng.")
    _demand(provenance.evaluated <= budget, f"{name}: {provenance.evaluated} evaluations for a budget of {budget}.")
    _demand(not provenance.complete, f"{name}: only the exact search may call its front complete.")
    _demand(bool(first.numbers.feasible.all()), f"{name}: the front holds points that miss a limit.")
    best = provenance.points != "counted" or len(non_dominated(first.numbers.keys)) == len(first)
    _demand(best, f"{name}: the front holds dominated points.")


def _check_proposals(search: Search, problem: Problem, space: Space, budget: int) -> None:
    """Every proposed genome lies in the box, and decodes."""
    moves = search.moves(space, np.random.default_rng(11))
    seen = 0
    try:
        genomes = next(moves)
        while seen < budget:
            shaped = genomes.ndim == 2 and genomes.shape[1] == len(space.genes)
            _demand(shaped, f"{search.name}: proposed an array of shape {genomes.shape}, not (n, {len(space.genes)}).")
            inside = bool((genomes >= 0).all()) and bool((genomes < space.genes).all())
            _demand(inside, f"{search.name}: proposed a gene outside the space.")
            for genome in genomes[:4]:
                space.decode(genome)
            seen += max(1, len(genomes))
            numbers = problem.evaluate(space, np.asarray(genomes, dtype=np.int64))
            genomes = moves.send(numbers.take(leading_rows(numbers, len(genomes))))
    except StopIteration:
        pass
    finally:
        moves.close()
