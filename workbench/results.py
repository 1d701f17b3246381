"""What was found out about the states of a session, by the state's key: nothing is computed twice, nothing is shown of another state."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from workbench.card import Summary
    from workbench.criticalpath import Critical
    from workbench.lineup import Lineup
    from workbench.lookup import Lookup
    from workbench.preview import Preview


@dataclass(slots=True)
class Results:
    """Results by state key.

    profiles     (key, engine) → Profile, the newest last
    comparisons  (key of A, key of B) → Comparison, the newest last
    previews     (key, rule) → Preview
    lineups      the same pair → Lineup; paths: id of a kept profile → Critical
    dry_runs     key → Report; findings: key → Findings; cards: key → Summary; activations: key → what each value was
    """

    profiles: dict[tuple[int, str], Any] = field(default_factory=dict)
    comparisons: dict[tuple[int, int], Any] = field(default_factory=dict)
    deltas: dict[tuple[int, int], Any] = field(default_factory=dict)
    previews: dict[tuple[int, str], Preview] = field(default_factory=dict)
    lineups: dict[tuple[int, int], Lineup] = field(default_factory=dict)
    paths: dict[int, Critical] = field(default_factory=dict)
    dry_runs: dict[int, Any] = field(default_factory=dict)
    findings: dict[int, Any] = field(default_factory=dict)
    cards: dict[int, Summary] = field(default_factory=dict)
    activations: dict[int, Any] = field(default_factory=dict)
    lookups: dict[int, Lookup] = field(default_factory=dict)

    def profile(self, key: int, engine: str = "") -> Any:
        """The newest profile of a state, in one engine or in any; None without."""
        found = [p for (k, e), p in self.profiles.items() if k == key and engine in ("", e)]
        return found[-1] if found else None

    def keep_profile(self, key: int, engine: str, profile: Any) -> None:
        """A new profile stands last; the state's lookup is made again with its times."""
        self.profiles.pop((key, engine), None)
        self.profiles[key, engine] = profile
        self.lookups.pop(key, None)

    def last_profile(self, engine: str) -> tuple[int, Any] | None:
        """(key, profile) of the newest profile of whatever state."""
        found = [(k, p) for (k, e), p in self.profiles.items() if e == engine]
        return found[-1] if found else None

    def last_comparison(self) -> Any:
        """The newest comparison of whatever states."""
        return next(reversed(self.comparisons.values()), None)
