"""Signed documents: who made a certificate, and that no byte of it was changed; checked with OpenSSH's own program too."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from kpareto.atomic import Document
from kpareto.errors import BadInput, MissingExtra, Unsafe
from kpareto.faces.cli import main
from kpareto.releases.signing import load_key, new_key, with_signatures
from kpareto.strict import FileKind
from kpareto.verifier import UNSIGNED, verify
from kpareto.verifier.signatures import trusted_bytes
from kpareto.verifier.trust import read_lines
from tests.twins.releases import seal

SSH = shutil.which("ssh-keygen")
# In continuous integration a missing program is a failure, not a skip.
needs_ssh = pytest.mark.skipif(
    SSH is None and "CI" not in os.environ, reason="no ssh-keygen; install it with: apt-get install openssh-client"
)
DOCUMENT = FileKind("The document", "Write it again.")
JOB = """
[data]
source = "people.csv"
[columns.age]
role = "quasi-identifier"
hierarchy = {intervals = [10], from = 0}
[columns.sex]
role = "quasi-identifier"
[columns.ill]
role = "sensitive"
[search]
objectives = ["k", "glm"]
[release]
choose = "k=3"
target = "out.csv"
"""
WHOLE, PUBLIC, RECODING = "out.certificate.json", "out.certificate.public.json", "out.recoding.json"


def ssh(*words: object, stdin: bytes = b"") -> subprocess.CompletedProcess[bytes]:
    """Run ssh-keygen."""
    return subprocess.run([str(SSH), *map(str, words)], input=stdin, capture_output=True, check=False)


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with a job, its rows, a key, and a release that was signed with it."""
    lines = [f"{20 + i % 20},{'FM'[i % 2]},{'xyz'[i % 3]}" for i in range(60)]
    (tmp_path / "people.csv").write_text("\n".join(["age,sex,ill", *lines]) + "\n")
    (tmp_path / "job.toml").write_text(JOB)
    monkeypatch.chdir(tmp_path)
    assert main(["key", "new", "release.key", "-q"]) == 0
    assert main(["release", "job.toml", "-q", "--sign", "release.key"]) == 0
    return tmp_path


