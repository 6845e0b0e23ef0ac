"""Numbers about the server, in Prometheus' text form. Labels are a few known words, never what a client said."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from threading import Lock

Labels = tuple[str, ...]

SECONDS = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0, 300.0)
MILLISECONDS = (0.0005, 0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5)


class Total:
    """A number that only grows."""

    kind = "counter"

    def __init__(self, name: str, says: str, labels: Labels = ()) -> None:
        self.name, self.says, self.labels = name, says, labels
        self._values: dict[Labels, float] = {} if labels else {(): 0.0}
        self._lock = Lock()

    def add(self, *labels: str, by: float = 1.0) -> None:
        """Count."""
        with self._lock:
            self._values[labels] = self._values.get(labels, 0.0) + by

    def value(self, *labels: str) -> float:
        """What was counted so far."""
        return self._values.get(labels, 0.0)

    def lines(self) -> Iterator[str]:
        """One line per set of labels."""
        with self._lock:
            values = sorted(self._values.items())
        for labels, value in values:
            yield f"{self.name}{_braced(self.labels, labels)} {_number(value)}"


class Level(Total):
    """A number that goes up and down."""

    kind = "gauge"

    def put(self, value: float, *labels: str) -> None:
        """It stands there now."""
        with self._lock:
            self._values[labels] = value


class Spread:
    """How often a time fell under each of some bounds."""

    kind = "histogram"

    def __init__(self, name: str, says: str, labels: Labels = (), bounds: tuple[float, ...] = SECONDS) -> None:
        self.name, self.says, self.labels, self.bounds = name, says, labels, bounds
        self._values: dict[Labels, list[float]] = {}
        self._lock = Lock()

    def take(self, value: float, *labels: str) -> None:
        """One more."""
        with self._lock:
            # One place a bound, then all of them, then their sum.
            counts = self._values.setdefault(labels, [0.0] * (len(self.bounds) + 2))
            for place, bound in enumerate(self.bounds):
                if value <= bound:
                    counts[place] += 1
            counts[-2] += 1
            counts[-1] += value

    def lines(self) -> Iterator[str]:
        """Buckets, sum and count per set of labels."""
        with self._lock:
            values = sorted((labels, list(counts)) for labels, counts in self._values.items())
        names = (*self.labels, "le")
        for labels, counts in values:
            for bound, count in zip((*map(_number, self.bounds), "+Inf"), counts, strict=False):
                yield f"{self.name}_bucket{_braced(names, (*labels, bound))} {_number(count)}"
            yield f"{self.name}_sum{_braced(self.labels, labels)} {_number(counts[-1])}"
            yield f"{self.name}_count{_braced(self.labels, labels)} {_number(counts[-2])}"


class Metrics:
    """All numbers of one server."""

    def __init__(self) -> None:
        self.requests = Total("sash_http_requests_total", "Requests answered", ("method", "route", "status"))
        self.in_flight = Level("sash_http_requests_in_flight", "Requests being answered")
        self.seconds = Spread("sash_http_request_duration_seconds", "Time until an answer was complete", ("route",))
        self.overhead = Spread(
            "sash_overhead_seconds",
            "Time that sash added before the provider was asked",
            ("face",),
            MILLISECONDS,
        )
        self.turns = Total("sash_turns_total", "Turns run, by how they ended", ("status",))
        self.running = Level("sash_turns_running", "Turns being run")
        self.events = Total("sash_turn_events_total", "Events of turns stored and sent", ("type",))
        self.slides = Total("sash_slides_total", "Frames made, by reason", ("reason",))
        self.tokens = Total("sash_provider_tokens_total", "Tokens as providers report them", ("provider", "kind"))
        self.upstream_errors = Total("sash_provider_errors_total", "Failures of providers", ("provider", "kind"))
        self._more: list[Total | Spread] = []
        self._asked: list[tuple[Level, Callable[[], float]]] = []

    def join(self, metric: Total | Spread) -> None:
        """Show one more number."""
        self._more.append(metric)

    def ask(self, level: Level, value: Callable[[], float]) -> None:
        """Show a number that is looked up when somebody asks."""
        self._asked.append((level, value))

    def _all(self) -> Iterator[Total | Spread]:
        for value in vars(self).values():
            if isinstance(value, Total | Spread):
                yield value
        yield from self._more
        for level, value in self._asked:
            level.put(value())
            yield level

    def text(self) -> str:
        """In the form that Prometheus reads."""
        lines: list[str] = []
        for metric in self._all():
            lines += (f"# HELP {metric.name} {metric.says}", f"# TYPE {metric.name} {metric.kind}")
            lines += metric.lines()
        return "\n".join(lines) + "\n"


def _braced(names: Iterable[str], values: Iterable[str]) -> str:
    pairs = ",".join(f'{name}="{_escaped(value)}"' for name, value in zip(names, values, strict=True))
    return f"{{{pairs}}}" if pairs else ""


def _escaped(value: str) -> str:
    return value.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")


def _number(value: float) -> str:
    return str(int(value)) if value == int(value) else repr(value)
