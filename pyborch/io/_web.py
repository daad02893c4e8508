"""The bytes of a file on the web, with progress; in a browser kept in its cache storage."""
from __future__ import annotations

from ..devices import IN_BROWSER

STORE = "pyborch"
CHUNK = 1 << 20


async def load_url_bytes(url, progress, cache, check):
    """The file's bytes; ``check(data)`` raises where they are broken, so that no broken file is kept."""
    if IN_BROWSER:
        return await _browser(url, progress, cache, check)
    from urllib.request import urlopen
    data = bytearray()
    with urlopen(url) as answer:
        total = int(answer.headers.get("Content-Length") or 0) or None
        while part := answer.read(CHUNK):
            data += part
            if progress:
                progress(len(data), total)
    check(data)
    return data


async def _browser(url, progress, cache, check):
    import js  # type: ignore[import-not-found]
    store = await _store(js) if cache else None
    kept = await store.match(url) if store else None
    if kept:
        data = await _streamed(kept, progress)
        try:
            check(data)
            return data
        except Exception:  # a damaged copy: fetched anew below
            await store.delete(url)
    answer = await js.fetch(url)
    if not answer.ok:
        raise OSError(f"load_url: {url} answered {answer.status} {answer.statusText}")
    data = await _streamed(answer, progress)
    check(data)
    if store:
        await _keep(js, store, url, data)
    return data


async def _store(js):
    """The cache storage; None where the page may not have one (plain http, some private windows)."""
    from pyodide.ffi import JsException  # type: ignore[import-not-found]
    try:
        return await js.caches.open(STORE)
    except (AttributeError, JsException):
        return None


async def _keep(js, store, url, data):
    """Keep the file; a full disk or a URL that cannot be kept (blob:, data:) is no reason to fail."""
    from pyodide.ffi import JsException, to_js  # type: ignore[import-not-found]
    try:
        await store.put(url, js.Response.new(to_js(data)))
    except JsException:
        pass


async def _streamed(answer, progress):
    total = int(answer.headers.get("Content-Length") or 0) or None
    reader, data = answer.body.getReader(), bytearray()
    while not (part := await reader.read()).done:
        data += part.value.to_bytes()
        if progress:
            progress(len(data), total)
    return data
