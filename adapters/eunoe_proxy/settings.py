"""What the operator of the proxy sets."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, TypedDict, get_args
from urllib.parse import urlsplit

from eunoe.domain.checking import (
    require_choice,
    require_names,
    require_number,
    require_switch,
    require_whole,
)
from eunoe.domain.errors import SettingsError
from eunoe.domain.profile import PROFILES
from eunoe.domain.settings import POLICY_NAMES
from eunoe.stages.accounting.price import PriceLookup
from eunoe_backends.current_prices import CurrentPrices
from eunoe_backends.price_sources import OpenRouterPrices

OverflowChoice = Literal["truncate", "keep", "refuse"]
OVERFLOW_NAMES: tuple[str, ...] = get_args(OverflowChoice)

_WHOLE = "a whole number, 0 or above"


class ProxyOptions(TypedDict, total=False):
    """The fields of ``ProxySettings`` but ``upstream``, as keywords."""

    api_key: str
    max_tokens: int
    max_cost_usd: float
    context_share: float
    context_window: int
    policy: str | None
    profile: str | None
    on_overflow: OverflowChoice
    read_flags: bool
    deadline: float
    timeout: float
    connect_timeout: float
    largest_body: int
    ask_usage: bool
    ledger: str
    hosts: tuple[str, ...]
    price_file: str
    live_prices: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class ProxySettings:
    """What holds for every request.

    Attributes:
        upstream: address of the server, its version included, such as ``http://localhost:1234/v1``.
        api_key: goes upstream in place of the caller's own; empty passes the caller's on.
        max_tokens: of a request, the room for its answer included; 0 sets no cap.
        max_cost_usd: dollars that the input of a request may cost; 0 sets no cap, nor does money
            where the price of the model is not known: tokens alone count then.
        context_share: share of the model's window that messages and tools may take, in (0, 1].
        context_window: tokens that every model here holds; 0 goes by what the request, the model's
            name or the server's list of models tell. Where that is nothing, ``max_tokens`` alone
            counts.
        policy: of requests that name none; None for the default.
        profile: whose rules, over what the model's name says.
        on_overflow: what happens to a question that is too large in itself: ``truncate`` shortens
            it, ``keep`` sends it whole, ``refuse`` answers with status 400.
        read_flags: whether ``!flags`` in user messages are read.
        deadline: seconds that choosing may take; late, the newest messages are sent, or all.
        timeout: seconds that the server may be silent.
        connect_timeout: seconds for reaching it.
        largest_body: bytes of a chat request that are read; a longer one goes through unread.
        ask_usage: ask for the usage at the end of streams whose caller does not say whether it
            wants it. The caller then gets one more chunk, without choices.
        ledger: file to which a line is added for each answer; empty for none.
        hosts: names by which the proxy may be called where it has a key of its own, beside
            addresses by digits and names of a local network.
        price_file: own prices of models, JSON; see ``read_price_file``. Empty for list prices.
        live_prices: fetch the prices that OpenRouter publishes, once a day, behind the requests.

    Raises:
        SettingsError: a value is not allowed.
    """

    upstream: str
    api_key: str = ""
    max_tokens: int = 0
    max_cost_usd: float = 0.0
    context_share: float = 0.9
    context_window: int = 0
    policy: str | None = None
    profile: str | None = None
    on_overflow: OverflowChoice = "truncate"
    read_flags: bool = False
    deadline: float = 5.0
    timeout: float = 600.0
    connect_timeout: float = 10.0
    largest_body: int = 64_000_000
    ask_usage: bool = False
    ledger: str = ""
    hosts: tuple[str, ...] = ()
    price_file: str = ""
    live_prices: bool = False

    def __post_init__(self) -> None:
        _require_address(self.upstream)
        for name in ("max_tokens", "context_window", "largest_body"):
            require_whole(name, getattr(self, name), _WHOLE)
        require_number("max_cost_usd", self.max_cost_usd, "dollars, 0 or above, finite")
        for name in ("context_share", "deadline", "timeout", "connect_timeout"):
            value = getattr(self, name)
            allowed = "a share" if name == "context_share" else "seconds"
            require_number(name, value, f"{allowed}, above 0")
            if not value or (name == "context_share" and value > 1):
                most = ", at most 1" if name == "context_share" else ""
                raise SettingsError(name, value, f"{allowed}, above 0{most}")
        if self.policy is not None:
            require_choice("policy", self.policy, POLICY_NAMES)
        if self.profile is not None:
            require_choice("profile", self.profile, tuple(PROFILES))
        require_choice("on_overflow", self.on_overflow, OVERFLOW_NAMES)
        require_names("hosts", self.hosts)
        for name in ("read_flags", "ask_usage", "live_prices"):
            require_switch(name, getattr(self, name))
        if any(not 32 < ord(letter) < 127 for letter in self.api_key):
            raise SettingsError("api_key", "...", "printable ASCII without blanks")

    def __repr__(self) -> str:
        return f"ProxySettings(upstream={self.upstream!r}, ...)"  # a key is not shown


def prices_of(settings: ProxySettings) -> PriceLookup:
    """What models cost, as the operator says.

    Raises:
        SettingsError: the own file cannot be read.
    """
    live = OpenRouterPrices() if settings.live_prices else None
    return CurrentPrices(settings.price_file or None, live)


def _require_address(address: str) -> None:
    """Refuse what is no plain http(s) address; what is in it is not repeated.

    Raises:
        SettingsError: it is refused.
    """
    allowed = "an http:// or https:// address such as http://localhost:11434/v1, without user"
    try:
        parts = urlsplit(address.strip())
        sound = parts.scheme in ("http", "https") and bool(parts.hostname)
        sound = sound and parts.port != 0 and parts.username is None
    except (ValueError, AttributeError):
        sound = False
    if not sound or parts.query or parts.fragment:
        raise SettingsError("upstream", "...", allowed + ", query and fragment")
