"""What reports cite, in the ways that reports have for it. The texts are our own; some shapes were seen in reports of
deep-research systems that somebody else published."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from searchsim.scoring.smoothing.citations import cited, strip_marks

A, B, C = "a.example/one", "b.example/two", "arxiv.org/abs/2301.12345"


def found(text: str) -> list[tuple[str | None, int]]:
    """Each document's first address, and how often the text cites it."""
    return [(d.addresses[0] if d.addresses else None, len(d.marks)) for d in cited(text).documents]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Bread keeps [1], and cheese [2].\n\n## References\n[1] One. https://a.example/one\n[2] Two. https://b.example/two", [(A, 1), (B, 1)]),
        ("Bread keeps [1, 2]. Cheese [1-2].\n\n## Sources\n1. https://a.example/one\n2. https://b.example/two", [(A, 2), (B, 2)]),
        ("Bread keeps [1][2].\n\n**References:**\n\n- [1] https://a.example/one\n- [2]: https://b.example/two", [(A, 1), (B, 1)]),
        ("Bread【1】keeps【2†source】.\n\n参考文献\n[1] 面包 https://a.example/one\n[2] 奶酪 https://b.example/two。", [(A, 1), (B, 1)]),
        ("Bread keeps [doc 1] and [Source 2].\n\nReferences\n----------\n1) https://a.example/one\n2) https://b.example/two", [(A, 1), (B, 1)]),
        ("Bread keeps<sup>1</sup>, cheese<sup>[1,2]</sup>.\n\n# Works Cited\n1. https://a.example/one\n2. https://b.example/two", [(A, 2), (B, 1)]),
        ("Bread keeps.¹ Cheese keeps²\n\n## References\n1. https://a.example/one\n2. https://b.example/two", [(B, 1), (A, 0)]),
        ("Bread keeps ^1^.\n\n## References\n1. https://a.example/one", [(A, 0)]),
        ("Bread keeps^1^.\n\n## References\n1. https://a.example/one", [(A, 1)]),
        ("Bread [keeps](https://a.example/one \"One\"), cheese <https://b.example/two>.", [(A, 1), (B, 1)]),
        ("Bread keeps (https://a.example/one), cheese too: https://b.example/two.", [(A, 1), (B, 1)]),
        ("Bread keeps ([One](<https://a.example/one>)). Again: [x](https://www.a.example/one/).", [(A, 2)]),
        ("Bread keeps[^1] and[^cheese].\n\n[^1]: One, https://a.example/one\n[^cheese]: Two,\n    https://b.example/two", [(A, 1), (B, 1)]),
        ("Bread [keeps][one], [cheese] too.\n\n[one]: https://a.example/one 'One'\n[cheese]: <https://b.example/two>", [(A, 1), (B, 1)]),
        ("Bread keeps [1](https://a.example/one) [[2]](https://b.example/two).", [(A, 1), (B, 1)]),
        ("Bread keeps [[1]](#ref1).\n\n## References\n<a id=\"ref1\"></a>[1] https://a.example/one", [(A, 1)]),
        ("Bread keeps [1].\n\n| # | Title | URL |\n| - | - | - |\n\n## References\n\n| 1 | One | https://a.example/one |\n| 2 | Two | [b](https://b.example/two) |", [(A, 1), (B, 0)]),
        ("Bread keeps [1].\n\n---\n[1] Someone (2020). Bread. https://a.example/one\n[2] Other. https://b.example/two", [(A, 1), (B, 0)]),
        ("Bread keeps (arXiv:2301.12345v2). See arXiv: 2301.12345.", [(C, 2)]),
        ("Bread keeps [1].\n\n## References\n[1] X. Bread. doi:10.1000/Bread.7.", [("doi.org/10.1000/bread.7", 1)]),
        ("Bread keeps [1].\n\n## References\n[1] X. Bread. *J. Loaf* 7, 10.1000/bread.7. www.a.example/one", [("doi.org/10.1000/bread.7", 1)]),
        ("Shown: `https://a.example/one`, not `curl https://b.example/two`.\n\n```\nhttps://b.example/two\n```", [(A, 1)]),
        ("![A loaf](https://b.example/two.png) [![Loaf](https://b.example/l.png)](https://a.example/one)", [(A, 1)]),
        ("面包（https://a.example/one）。奶酪，见https://b.example/two。", [(A, 1), (B, 1)]),
        ("Nothing is cited.", []),
        ("", []),
    ],
)  # fmt: skip
def test_the_ways_of_citing(text: str, expected: list[tuple[str | None, int]]) -> None:
    assert found(text) == expected


