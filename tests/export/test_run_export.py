"""A run becomes a program or a page that gives the same answers, without Ostinato."""

import json
import re
import shutil
import subprocess

import numpy as np
import pytest

from compare import same_numbers
from ostinato import Config, open_run
from ostinato.errors import BadInput
from ostinato.export.run_export import export_run
from ostinato.tasks import Adding, Series
from studio.browser import BROWSER, Browser
from untrained import untrained_run

STRICT = ["-O2", "-Wall", "-Wextra", "-Werror", "-std=c99"]


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("exported")


@pytest.fixture(scope="module")
def table(folder):
    """Two columns, of which one has gaps; and names that must not break code."""
    rng = np.random.default_rng(0)
    steps = np.arange(120)
    values = np.stack([20 * np.sin(steps / 3) + rng.normal(size=120), rng.normal(size=120)], axis=1)
    values[5:9, 1] = np.nan
    lines = ['sold */ "it\\",price']
    lines += [",".join("" if np.isnan(x) else repr(float(x)) for x in row) for row in values]
    path = folder / "sales.csv"
    path.write_text("\n".join(lines).replace('"it\\"', "it") + "\n")
    return path


@pytest.fixture(scope="module")
def forecaster(folder, table):
    config = Config(
        file=str(table), target="sold */ it", horizon=3, quantiles="0.1,0.5,0.9", conformal=True,
        split="60/30/10", missing="mask", cell="gru", units=5, length=10, batch=2,
    )  # fmt: skip
    return untrained_run(config, folder / "forecaster")


@pytest.fixture(scope="module")
def writer(folder):
    path = folder / "book.txt"
    path.write_text('Ein Bär sagt "ja" \\ und?\t' * 40, encoding="utf-8")
    return untrained_run(
        Config(file=str(path), cell="lstm", units=6, length=9, batch=2), folder / "w"
    )


def compiled(folder, name):
    if shutil.which("cc") is None:
        pytest.skip("there is no C compiler")
    command = ["cc", *STRICT, f"{name}.c", "-o", name, "-lm"]
    made = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    assert made.returncode == 0, made.stderr[:2000]
    return folder / name


def test_a_forecaster_in_c(forecaster, table, folder):
    written = export_run(forecaster, "c", folder / "sales")
    assert [path.name for path in written] == ["sales.h", "sales.c"]
    program = compiled(folder, "sales")
    ran = subprocess.run([program], stdin=table.open(), capture_output=True, text=True, check=True)
    rows = [line.split(",") for line in ran.stdout.splitlines()[1:]]
    expected = [*forecaster.forecast(table).rows()]
    made = [[float(x) for x in row[1:]] for row in rows]
    wanted = [[x for x in row.values() if isinstance(x, float)] for row in expected]
    same_numbers(made, wanted)


@pytest.mark.parametrize(
    "text, words",
    [
        ("", "empty"),
        ("price\n1\n", "no column sold"),
        ("sold */ it,price\n", "no rows"),
        ("sold */ it,price\nx,1\n", "x is no number"),
        ("sold */ it,price\n,1\n", "missing"),
        ("sold */ it,price\nNone,1\n", "a value is missing"),
        ("sold */ it,price\ninf,1\n", "inf is no number"),
        ("sold */ it,price\n1e999,1\n", "1e999 is no number"),
        ("sold */ it,price\n0x10,1\n", "0x10 is no number"),
        ("sold */ it,price\n1e300,1\n", "1e300 is too large"),
        ('sold */ it,price\n"1,000",1\n', "1,000 is no number"),
        ('sold */ it,price\n"1,000\n', "row 1: a quote is not closed"),
        ("sold */ it,price\n1\n", "row 1: a row has 2 cells, got 1"),
        ("sold */ it,price\n1,2,3\n", "row 1: a row has 2 cells, got 3"),
        ("sold */ it,price\n1\0,2\n", "no text"),
        ("sold */ it,sold */ it,price\n1,2,3\n", "two columns called sold */ it"),
        (f"{'x,' * 5000}sold */ it,price\n", "more than 4096 columns"),
        (f"{'x,' * 1_000_000}sold */ it,price\n1\n", "longer than 65534 bytes"),
        (f"sold */ it,price,{'x,' * 1_000_000}x\n1\n", "longer than 65534 bytes"),
    ],
)
def test_a_wrong_table_is_refused_by_the_c_program(text, words, forecaster, folder):
    if not (folder / "sales").exists():
        test_a_forecaster_in_c(forecaster, folder / "sales.csv", folder)
    ran = subprocess.run(
        [folder / "sales"], input=text, capture_output=True, text=True, check=False
    )
    assert ran.returncode == 2 and words in ran.stderr and ran.stderr.count("\n") == 1


