"""Files of trusted keys: what they forbid is forbidden, side by side with ssh-keygen."""

from __future__ import annotations

import time
from pathlib import Path

import pytest

from kpareto.errors import BadInput, Unsafe
from kpareto.faces.cli import main
from kpareto.releases.signing import load_key, new_key
from kpareto.verifier.signatures import trusted_bytes
from kpareto.verifier.trust import matches
from tests.releases.test_signing import DOCUMENT, needs_ssh, ssh

RSA = "ssh-rsa AAAAB3NzaC1yc2EAAAADAQABAAAAgQC7"
# A file of allowed signers (KEY is the key, OTHER another one, TOMORROW and YESTERDAY times), and whether the key may sign for "us".
LINES: dict[str, bool] = {
    "us KEY": True,
    "us KEY a comment": True,
    "\t us\tKEY": True,
    "us,them KEY": True,
    "them,us KEY": True,
    "them KEY": False,
    "US KEY": False,
    "u? KEY": True,
    "u??* KEY": False,
    "* KEY": True,
    "*,!us KEY": False,
    "!us,* KEY": False,
    "!us KEY": False,
    "!them KEY": False,
    "!them,us KEY": True,
    "u*,!them KEY": True,
    '"us" KEY': True,
    '"us,them" KEY': True,
    '"us them" KEY': False,
    '"us KEY': False,
    'us namespaces="kpareto" KEY': True,
    'us namespaces="git" KEY': False,
    'us namespaces="git,kpareto" KEY': True,
    'us namespaces="git,k*" KEY': True,
    'us namespaces="*,!kpareto" KEY': False,
    'us NAMESPACES="git" KEY': False,
    'us namespaces="" KEY': False,
    "us namespaces=kpareto KEY": False,
    "us namespaces KEY": False,
    'us namespaces="kpareto" namespaces="git" KEY': False,
    'us namespaces="kpareto",namespaces="kpareto" KEY': False,
    'us namespaces="kpareto KEY': False,
    'us valid-before="20200101" KEY': False,
    'us valid-before="TOMORROW" KEY': True,
    'us valid-before="YESTERDAY" KEY': False,
    'us valid-before="20200101Z" KEY': False,
    'us valid-before="soon" KEY': False,
    'us valid-before="20209999" KEY': False,
    'us valid-after="20200101" KEY': True,
    'us valid-after="202001010101Z" KEY': True,
    'us valid-after="TOMORROW" KEY': False,
    'us valid-after="20200101",valid-before="TOMORROW" KEY': True,
    'us valid-after="20200101",valid-before="TOMORROW",namespaces="git" KEY': False,
    'us valid-after="20200102",valid-before="20200101" KEY': False,
    "us cert-authority KEY": False,
    "us Cert-Authority KEY": False,
    'us namespaces="kpareto",cert-authority KEY': False,
    "us no-cert-authority KEY": False,
    "us restrict KEY": False,
    'us namespaces="kpareto", KEY': False,
    ",us KEY": True,
    "@revoked us KEY": False,
    "@cert-authority us KEY": False,
    "us @revoked KEY": False,
    f"{RSA} was replaced, do not use KEY": False,
    f"us {RSA} KEY": False,
    "us OTHER KEY": False,
    "# us KEY": False,
    "  # us KEY": False,
    "us OTHER\nus KEY": True,
    'us namespaces="git" KEY\nus KEY': True,
    "us cert-authority KEY\nus KEY": True,
    "nonsense\nus KEY": True,
    "us broken KEY\nus KEY": True,
    "cert-authority KEY": False,
    'namespaces="git" KEY': False,
    'expiry-time="20200101" KEY': False,
    "no-pty KEY": False,
    'from="10.0.0.1" KEY': False,
}


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a signed document, its key and another one."""
    folder = tmp_path_factory.mktemp("trust")
    for name in ("mine", "other"):
        new_key(folder / name)
    (folder / "document").write_bytes(b"a document")
    (folder / "document.sig").write_text(load_key(folder / "mine").sign(b"a document"))
    return folder


def write_lines(place: Path, lines: str) -> Path:
    """A file of allowed signers with the keys in place of their words."""
    for word, name in (("KEY", "mine.pub"), ("OTHER", "other.pub")):
        lines = lines.replace(word, " ".join((place / name).read_text().split()[:2]))
    for word, days, form in (("TOMORROW", 1, "%Y%m%d%H%M%S"), ("YESTERDAY", -1, "%Y%m%d%H%M")):
        lines = lines.replace(word, time.strftime(form, time.localtime(time.time() + days * 86400)))
    (place / "signers").write_text(lines + "\n")
    return place / "signers"


def is_trusted(place: Path, signers: Path, signer: str | None) -> bool:
    """Whether our own reading lets the key sign."""
    try:
        trusted_bytes(place / "document", signers, DOCUMENT, signer)
    except (Unsafe, BadInput):
        return False
    return True


@pytest.mark.parametrize("lines", LINES)
def test_what_a_file_forbids_is_forbidden(lines: str, place: Path) -> None:
    """Each line by itself, with and without a name that is asked for: none is trusted that forbids it."""
    signers = write_lines(place, lines)
    assert is_trusted(place, signers, "us") == LINES[lines]
    # Without a name other names will do, and nothing else will.
    others = {"them KEY", "US KEY", "u??* KEY", '"us them" KEY'}
    asks = {"!them,us KEY", "u*,!them KEY"}  # a line that forbids somebody needs to know who it is
    assert is_trusted(place, signers, None) == ((LINES[lines] or lines in others) and lines not in asks)


@needs_ssh
@pytest.mark.parametrize("lines", LINES)
def test_ssh_keygen_says_the_same(lines: str, place: Path) -> None:
    """The program itself, asked for the same name, gives the same answer."""
    signers = write_lines(place, lines)
    words = ("-Y", "verify", "-f", signers, "-I", "us", "-n", "kpareto", "-s", place / "document.sig")
    assert (ssh(*words, stdin=b"a document").returncode == 0) == LINES[lines]


@pytest.mark.parametrize(
    ("lines", "why"),
    [
        ('us namespaces="git" KEY', "line 1 is for the namespaces 'git', not for 'kpareto'"),
        ('\nus valid-before="20200101" KEY', r"line 2 is no longer valid \(valid-before\)"),
        ("us cert-authority KEY", r"line 1 has a key that signs certificates of keys alone \(cert-authority\)"),
        ("@revoked us KEY", "line 1 has the option 'us', which is none"),
        ("*,!eve KEY", "line 1 says whose key it is not; say whose signature it must be"),
        ("us OTHER", "is not among those in"),
    ],
)
def test_the_sentence_says_which_line_forbids_it(lines: str, why: str, place: Path) -> None:
    """Who set up the file sees why its key is not taken."""
    with pytest.raises(Unsafe, match=why):
        trusted_bytes(place / "document", write_lines(place, lines), DOCUMENT)


def test_a_public_key_alone_is_trusted_by_nobody_s_name(place: Path) -> None:
    """NAME.pub is trusted as it is; who asks for a name needs a file that says whose key it is."""
    assert trusted_bytes(place / "document", place / "mine.pub", DOCUMENT)[0] == b"a document"
    with pytest.raises(Unsafe, match="line 1 is not about 'us'"):
        trusted_bytes(place / "document", place / "mine.pub", DOCUMENT, "us")


def test_patterns() -> None:
    """A pattern is matched whole, letters count as they are, and one that forbids wins wherever it stands."""
    assert matches("a.b", "a.b")
    assert not matches("axb", "a.b")
    assert not matches("ab", "a")
    assert matches("ab", "a*")
    assert matches("a\nb", "a?b")
    assert not matches("ab", "!ab,ab")
    assert not matches("ab", "")


def test_a_name_without_a_file_is_bad_input(capsys: pytest.CaptureFixture[str]) -> None:
    """--signer says by which name the file of --trust must know the key, so it needs one."""
    assert main(["verify", "out.csv", "out.certificate.json", "--signer", "us"]) == 2
    assert "without a file of keys" in capsys.readouterr().err
