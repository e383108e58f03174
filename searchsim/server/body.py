"""Reading a request's body within a bound, whatever its length claims to be and however it is packed."""

from __future__ import annotations

from aiohttp import web

__all__ = ["LONGEST_BODY", "read_body"]

LONGEST_BODY = 1 << 20
"""Of the dialects' requests."""


async def read_body(request: web.Request, most: int) -> bytes:
    """The body, unpacked.

    Args:
        request: The request.
        most: The most bytes that are taken; a body that is longer is never held whole.

    Raises:
        web.HTTPRequestEntityTooLarge: It is longer.
        web.RequestPayloadError: It isn't packed as its headers say, or breaks off.
    """
    if (request.content_length or 0) > most:
        raise web.HTTPRequestEntityTooLarge(most, request.content_length or 0)
    raw = bytearray()
    # In chunks, since a few bytes may unpack to any length.
    async for chunk in request.content.iter_any():
        raw += chunk
        if len(raw) > most:
            raise web.HTTPRequestEntityTooLarge(most, len(raw))
    return bytes(raw)