def test_a_signed_release_is_trusted(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Whole and public certificate; the sentence names the key, and JSON has its fingerprint."""
    for document in (WHOLE, PUBLIC):
        capsys.readouterr()
        assert main(["verify", "out.csv", document, "--trust", "release.key.pub", "--json", "v.json"]) == 0
        said = capsys.readouterr().out
        assert "The certificate was signed by release.key (SHA256:" in said
        assert UNSIGNED not in said
        assert json.loads((folder / "v.json").read_text())["signed_by"].startswith("SHA256:")
    assert main(["apply", RECODING, "people.csv", "--trust", "release.key.pub", "-q"]) == 0


def test_new_rows_are_signed_too(folder: Path) -> None:
    """What apply releases can be trusted like a release, and an unsigned one over it leaves no signature behind."""
    words = ["apply", RECODING, "people.csv", "--target", "new.csv", "-q"]
    assert main([*words, "--sign", "release.key"]) == 0
    assert main(["verify", "new.csv", "new.certificate.json", "--trust", "release.key.pub"]) == 0
    assert main([*words, "--sign", "release.key.pub"]) == 2
    assert main(["verify", "new.csv", "new.certificate.public.json", "--trust", "release.key.pub"]) == 0
    words.append("--overwrite")
    assert main(words) == 0
    assert not list(folder.glob("new.*.sig"))
    for document in ("new.certificate.json", "new.certificate.public.json"):
        assert main([*words, "--sign", "release.key", "--json", f"{document}.sig"]) == 2


def test_the_page_signs(folder: Path, tmp_path: Path) -> None:
    """With the key of the server, or with one in its folder that the job names; never with one from outside."""
    from tests.twins.page import TOKEN, running

    (tmp_path / "temporary").mkdir()
    outside = tmp_path.parent / f"{tmp_path.name}-outside.key"
    new_key(outside)
    named = JOB.replace('target = "out.csv"', 'target = "out.csv"\nsign = "release.key"')
    jobs = {"plain.toml": JOB, "named.toml": named, "outside.toml": named.replace("release.key", f"../{outside.name}")}
    for name, text in jobs.items():
        (folder / name).write_text(text)
    for sign, name, status, trusted in (
        (str(outside), "plain.toml", 200, f"{outside}.pub"),
        (None, "named.toml", 200, "release.key.pub"),
        (None, "plain.toml", 200, None),
        (None, "outside.toml", 400, None),
    ):
        with running(folder, tmp_path / "temporary", sign=sign) as page:
            page.client.get(f"/?token={TOKEN}")
            session = f"/api/sessions/{page.client.post('/api/sessions').json()['id']}"
            assert page.client.post(f"{session}/open", json={"name": name}).status_code == 200
            page.client.post(f"{session}/search", json={})
            page.client.get(f"{session}/events")
            done = page.client.post(f"{session}/release", json={"point": 0, "target": "page.csv"})
            assert done.status_code == status, done.text
            for file in ("page.certificate.json", "page.certificate.json.sig"):
                answer = page.client.get(f"{session}/files/{file}")
                assert (answer.status_code == 200) == (status == 200 and (trusted is not None or "sig" not in file))
                (folder / file).write_bytes(answer.content)
        if trusted is not None:
            assert trusted_bytes(folder / "page.certificate.json", trusted, DOCUMENT)[1].fingerprint


def test_without_trust_one_sentence_says_what_is_proved(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """That the release has these numbers, and neither who says so nor what the table was (R25)."""
    capsys.readouterr()
    assert main(["verify", "out.csv", WHOLE, "--json", "v.json"]) == 0
    said = capsys.readouterr().out
    assert UNSIGNED in said
    assert "neither who wrote it" in said
    assert "--trust KEY.pub" in said
    assert json.loads((folder / "v.json").read_text())["signed_by"] is None


def change_claim(data: dict[str, Any]) -> None:
    """A weaker limit, with the digest of the public part made anew."""
    data["public"]["claims"][0]["limit"] = 1
    seal(data)


def change_confidential(data: dict[str, Any]) -> None:
    """Another input in the confidential part, with its digest made anew."""
    data["confidential"]["input"]["sha256"] = "0" * 64
    seal(data)


def change_format(data: dict[str, Any]) -> None:
    """Another form in which the file is said to be."""
    data["public"]["release"]["format"] = "parquet"
    seal(data)


@pytest.mark.parametrize("change", [change_claim, change_confidential, change_format])
def test_a_changed_certificate_is_not_trusted(
    change: Callable[[dict[str, Any]], None], folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """M11: what verifies without a signature does not verify with one."""
    data = json.loads((folder / WHOLE).read_text())
    change(data)
    (folder / WHOLE).write_text(json.dumps(data))
    assert main(["verify", "out.csv", WHOLE]) == 0
    assert main(["verify", "out.csv", WHOLE, "--trust", "release.key.pub"]) == 3
    assert "is not what was signed: it was changed afterwards" in capsys.readouterr().err


def test_changed_limits_of_a_recoding_are_not_trusted(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """M11: the limits in recoding.json are bound by nothing but the signature."""
    data = json.loads((folder / RECODING).read_text())
    data["limits"]["k"] = 1
    (folder / RECODING).write_text(json.dumps(data))
    assert main(["apply", RECODING, "people.csv", "--trust", "release.key.pub", "-q"]) == 3
    assert "is not what was signed" in capsys.readouterr().err
    assert not (folder / "people-recoded.csv").exists()


def test_unsigned_and_strange_papers_are_not_trusted(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """No signature, another's key, the signature of another document: status 3, and the sentence says which."""
    new_key("other.key")
    assert main(["verify", "out.csv", WHOLE, "--trust", "other.key.pub"]) == 3
    assert "which is not among those in 'other.key.pub'" in capsys.readouterr().err
    (folder / f"{WHOLE}.sig").write_bytes((folder / f"{PUBLIC}.sig").read_bytes())
    assert main(["verify", "out.csv", WHOLE, "--trust", "release.key.pub"]) == 3
    assert "is not what was signed" in capsys.readouterr().err
    (folder / f"{WHOLE}.sig").unlink()
    assert main(["verify", "out.csv", WHOLE, "--trust", "release.key.pub"]) == 3
    assert "is not signed: there is no" in capsys.readouterr().err
    with pytest.raises(BadInput, match="Only a file can be signed"):
        verify("out.csv", json.loads((folder / WHOLE).read_text()), "release.key.pub")


@settings(
    max_examples=150, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow], deadline=None
)
@given(draw=st.data())
def test_no_changed_byte_is_trusted(folder: Path, draw: st.DataObject) -> None:
    """Of the document or of its signature: refused with a sentence, whichever it is."""
    document = folder / "p.json"
    document.write_text('{"a": 1}\n')
    key = load_key("release.key")
    for place, signature in with_signatures({document: Document(document.read_text())}, key).items():
        assert signature is not None
        place.write_text(signature.text)
    assert trusted_bytes(document, "release.key.pub", DOCUMENT)[0] == document.read_bytes()
    file = draw.draw(st.sampled_from([document, folder / "p.json.sig"]))
    data = bytearray(file.read_bytes())
    at = draw.draw(st.integers(0, len(data) - 1))
    data[at] ^= draw.draw(st.integers(1, 255))
    file.write_bytes(bytes(data))
    try:
        found, _ = trusted_bytes(document, "release.key.pub", DOCUMENT)
    except Unsafe:
        return
    # White space at the ends of the armour's lines is no part of a signature.
    assert file.name.endswith(".sig")
    assert found == b'{"a": 1}\n'


