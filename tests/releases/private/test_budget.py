"""The ledger: what was spent is written first, sums are exact, and nothing passes the declared total."""

from __future__ import annotations

import json
import threading
from contextlib import suppress
from fractions import Fraction
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kpareto.engines.postgres.connect import Postgres
from kpareto.errors import BadInput, KparetoError, Unsafe
from kpareto.releases.private import budget
from kpareto.releases.private.budget import read_ledger, spend


def test_three_tenths_are_three_times_a_tenth(tmp_path: Path) -> None:
    """A total of 0.3 pays for three runs of 0.1 exactly, and not for a fourth however small."""
    place = tmp_path / "budget.json"
    for run in range(3):
        left = spend(place, 0.1, "1e-7", f"run {run}", total=(0.3, "1e-6")).left
    assert left == (Fraction(0), Fraction(7, 10**7))
    before = place.read_text(encoding="utf-8")
    with pytest.raises(Unsafe, match=r"asks for epsilon 1e-09 and delta 1e-09, and of the budget .* epsilon 0 and"):
        spend(place, 1e-9, 1e-9, "one more")
    assert place.read_text(encoding="utf-8") == before


@settings(deadline=None, max_examples=30)
@given(runs=st.lists(st.tuples(st.integers(1, 60), st.integers(1, 60)), max_size=12))
def test_the_sum_of_runs_never_passes_the_total(
    runs: list[tuple[int, int]], tmp_path_factory: pytest.TempPathFactory
) -> None:
    """Whatever is asked for, a run is entered exactly when both sums stay within the total."""
    place = tmp_path_factory.mktemp("ledger") / "budget.json"
    sums = [Fraction(0), Fraction(0)]
    for epsilon, delta in runs:
        asked = Fraction(epsilon, 50), Fraction(delta, 10**8)
        fits = sums[0] + asked[0] <= 2 and sums[1] + asked[1] <= Fraction(1, 10**6)
        if fits:
            spend(place, *asked, "a run", total=(2, "1e-6"))
            sums = [sums[0] + asked[0], sums[1] + asked[1]]
        else:
            with pytest.raises(Unsafe):
                spend(place, *asked, "a run", total=(2, "1e-6"))
    ledger = read_ledger(place)
    if runs and ledger is not None:
        assert ledger.left == (2 - sums[0], Fraction(1, 10**6) - sums[1])


def test_rows_and_persons_do_not_share_a_ledger(tmp_path: Path) -> None:
    """An epsilon of rows and one of persons do not add up, so the second kind of run is refused."""
    place = tmp_path / "budget.json"
    spend(place, "0.1", "1e-7", "first", (1, "1e-6"), unit="persons by id")
    ledger = read_ledger(place)
    assert ledger is not None
    assert ledger.runs[0].unit == "persons by id"
    with pytest.raises(BadInput, match="protect persons by id, and this one would protect rows"):
        spend(place, "0.1", "1e-7", "second")
    assert spend(place, "0.1", "1e-7", "second", unit="persons by id").left[0] == Fraction(8, 10)


