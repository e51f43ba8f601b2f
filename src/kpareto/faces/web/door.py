"""What stands before the page: one sentence, and a field for the password, for somebody who has not been let in yet."""

from __future__ import annotations

import base64
import hashlib
import html

# The page's own style sheet is not handed to strangers, so the little that is needed stands in the page itself.
STYLE = """
:root { color-scheme: light dark; --paper: #f4f6f8; --card: #fff; --ink: #17222d; --line: #d9e0e7; --accent: #0b6b85;
  --on: #fff; }
@media (prefers-color-scheme: dark) {
  :root { --paper: #10161c; --card: #182029; --ink: #e7edf3; --line: #2d3946; --accent: #57c3dd; --on: #07222b; } }
* { box-sizing: border-box; }
body { margin: 0; min-height: 100vh; display: grid; place-items: center; padding: 1rem; background: var(--paper);
  color: var(--ink); font: 16px/1.5 system-ui, "Segoe UI", Roboto, "Helvetica Neue", Arial, sans-serif; }
main { width: min(28rem, 100%); background: var(--card); border: 1px solid var(--line); border-radius: 14px;
  padding: 1.6rem 1.8rem; overflow-wrap: anywhere; }
h1 { font-size: 1.3rem; margin: 0 0 .4rem; }
p { margin: .4rem 0; }
form { display: flex; flex-wrap: wrap; gap: .7rem; align-items: end; margin-top: 1rem; }
label { flex: 1 1 12rem; font-weight: 600; }
input, button { font: inherit; border-radius: 8px; padding: .45rem .8rem; }
input { display: block; width: 100%; color: inherit; background: var(--paper); border: 1px solid var(--line); }
button { font-weight: 600; border: 1px solid var(--accent); background: var(--accent); color: var(--on); }
:focus-visible { outline: 3px solid var(--accent); outline-offset: 2px; }
"""
_DIGEST = base64.b64encode(hashlib.sha256(STYLE.encode()).digest()).decode()
POLICY = (
    f"default-src 'none'; style-src 'sha256-{_DIGEST}'; img-src data:; form-action 'self'; base-uri 'none'; "
    "frame-ancestors 'none'"
)
_FORM = (
    '<form method="post" action="/login"><label>Password <input type="password" name="password" autofocus '
    'autocomplete="current-password"></label> <button>Open</button></form>'
)


def door_page(sentence: str, moves_on: str = "", *, form: bool = False) -> str:
    """A page of one sentence; it asks for the password, or moves on by itself."""
    refresh = f'<meta http-equiv="refresh" content="0;url={moves_on}">' if moves_on else ""
    head = (
        f'<meta charset="utf-8">{refresh}<meta name="viewport" content="width=device-width, initial-scale=1">'
        f'<link rel="icon" href="data:,"><title>kpareto</title><style>{STYLE}</style>'
    )
    body = f"<main><h1>kpareto</h1><p>{html.escape(sentence)}</p>{_FORM if form else ''}</main>"
    return f'<!DOCTYPE html><html lang="en"><head>{head}</head><body>{body}</body></html>'
