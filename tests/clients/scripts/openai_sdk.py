# /// script
# requires-python = ">=3.11"
# dependencies = ["openai==3.51.0"]
#
# [tool.uv]
# exclude-newer = "2026-11-28T00:00:00Z"
# ///
"""openai-python on the gateway."""

import asyncio

from _script import answer, key, query, setting, url
from openai import AsyncOpenAI, OpenAI

where = {"api_key": key, "base_url": f"{url}/v1"} if setting else {}
asked = {"model": "scripted", "messages": [{"role": "user", "content": query}]}


async def asynchronous():
    async with AsyncOpenAI(**where) as client:
        told = await client.chat.completions.create(**asked)
        return told.choices[0].message.content


with OpenAI(**where) as client:
    plain = client.chat.completions.create(**asked)
    assert plain.usage.total_tokens
    with client.chat.completions.create(**asked, stream=True) as stream:
        streamed = "".join(c.choices[0].delta.content or "" for c in stream if c.choices)
    results = {
        "chat.completions": plain.choices[0].message.content,
        "chat.completions, streamed": streamed,
        "models.list": " ".join(m.id for m in client.models.list()),
    }
answer("openai", {**results, "chat.completions, async": asyncio.run(asynchronous())})