@pytest.mark.parametrize(
    "heading",
    [
        "## References", "# REFERENCES", "### Key Citations", "#### **Works cited**", "**Sources**", "__Bibliography__:",
        "References:", "Works Cited", "## 7. References", "## VII. References", "## List of References", "# Sources Cited",
        "## References and Further Reading", "## 参考文献", "**参考资料**：", "引用来源", "Sources\n-------", "## Cited sources ##",
    ],
)  # fmt: skip
def test_headings_of_lists(heading: str) -> None:
    text = (
        f"# Bread\n\nBread keeps [2].\n\n{heading}\n\n1. One: https://a.example/one\n2. Two\n   https://b.example/two\n"
    )
    read = cited(text)
    assert [(d.addresses, d.labels, d.kind) for d in read.documents] == [
        ([B], ["2"], "reference"),
        ([A], ["1"], "reference"),
    ]
    assert text[: read.body] == "# Bread\n\nBread keeps [2].\n\n"


def test_a_section_that_only_speaks_of_sources_is_text() -> None:
    text = "## Local sources\n\n1. Bakers are a source of bread.\n2. Mills are another.\n\n## Sources\n\nFlour comes from mills.\n"
    read = cited(text)
    assert (read.documents, read.body) == ((), len(text))


def test_a_list_in_the_middle_is_no_end() -> None:
    text = "Bread [1].\n\n## References\n[1] https://a.example/one\n\n## Conclusion\nBread keeps [1].\n"
    read = cited(text)
    assert read.body == len(text)
    assert [len(d.marks) for d in read.documents] == [2]


def test_numbers_that_lost_their_brackets() -> None:
    """Raised numbers that became plain ones, with the list's addresses escaped and shown twice."""
    text = (
        "**1\\. Introduction**\n\nBread stays fresh in towels 1. It does so for 3 days in 12 kitchens 2, 3. Rye keeps best 2\n\n"
        "| Bread | Loaves |\n| :---- | :---- |\n| Rye | 1, 3 |\n\n"
        "#### **Works cited**\n\n"
        "1. Towels \\- A Site, accessed March 26, 2025, [https://a.example/one\\_two](https://a.example/one_two)  \n"
        "2. Kitchens, accessed March 26, 2025, [https://b.example/k\\_(x\\)](https://b.example/k_\\(x\\))  \n"
        "3. Crusts, accessed March 26, 2025, [https://a.example/c\\#:\\~:text=A](https://a.example/c#:~:text=A%20crust)  \n"
    )
    read = cited(text)
    assert [(d.addresses, d.labels) for d in read.documents] == [
        (["a.example/one_two"], ["1"]),
        (["b.example/k_(x)"], ["2"]),
        (["a.example/c"], ["3"]),
    ]
    assert [[text[a:b] for a, b in d.marks] for d in read.documents] == [["1"], ["2, 3", "2"], ["2, 3"]]
    assert read.documents[0].title == "Towels - A Site, accessed March 26, 2025"
    assert read.body == text.index("#### **Works")


def test_numbers_that_are_no_marks() -> None:
    """Isotopes, powers, genes, years and lists of the text's own are left alone."""
    text = (
        "In 2020 the <sup>16</sup>O of P[8] and G[1] grew by 10² and x³, in 5 of 9 loaves; see [2019] and A[2].\n\n"
        "1. First, knead.\n2. Then bake.\n"
    )
    assert cited(text).documents == ()
    listed = f"{text}\nThat is told [1].\n\n## References\n1. https://a.example/one\n16. https://b.example/two\n"
    assert [(d.addresses[0], [listed[a:b] for a, b in d.marks]) for d in cited(listed).documents] == [
        (A, ["[1]", "[1]"]),
        (B, []),
    ]


def test_a_list_of_links_alone() -> None:
    """Unnumbered entries are each their own document, as are several links in one of them."""
    text = (
        "Towels help, as [a guide to towels](https://a.example/one) shows.\n\n### Key Citations\n"
        "- [A guide to towels and loaves](https://www.a.example/one/)\n- [Two](https://b.example/two), [x](https://c.example)\n"
        "- Mussels and sturgeon [https://d.example/64/]\n\n_Disclaimer: not a baker._"
    )
    read = cited(text)
    assert [(d.addresses, len(d.marks)) for d in read.documents] == [
        ([A], 1), (["b.example/two"], 0), (["c.example"], 0), (["d.example/64"], 0),
    ]  # fmt: skip
    assert [d.title for d in read.documents[:2]] == ["A guide to towels and loaves", "Two"]


