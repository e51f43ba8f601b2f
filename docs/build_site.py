"""What MkDocs does not do itself: notebooks become pages, sessions are coloured as such, and no script is foreign.

MkDocs calls the functions by their names (``hooks`` in mkdocs.yml).
"""

from __future__ import annotations

import base64
import json
from pathlib import Path
from typing import Any

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.plugins import event_priority
from mkdocs.structure.files import File, Files


@event_priority(-100)  # after the plugin offline
def on_config(config: MkDocsConfig) -> MkDocsConfig:
    """The search of pages that lie in a folder, by a script of ours instead of one that the plugin would fetch."""
    config.extra["polyfills"] = ["offline-search.js"]
    return config


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Beside every notebook a page with the same name, and its pictures as files of their own."""
    for notebook in [file for file in files if file.src_uri.endswith(".ipynb")]:
        name = notebook.src_uri.removesuffix(".ipynb")
        cells = json.loads(Path(str(notebook.abs_src_path)).read_text(encoding="utf-8"))["cells"]
        text, pictures = as_page(cells, Path(name).name)
        files.append(File.generated(config, f"{name}.md", content=text))
        for picture, content in pictures.items():
            files.append(File.generated(config, f"{Path(name).parent.as_posix()}/{picture}", content=content))
    return files


def on_page_markdown(markdown: str, **_: object) -> str:
    """The markdown with sessions of Python named so; plain fences are ``python`` for those who read the source."""
    return markdown.replace("```python\n>>> ", "```pycon\n>>> ")


def as_page(cells: list[dict[str, Any]], name: str) -> tuple[str, dict[str, bytes]]:
    """The cells of a notebook as Markdown, and the pictures it refers to."""
    parts: list[str] = []
    pictures: dict[str, bytes] = {}
    for cell in cells:
        source = "".join(cell["source"])
        if cell["cell_type"] == "markdown":
            parts.append(source)
            continue
        parts.append(f"```python\n{source}\n```")
        for output in cell["outputs"]:
            data = output.get("data", {})
            if "image/png" in data:
                picture = f"{name}-{len(pictures) + 1}.png"
                pictures[picture] = base64.b64decode("".join(data["image/png"]))
                parts.append(f"![What the cell above draws]({picture})")
            else:
                shown = "".join(output.get("text") or data["text/plain"]).rstrip()
                parts.append(f"```text\n{shown}\n```")
    download = f"Download this page as a notebook: [{name}.ipynb]({name}.ipynb)."
    return "\n\n".join([*parts, download]) + "\n", pictures
