"""Hierarchies that are built in: every value finds its groups, however it is written, and what has none is named."""

from __future__ import annotations

import pytest

from kpareto.errors import BadHierarchy
from kpareto.tables.hierarchies import KNOWN, known_hierarchy, load
from kpareto.tables.hierarchies.known import country_name, fits, postcode_systems, read_list


def labels_of(word: str, value: str, *others: str) -> list[str]:
    """The labels of a value from fine to coarse."""
    hierarchy = load("x", {"known": word}, [value, *others])
    leaf = hierarchy.index[value]
    return [hierarchy.labels[level][hierarchy.groups[level][leaf]] for level in range(hierarchy.height + 1)]


@pytest.mark.parametrize(
    ("word", "value", "expected"),
    [
        ("countries", "Germany", ["Western Europe", "Europe"]),
        ("countries", "DE", ["Western Europe", "Europe"]),
        ("countries", "deu", ["Western Europe", "Europe"]),
        ("countries", "276", ["Western Europe", "Europe"]),
        ("countries", "United-States", ["Northern America", "Americas"]),
        ("countries", "Cote d’Ivoire".replace("’", "'"), ["Western Africa", "Africa"]),
        ("countries", "Viet Nam", ["South-eastern Asia", "Asia"]),
        ("countries", "Nauru", ["Micronesia", "Oceania"]),
        ("us-states", "TX", ["West South Central", "South"]),
        ("us-states", "new york", ["Middle Atlantic", "Northeast"]),
        ("us-states", "06", ["Pacific", "West"]),
        ("us-states", "6", ["Pacific", "West"]),
        ("isco-08", "2512", ["251", "25", "2 Professionals"]),
        ("isco-08", "0110", ["011", "01", "0 Armed forces occupations"]),
        ("soc-2018", "15-1252", ["15-1250", "15-0000 Computer and Mathematical"]),
        ("soc-2018", "151252", ["15-1250", "15-0000 Computer and Mathematical"]),
        ("icd-10", "J45.9", ["J45", "X Diseases of the respiratory system"]),
        ("icd-10", "j459", ["J45", "X Diseases of the respiratory system"]),
        ("icd-10", "D48", ["D48", "II Neoplasms"]),
        ("icd-10", "D50.0", ["D50", "III Diseases of the blood and immune disorders"]),
        ("icd-10", "H60", ["H60", "VIII Diseases of the ear and mastoid process"]),
        ("icd-10", "T88", ["T88", "XIX Injury, poisoning and other consequences of external causes"]),
        ("icd-10", "Y99", ["Y99", "XX External causes of morbidity and mortality"]),
        ("icd-10", "U07.1", ["U07", "XXII Codes for special purposes"]),
        ("nuts", "DE212", ["DE21", "DE2", "Germany"]),
        ("nuts", "EL30", ["EL30", "EL3", "Greece"]),
        ("postcodes-de", "50667", ["506**", "50***", "5****"]),
        ("postcodes-us", "02139-1234", ["021**", "0****"]),
        ("postcodes-gb", "SW1A 1AA", ["SW1A", "SW"]),
        ("postcodes-nl", "1012 AB", ["1012", "10**", "1***"]),
        ("postcodes-ca", "K1A 0B1", ["K1A***", "K*****"]),
        ("ages", "93", ["90+", "90+", "90+"]),
        ("dates", "2024-05-06", ["2024-05", "2024-Q2", "2024", "2020s"]),
    ],
)
def test_groups_of_values(word: str, value: str, expected: list[str]) -> None:
    """Names in any spelling and codes in any form find their groups, from fine to coarse."""
    other = {"ages": "7", "dates": "1999-01-01"}.get(word)
    assert labels_of(word, value, *([other] if other else []))[1:-1] == expected


def test_every_list_is_whole_and_nests() -> None:
    """The lists are as long as the standards: 248 areas of M49 with Taiwan and Kosovo, 50 states with DC and territories."""
    assert len(read_list("countries")[1]) == 250
    assert len(read_list("us-states")[1]) == 56
    countries = known_hierarchy("country", "countries", None)
    assert len(countries.leaves) == 250
    assert [len(labels) for labels in countries.labels] == [250, 23, 6, 1]
    assert [len(labels) for labels in known_hierarchy("state", "us-states", None).labels] == [56, 10, 5, 1]
    assert country_name("GR") == "Greece"
    assert country_name("XX") is None


def test_each_has_a_source_and_what_it_has_no_place_for_is_named() -> None:
    """A value without a place is a sentence with what to do; so is a hierarchy that is not built in."""
    assert all(each.source and each.title and each.levels for each in KNOWN.values())
    assert {f"postcodes-{country}" for country in postcode_systems()} <= set(KNOWN)
    with pytest.raises(
        BadHierarchy, match=r"'countries' has no place for 1 of the values of 'from': 'Atlantis'. Correct"
    ):
        load("from", {"known": "countries"}, ["France", "Atlantis"])
    with pytest.raises(BadHierarchy, match=r"No hierarchy 'contries' is built in. Did you mean 'countries'\?"):
        load("from", {"known": "contries"}, ["France"])
    with pytest.raises(BadHierarchy, match="needs the values of the column"):
        load("job", {"known": "isco-08"})
    assert fits("us-states", ["TX", "Texas", "Bavaria"]) == (2, 3)


def test_missing_values_have_their_own_group_in_cells() -> None:
    """Cells with declared borders have a place for missing values, and numbers still find their cell."""
    hierarchy = load("age", {"edges": [0, 18, 65, 120]}, ["5", "17.5", "120", "(missing)"])
    assert hierarchy.leaves == ("[0,18)", "[18,65)", "[65,120]", "(missing)")
    assert hierarchy.locate(["5", "18", "120", "(missing)", "121"]).tolist() == [0, 1, 2, 3, -1]
    assert hierarchy.group_label(1, 2) == "[18,120]"
    assert hierarchy.group_label(2, 3) == "[65,120]|(missing)"
    assert not hierarchy.ordered
