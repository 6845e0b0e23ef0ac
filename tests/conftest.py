"""What tests of several layers share."""

from tests.model_server import model_server

__all__ = ["model_server"]
