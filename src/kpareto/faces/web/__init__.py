"""The browser face: a local page to configure, search, explore and release; it computes nothing itself."""

from kpareto.faces.web.server import ServerSettings, make_app, serve

__all__ = ["ServerSettings", "make_app", "serve"]
