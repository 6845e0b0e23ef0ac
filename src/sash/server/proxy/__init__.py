"""The proxy: any client of a provider's API, its window managed, nothing else changed."""

from sash.server.proxy.proxy import Passed, Proxy
from sash.server.proxy.setup import ProxySetup, Upstreams
from sash.server.proxy.summaries import Summaries

__all__ = ["Passed", "Proxy", "ProxySetup", "Summaries", "Upstreams"]
