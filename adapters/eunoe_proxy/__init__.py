"""The door for any OpenAI client: a proxy before the server; change `base_url`, nothing more.

app = create_app("http://localhost:11434/v1", max_tokens=8000)  # for any ASGI server
"""

from eunoe_proxy.app import ProxyApp, create_app
from eunoe_proxy.settings import ProxySettings

__all__ = ["ProxyApp", "ProxySettings", "create_app"]