# Ways to write a table of two rows, (1.5, 2) and (3, missing).
TABLES = [
    "sold */ it,price\n1.5,2\n3,\n",
    "\ufeffsold */ it,price\r\n1.5,2\r\n3,NA\r\n",
    "\n\nsold */ it,price\n\n1.5,2\n\n3,nan",
    "sold */ it;price\n1,5;2\n3;?\n",
    "sold */ it\tprice\n1,5\t2\n3\t\n",
    'day,price,"sold */ it"\n"Monday, ""the"" first",2,"1.5"\nTuesday, null , +3\n',
    "note,sold */ it,price\na;b,1.5,2\n,3e0,<NA>\n",
]


def test_the_c_program_reads_any_of_these_tables(forecaster, folder):
    export_run(forecaster, "c", folder / "any-table")  # a name that code cannot have
    program = compiled(folder, "any-table")
    told = {
        subprocess.run([program], input=x.encode(), capture_output=True, check=True).stdout
        for x in TABLES
    }
    assert len(told) == 1


def test_a_writer_in_c(writer, folder):
    """The most probable characters are those that the library takes."""
    export_run(writer, "c", folder / "writer")
    program = compiled(folder, "writer")
    ran = subprocess.run([program, "Ein Bä", "30", "0"], capture_output=True, check=True)
    assert ran.stdout.decode() == "Ein Bä" + writer.sample("Ein Bä", 30, temperature=0) + "\n"
    wrong = subprocess.run([program, "Ω"], capture_output=True, text=True, check=False)
    assert wrong.returncode == 2 and "does not know" in wrong.stderr
    for words in (
        ["-5"],
        ["many"],
        ["5", "nan"],
        ["5", "-1"],
        ["5", "1", "-1"],
        ["5", "1", "1", "x"],
    ):
        wrong = subprocess.run([program, "a", *words], capture_output=True, text=True, check=False)
        assert wrong.returncode == 2 and not wrong.stdout and wrong.stderr.count("\n") == 1, words


def test_weights_of_eight_bits_are_a_quarter(writer, folder):
    export_run(writer, "c", folder / "small", bits=8)
    compiled(folder, "small")
    code = (folder / "small.h").read_text()
    assert "static const signed char small_w0" in code and "small_w0_factors" in code


def test_a_page_is_whole(writer, forecaster, folder):
    for run, name in ((writer, "writer"), (forecaster, "sales")):
        (page,) = export_run(run, "html", folder / f"{name}_page")
        text = page.read_text(encoding="utf-8")
        assert "<!-- " not in text and not re.search(r"(src|href)=", text)
        assert "</script>" in text and text.count("<script>") == 1


# What a page asks of a browser, as little as will do.
STUB = """
class Element {
  constructor(name) { Object.assign(this, { name, children: [], dataset: {}, value: "" }); }
  get textContent() { return this.children.map((one) => one.textContent ?? one).join(""); }
  set textContent(words) { this.children = [words]; }
  append(...more) { this.children.push(...more); }
  appendData(words) { this.children.push(words); }
  replaceChildren(...more) { this.children = more; }
  setAttribute() {}
  addEventListener() {}
  all(name) {
    const inner = this.children.flatMap((one) => one.all?.(name) ?? []);
    return this.name === name ? [this, ...inner] : inner;
  }
}
const known = {};
const document = {
  getElementById: (id) => (known[id] ??= new Element(id)),
  createElement: (name) => new Element(name),
  createElementNS: (_, name) => new Element(name),
  createTextNode: () => new Element("text"),
  querySelectorAll: (path) => known.out.all(path.split(" ")[1]),
};
"""


def in_node(page, code):
    """What code that returns something gives, run after the script of a page."""
    node = shutil.which("node")
    if node is None:
        pytest.skip("there is no Node")
    (script,) = re.findall("(?s)<script>(.*)</script>", page.read_text(encoding="utf-8"))
    answer = f"(async () => {{{code}}})().then((x) => console.log(JSON.stringify(x)));"
    path = page.with_suffix(".mjs")
    path.write_text("\n".join([STUB, script, answer]), encoding="utf-8")
    ran = subprocess.run([node, path], capture_output=True, text=True, check=False)
    assert ran.returncode == 0 and not ran.stderr, ran.stderr[:2000]
    return json.loads(ran.stdout)


def in_browser(page, code):
    """The same in Chromium, which is asked for no other file."""
    if BROWSER is None:
        pytest.skip("there is no browser")
    browser = Browser()
    try:
        browser.open(f"file://{page}")
        found = browser.run(f"(async () => {{{code}}})()")
        assert not browser.console and browser.requests == [f"file://{page}"]
        return found
    finally:
        browser.close()


