"""What a page asks, read from a request: one JSON object, and no more bytes than a page would ever send."""

from __future__ import annotations

from typing import Any

from starlette.requests import Request

from kpareto.errors import BadInput
from kpareto.strict import FileKind, anything, parse_json

QUESTION = FileKind("The question", "Load the page again.")
MOST_JSON = 4 << 20  # bytes of a question


class TooLarge(BadInput):
    """More was sent than is taken."""


async def read_question(request: Request) -> dict[str, Any]:
    """The JSON object of a request; too much is refused as soon as it is too much, however it is sent."""
    if int(request.headers.get("content-length") or 0) > MOST_JSON:
        raise TooLarge("The question is larger than the page would ever ask.")
    body = bytearray()
    async for chunk in request.stream():
        body += chunk
        if len(body) > MOST_JSON:
            raise TooLarge("The question is larger than the page would ever ask.")
    question = parse_json((bytes(body) or b"{}").decode("utf-8", "replace"), QUESTION, anything)
    if not isinstance(question, dict):
        raise BadInput("The question is not a JSON object.")
    return question
