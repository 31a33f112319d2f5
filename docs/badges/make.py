"""Draw the README's badges from what the package says of itself; run it when that changes."""

import re
import tomllib
from pathlib import Path

HERE = Path(__file__).parent
ROOT = HERE.parents[1]


def facts():
    """Return what each badge says."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    version = re.search(r'__version__ = "(.*)"', (ROOT / "src/hypergauss/_version.py").read_text())[1]
    return {
        "version": version,
        "python": project["requires-python"].removeprefix(">=") + " or newer",
        "licence": project["license"],
        "core": "NumPy and SciPy, nothing compiled",
    }


def badge(name, value):
    """Return a badge as SVG."""
    left, right = 7 * len(name) + 14, 6.4 * len(value) + 14
    label = value.replace("&", "&amp;")
    return f"""<svg xmlns="http://www.w3.org/2000/svg" width="{left + right:.0f}" height="20" role="img">
<title>{name}: {label}</title>
<rect width="{left}" height="20" fill="#444"/><rect x="{left}" width="{right:.0f}" height="20" fill="#0072B2"/>
<g fill="#fff" font-family="Verdana,DejaVu Sans,sans-serif" font-size="11" text-anchor="middle">
<text x="{left / 2:.0f}" y="14">{name}</text>
<text x="{left + right / 2:.0f}" y="14" textLength="{right - 14:.0f}">{label}</text>
</g></svg>
"""


if __name__ == "__main__":
    for name, value in facts().items():
        (HERE / f"{name}.svg").write_text(badge(name, value))