def test_runs_at_the_same_time_do_not_share_the_last_of_it(tmp_path: Path) -> None:
    """Of ten runs that begin together and each want a fifth, five are made."""
    place, made = tmp_path / "budget.json", []

    def run() -> None:
        with suppress(KparetoError):
            made.append(spend(place, "0.2", "1e-7", "together", total=(1, "1e-5")))

    threads = [threading.Thread(target=run) for _ in range(10)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    ledger = read_ledger(place)
    assert len(made) == 5
    assert ledger is not None
    assert ledger.left[0] == 0


def test_a_total_is_declared_once(tmp_path: Path) -> None:
    """Without a total nothing begins, and a total that grows is refused."""
    place = tmp_path / "budget.json"
    with pytest.raises(BadInput, match="Declare the total epsilon and delta"):
        spend(place, 1, 1e-6, "first")
    assert not place.exists()
    spend(place, 1, 1e-6, "first", total=(1, 1e-6))
    with pytest.raises(BadInput, match="declared as epsilon 1 and delta 1e-06, and a total of 5 and 1e-06 is given"):
        spend(place, 1, 1e-6, "second", total=(5, 1e-6))


@pytest.mark.parametrize("total", [(1000, 5), (1000, "1e-6"), (1, 5), (1, "0.01"), ("20.5", "1e-6")])
def test_a_total_beyond_reason_is_refused(total: tuple[float, float], tmp_path: Path) -> None:
    """A delta of 5, or an epsilon of a thousand, is no budget: nothing begins."""
    with pytest.raises(BadInput, match="promises next to nothing and is refused"):
        spend(tmp_path / "budget.json", "0.1", "1e-7", "first", total=total)
    assert not (tmp_path / "budget.json").exists()
    spend(tmp_path / "budget.json", 20, "1e-4", "first", total=(20, "1e-4"))


def test_a_table_in_a_database_is_known_by_its_address() -> None:
    """Whoever asks, with whichever password and settings; another host, port, database or table is another one."""
    same = [
        "postgresql://reader:secret@localhost/clinic",
        "postgres://LOCALHOST:5432/clinic?sslmode=require",
        "postgresql://127.0.0.1/clinic",
        "postgresql:///clinic?host=/var/run/postgresql",
        "postgresql://?host=localhost&dbname=clinic",
    ]
    names = {budget.names_of(Postgres(url, table)) for url in same for table in ("people", "public.people")}
    assert names == {("postgresql://localhost:5432/clinic public.people",)}
    others = {
        budget.names_of(Postgres("postgresql://localhost:5433/clinic", "people")),
        budget.names_of(Postgres("postgresql://else.where/clinic", "people")),
        budget.names_of(Postgres("postgresql://localhost/other", "people")),
        budget.names_of(Postgres("postgresql://localhost/clinic", "care.people")),
    }
    assert len(others | names) == 5


def test_a_ledger_of_an_earlier_version_binds_every_table_of_its_folder(tmp_path: Path) -> None:
    """It named no table, so none of the folder has a budget beside it."""
    place = tmp_path / "budget.json"
    spend(place, 1, "1e-6", "before tables were named", total=(1, "1e-6"))
    assert "tables" not in json.loads(place.read_text(encoding="utf-8"))
    with pytest.raises(Unsafe):
        spend(place, 1, "1e-6", "now", total=(1, "1e-6"), tables=("/data/people.csv",))


def test_where_ledgers_lie_is_noted_for_their_owner_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Once each, in a file that nobody else reads; where that is damaged or cannot be written nothing begins."""
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "own"))
    for _ in range(2):
        budget.note_ledger(tmp_path / "budget.json")
    notes = tmp_path / "own" / "kpareto" / "budgets.json"
    assert json.loads(notes.read_text(encoding="utf-8"))["ledgers"] == [str(tmp_path / "budget.json")]
    assert notes.stat().st_mode & 0o077 == 0
    notes.write_text("no list", encoding="utf-8")
    with pytest.raises(BadInput, match=r"The list of budgets .* cannot be read"):
        budget.note_ledger(tmp_path / "budget.json")
    (tmp_path / "file").write_text("", encoding="utf-8")
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "file"))
    with pytest.raises(BadInput, match="Set XDG_DATA_HOME"):
        budget.note_ledger(tmp_path / "budget.json")


@pytest.mark.parametrize(
    "text",
    [
        "",
        "[]",
        "{}",
        '{"format": "kpareto budget 2", "total": {"epsilon": "1", "delta": "1"}, "runs": []}',
        '{"format": "kpareto budget 1", "total": {"epsilon": 1, "delta": "1"}, "runs": []}',
        '{"format": "kpareto budget 1", "total": {"epsilon": "1", "delta": "1"}, "runs": [{"epsilon": "-1"}]}',
        '{"format": "kpareto budget 1", "total": {"epsilon": "1/0", "delta": "1"}, "runs": []}',
    ],
)
def test_a_broken_ledger_is_never_taken_for_a_new_one(text: str, tmp_path: Path) -> None:
    """A file that cannot be read stops the run and stays as it is."""
    place = tmp_path / "budget.json"
    place.write_text(text, encoding="utf-8")
    with pytest.raises(BadInput, match="is no budget that kpareto wrote"):
        spend(place, "0.1", 1e-9, "a run", total=(1, 1e-6))
    assert place.read_text(encoding="utf-8") == text


def test_the_file_is_plain_and_a_missing_folder_a_sentence(tmp_path: Path) -> None:
    """The ledger reads well, and says where a folder is missing."""
    place = tmp_path / "budget.json"
    spend(place, "0.5", "1e-6", "release of 2024", total=(2, "1e-5"))
    content = json.loads(place.read_text(encoding="utf-8"))
    assert content["total"] == {"epsilon": "2", "delta": "1/100000"}
    assert [run["epsilon"] for run in content["runs"]] == ["1/2"]
    assert content["runs"][0]["purpose"] == "release of 2024"
    with pytest.raises(BadInput, match="there is no folder"):
        spend(tmp_path / "gone" / "budget.json", 1, 1e-6, "a run", total=(1, 1e-6))


def test_a_lock_file_stands_in_where_there_are_no_locks(tmp_path: Path) -> None:
    """On systems without locks a second writer is refused, and the lock is gone after the first."""
    lock = tmp_path / ".budget.json.lock"
    with (
        budget._exclusive(lock),
        pytest.raises(BadInput, match="Another run is writing the budget"),
        budget._exclusive(lock),
    ):
        pass
    assert not lock.exists()
