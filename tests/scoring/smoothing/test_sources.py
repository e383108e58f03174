"""Full texts of what is cited: from a corpus, from recordings, from files."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from searchsim.corpus import Corpus
from searchsim.errors import UsageError
from searchsim.scoring.smoothing.citations import cited
from searchsim.scoring.smoothing.sources import (
    CorpusSources,
    FileSources,
    RecordedSources,
    Unreadable,
    open_sources,
    resolve,
)
from searchsim.urls import cited_url


def text_at(sources: FileSources | CorpusSources | RecordedSources, url: str) -> str | None:
    found = sources.find({cited_url(url)}).get(cited_url(url))
    return found.read() if found else None


def test_a_corpus_with_its_misleading_documents(quickstart: Corpus) -> None:
    organic = next(iter(quickstart.documents()))
    injected = next(iter(quickstart.misleading.values()))[0]
    sources = open_sources("quickstart")
    assert isinstance(sources, CorpusSources)
    assert text_at(sources, organic.url) == organic.body
    assert text_at(sources, f"{injected.url}/?utm_source=x#part") == injected.body
    assert text_at(sources, "https://nowhere.example/") is None
    assert isinstance(open_sources(str(quickstart.path)), CorpusSources)


def test_a_folder_of_recordings(tmp_path: Path) -> None:
    (tmp_path / "searches").mkdir()
    (tmp_path / "pages").mkdir()
    page = {"request": {"url": "https://a.example/one"}, "answer": {"text": "plain", "markdown": "# One"}}
    (tmp_path / "pages" / "one.json").write_text(json.dumps(page))
    page = {"request": {"url": "https://a.example/none"}, "answer": {}}
    (tmp_path / "pages" / "none.json").write_text(json.dumps(page))
    sources = open_sources(str(tmp_path))
    assert isinstance(sources, RecordedSources)
    assert text_at(sources, "http://www.a.example/one/") == "# One"
    with pytest.raises(Unreadable, match="empty"):
        text_at(sources, "https://a.example/none")
    (tmp_path / "pages" / "broken.json").write_text("{")
    with pytest.raises(UsageError, match=r"broken\.json: not a JSON value"):
        text_at(sources, "https://a.example/one")


@pytest.mark.parametrize(
    ("name", "index"),
    [
        ("index.json", '{"https://a.example/one": "x.txt"}'),
        ("index.json", '[{"url": "https://a.example/one", "file": "x.txt", "title": "One"}]'),
        (
            "index.jsonl",
            '{"url": "https://a.example/one", "file": "x.txt"}\n\n{"url": "https://b.example", "text": "B"}\n',
        ),
        ("index.csv", "url,file,title\nhttps://a.example/one,x.txt,One\n"),
    ],
)
def test_files_by_an_index(tmp_path: Path, name: str, index: str) -> None:
    (tmp_path / "x.txt").write_text("Loaves.", "utf-8")
    (tmp_path / name).write_text(index, "utf-8")
    sources = open_sources(str(tmp_path))
    assert isinstance(sources, FileSources)
    assert text_at(sources, "https://A.example/one#x") == "Loaves."


@pytest.mark.parametrize(
    ("name", "index", "message"),
    [
        ("index.json", "{", "not a JSON value"),
        ("index.json", "7", "neither an object of files by URL nor a list"),
        ("index.json", "[7]", "an entry is no object"),
        ("index.jsonl", '{"url": "https://a.example"}\n', "each entry needs url, and file or text"),
        ("index.jsonl", "nonsense\n", "index.jsonl:1: not a JSON value"),
        ("index.csv", "address,file\nhttps://a.example,x.txt\n", "each entry needs url"),
    ],
)
def test_an_index_that_cannot_be_used_is_one_line(tmp_path: Path, name: str, index: str, message: str) -> None:
    (tmp_path / name).write_text(index, "utf-8")
    with pytest.raises(UsageError, match=message) as caught:
        FileSources(tmp_path).find({"a.example"})
    assert "\n" not in str(caught.value)


def test_files_by_front_matter(tmp_path: Path) -> None:
    (tmp_path / "deep").mkdir()
    (tmp_path / "deep" / "x.md").write_text("---\ntitle: One\nurl: https://a.example/one\n---\n# Loaves\n", "utf-8")
    (tmp_path / "y.md").write_text("---\n: [broken\n---\nNo facts.\n", "utf-8")
    sources = FileSources(tmp_path)
    (found,) = sources.find({"a.example/one"}).values()
    assert (found.title, found.name, found.read()) == ("One", "x.md", "# Loaves\n")


@pytest.mark.parametrize(
    "fact", ["date: 2024-02-30", "date: 2024-13-01 25:61:61", "year: 0x", 'mark: "\\UFFFFFFFF"', "n: 1" + "0" * 5000]
)
def test_front_matter_whose_values_are_nonsense(tmp_path: Path, fact: str) -> None:
    (tmp_path / "x.md").write_text(f"---\nurl: https://a.example/one\n{fact}\ntitle: 2024\n---\n# Loaves\n", "utf-8")
    found = FileSources(tmp_path).find({"a.example/one"})
    if "UFFFFFFFF" in fact:
        assert found == {}
    else:
        assert [(s.title, s.read()) for s in found.values()] == [("2024", "# Loaves\n")]


def test_an_index_in_csv_that_no_reader_takes(tmp_path: Path) -> None:
    (tmp_path / "index.csv").write_bytes("url,file,title\nhttps://a.example,x.txt,Caf\u00e9\n".encode("latin-1"))
    with pytest.raises(UsageError, match=r"^index\.csv: not UTF-8$"):
        FileSources(tmp_path).find({"a.example"})
    (tmp_path / "index.csv").write_text(f"url,text\nhttps://a.example,{'Loaves. ' * 20_000}\n")
    with pytest.raises(
        UsageError, match=r"^index\.csv: field larger than field limit \(131072\); long texts"
    ) as caught:
        FileSources(tmp_path).find({"a.example"})
    assert "\n" not in str(caught.value)


def test_names_of_files_that_are_no_text(tmp_path: Path) -> None:
    raw = os.fsencode(tmp_path)
    try:
        Path(os.fsdecode(raw + b"/caf\xe9.md")).write_text("---\nurl: https://a.example/one\n---\nLoaves.\n")
        Path(os.fsdecode(raw + b"/b.example_caf\xe9.txt")).write_bytes(b"\xff")
    except OSError:
        pytest.skip("this file system takes names in UTF-8 alone")
    sources = FileSources(tmp_path)
    (source,) = sources.find({"a.example/one", "c.example"}).values()
    assert (source.name, source.read()) == ("caf\ufffd.md", "Loaves.\n")
    (tmp_path / "index.json").write_text(json.dumps({"https://c.example": "x" * 5000}))
    with pytest.raises(Unreadable, match=r"the index names x{200}, which isn't there"):
        text_at(sources, "https://c.example")


def test_a_file_that_cannot_be_opened(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "a.example.txt").write_text("Loaves.")

    def refuse(self: Path) -> bytes:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(Path, "read_bytes", refuse)
    with pytest.raises(Unreadable, match=r"a\.example\.txt can't be opened: Permission denied"):
        text_at(FileSources(tmp_path), "https://a.example")


@pytest.mark.parametrize(
    ("name", "url"),
    [
        ("https%3A%2F%2Fa.example%2Fone%3Fid%3D7.txt", "https://www.a.example/one?id=7"),
        ("a.example_one.md", "https://a.example/one/"),
        ("a.example_one.html", "https://a.example/one.html"),
        ("https___www.a.example_one.html.txt", "https://a.example/one.html"),
        ("2301.12345v2.txt", "https://arxiv.org/pdf/2301.12345"),
        ("arxiv-2301.12345.txt", "https://arxiv.org/abs/2301.12345v9"),
        ("arxiv.org_pdf_2301.12345.txt", "arXiv:2301.12345"),
        ("10.1000_Bread.7.txt", "https://doi.org/10.1000/bread.7"),
        ("doi.org_10.1000_bread.7.txt", "https://dx.doi.org/10.1000/BREAD.7"),
        ("a.example_桥.txt", "https://a.example/%E6%A1%A5"),
    ],
)
def test_files_by_their_names(tmp_path: Path, name: str, url: str) -> None:
    (tmp_path / name).write_text("Loaves.", "utf-8")
    (document,) = cited(f"Bread keeps ({url}).").documents
    ((id_, source),) = resolve([document], FileSources(tmp_path)).items()
    assert (id_, source.read()) == ("d1", "Loaves.")


def test_a_name_that_may_be_two_addresses_is_nobodys(tmp_path: Path) -> None:
    (tmp_path / "a.example_x-y.txt").write_text("Loaves.", "utf-8")
    sources = FileSources(tmp_path)
    assert sources.find({"a.example/x/y", "a.example/x-y"}) == {}
    assert list(sources.find({"a.example/x/y"})) == ["a.example/x/y"]
    (tmp_path / "a.example_x_y.md").write_text("Others.", "utf-8")
    assert sources.find({"a.example/x/y"}) == {}


def test_one_of_several_addresses_is_enough(tmp_path: Path) -> None:
    (tmp_path / "2301.12345.txt").write_text("Loaves.", "utf-8")
    text = "Bread [1].\n\n## References\n[1] doi:10.1000/b, https://a.example/b, arXiv:2301.12345\n"
    assert [s.read() for s in resolve(cited(text).documents, FileSources(tmp_path)).values()] == ["Loaves."]


@pytest.mark.parametrize(
    ("name", "content", "reason"),
    [
        ("x.pdf", b"%PDF-1.7 ...", "x.pdf is a PDF: put its text beside it as .txt"),
        ("x.txt", b"%PDF-1.7 ...", "x.txt is a PDF"),
        ("x.txt", b"caf\xe9", "isn't UTF-8"),
        ("x.txt", b" \n", "its text is empty"),
        ("x.html", b"<script>x</script>", "its text is empty"),
        ("", b"", "the index names gone.txt, which isn't there"),
    ],
)
def test_what_cannot_be_read_says_why(tmp_path: Path, name: str, content: bytes, reason: str) -> None:
    if name:
        (tmp_path / name).write_bytes(content)
    (tmp_path / "index.json").write_text(json.dumps({"https://a.example": name or "gone.txt"}))
    with pytest.raises(Unreadable, match=reason):
        text_at(FileSources(tmp_path), "https://a.example")


def test_pages_of_html(tmp_path: Path) -> None:
    page = "<html><head><title>T</title></head><body><style>p{}</style><p>Loaves &amp; <b>towels</b>.</p><div>Rye</div></body></html>"
    (tmp_path / "a.example.html").write_text(page)
    assert text_at(FileSources(tmp_path), "https://a.example") == "Loaves & towels.\nRye"


def test_no_such_place() -> None:
    with pytest.raises(UsageError, match="no such folder of documents, and no corpus of this name"):
        open_sources("/nowhere/at/all")
