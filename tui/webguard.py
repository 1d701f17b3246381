"""The web server of `owb serve`: textual-serve's page, for whoever holds the token and comes from the page itself."""

from __future__ import annotations

import hmac
import logging
import secrets
from collections.abc import Awaitable, Callable
from urllib.parse import urlsplit

from aiohttp import web
from textual_serve.server import Server

Handler = Callable[[web.Request], Awaitable[web.StreamResponse]]

MOST_PAGES = 4
"""Pages open at one time: each is a process with a model of its own."""


class GuardedServer(Server):
    """Serves one command, and answers only

    * requests whose Host is the address it was started for: a name that was bound to this machine later does not count;
    * websockets, and other requests that say where they come from, whose Origin is that address;
    * holders of the token: in the first address as `?token=`, after that in a cookie that scripts and other sites cannot use.
    """

    def __init__(self, command: str, host: str, port: int, title: str, public_url: str | None = None) -> None:
        super().__init__(command, host=host, port=port, title=title, public_url=public_url or f"http://{host}:{port}")
        self.token = secrets.token_urlsafe(32)
        self.cookie = f"owb_{port}"
        self._pages = 0
        address = urlsplit(self.public_url)
        self._hosts = {address.netloc.lower(), f"{host}:{port}".lower()}
        self._origins = {f"{address.scheme}://{address.netloc}".lower(), f"http://{host}:{port}".lower()}

    @property
    def address(self) -> str:
        """What to open in a browser."""
        return f"{self.public_url}/?token={self.token}"

    def initialize_logging(self) -> None:
        """Errors only, and no values of variables: a token is one."""
        logging.basicConfig(level=logging.ERROR, format="owb serve: %(message)s")

    async def on_startup(self, app: web.Application) -> None:
        """The caller has said what there is to say."""

    async def _make_app(self) -> web.Application:
        app: web.Application = await super()._make_app()
        app.middlewares.append(self._guard)
        return app

    @web.middleware
    async def _guard(self, request: web.Request, handler: Handler) -> web.StreamResponse:
        refusal = self.refusal(request)
        if refusal:
            return web.Response(status=403, text=f"owb serve: {refusal}\n")
        if "token" in request.query:
            welcome = web.HTTPSeeOther("/")
            welcome.set_cookie(self.cookie, self.token, httponly=True, samesite="Strict", path="/")
            _harden(welcome)
            raise welcome
        is_page = request.path == "/ws"
        if is_page and self._pages >= MOST_PAGES:
            return web.Response(status=503, text=f"owb serve: {MOST_PAGES} pages are open already\n")
        self._pages += is_page
        try:
            response = await handler(request)
        finally:
            self._pages -= is_page
        if not response.prepared:
            _harden(response)
        return response

    def refusal(self, request: web.Request) -> str:
        """Why a request is not answered, or ""."""
        if request.host.lower() not in self._hosts:
            return "this is not the address it was started for"
        origin = request.headers.get("Origin")
        if origin is None and request.path == "/ws":
            return "a websocket has to say where it comes from"
        if origin is not None and origin.lower() not in self._origins:
            return "the request comes from another site"
        given = request.query.get("token") or request.cookies.get(self.cookie) or ""
        if not hmac.compare_digest(given.encode("utf-8", "surrogateescape"), self.token.encode()):
            return "no token, or an old one: open the address that `owb serve` printed"
        return ""


def _harden(response: web.StreamResponse) -> None:
    response.headers["X-Frame-Options"] = "DENY"
    response.headers["Referrer-Policy"] = "no-referrer"
    response.headers["X-Content-Type-Options"] = "nosniff"
    response.headers["Cache-Control"] = "no-store"
