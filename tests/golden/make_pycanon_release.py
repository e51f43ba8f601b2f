"""Ask pyCANON for k and l of the demo's released file and freeze its answer in pycanon_release.json.

.venv/bin/kpareto demo                                            # writes kpareto-demo/adult-5.csv
python3 -m venv PYCANON && PYCANON/bin/pip install pycanon==1.3.6
PYCANON/bin/python tests/golden/make_pycanon_release.py kpareto-demo/adult-5.csv
"""

from __future__ import annotations

import hashlib
import json
import sys
from pathlib import Path

QUASI = ["age", "workclass", "education", "marital-status", "race", "sex", "native-country", "salary-class"]


def main(release: Path) -> None:
    """Write what pyCANON finds beside the hash of the file it looked at."""
    import pandas as pd
    from pycanon import anonymity  # type: ignore[import-not-found]  # lives in an environment of its own

    rows = pd.read_csv(release, dtype=str)
    answer = {
        "pycanon": "1.3.6",
        "sha256": hashlib.sha256(release.read_bytes()).hexdigest(),
        "rows": len(rows),
        "k": int(anonymity.k_anonymity(rows, QUASI)),
        "l": int(anonymity.l_diversity(rows, QUASI, ["occupation"])),
    }
    target = Path(__file__).with_name("pycanon_release.json")
    target.write_text(json.dumps(answer, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
