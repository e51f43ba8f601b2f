"""A scikit-learn transformer: columns are generalized as far as k-anonymity of the fitted rows asks for.

It recodes; it releases nothing. What leaves the house goes through ``kpareto.release``, which counts what was written.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any, Literal

import numpy as np
import pyarrow as pa

from kpareto.engines.read import load_hierarchies, read
from kpareto.errors import KparetoError, MissingExtra
from kpareto.fronts.front import DEFAULT_K
from kpareto.jobs.anonymize import check_wishes, optimum, wishes
from kpareto.jobs.proposals import complete_hierarchies
from kpareto.measures.cells import lm
from kpareto.measures.sizes import k as smallest_class
from kpareto.releases.apply import Unseen, fit_choice
from kpareto.releases.choice import Choice, Stored, store
from kpareto.releases.recoded_rows import Handling
from kpareto.releases.release import release
from kpareto.tables.hierarchy import Hierarchy, runs_of
from kpareto.tables.partition import Suppression
from kpareto.tables.recoding import Recoding, node
from kpareto.tables.schema import Schema, as_names

try:
    from sklearn.base import BaseEstimator, TransformerMixin
    from sklearn.utils.validation import check_is_fitted, validate_data
except ImportError as error:
    raise MissingExtra(
        "The transformer needs scikit-learn 1.6 or newer. Install it with: pip install 'kpareto[ml]'."
    ) from error

Output = Literal["labels", "numbers", "shares"]
OUTPUTS: tuple[Output, ...] = ("labels", "numbers", "shares")
HOW = Handling(order="kept")  # a transformer gives back each row in its place


class Anonymizer(TransformerMixin, BaseEstimator):  # type: ignore[misc]  # scikit-learn has no types; pipelines ask for its classes
    """Generalize columns, by whole levels with the least loss (LM), until k of the fitted rows look alike.

    ``quasi_identifiers`` are the columns that others may know, all of them unless named (an array's are x0, x1, …);
    other columns stay as they are. ``hierarchies`` are as in ``kpareto.anonymize``; a column without one gets one by
    its values. ``output`` gives groups by their labels, or by numbers that models can use: the middle of a group of
    numbers, else its place among the groups; or, with ``shares``, a column for each fitted value, in which a row has
    that value's even share of its group (of all values where the group is not known). ``unseen`` says what becomes of
    values that no group has: ``star`` (no number), ``nearest``, or ``error``. No row is dropped, and k is that of the
    fitted rows: new rows may be fewer.
    """

    def __init__(
        self,
        k: int = DEFAULT_K,
        *,
        quasi_identifiers: Sequence[str] | None = None,
        hierarchies: Mapping[str, object] | None = None,
        output: Output = "labels",
        unseen: Unseen = "star",
    ) -> None:
        self.k = k
        self.quasi_identifiers = quasi_identifiers
        self.hierarchies = hierarchies
        self.output = output
        self.unseen = unseen

    def fit(self, X: Any, y: Any = None) -> Anonymizer:  # noqa: ARG002 (scikit-learn's names)
        """Find the recoding with the least loss among all that have k rows in every class."""
        rows = self._rows(X, reset=True)
        try:
            self._fit(rows)
        except KparetoError as error:
            raise ValueError(str(error)) from error
        return self

    def _fit(self, rows: pa.Table) -> None:
        check_wishes(self.k, None, 0.0)
        if self.output not in OUTPUTS:
            raise ValueError(f"output is {self.output!r}. Give one of: {', '.join(OUTPUTS)}.")
        if self.unseen not in ("error", "nearest", "star"):
            raise ValueError(f"unseen is {self.unseen!r}. Give one of: error, nearest, star.")
        if self.k > rows.num_rows:
            raise ValueError(f"k = {self.k} needs as many rows, and n_samples = {rows.num_rows}. Give a smaller k.")
        quasi = rows.column_names if self.quasi_identifiers is None else as_names(self.quasi_identifiers)
        table = read(rows, Schema(tuple(quasi)), "category", missing_values=())
        table = complete_hierarchies(table.bind(load_hierarchies(table, self.hierarchies or {})))
        suppression, limits = wishes(self.k, None, 0.0)
        recoding = node(table.hierarchies, optimum(table, suppression, limits))
        choice = Choice(table, recoding, Suppression("none"), limits)
        partition = choice.partition()
        self.stored_: Stored = store(choice)
        self.k_ = int(smallest_class()(partition))
        self.kept_ = 100 * (1 - lm()(partition))  # percent of the detail
        self.remarks_ = table.remarks

    def transform(self, X: Any) -> Any:
        """The rows with their quasi-identifiers generalized as fitted; a frame gives a frame of its own kind."""
        check_is_fitted(self)
        rows = self._rows(X, reset=False)
        try:
            columns = self._recode(rows)
        except KparetoError as error:
            raise ValueError(str(error)) from error
        return _like(X, columns, self.output)

    def _recode(self, rows: pa.Table) -> dict[str, np.ndarray]:
        """The columns of the rows, generalized: (rows,) each, of objects or of float64."""
        choice, *_ = fit_choice(self.stored_, rows, self.unseen, replace(HOW, missing_values=()))
        free = replace(choice, suppression=Suppression("none"), limits={})
        others = tuple(name for name in rows.column_names if name not in self.stored_.schema.quasi)
        how = replace(HOW, missing_values=(), declared=others)  # in a pipeline the other columns are meant to stay
        answer = release(free, rows, handling=how, warnings=()).data
        columns = {name: np.array(answer.column(name).to_pylist(), dtype=object) for name in rows.column_names}
        if self.output == "labels":
            return columns
        if self.output == "shares":
            return self._spread(columns)
        for place, name in enumerate(self.stored_.schema.quasi):
            known, new = self.stored_.recoding, choice.recoding
            numbers = _numbers(known, known.labels[place], place)
            if new.hierarchies[place].spans is not None:  # intervals that no fitted row was in
                numbers = _numbers(new, choice.labels[place], place) | numbers
            columns[name] = np.array([numbers.get(str(label), np.nan) for label in columns[name]], dtype=np.float64)
        return columns

    def _spread(self, columns: Mapping[str, np.ndarray]) -> dict[str, np.ndarray]:
        """A column for each value of a quasi-identifier in place of its own, (rows,) float64; others as they are."""
        answer: dict[str, np.ndarray] = {}
        for name, cells in columns.items():
            if name not in self.stored_.schema.quasi:
                answer[name] = cells
                continue
            place = self.stored_.schema.quasi.index(name)
            cut, labels = self.stored_.recoding.cuts[place], self.stored_.recoding.labels[place]
            groups = {label: group for group, label in enumerate(labels)}
            inside = np.vstack([cut == group for group in range(len(labels))] + [np.ones_like(cut)])  # the last: any
            shares = inside / inside.sum(axis=1, keepdims=True)
            taken = shares[[groups.get(str(label), len(labels)) for label in cells]]  # (rows, values)
            leaves = self.stored_.recoding.hierarchies[place].leaves
            answer |= {f"{name}={leaf}": taken[:, at] for at, leaf in enumerate(leaves)}
        return answer

    def _rows(self, X: Any, *, reset: bool) -> pa.Table:
        """The rows as an arrow table, checked as scikit-learn checks them."""
        if _kind(X) in ("pandas", "polars", "pyarrow"):
            validate_data(self, X, reset=reset, skip_check_array=True)
            table = pa.Table.from_pandas(X, preserve_index=False) if _kind(X) == "pandas" else pa.table(X)
            if not table.num_rows:
                raise ValueError("Found array with 0 sample(s) while a minimum of 1 is required.")
            return table
        array = validate_data(self, X, reset=reset, dtype=None)
        try:
            return pa.table({name: pa.array(array[:, at].tolist()) for at, name in enumerate(self._names())})
        except pa.ArrowInvalid as error:
            raise TypeError(
                f"The argument must be a string or a number, and a value of X is neither ({error})."
            ) from error

    def _names(self) -> Iterable[str]:
        names = getattr(self, "feature_names_in_", None)
        return [f"x{at}" for at in range(self.n_features_in_)] if names is None else [str(name) for name in names]

    def get_feature_names_out(self, input_features: Sequence[str] | None = None) -> np.ndarray:
        """The names of the columns, those that came in or one for each value (shares): (columns,) of objects."""
        check_is_fitted(self)
        names = np.array(list(self._names()), dtype=object)
        if self.output == "shares":
            none = {str(name): np.empty(0, dtype=object) for name in names}
            return np.array(list(self._spread(none)), dtype=object)
        if input_features is None:
            return names
        asked = np.asarray(input_features, dtype=object)
        if getattr(self, "feature_names_in_", None) is not None and not np.array_equal(asked, names):
            raise ValueError("input_features is not equal to feature_names_in_")
        if len(asked) != len(names):
            raise ValueError(f"input_features should have length equal to number of features ({len(names)})")
        return asked


def _numbers(recoding: Recoding, labels: Sequence[str], column: int) -> dict[str, float]:
    """A number for each label of a column: the middle of its numbers, else its place among the groups."""
    hierarchy: Hierarchy = recoding.hierarchies[column]
    runs = runs_of(recoding.cuts[column])
    if hierarchy.spans is None:
        return {label: float(place) for place, label in enumerate(labels)}
    ends = [hierarchy.spans[first : last + 1] for first, last in runs]
    middles = [(float(each.min()) + float(each.max())) / 2 for each in ends]
    return dict(zip(labels, middles, strict=True))


def _kind(X: object) -> str:
    """The library that a frame is from."""
    return type(X).__module__.partition(".")[0]


def _like(X: Any, columns: Mapping[str, np.ndarray], output: Output) -> Any:
    """The columns as what came in: a pandas or polars frame, an arrow table, or an array."""
    if isinstance(X, pa.Table):
        return pa.table({name: pa.array(values.tolist()) for name, values in columns.items()})
    if _kind(X) == "pandas":
        import pandas as pd

        return pd.DataFrame(dict(columns), index=X.index).infer_objects()
    if _kind(X) == "polars":
        import polars as pl

        return pl.DataFrame({name: values.tolist() for name, values in columns.items()})
    array = np.column_stack(list(columns.values()))
    return array.astype(object) if output == "labels" else array.astype(np.float64)
