"""The proxy: any client of a provider's API, its window managed, nothing else changed."""

from sash.server.proxy.proxy import Passed, Proxy
from sash.server.proxy.routes import proxy_routes
from sash.server.proxy.setup import ProxySetup, Upstreams

__all__ = ["Passed", "Proxy", "ProxySetup", "Upstreams", "proxy_routes"]
