"""Settings: one table of names, and from where each value comes: flag, environment, project, user, default."""

from sash.settings.files import Written
from sash.settings.resolve import Settings, Value, load, misspelled
from sash.settings.table import SETTINGS, Setting, setting_named

__all__ = ["SETTINGS", "Setting", "Settings", "Value", "Written", "load", "misspelled", "setting_named"]