def test_an_entry_with_several_addresses_is_one_document() -> None:
    text = "Bread [1], again [here](https://arxiv.org/pdf/2301.12345v3).\n\n## References\n[1] X (2023). Bread. arXiv:2301.12345, https://doi.org/10.1000/b"
    (document,) = cited(text).documents
    assert document.addresses == [C, "doi.org/10.1000/b"]
    assert len(document.marks) == 2


def test_what_leads_nowhere_is_kept() -> None:
    text = (
        "Bread [1], cheese [7], milk[^m].\n\n## References\n[1] A. Baker, *Bread*, 1912.\n[2] https://b.example/two\n"
    )
    read = cited(text)
    assert [(d.kind, d.addresses, d.labels, d.title) for d in read.documents] == [
        ("reference", [], ["1"], "A. Baker, Bread, 1912"),
        ("dangling", [], ["7"], ""),
        ("dangling", [], ["^m"], ""),
        ("reference", [B], ["2"], ""),
    ]


def test_which_documents_a_sentence_cites() -> None:
    text = "First [1]. **Bread keeps.**[2] [3]\n\nCheese [4] keeps 3 days (see [5]). Milk doesn't.\n\n## References\n"
    text += "\n".join(f"[{n}] https://{n}.example" for n in range(1, 6))
    read = cited(text)

    def cites(sentence: str) -> list[str]:
        start = text.index(sentence)
        labels = {d.id: d.labels[0] for d in read.documents}
        return [labels[id_] for id_ in read.within(text, [(start, start + len(sentence))])]

    assert cites("First") == ["1"]
    assert cites("Bread keeps.") == ["2", "3"]
    assert cites("Cheese [4] keeps 3 days") == ["4"]
    assert cites("Cheese [4] keeps 3 days (see [5])") == ["4", "5"]
    assert cites("Milk doesn't.") == []


def test_sentences_without_their_marks() -> None:
    assert (
        strip_marks("Bread [keeps](https://a.example) [1][2, 3], so[^4] far【5】 [[6]](https://b.example).")
        == "Bread keeps , so far ."
    )


LISTED = "1. One. https://a.example/one\n2. Two. https://b.example/two\n"


@pytest.mark.parametrize(
    "heading",
    [
        "## Quellen", "## Quellenverzeichnis", "## Références", "## Referencias", "## Литература", "## 참고문헌",
        "## Annotated Bibliography", "## Sources & Links", "## References / Sources", "## References (selected)",
        "## 📚 References", "## Appendix A: References", "<h2>References</h2>", "## Reference Links",
        # Of these nobody knows what they say: that their numbers are missed in the text tells them.
        "## Further Reading", "## Literature", "## Lähteet", "**Where this comes from**", "<h3>What we read</h3>",
    ],
)  # fmt: skip
def test_lists_under_other_headings(heading: str) -> None:
    text = f"# Bread\n\nBread keeps [2], and [1] too.\n\n{heading}\n\n{LISTED}"
    read = cited(text)
    assert [(d.kind, d.addresses, d.labels) for d in read.documents] == [
        ("reference", [B], ["2"]),
        ("reference", [A], ["1"]),
    ]
    assert text[: read.body] == "# Bread\n\nBread keeps [2], and [1] too.\n\n"


def test_numbers_that_lost_their_brackets_under_a_heading_in_another_language() -> None:
    text = f"Brot bleibt in Tüchern frisch 1, 2. Käse auch 2.\n\n#### **Quellenangaben**\n\n{LISTED}"
    assert found(text) == [(A, 1), (B, 2)]


def test_a_list_without_a_heading_whose_entries_have_not_all_an_address() -> None:
    text = "Bread [1][2], cheese [3][4].\n\nRead for this:\n\n1. One. https://a.example/one\n2. A. Baker, *Bread*.\n3. Two. https://b.example/two\n4. Three. arXiv:2301.12345\n"
    read = cited(text)
    assert [(d.addresses, d.labels) for d in read.documents] == [([A], ["1"]), ([], ["2"]), ([B], ["3"]), ([C], ["4"])]


