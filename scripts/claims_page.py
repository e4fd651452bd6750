"""Write docs/claims.md and its figures: every claim, checked now."""

import subprocess
import sys

from environment import ROOT, python_with

try:
    import matplotlib

    from ostinato.claims import SOURCES, verify
except ImportError:
    sys.exit(subprocess.run([python_with("plot"), __file__], cwd=ROOT).returncode)

matplotlib.use("Agg")
import matplotlib.pyplot as plt

OPENING = """# Claims

<!-- Written by `python3 scripts/claims_page.py`; change the claims, not this page. -->

Statements from the literature on recurrent networks, each with a computed verdict.
`ostinato verify` checks them all again, `ostinato verify NAME` one of them.
`python3 scripts/claims_page.py` writes this page.

"""

ADDING = """## Add a claim

1. Write `src/ostinato/claims/your_claim.py`: a function `check` that computes and returns a
   `Finding`, and `CLAIM`, with the statement, its source and the known verdict.

   ```python
   def check(weight: float = 0.5) -> Finding:
       left = weight**100
       return Finding(
           "holds" if left < 1e-6 else "false",
           f"after 100 steps {left:.0e} of an input is left.",
           {"left": left},
       )


   CLAIM = Claim("inputs-fade", "A linear unit forgets.", "Galvan (2015)", "holds", check)
   ```

   The evidence is one sentence with the deciding number, which is computed. A verdict is `holds`,
   `false` or `holds when …`. `check` runs in float64 and should take a second or two; its arguments
   have defaults, and another value of one of them leads to another verdict. A `figure` draws on
   matplotlib axes.

2. Add the module to `CLAIMS` in `src/ostinato/claims/__init__.py`, and to the table in
   `tests/claims/test_claims.py` that changes an argument and expects another verdict.

3. Run `python3 scripts/claims_page.py`.
"""


def main() -> None:
    pictures = ROOT / "docs" / "claims"
    pictures.mkdir(parents=True, exist_ok=True)
    for old in pictures.glob("*.png"):
        old.unlink()
    rows, sections = ["| claim | verdict |", "|---|---|"], []
    wrong = 0
    for result in verify():
        claim, finding = result.claim, result.finding
        wrong += not result.reproduces
        verdict = finding.verdict.replace("|", "\\|")
        rows.append(f"| [{claim.name}](#{claim.name}) | {verdict} |")
        lines = [f"### {claim.name}", "", f"> {claim.text}", "", f"Source: {claim.source}.", ""]
        evidence = finding.evidence[0].upper() + finding.evidence[1:]
        lines += [f"**{finding.verdict[0].upper()}{finding.verdict[1:]}.** {evidence}", ""]
        if finding.figure is not None:
            picture(finding.figure, pictures / f"{claim.name}.png")
            lines += [f"![{claim.name}](claims/{claim.name}.png)", ""]
        sections.append("\n".join(lines))
    papers = [f"- {name}: {title}" for name, title in SOURCES.items()]
    page = [OPENING + "\n".join(rows), "", "Sources cited often:", "", *papers, ""]
    page += ["## The claims", "", *sections, ADDING]
    (ROOT / "docs" / "claims.md").write_text("\n".join(page), encoding="utf-8")
    print(f"wrote docs/claims.md with {len(sections)} claims")
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
