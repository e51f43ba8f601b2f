"""Every kind of case by its name."""

from __future__ import annotations

from tests.fuzz.kinds import Kind, commands, doors, faults, fronts, local, readback, releases

KINDS: dict[str, Kind] = {
    kind.name: kind
    for kind in [
        *fronts.KINDS,
        *releases.KINDS,
        *local.KINDS,
        *commands.KINDS,
        *readback.KINDS,
        *faults.KINDS,
        *doors.KINDS,
    ]
}