def test_numbered_lines_of_the_text_are_no_list() -> None:
    """Links whose text is a number, and steps with links, where nothing is missed."""
    text = (
        "Bread keeps [1](https://a.example/one), [2](https://b.example/two).\n\n## What to do\n\n"
        "1. Buy [a towel](https://c.example/towel).\n2. Wet it, as [they](https://d.example/wet) say.\n"
    )
    read = cited(text)
    assert {d.kind for d in read.documents} == {"link"}
    assert read.body == len(text)
    listed = f"Bread [1], [2].\n\n## What to do\n\n1. Buy [it](https://c.example).\n2. Wet it, see [x](https://d.example).\n\n## Sources\n\n{LISTED}"
    assert [(d.addresses, d.labels) for d in cited(listed).documents if d.kind == "reference"] == [
        ([A], ["1"]),
        ([B], ["2"]),
    ]


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("```markdown\n", "```\n"),
        ("```md\n", "```"),
        ("Here is the report:\n\n```markdown\n", "```\n\nI hope that it helps.\n"),
        ("~~~~ Markdown\n", "\n~~~~\n"),
        ("```\n", "```\n"),
        ("```markdown\n", ""),
    ],
)
def test_a_whole_report_in_a_fence(before: str, after: str) -> None:
    code = "" if before == "```\n" else "```python\nloaves[1] = 'https://c.example'\n```\n\n"
    text = f"{before}# Bread\n\nBread keeps [1], cheese [2].\n\n{code}## References\n\n{LISTED}{after}"
    assert found(text) == [(A, 1), (B, 1)]


def test_code_in_a_report_stays_code() -> None:
    code = "```markdown\nSee [this](https://c.example).\n```"
    text = f"Bread keeps, and this is how a link is written in the notes that bakers keep of it:\n\n{code}\n\nIt keeps [x](https://a.example/one).\n"
    assert found(text) == [(A, 1)]
    assert found("```\nhttps://c.example\n```\n\nBread.\n\n```\nhttps://d.example\n```\n") == []


def test_marks_with_backslashes() -> None:
    text = "Bread keeps \\[1\\], cheese \\[1, 2\\], milk \\[\\^2\\].\n\n## References\n\n\\[1\\] One. https://a.example/one\n\\[2\\] Two. https://b.example/two\n"
    read = cited(text)
    assert [(d.addresses, [text[a:b] for a, b in d.marks]) for d in read.documents] == [
        ([A], ["\\[1\\]", "\\[1, 2\\]"]),
        ([B], ["\\[1, 2\\]", "\\[\\^2\\]"]),
    ]
    assert strip_marks("Bread keeps \\[1\\] for a week.") == "Bread keeps  for a week."
    bare = text.replace("## References\n\n", "")
    assert found(bare) == [(A, 2), (B, 2)]


def test_lists_by_section_that_begin_again() -> None:
    text = (
        "# Bread\n\nBread keeps [1], they say [2].\n\n## References\n\n[1] One. https://a.example/one\n[2] X. https://x.example\n\n"
        "# Cheese\n\nCheese keeps [1].\n\n## References\n\n[1] Two. https://b.example/two\n\n# End\n\nSo much for [1] and [2].\n"
    )
    assert [(d.addresses[0], d.labels, len(d.marks)) for d in cited(text).documents] == [
        (A, ["1"], 1),
        ("x.example", ["2"], 2),
        (B, ["1"], 2),
    ]


def test_a_number_twice_in_one_list_loses_no_document() -> None:
    text = "Bread keeps [1].\n\n## References\n[1] One. https://a.example/one\n[1] Two. https://b.example/two\n"
    assert found(text) == [(A, 1), (B, 0)]


def test_an_entry_that_names_the_address_of_another() -> None:
    text = "Bread [1], cheese [2], [here](https://c.example).\n\n## References\n[1] One. https://a.example/one, answers https://b.example/two and https://c.example\n[2] Two. https://b.example/two\n"
    assert [(d.addresses, d.labels, len(d.marks)) for d in cited(text).documents] == [
        ([A, "c.example"], ["1"], 2),
        ([B], ["2"], 1),
    ]
    sites = "Bread [1], cheese [2].\n\n## References\n1. One - www.s.example, [https://www.s.example/1](https://www.s.example/1)\n2. Two - www.s.example, https://www.s.example/2\n"
    assert [d.addresses for d in cited(sites).documents] == [["s.example/1"], ["s.example/2"]]


