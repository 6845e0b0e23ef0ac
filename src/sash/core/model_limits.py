"""How much a model takes and gives, where somebody states it."""

from __future__ import annotations

from collections.abc import Mapping

import msgspec

from sash.core.budget import whole_number
from sash.core.stated import Stated
from sash.errors import InvalidPolicy


class ModelLimits(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, metaclass=Stated):
    """How much a model takes and gives, stated by somebody who knows better than what is built in."""

    model: str
    """In any spelling; its dated editions are meant too."""
    window: int
    max_output: int | None = None
    max_input: int | None = None
    """The most that a request may take by itself, where that is less than the window."""

    def __post_init__(self) -> None:
        model: object = self.model
        if not isinstance(model, str) or not model:
            raise InvalidPolicy("models", model, "the name of a model")
        whole_number(f"models.{self.model}.window", self.window, least=1)
        for name in ("max_output", "max_input"):
            size = getattr(self, name)
            if size is not None:
                whole_number(f"models.{self.model}.{name}", size, least=1)
                if size > self.window:
                    raise InvalidPolicy(f"models.{self.model}.{name}", size, f"at most its window of {self.window:,}")


def limits_stated(name: str, stated: object) -> ModelLimits:
    """A window alone, or a table of window, max_output and max_input."""
    table = dict(stated) if isinstance(stated, Mapping) else {"window": stated}
    try:
        return msgspec.convert({**table, "model": name}, ModelLimits)
    except msgspec.ValidationError as error:
        if isinstance(error.__cause__, InvalidPolicy):
            raise error.__cause__ from None
        raise InvalidPolicy(f"models.{name}", stated, f"a window, or a table of sizes ({error})") from None
