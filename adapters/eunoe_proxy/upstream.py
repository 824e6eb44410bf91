"""The server behind the proxy: requests go there and answers come back as they are."""

from __future__ import annotations

import re
from collections.abc import AsyncIterable, Iterable
from typing import TYPE_CHECKING, Any

from eunoe.domain.errors import BackendError
from eunoe_proxy.settings import ProxySettings
from eunoe_web.asgi import ClientGoneError, Headers

if TYPE_CHECKING:
    import httpx

# Between two neighbours only. Source: RFC 9110, 7.6.1; RFC 2616, 13.5.1.
_HOP_BY_HOP = frozenset(
    {
        b"connection",
        b"keep-alive",
        b"proxy-authenticate",
        b"proxy-authorization",
        b"proxy-connection",
        b"te",
        b"trailer",
        b"transfer-encoding",
        b"upgrade",
    }
)
_OURS = b"x-eunoe-"
_UNSENDABLE = re.compile(rb"[^!-~]|#")
"""What may stand in no request line, though callers write it; source: RFC 9112, 3.2."""
READABLE_ENCODINGS = ("gzip", "deflate", "identity")


class UpstreamError(Exception):
    """The server gave no answer.

    Attributes:
        status: to answer with.
        code: for machines: ``upstream_unreachable`` or ``upstream_timeout``.
    """

    def __init__(self, status: int, code: str, message: str) -> None:
        super().__init__(message)
        self.status, self.code = status, code


class Upstream:
    """Connections to the server.

    Raises:
        BackendError: httpx is not installed.
    """

    def __init__(self, settings: ProxySettings) -> None:
        try:
            import httpx
        except ImportError as error:
            raise BackendError("the proxy needs httpx: pip install 'eunoe[proxy]'") from error
        self._httpx = httpx
        self._base = httpx.URL(settings.upstream.strip().rstrip("/"))
        self._key = settings.api_key
        self._client: httpx.AsyncClient | None = None
        self._timeout = httpx.Timeout(
            settings.timeout, connect=settings.connect_timeout, pool=settings.connect_timeout
        )

    @property
    def host(self) -> str:
        """Name and port, without anything secret."""
        return self._base.netloc.decode("ascii")

    def connect(self) -> httpx.AsyncClient:
        """Make ready for requests; reading the certificates takes a moment, once."""
        if self._client is None:
            limits = self._httpx.Limits(max_connections=None, max_keepalive_connections=100)
            self._client = self._httpx.AsyncClient(
                limits=limits, follow_redirects=False, timeout=self._timeout
            )
        return self._client

    async def open(
        self,
        method: str,
        path: bytes,
        query: bytes,
        headers: Headers,
        content: bytes | AsyncIterable[bytes],
    ) -> httpx.Response:
        """Send a request and wait for the head of the answer; the caller closes it.

        Args:
            method: as it came.
            path: below the address of the server, with its slash, still encoded.
            query: as it came.
            headers: of the caller; those that concern the two of us alone are left out.
            content: of the request.

        Raises:
            ClientGoneError: the caller left while its request was read.
            UpstreamError: there is no answer.
        """
        target = self._base.raw_path.rstrip(b"/") + path + (b"?" + query if query else b"")
        try:
            request = self._httpx.Request(
                method,
                self._base.copy_with(raw_path=_UNSENDABLE.sub(_quoted, target)),
                headers=self._outgoing(headers, content),
                content=content,
                extensions={"timeout": self._timeout.as_dict()},
            )
            return await self.connect().send(request, stream=True)
        except ClientGoneError:
            raise
        except self._httpx.TimeoutException as error:
            raise UpstreamError(
                504, "upstream_timeout", f"no answer in time ({type(error).__name__})"
            ) from None
        except (self._httpx.HTTPError, self._httpx.InvalidURL, self._httpx.StreamError) as error:
            raise UpstreamError(
                502, "upstream_unreachable", f"no answer ({type(error).__name__})"
            ) from None

    def broken(self, error: Exception) -> bool:
        """Whether an error says that an answer broke off."""
        return isinstance(error, (self._httpx.HTTPError, self._httpx.StreamError))

    async def close(self) -> None:
        """Close the connections."""
        if self._client is not None:
            client, self._client = self._client, None
            await client.aclose()

    def _outgoing(self, headers: Headers, content: Any) -> Headers:
        kept = end_to_end(headers, also=(b"host", b"expect"))
        if isinstance(content, bytes):
            kept = [(k, v) for k, v in kept if k != b"content-length"]
        if self._key:
            kept = [(k, v) for k, v in kept if k != b"authorization"]
            kept.append((b"authorization", b"Bearer " + self._key.encode("ascii")))
        return kept


def _quoted(found: re.Match[bytes]) -> bytes:
    return b"%%%02X" % found[0][0]


def end_to_end(headers: Iterable[tuple[bytes, bytes]], *, also: Iterable[bytes] = ()) -> Headers:
    """The headers that are passed on: not those between neighbours, nor ours."""
    pairs = [(key.lower(), value) for key, value in headers]
    named = {
        word.strip().lower()
        for key, value in pairs
        if key == b"connection"
        for word in value.split(b",")
    }
    left = _HOP_BY_HOP | named | set(also)
    return [(k, v) for k, v in pairs if k not in left and not k.startswith(_OURS)]


def with_readable_encoding(headers: Headers) -> Headers:
    """The same, asking only for encodings of the answer that its usage can be read from."""
    asked = b",".join(value for key, value in headers if key == b"accept-encoding")
    words = asked.decode("latin-1").split(",")
    names = [word for word in words if word.partition(";")[0].strip() in READABLE_ENCODINGS]
    wanted = ", ".join(word.strip() for word in names) or "identity"
    kept = [(key, value) for key, value in headers if key != b"accept-encoding"]
    return [*kept, (b"accept-encoding", wanted.encode("latin-1"))]