def test_a_job_signs(folder: Path) -> None:
    """[release] sign names the key from the job's own folder; equal documents have equal signatures."""
    before = {name: (folder / f"{name}.sig").read_bytes() for name in (WHOLE, PUBLIC, RECODING)}
    for name in before:
        (folder / f"{name}.sig").unlink()
    (folder / "job.toml").write_text(JOB + 'sign = "release.key"\n')
    assert main(["release", "job.toml", "-q", "--overwrite"]) == 0
    assert {name: (folder / f"{name}.sig").read_bytes() for name in before} == before


def test_a_key_that_cannot_sign_stops_the_release(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Before anything is searched or written: no file, no key, a public one, one that others can read."""
    (folder / "open.key").write_bytes((folder / "release.key").read_bytes())
    (folder / "open.key").chmod(0o644)
    (folder / "text.key").write_text("hello")
    (folder / "text.key").chmod(0o600)
    for name, sentence in (
        ("none.key", "cannot be read: No such file"),
        ("text.key", "is no private key of OpenSSH"),
        ("open.key", "can be read by others (mode 0644)"),
        ("", "release.sign"),
    ):
        assert main(["release", "job.toml", "-q", "--target", "new.csv", "--set", f"release.sign='{name}'"]) == 2
        assert sentence in capsys.readouterr().err
    assert not (folder / "new.csv").exists()


def test_keys_are_private_and_never_replaced(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """0600 from the first moment; a second key of that name is refused, and neither is lost."""
    assert (folder / "release.key").stat().st_mode & 0o777 == 0o600
    before = (folder / "release.key").read_bytes()
    assert main(["key", "new", "release.key"]) == 2
    assert "a key is never replaced" in capsys.readouterr().err
    assert (folder / "release.key").read_bytes() == before
    assert "PRIVATE" not in repr(load_key("release.key"))
    (folder / "half.key.pub").write_text("")
    with pytest.raises(BadInput, match="is there already"):
        new_key("half.key")
    assert not (folder / "half.key").exists()


@pytest.mark.parametrize("line", ["", "ssh-rsa AAAA x", "ssh-ed25519", "ssh-ed25519 AAAA x", "ssh-ed25519 !!! x", "\0"])
def test_files_without_a_key_are_a_sentence(line: str, tmp_path: Path) -> None:
    """What --trust names must have a key of the right kind."""
    (tmp_path / "k.pub").write_text(line + "\n")
    with pytest.raises(BadInput, match="The file of trusted keys"):
        read_lines(tmp_path / "k.pub")


def test_without_the_package_a_sentence_says_what_to_install(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Signing and checking need the extra sign."""
    for name in ("cryptography.hazmat.primitives", "cryptography.exceptions"):
        monkeypatch.setitem(__import__("sys").modules, name, None)
    with pytest.raises(MissingExtra, match=r"kpareto\[sign\]"):
        load_key("release.key")
    with pytest.raises(MissingExtra, match=r"kpareto\[sign\]"):
        verify("out.csv", WHOLE, "release.key.pub")


# -- OpenSSH ----------------------------------------------------------------------------------------------------------


@needs_ssh
@pytest.mark.parametrize("document", [WHOLE, PUBLIC, RECODING])
def test_ssh_keygen_verifies_our_signatures(document: str, folder: Path) -> None:
    """People can check with a program they have; a changed document is refused there too."""
    line = (folder / "release.key.pub").read_text().split()
    (folder / "signers").write_text(f"us {line[0]} {line[1]}\n")
    words = ("-Y", "verify", "-f", "signers", "-I", "us", "-n", "kpareto", "-s", f"{document}.sig")
    data = (folder / document).read_bytes()
    assert ssh(*words, stdin=data).returncode == 0
    assert ssh(*words, stdin=data + b" ").returncode != 0
    signer = verify("out.csv", WHOLE, "signers").signer
    assert signer is not None
    assert signer.name == "us"


@needs_ssh
def test_keys_and_signatures_of_ssh_keygen_are_taken(folder: Path) -> None:
    """A key made there signs here, and a document signed there is trusted here; it knows our key as well."""
    assert ssh("-q", "-t", "ed25519", "-N", "", "-C", "ann@example", "-f", "theirs").returncode == 0
    assert main(["release", "job.toml", "-q", "--overwrite", "--sign", "theirs"]) == 0
    mine = (folder / f"{WHOLE}.sig").read_text()
    (folder / f"{WHOLE}.sig").unlink()
    assert ssh("-Y", "sign", "-f", "theirs", "-n", "kpareto", WHOLE).returncode == 0
    assert (folder / f"{WHOLE}.sig").read_text() == mine
    assert str(verify("out.csv", WHOLE, "theirs.pub").signer).startswith("ann@example (SHA256:")
    shown = ssh("-l", "-f", "theirs.pub").stdout.decode()
    assert str(verify("out.csv", WHOLE, "theirs.pub").signer).split("(")[1].rstrip(")") in shown
    assert ssh("-y", "-f", "release.key").stdout.split()[:2] == (folder / "release.key.pub").read_bytes().split()[:2]
    assert ssh("-Y", "sign", "-f", "theirs", "-n", "git", PUBLIC).returncode == 0 or (folder / f"{PUBLIC}.sig").exists()
    (folder / f"{PUBLIC}.sig").unlink()
    assert ssh("-Y", "sign", "-f", "theirs", "-n", "git", PUBLIC).returncode == 0
    with pytest.raises(Unsafe, match="was made for 'git', not for 'kpareto'"):
        verify("out.csv", PUBLIC, "theirs.pub")


@needs_ssh
@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (("-t", "ed25519", "-N", "secret"), "passphrase|cannot be used"),
        (("-t", "ecdsa", "-N", ""), "not of the kind Ed25519"),
    ],
)
def test_other_keys_of_ssh_keygen_are_a_sentence(words: tuple[str, ...], sentence: str, tmp_path: Path) -> None:
    """One behind a passphrase, and one of another kind."""
    assert ssh("-q", *words, "-f", tmp_path / "k").returncode == 0
    with pytest.raises(BadInput, match=sentence):
        load_key(tmp_path / "k")
