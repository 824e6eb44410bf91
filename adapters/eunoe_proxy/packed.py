"""Bodies that callers compress."""

from __future__ import annotations

import zlib

from eunoe_web.asgi import Headers

_ENCODINGS = ("gzip", "x-gzip", "deflate")


def unpacked(data: bytes, encoding: str, most: int) -> bytes | None:
    """What was compressed; None for an encoding that is not known, a broken body, a larger one.

    Args:
        data: the body as it came.
        encoding: its ``Content-Encoding``; empty and ``identity`` say that it is not compressed.
        most: bytes that it may have.

    Source: RFC 9110, 8.4.1; gzip and zlib are told apart by their heads.
    """
    name = encoding.strip().lower()
    if name in ("", "identity"):
        return data
    if name not in _ENCODINGS:
        return None
    unpacking = zlib.decompressobj(zlib.MAX_WBITS | 32)
    try:
        plain = unpacking.decompress(data, most + 1)
    except zlib.error:
        return None
    return plain if unpacking.eof and not unpacking.unused_data and len(plain) <= most else None


def without_encoding(headers: Headers) -> Headers:
    """The headers of a body that is not compressed."""
    return [(key, value) for key, value in headers if key != b"content-encoding"]
