"""Rates and risks: by hand, and their intervals cover what they state."""

from __future__ import annotations

import numpy as np
import pytest

from kpareto.attacks.trials import AttackOutcome, Rate

DRAWS = 4000


def outcome(attack: Rate, control: Rate) -> AttackOutcome:
    """Of these rates, blind guessing left out."""
    return AttackOutcome(attack, control, Rate(0, attack.attempts))


@pytest.mark.parametrize(
    ("rate", "interval"),
    [
        (Rate(10, 100), (0.05522914, 0.17436566)),  # (0.1 + z²/200 ± z·√(0.09/100 + z²/40000)) / (1 + z²/100)
        (Rate(0, 100), (0, 0.03699350)),  # z² / (n + z²), z² being 3.8414588
        (Rate(100, 100), (0.96300650, 1)),
        (Rate(0, 0), (0, 1)),
    ],
)
def test_wilson_by_hand(rate: Rate, interval: tuple[float, float]) -> None:
    """Wilson's interval, its ends where nothing or everything succeeds, and where nothing was tried."""
    assert rate.interval == pytest.approx(interval, abs=1e-7)


def test_risk_by_hand() -> None:
    """(0.6 - 0.2) / (1 - 0.2); never below 0; none is left to be gained where the control always succeeds."""
    assert outcome(Rate(60, 100), Rate(20, 100)).risk == pytest.approx(0.5)
    assert outcome(Rate(20, 100), Rate(60, 100)).risk == 0
    assert outcome(Rate(100, 100), Rate(100, 100)).risk == 0
    low, high = outcome(Rate(60, 100), Rate(20, 100)).interval
    assert 0 < low < 0.5 < high < 1
    assert outcome(Rate(0, 1000), Rate(0, 1000)).interval == pytest.approx((0, 0.003827), abs=1e-5)


@pytest.mark.parametrize("attempts", [100, 1000])
def test_intervals_cover_at_the_stated_rate(attempts: int) -> None:
    """Drawn again and again, the interval of 95 % holds the truth in 93 % of the draws and more, 95 on average."""
    random, rates, risks = np.random.default_rng(7), [], []
    for truth, beside in ((0.02, 0.01), (0.1, 0.1), (0.3, 0.05), (0.5, 0.3), (0.9, 0.2), (0.97, 0.9)):
        attack, control = (random.binomial(attempts, share, DRAWS).tolist() for share in (truth, beside))
        risk = (truth - beside) / (1 - beside)
        ends = [Rate(hits, attempts).interval for hits in attack]
        rates.append(np.mean([low <= truth <= high for low, high in ends]))
        pairs = zip(attack, control, strict=True)
        ends = [outcome(Rate(one, attempts), Rate(two, attempts)).interval for one, two in pairs]
        risks.append(np.mean([low <= risk <= high for low, high in ends]))
    assert min(rates) > 0.92
    assert min(risks) > 0.93
    assert np.mean(rates) > 0.945
    assert np.mean(risks) > 0.945
