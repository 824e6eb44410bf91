"""A page that shows each request live: what filled the window, and what became of each message.

log = EventLog()
orchestrator = ContextOrchestrator(observer=log)
app = ObserverApp(log)  # for any ASGI server
"""

from eunoe_observer.app import ObserverApp
from eunoe_observer.event_log import EventLog

__all__ = ["EventLog", "ObserverApp"]
