"""Random numbers from counters and dense ids, against plain Python integers and dicts."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from kpareto.kernels.hashing import dense_ids, part_ids, random_unit, seed_stream, spread_bits
from tests.twins.strategies import Case, cases, recodings

WORD = 2**64 - 1
STEP = 0x9E3779B97F4A7C15


def slow_hash(key: int) -> int:
    """The finalizer of splitmix64 in plain integers."""
    key = (key ^ (key >> 30)) * 0xBF58476D1CE4E5B9 & WORD
    key = (key ^ (key >> 27)) * 0x94D049BB133111EB & WORD
    return key ^ (key >> 31)


@given(seed=st.integers(0, 2**63 - 1))
def test_a_stream_is_splitmix64(seed: int) -> None:
    """The state and the first numbers of a stream are those of the published generator."""
    state = seed_stream(seed)
    assert int(spread_bits(np.uint64(seed))) == slow_hash(seed)
    word = slow_hash(seed + STEP & WORD)
    assert int(state[0]) == word
    for _ in range(3):
        word = word + STEP & WORD
        assert random_unit(state) == (slow_hash(word) >> 11) / 2**53
        assert int(state[0]) == word


@given(
    keys=st.lists(st.integers(0, 2**60), min_size=1, max_size=40),
    small=st.booleans(),
)
def test_dense_ids_number_keys_in_order_of_appearance(keys: list[int], small: bool) -> None:
    """Direct and hashed tables number distinct keys alike, and leave the table empty."""
    drawn = np.array([key % 50 if small else key for key in keys], dtype=np.int64)
    table = np.full(128, -1, dtype=np.int32)
    firsts, ids = np.zeros(len(keys), dtype=np.int64), np.zeros(len(keys), dtype=np.int32)
    radix = 50 if small else 2**61
    count = dense_ids(drawn, len(keys), radix, table, firsts, ids)
    numbers: dict[int, int] = {}
    wanted = [numbers.setdefault(int(key), len(numbers)) for key in drawn]
    assert (count, ids.tolist()) == (len(numbers), wanted)
    assert (table == -1).all()


@given(case=cases(), data=st.data())
def test_part_ids_number_group_combinations(case: Case, data: st.DataObject) -> None:
    """Rows get one number exactly if they have the same groups in all columns of the part."""
    codes, recoding = case.table.codes, data.draw(recodings(case.table))
    chosen = data.draw(st.lists(st.integers(0, codes.shape[1] - 1), min_size=1, unique=True))
    leaf_at = np.concatenate(([0], np.cumsum([len(cut) for cut in recoding.cuts]))).astype(np.int64)
    columns = np.array(chosen, dtype=np.int64)
    combos = np.ascontiguousarray(codes[:, columns].T.astype(np.int32))
    table = np.full(1024, -1, dtype=np.int32)
    firsts, keys = np.zeros(len(codes), dtype=np.int64), np.zeros(len(codes), dtype=np.int64)
    ids = np.zeros(len(codes), dtype=np.int32)
    count = part_ids(np.concatenate(recoding.cuts), leaf_at, columns, combos, table, firsts, keys, ids)
    numbers: dict[tuple[int, ...], int] = {}
    for row, number in zip(codes, ids.tolist(), strict=True):
        groups = tuple(int(recoding.cuts[c][row[c]]) for c in chosen)
        assert numbers.setdefault(groups, len(numbers)) == number
    assert count == len(numbers)
