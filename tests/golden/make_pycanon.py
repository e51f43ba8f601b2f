"""Ask pyCANON for its numbers on recoded Adult tables and freeze them in pycanon.json.

pyCANON pins exact versions of pandas and numpy, so it needs an environment of its own::

    .venv/bin/python tests/golden/make_pycanon.py rows ROWS          # writes ROWS/0.csv, ROWS/1.csv, …
    python3 -m venv PYCANON && PYCANON/bin/pip install pycanon==1.3.6
    PYCANON/bin/python tests/golden/make_pycanon.py ask ROWS         # writes tests/golden/pycanon.json; minutes
"""

from __future__ import annotations

import csv
import json
import sys
from pathlib import Path
from typing import Any

# Levels per quasi-identifier of the preset "default", fine to coarse; pyCANON is too slow for finer tables.
QUASI = ("age", "workclass", "education", "marital-status", "race", "sex", "native-country")
SENSITIVE = ("occupation", "education-num")  # text and numbers
NODES = (
    (4, 2, 2, 2, 1, 0, 3),
    (3, 3, 2, 2, 1, 1, 3),
    (5, 1, 3, 2, 1, 0, 4),
    (6, 3, 1, 3, 0, 1, 4),
    (4, 3, 3, 3, 1, 0, 4),
    (6, 2, 3, 3, 1, 1, 3),
    (6, 3, 3, 3, 1, 1, 4),
)


def recoded(levels: tuple[int, ...]) -> dict[str, list[Any]]:
    """The complete rows of Adult with every quasi-identifier shown at a level (needs kpareto)."""
    from kpareto.tables.adult import adult, adult_hierarchies

    rows = adult().to_pydict()
    complete = [
        place
        for place, values in enumerate(zip(rows["workclass"], rows["occupation"], rows["native-country"], strict=True))
        if "?" not in values
    ]
    made: dict[str, list[Any]] = {}
    for name, level in zip(QUASI, levels, strict=True):
        tree = adult_hierarchies()[name]
        label = dict(zip(tree.leaves, (tree.labels[level][group] for group in tree.groups[level]), strict=True))
        made[name] = [label[str(rows[name][place])] for place in complete]
    for name in SENSITIVE:
        made[name] = [rows[name][place] for place in complete]
    return made


def write_rows(folder: Path) -> None:
    """One CSV per node."""
    folder.mkdir(parents=True, exist_ok=True)
    for number, levels in enumerate(NODES):
        made = recoded(levels)
        with (folder / f"{number}.csv").open("w", newline="", encoding="utf-8") as file:
            writer = csv.writer(file)
            writer.writerow(made)
            writer.writerows(zip(*made.values(), strict=True))


def ask(folder: Path) -> None:
    """Every number pyCANON gives for each node, per sensitive column and for both together."""
    import pandas as pd
    from pycanon import anonymity  # type: ignore[import-not-found]  # lives in an environment of its own

    answers = []
    for number, levels in enumerate(NODES):
        rows = pd.read_csv(folder / f"{number}.csv", dtype=dict.fromkeys(QUASI, str), keep_default_na=False)
        quasi = list(QUASI)
        found: dict[str, Any] = {"levels": levels, "k": int(anonymity.k_anonymity(rows, quasi)), "sensitive": {}}
        for names in ([SENSITIVE[0]], [SENSITIVE[1]], list(SENSITIVE)):
            c, l = anonymity.recursive_c_l_diversity(rows, quasi, names)
            found["sensitive"]["+".join(names)] = {
                "l": int(anonymity.l_diversity(rows, quasi, names)),
                "entropy_l": int(anonymity.entropy_l_diversity(rows, quasi, names)),
                "recursive": [None if c != c else int(c), int(l)],
                "t": float(anonymity.t_closeness(rows, quasi, names)),
                "alpha": float(anonymity.alpha_k_anonymity(rows, quasi, names)[0]),
                "beta": float(anonymity.basic_beta_likeness(rows, quasi, names)),
                "enhanced_beta": float(anonymity.enhanced_beta_likeness(rows, quasi, names)),
                "delta": float(anonymity.delta_disclosure(rows, quasi, names)),
            }
        both = list(SENSITIVE)
        found["separately"] = {  # gen=False: the other sensitive column is a quasi-identifier
            "l": int(anonymity.l_diversity(rows, quasi, both, gen=False)),
            "alpha": float(anonymity.alpha_k_anonymity(rows, quasi, both, gen=False)[0]),
            "t": float(anonymity.t_closeness(rows, quasi, both, gen=False)),
        }
        answers.append(found)
        print(number, levels, found["k"], flush=True)  # noqa: T201 (a script)
    target = Path(__file__).with_name("pycanon.json")
    target.write_text(json.dumps({"pycanon": "1.3.6", "nodes": answers}, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    {"rows": write_rows, "ask": ask}[sys.argv[1]](Path(sys.argv[2]))
