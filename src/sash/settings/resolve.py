"""Which value is in force: flag, then environment, then the project's file, then the user's, then the default."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import msgspec

from sash.core.budget import Budget, budget_from
from sash.core.cost import Prices
from sash.core.model_limits import ModelLimits
from sash.core.policy import Policy, policy_from
from sash.core.pressure import Marks
from sash.errors import InvalidPolicy, InvalidSetting
from sash.meant import meant
from sash.settings.files import Written, open_to_all, project_file, read_file, user_file
from sash.settings.kinds import checked, said, shown, without_password
from sash.settings.table import SETTINGS, Setting, setting_named

OWN_STORE = "sqlite:"
"""The user's own database, in their data folder."""


class Value(msgspec.Struct, frozen=True, kw_only=True):
    """A setting's value and where it comes from."""

    name: str
    value: object
    where: str
    """`--flag`, `SASH_NAME`, `FILE:LINE`, `policy NAME` or `default`."""

    @property
    def text(self) -> str:
        """As it may be shown."""
        return shown(setting_named(self.name), self.value)


class Settings(msgspec.Struct, frozen=True, kw_only=True):
    """Every setting that somebody set, and the defaults of the rest."""

    given: dict[str, Written]
    files: tuple[Path, ...] = ()
    """What was read, the one that counts more first."""
    warnings: tuple[str, ...] = ()

    def value(self, name: str) -> Any:
        """The value in force; None where nothing is set."""
        setting = setting_named(name)
        written = self.given.get(setting.name)
        return written.value if written is not None else setting.default

    def where(self, name: str) -> str:
        """Where the value comes from."""
        setting = setting_named(name)
        written = self.given.get(setting.name)
        return written.where if written is not None else "default"

    def text(self, name: str) -> str:
        """The value of a setting that is words."""
        return str(self.value(name) or "")

    def values(self) -> tuple[Value, ...]:
        """All of them, as they are in force: a policy's fields as the policy has them."""
        policy, preset = self.policy(), self.text("policy")
        given = set(self.given)
        return tuple(_value(self, setting, policy, preset, given) for setting in SETTINGS)

    def policy(self, base: Policy | None = None) -> Policy:
        """The policy: a preset (or this one, in its place), and what was set beside it."""
        fields = {
            setting.name: self.given[setting.name].value
            for setting in SETTINGS
            if setting.group == "window" and setting.name in self.given
        }
        _refuse_unknown_fields(self, fields)
        try:
            if isinstance(budget := fields.get("budget"), Mapping):
                fields["budget"] = budget_from(budget)
            return _policy(self.text("policy"), fields) if base is None else policy_from(fields, base)
        except InvalidPolicy as error:
            name = error.field.partition(".")[0]
            where = self.given[name].where if name in self.given else ""
            if not where:
                raise
            raise InvalidSetting(
                error.field, where=where, problem=f"is {error.value!r}; it takes {error.wanted}"
            ) from None

    def asked(self) -> bool:
        """Whether a flag says something about the window: then somebody asks what it would do."""
        return any(written.where.startswith("--") for name, written in self.given.items() if _shapes(name))

    def asked_of(self, policy: Policy) -> Policy:
        """
        A policy that something has already, with what flags say beside it.

        The environment and files are for what has no policy of its own.
        """
        flags = {name: written for name, written in self.given.items() if written.where.startswith("--")}
        if "policy" in flags:
            return Settings(given=flags).policy()
        own = {name: Written(getattr(policy, name), "") for name in Policy.__struct_fields__}
        return Settings(given=own | flags).policy()

    def marks(self) -> Marks:
        """From which pressure on people are told."""
        try:
            return Marks(
                show=self.value("show_above"), notice=self.value("notice_above"), warn=self.value("warn_above")
            )
        except InvalidPolicy as error:
            name = f"{error.field}_above"
            raise InvalidSetting(
                name, where=self.where(name), problem=f"is {error.value!r}; it takes {error.wanted}"
            ) from None

    def store(self) -> str:
        """The address of the store."""
        return self.text("store") or OWN_STORE


