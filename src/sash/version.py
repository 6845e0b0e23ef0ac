"""The one place that says which sash this is."""

__version__ = "0.1.0"
