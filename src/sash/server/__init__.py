"""
HTTP: the threads API, the proxy and the page, on starlette and uvicorn.

`app.application` makes the ASGI application, `serving.serve` runs it, `route.Route` is a row of
the one table that the API is. Nothing is imported here: keys can be made without the extra.
"""