def test_intervals_are_no_marks() -> None:
    text = "Loaves lie in [0, 1], days in [10, 20], see [x](https://a.example/one) and A[0]."
    assert found(text) == [(A, 1)]
    assert found(f"{text} It keeps [1], [7].\n\n## References\n[1] https://b.example/two\n") == [
        (A, 1),
        (B, 1),
        (None, 1),
    ]


@pytest.mark.parametrize("mark", ["-", "*"])
def test_takeaways_after_the_list_are_text(mark: str) -> None:
    takeaways = f"## Key takeaways\n\n{mark} Wet towels keep bread best [1].\n{mark} **Never** freeze it.\n"
    text = f"Bread [1].\n\n## References\n[1] One. https://a.example/one\n\n{takeaways}"
    read = cited(text)
    assert (read.body, [len(d.marks) for d in read.documents]) == (len(text), [2])
    bare = text.replace("## Key takeaways\n\n", "")
    read = cited(bare)
    assert (read.body, [len(d.marks) for d in read.documents]) == (len(bare), [2])
    closed = f"{text}\n## References\n[2] Two. https://b.example/two\n\n---\n\n*Written by nobody.*\n"
    assert closed[: cited(closed).body] == f"{text}\n"


def test_notes_between_entries_are_part_of_the_list() -> None:
    text = "Bread [1], [2].\n\n## Annotated Bibliography\n\n1. One. https://a.example/one\n   - It weighs loaves.\n\nA good book.\n\n2. Two. https://b.example/two\n\nA better one.\n"
    read = cited(text)
    assert [(d.addresses, d.labels) for d in read.documents] == [([A], ["1"]), ([B], ["2"])]
    assert text[: read.body] == "Bread [1], [2].\n\n"
    nested = "Bread [1], [2].\n\n## Sources\n\n1. **One**\n   - URL: https://a.example/one\n2. **Two**\n   - URL: https://b.example/two\n"
    assert [(d.addresses, d.labels) for d in cited(nested).documents] == [([A], ["1"]), ([B], ["2"])]


def test_documents_that_turn_out_to_be_one() -> None:
    text = "Bread [1]. Cheese [2]. Milk [3].\n\n## References\n[1] https://a.example/one\n[2] https://x.example\n[3] Three. https://b.example/two\n"
    read = cited(text)
    joined = read.joined({"d3": "d1"})
    assert [(d.id, d.addresses, d.labels, d.title, len(d.marks)) for d in joined.documents] == [
        ("d1", [A, B], ["1", "3"], "Three", 2),
        ("d2", ["x.example"], ["2"], "", 1),
    ]
    assert joined.within(text, [(0, text.index("\n"))]) == ["d1", "d2"]
    assert joined.within(text, [(text.index("Milk"), text.index("\n"))]) == ["d1"]
    assert [len(d.labels) for d in read.documents] == [1, 1, 1]


def test_hundreds_of_citations() -> None:
    body = "\n\n".join(f"Loaf {n} keeps for {n} days [{n}], says [b{n}](https://b.example/{n})." for n in range(1, 301))
    text = f"{body}\n\n## References\n\n" + "\n".join(f"[{n}] Loaf {n}. https://a.example/{n}" for n in range(1, 301))
    read = cited(text)
    assert len(read.documents) == 600
    assert all(len(d.marks) == 1 for d in read.documents)
    assert [d.addresses[0] for d in read.documents[:3]] == ["a.example/1", "b.example/1", "a.example/2"]


@given(st.text(alphabet="[](){}<>^*_`|\\#!1 2\n-.:/ahtps", max_size=200))
def test_it_never_fails(text: str) -> None:
    read = cited(text)
    assert 0 <= read.body <= len(text)
    for document in read.documents:
        assert all(0 <= a < b <= len(text) for a, b in document.marks)


@pytest.mark.parametrize(
    "text",
    [
        "[" * 20_000, "[a](" * 5_000, "![" * 5_000, "](x" * 5_000, "[1]" * 20_000, "| 1 |" * 5_000, "10.1000/" * 5_000,
        "```\n" * 5_000, "1. https://a.example [2]\n2. https://b.example\n\nx\n\n" * 300, "*_" * 5_000,
    ],
    ids=range(10),
)  # fmt: skip
@pytest.mark.timeout(20)
def test_nor_does_it_take_for_ever(text: str) -> None:
    cited(text)
