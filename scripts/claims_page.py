"""Write docs/claims.md and its figures: every claim, checked now."""

import subprocess
import sys

from environment import ROOT, python_with

try:
    import matplotlib

    from ostinato.claims import CLAIMS, SOURCES
except ImportError:
    sys.exit(subprocess.run([python_with("plot"), __file__], cwd=ROOT).returncode)

matplotlib.use("Agg")
import matplotlib.pyplot as plt

OPENING = """# Claims

<!-- Written by `python3 scripts/claims_page.py`; change the claims, not this page. -->

{claims} statements from the literature on recurrent networks, each with a computed verdict:
{holds} hold, {when} under a condition, {false} are false.
`ostinato verify` checks them all again, `ostinato verify NAME` one of them.

A check that cannot fail shows nothing. So each claim declares a falsehood, which is planted in
what is computed: a wrong equation, matrix or rule where the statement holds, and where it is false
the corrected statement, which must come out as `holds`. All {planted} planted falsehoods change the
verdict as they must; `ostinato verify --falsehoods` plants them again.

`python3 scripts/claims_page.py` writes this page.

"""

ADDING = """## Add a claim

1. Find the file of its theme in `src/ostinato/claims/`, for example `gradient_bounds.py`, and add a
   function that computes and returns a `Finding`. Its name is the claim's name, here `inputs-fade`;
   the decorator has the statement, its source, the known verdict and a falsehood.

   ```python
   @THEME.claim(
       "A linear unit with a weight of a half forgets within 100 steps.",
       "Lipton et al. (2015), section 3.2",
       "holds",
       Falsehood("a unit that integrates", {"weight": 1.0}, "false"),
   )
   def inputs_fade(weight: float = 0.5) -> Finding:
       left = weight**100
       return Finding(
           "holds" if left < 1e-6 else "false",
           f"after 100 steps {left:.0e} of an input is left.",
           {"left": left},
       )
   ```

   The evidence is one sentence with the deciding number, which is computed. A verdict is `holds`,
   `false` or `holds when …`. The function runs in float64 and should take a second or two; its
   arguments have defaults. The falsehood alters what is computed, not the tolerance; that of a
   false statement is its correction, with the verdict `holds`. A `figure` draws on matplotlib axes.
   A new theme is a new file, listed in `THEMES` in `src/ostinato/claims/__init__.py`.

2. Run `python3 scripts/claims_page.py`. The tests run every claim, and plant every falsehood.
"""


def main() -> None:
    pictures = ROOT / "docs" / "claims"
    pictures.mkdir(parents=True, exist_ok=True)
    for old in pictures.glob("*.png"):
        old.unlink()
    rows, sections = ["| claim | verdict |", "|---|---|"], []
    wrong = 0
    for claim in CLAIMS.values():
        result, planted = claim.verify(), claim.plant()
        finding, refused = result.finding, planted.finding
        wrong += not (result.reproduces and planted.reproduces)
        verdict = finding.verdict.replace("|", "\\|")
        rows.append(f"| [{claim.name}](#{claim.name}) | {verdict} |")
        lines = [f"### {claim.name}", "", f"> {claim.text}", "", f"Source: {claim.source}.", ""]
        evidence = finding.evidence[0].upper() + finding.evidence[1:]
        lines += [f"**{finding.verdict[0].upper()}{finding.verdict[1:]}.** {evidence}", ""]
        lines += [f"Planted: {claim.falsehood.planted}. Verdict then: {refused.verdict}.", ""]
        if finding.figure is not None:
            picture(finding.figure, pictures / f"{claim.name}.png")
            lines += [f"![{claim.name}](claims/{claim.name}.png)", ""]
        sections.append("\n".join(lines))
    known = [claim.expected for claim in CLAIMS.values()]
    holds, false = known.count("holds"), known.count("false")
    counts = {"holds": holds, "false": false, "when": len(known) - holds - false}
    opening = OPENING.format(claims=len(known), planted=len(known), **counts)
    papers = [f"- {name}: {title}" for name, title in SOURCES.items()]
    page = [opening + "\n".join(rows), "", "Sources cited often:", "", *papers, ""]
    page += ["## The claims", "", *sections, ADDING]
    (ROOT / "docs" / "claims.md").write_text("\n".join(page), encoding="utf-8")
    print(f"wrote docs/claims.md with {len(sections)} claims and as many falsehoods")
    if wrong:
        sys.exit(f"{wrong} of them have another verdict than the one that is known")


def picture(draw, path) -> None:
    figure, axes = plt.subplots(figsize=(5.5, 3.2))
    draw(axes)
    axes.grid(alpha=0.3)
    figure.tight_layout()
    figure.savefig(path, dpi=80, metadata={"Software": None})
    plt.close(figure)


if __name__ == "__main__":
    main()