@pytest.mark.parametrize("where", [in_node, in_browser])
def test_the_page_of_a_text_writes_what_the_run_writes(where, writer, tmp_path):
    (page,) = export_run(writer, "html", tmp_path / "writer")
    written, wrong = where(
        page,
        """
        const out = find("out");
        Object.assign(find("prompt"), { value: "Ein Bä" });
        Object.assign(find("length"), { value: "30" });
        Object.assign(find("temperature"), { value: "0" });
        delete out.dataset.done;
        write();
        while (!out.dataset.done) await new Promise((go) => setTimeout(go, 5));
        const written = out.textContent;
        Object.assign(find("prompt"), { value: "Ω" });
        write();
        return [written, find("wrong").textContent];
        """,
    )
    assert written == "Ein Bä" + writer.sample("Ein Bä", 30, temperature=0)
    assert wrong == "The network does not know the character Ω."


@pytest.mark.parametrize("where", [in_node, in_browser])
def test_the_page_of_a_series_forecasts_what_the_run_forecasts(where, forecaster, table, tmp_path):
    (page,) = export_run(forecaster, "html", tmp_path / "sales")
    pasted = table.read_text()
    lines = pasted.splitlines()
    lines[7] = lines[7].replace(",", "x,", 1)
    wrong = ["\n".join(lines), "\n".join(lines[:1]), "price\n1", "sold */ it,price\n,1"]
    wrong += [f"sold */ it,price\n{row}" for row in ("Infinity,1", "0x1,1", "1e300,1", '"1', "1")]
    wrong += ["sold */ it,sold */ it,price\n1,2,3"]
    heads, cells, same, *said = where(
        page,
        f"""
        const paste = (words) => {{ find("table").value = words; show(); }};
        const texts = (path) => [...document.querySelectorAll(path)].map((x) => x.textContent);
        paste({json.dumps(pasted)});
        const told = [texts("#out th"), texts("#out td")];
        const read = (words) => (paste(words), find("wrong").textContent + texts("#out td"));
        told.push(new Set({json.dumps(TABLES)}.map(read)).size);
        for (const words of {json.dumps(wrong)}) {{
          paste(words);
          told.push([find("wrong").textContent, find("out").hidden]);
        }}
        return told;
        """,
    )
    expected = forecaster.forecast(table).rows()
    assert heads == ["step", *(f"sold */ it {level} %" for level in (10, 50, 90))]
    wanted = [[row["step"], *(x for x in row.values() if isinstance(x, float))] for row in expected]
    made = np.array(cells, float).reshape(len(wanted), -1)
    same_numbers(made, wanted)
    assert same == 1
    assert said == [
        [words, True]
        for words in (
            f"Row 7, sold */ it: {lines[7].split(',')[0]} is no number.",
            "The table needs a line of names and at least one row.",
            "The table has no column sold */ it.",
            "Row 1, sold */ it: a value is missing.",
            "Row 1, sold */ it: Infinity is no number.",
            "Row 1, sold */ it: 0x1 is no number.",
            "Row 1, sold */ it: 1e300 is too large.",
            "A quote is not closed.",
            "Row 1: a row has 2 cells, got 1.",
            "The table has two columns called sold */ it.",
        )
    ]


def test_the_numbers_beside_a_chart_are_whole(forecaster, tmp_path):
    (page,) = export_run(forecaster, "html", tmp_path / "large")
    begins = in_browser(
        page,
        """
        find("table").value = "sold */ it,price\\n-12345678,1\\n0.000012345,1";
        show();
        return [...document.querySelectorAll("#out svg text")].map((one) => one.getBBox().x);
        """,
    )
    assert len(begins) == 3 and min(begins) >= 0


def test_what_cannot_be_exported_is_refused(writer, folder, tmp_path):
    with pytest.raises(BadInput, match=r"--to is one of c, html, .*, got 'onnxx'"):
        export_run(writer, "onnxx")
    with pytest.raises(BadInput, match="32 bits"):
        export_run(writer, "html", tmp_path / "page", bits=8)
    with pytest.raises(BadInput, match="32 or 8 bits, got 7"):
        export_run(writer, "c", tmp_path / "page", bits=7)
    (tmp_path / "there.h").touch()
    with pytest.raises(BadInput, match="exists"):
        export_run(writer, "c", tmp_path / "there")
    with pytest.raises(BadInput, match="no folder"):
        export_run(writer, "c", tmp_path / "none" / "there")
    assert [path.name for path in tmp_path.iterdir()] == ["there.h"]
    both = Config(bidirectional=True, cell="gru", units=2, length=5, batch=2)
    task = Series(np.arange(60.0), ys=np.arange(60) % 2)
    run = untrained_run(both, tmp_path / "both", task=task)
    with pytest.raises(BadInput, match="has no step"):
        export_run(run, "c", tmp_path / "both_ways")
    config = Config(cell="gru", units=2, batch=2)
    run = untrained_run(config, tmp_path / "adding", task=Adding(length=5))
    with pytest.raises(BadInput, match="the numbers of its network, for which there is no page"):
        export_run(run, "html", tmp_path / "adding_page")
    assert open_run(tmp_path / "adding")
