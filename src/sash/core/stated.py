"""Values that people state field by field: a field that there is not is refused, with the name that was meant."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import msgspec

from sash.errors import InvalidPolicy
from sash.meant import meant


class Stated(msgspec.StructMeta):
    """
    The kind of such a value.

    A struct cannot look at its own arguments: it has neither `__init__` nor `__new__`. What is read
    from JSON does not come by here; there `forbid_unknown_fields` says the same.
    """

    def __call__(self, *given: Any, **named: Any) -> Any:
        for name, value in named.items():
            if name not in self.__struct_fields__:
                raise no_such_field(name, value, of=f"sash.{self.__name__}", fields=self.__struct_fields__)
        return super().__call__(*given, **named)


def no_such_field(name: str, value: object, *, of: str, fields: Iterable[str], under: str = "") -> InvalidPolicy:
    """The error for a name that is none of the fields `of` a thing; `under` is where that stands, with its dot."""
    fields = tuple(fields)
    near = meant(name, fields)
    remedy = f"; did you mean {near!r}?" if near else f": its fields are {', '.join(fields)}"
    return InvalidPolicy(f"{under}{name}", value, f"no value, for {of} has no such field{remedy}")