def load(
    flags: Mapping[str, object] | None = None,
    *,
    environment: Mapping[str, str] | None = None,
    folder: Path | None = None,
    config: Path | None = None,
) -> Settings:
    """
    The settings in force. Fails at once on what cannot be meant, and says in which line.

    `flags` are values by setting's name, a None among them says nothing, and one that is `Written` says
    itself by which option it was given. `config` (or
    `SASH_CONFIG`) names the file to read in place of the project's.
    """
    environment = os.environ if environment is None else environment
    given: dict[str, Written] = {}
    files: list[Path] = []
    warnings: list[str] = []
    if config is None and environment.get("SASH_CONFIG"):
        config = Path(environment["SASH_CONFIG"])
    project = config if config is not None else project_file(folder or Path.cwd())
    user = user_file(environment)
    for path in (user, project):
        if path is None or (path is user and not path.is_file()):
            continue
        written = read_file(path)
        given |= written
        files.insert(0, path)
        warnings += _open_secrets(path, written)
    given |= _from_environment(environment)
    warnings += map(str, misspelled(environment))
    for name, value in (flags or {}).items():
        if value is None:
            continue
        setting = setting_named(name, where="the command line")
        given[setting.name] = _given(setting, value if isinstance(value, Written) else Written(value, setting.flag))
    return Settings(given=given, files=tuple(files), warnings=tuple(warnings))


def _given(setting: Setting, written: Written) -> Written:
    """A value as its setting takes it: words are read."""
    value, where = written.value, written.where
    read = said(setting, value, where=where) if isinstance(value, str) else checked(setting, value, where=where)
    return Written(read, where)


def _shapes(name: str) -> bool:
    return name in ("model", "policy") or setting_named(name).group == "window"


def _from_environment(environment: Mapping[str, str]) -> dict[str, Written]:
    found = {}
    for setting in SETTINGS:
        text = environment.get(setting.variable)
        # An empty variable says nothing: that is how shells and CI files unset one.
        if text:
            found[setting.name] = Written(said(setting, text, where=setting.variable), setting.variable)
    return found


def misspelled(environment: Mapping[str, str]) -> tuple[InvalidSetting, ...]:
    """Variables that are nearly one of ours; what is far from all of them is somebody else's."""
    known = {setting.variable for setting in SETTINGS} | set(_BESIDE)
    found = []
    for name in sorted(environment):
        ours = name.startswith("SASH_") and name not in known and environment[name]
        if ours and (near := meant(name, known, alike=_NEAR)):
            found.append(InvalidSetting(name, where="", problem=f"is no setting; did you mean {near!r}?"))
    return tuple(found)


_BESIDE = ("SASH_CONFIG", "SASH_API_KEY")
"""Variables of ours that are no settings: where to read them, and a server's own key."""
_NEAR = 0.85


def _open_secrets(path: Path, written: Mapping[str, Written]) -> list[str]:
    telling = [
        name
        for name, entry in written.items()
        if setting_named(name).secret and without_password(str(entry.value)) != str(entry.value)
    ]
    if not telling or not open_to_all(path):
        return []
    return [f"{path} holds a password in {telling[0]!r} and everybody may read it; `chmod 600 {path}`"]


_SIZES = tuple(name for name in ModelLimits.__struct_fields__ if name != "model")


def _refuse_unknown_fields(settings: Settings, fields: Mapping[str, object]) -> None:
    """What a table cannot have would be read past, or told without what there is instead."""
    tables = [("prices", fields.get("prices"), Prices.__struct_fields__)]
    if isinstance(models := fields.get("models"), Mapping):
        tables += [(f"models.{model}", sizes, _SIZES) for model, sizes in models.items()]
    for name, table, known in tables:
        for field in table if isinstance(table, Mapping) else ():
            if field not in known:
                where = settings.where(name.partition(".")[0])
                problem = f"is no field; there are {', '.join(known)}"
                raise InvalidSetting(f"{name}.{field}", where=where, problem=problem)


def _policy(preset: str, fields: Mapping[str, object]) -> Policy:
    made: Policy = policy_from(fields) if preset == "best" else getattr(Policy, preset)(**fields)
    return made


def _value(settings: Settings, setting: Setting, policy: Policy, preset: str, given: set[str]) -> Value:
    if setting.group != "window" or setting.name in given:
        return Value(name=setting.name, value=_plain(settings.value(setting.name)), where=settings.where(setting.name))
    value = getattr(policy, setting.name)
    where = "default" if value == getattr(_DEFAULT, setting.name) else f"policy {preset}"
    return Value(name=setting.name, value=_plain(value), where=where)


def _plain(value: object) -> object:
    """As JSON has it."""
    if isinstance(value, Budget):
        return {name: table for name, table in msgspec.to_builtins(value).items() if any(table.values())}
    return msgspec.to_builtins(value) if isinstance(value, msgspec.Struct) else value


_DEFAULT = Policy()
