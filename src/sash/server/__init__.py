"""HTTP: the threads API, the proxy and the page, on starlette and uvicorn."""
