"""Workbooks written by hand: cells where no program puts them."""

from __future__ import annotations

import zipfile
from pathlib import Path

_TYPES = "application/vnd.openxmlformats-officedocument.spreadsheetml"
_NS = "http://schemas.openxmlformats.org"
_RELATIONS = (
    f'<Relationships xmlns="{_NS}/package/2006/relationships"><Relationship Id="rId1" Type="{{}}" Target="{{}}"/>'
)
_PARTS = {
    "[Content_Types].xml": (
        f'<Types xmlns="{_NS}/package/2006/content-types">'
        '<Default Extension="rels" ContentType="application/vnd.openxmlformats-package.relationships+xml"/>'
        f'<Override PartName="/xl/workbook.xml" ContentType="{_TYPES}.sheet.main+xml"/>'
        f'<Override PartName="/xl/worksheets/sheet1.xml" ContentType="{_TYPES}.worksheet+xml"/></Types>'
    ),
    "_rels/.rels": _RELATIONS.format(f"{_NS}/officeDocument/2006/relationships/officeDocument", "xl/workbook.xml")
    + "</Relationships>",
    "xl/workbook.xml": (
        f'<workbook xmlns="{_NS}/spreadsheetml/2006/main" xmlns:r="{_NS}/officeDocument/2006/relationships">'
        '<sheets><sheet name="S" sheetId="1" r:id="rId1"/></sheets></workbook>'
    ),
    "xl/_rels/workbook.xml.rels": _RELATIONS.format(
        f"{_NS}/officeDocument/2006/relationships/worksheet", "worksheets/sheet1.xml"
    )
    + "</Relationships>",
}


def far_workbook(place: Path, cell: str) -> Path:
    """A workbook with a column q of one row, and one more cell in the third row that says it is elsewhere."""
    filled = ((1, "A1", "q"), (2, "A2", "x"), (3, cell, "x"))
    rows = "".join(
        f'<row r="{row}"><c r="{at}" t="inlineStr"><is><t>{text}</t></is></c></row>' for row, at, text in filled
    )
    sheet = f'<worksheet xmlns="{_NS}/spreadsheetml/2006/main"><sheetData>{rows}</sheetData></worksheet>'
    with zipfile.ZipFile(place, "w", zipfile.ZIP_DEFLATED) as book:
        for name, text in {**_PARTS, "xl/worksheets/sheet1.xml": sheet}.items():
            book.writestr(name, f'<?xml version="1.0"?>{text}')
    return place
