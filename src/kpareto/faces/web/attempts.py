"""Password attempts, slowed: who was wrong waits, longer each time, and nobody may try many at once."""

from __future__ import annotations

import ipaddress
import time
from collections import deque
from dataclasses import dataclass, field

FIRST_WAIT = 0.5  # seconds before a wrong password is answered
FREE = 3  # wrong passwords of an address that cost no more than that: people mistype
NEXT_WAIT = 2.0  # seconds that the next one costs; each further one doubles it
LONGEST_WAIT = 300.0
WINDOW = 60.0  # seconds
MOST_IN_WINDOW = 30  # wrong passwords of all addresses together
FORGOTTEN = 3600.0  # seconds after which an address has a fresh start


def group_of(address: str) -> str:
    """Whom an attempt is counted for: an IPv4 address, or the network of an IPv6 one, which has addresses to waste."""
    try:
        known = ipaddress.ip_address(address)
    except ValueError:
        return address
    return str(known) if known.version == 4 else str(ipaddress.ip_network(f"{known}/64", strict=False))


@dataclass(eq=False)
class Attempts:
    """The wrong passwords of the last while."""

    _wrong: dict[str, tuple[int, float]] = field(default_factory=dict)  # group -> how many, and when it may try again
    _recent: deque[float] = field(default_factory=deque)  # when any wrong one came
    _trying: set[str] = field(default_factory=set)  # groups whose attempt is being answered

    def wait_for(self, address: str) -> float:
        """Seconds until this address may try; 0 where it may try now."""
        now = time.monotonic()
        while self._recent and self._recent[0] < now - WINDOW:
            self._recent.popleft()
        group = group_of(address)
        _, until = self._wrong.get(group, (0, 0.0))
        everybody = self._recent[0] + WINDOW - now if len(self._recent) >= MOST_IN_WINDOW else 0.0
        return max(until - now, everybody, FIRST_WAIT if group in self._trying else 0.0, 0.0)

    def begin(self, address: str) -> None:
        """An attempt is being answered: a second one at the same time is refused."""
        self._trying.add(group_of(address))

    def end(self, address: str, *, right: bool) -> float:
        """The attempt is over; how long this address waits from now on."""
        group, now = group_of(address), time.monotonic()
        self._trying.discard(group)
        if right:
            self._wrong.pop(group, None)
            return 0.0
        count = self._wrong.get(group, (0, 0.0))[0] + 1
        wait = 0.0 if count < FREE else min(NEXT_WAIT * 2.0 ** min(count - FREE, 30), LONGEST_WAIT)
        self._wrong[group] = (count, now + wait)
        self._recent.append(now)
        for other, (_, until) in list(self._wrong.items()):
            if until < now - FORGOTTEN:
                del self._wrong[other]
        return wait
