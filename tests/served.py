"""An ASGI application on a real socket."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager

from eunoe_web.asgi import Application
from eunoe_web.serving import listening_socket


@contextmanager
def running_app(app: Application) -> Iterator[str]:
    """Serves for the time of a test; gives the address."""
    import uvicorn

    config = uvicorn.Config(app, log_level="warning", ws="none", lifespan="on")
    config.timeout_graceful_shutdown = 2
    config.server_header = config.date_header = False
    server = uvicorn.Server(config)
    with listening_socket("127.0.0.1", 0) as listening:
        thread = threading.Thread(target=server.run, kwargs={"sockets": [listening]})
        thread.start()
        end = time.monotonic() + 30
        while not server.started:
            assert time.monotonic() < end
            time.sleep(0.01)
        try:
            yield f"http://127.0.0.1:{listening.getsockname()[1]}"
        finally:
            server.should_exit = True
            thread.join(20)
            assert not thread.is_alive()
