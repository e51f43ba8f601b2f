"""The browser face: a local page to configure, search, explore and release; it computes nothing itself."""

from kpareto.web.server import Settings, make_app, serve

__all__ = ["Settings", "make_app", "serve"]
