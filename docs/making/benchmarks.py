"""Figures and texts of the benchmarks' page, read from ``results`` and ``benchmarks/results`` as they stand."""

import re

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd

#: What the stored outcomes are of, in the order of the page; those not named come last, by their file's name.
TITLES = {
    "results": {
        "defaults": "With nothing set, beside peers",
        "calibration": "Do intervals and probabilities keep their word?",
        "automobiles": "Prices of cars",
        "congress": "Groups in the Congress of Peru",
        "cora": "Topics of papers",
        "movielens": "Ratings of films",
        "zoo": "Maps of the zoo",
        "size-exponent": "The size exponent",
        "laplacians": "Other Laplacians",
        "inducing": "Inducing vertices",
    },
    "benchmarks/results": {
        "check": "The headline ratios",
        "first_fit": "The first fit of a process",
        "planning": "Predicted against measured time",
        "coauthors": "Classes of co-authors, without eigenvectors",
        "convergence": "Whether chains of ratings agree",
        "new_users": "Users who were not there when ratings were learned",
        "against_svd": "The whole job against one dense SVD",
        "growth_of_memory": "Whether memory grows over many fits",
        "reading": "Reading five million memberships",
        "newcomers": "New vertices and updates beside a fit",
        "stream": "Bills as they come, and who is new",
        "report": "The report in a browser",
        "first_steps": "A newcomer's first steps",
        "interrupts": "Ctrl-C at any moment",
        "fuzz": "Damaged and invented files",
        "fuzz-guided": "Damaged files, guided by the code they reach",
        "walk": "How much of the library one call walks through",
    },
}
_WAYS = {"default": ("#d55e00", "o", 60), "peer": ("#6b7280", "|", 90)}


def stored(root, folder):
    """Return the stored texts of a folder, ``(name, title, text, pictures)``, in the order of the page."""
    found = {path.stem: path for path in sorted((root / folder).glob("*.txt"))}
    titles = TITLES[folder]
    taken = set()
    rows = []
    for name in [*(name for name in titles if name in found), *(name for name in found if name not in titles)]:
        pictures = [path for path in sorted((root / folder).glob(f"{name}*.png")) if path not in taken]
        taken.update(pictures)
        rows.append((name, titles.get(name, name.replace("_", " ")), found[name].read_text("utf-8"), pictures))
    return rows


def scores(root):
    """Return mean and standard error of every score, by set and method, of ``results/defaults.csv``."""
    table = pd.read_csv(root / "results" / "defaults.csv")
    table["method"] = table["method"].where(table["method"] == "default", "peer: " + table["method"])
    return table.groupby(["set", "method"])[["accuracy", "ece", "r2", "density", "cover"]].agg(["mean", "sem"])


def draw_densities(table):
    """Draw the log density of the default and of each peer, a row a data set; only sets that have both."""
    density = table["density"]
    studies = ("few memberships", "ingredients")  # not of data sets with nothing set
    sets = [name for name, rows in density.groupby("set") if len(rows) > 1 and not any(s in name for s in studies)]
    figure, ax = plt.subplots(figsize=(7, 0.42 * len(sets) + 1.3), layout="constrained")
    for row, name in enumerate(sets):
        for method, (mean, error) in density.loc[name].iterrows():
            colour, marker, size = _WAYS["default" if method == "default" else "peer"]
            ax.errorbar(mean, row, xerr=error if method == "default" else None, ecolor=colour, fmt="none", zorder=2)
            ax.scatter(mean, row, color=colour, marker=marker, s=size, zorder=3)
    for way, (colour, marker, size) in _WAYS.items():
        label = {"default": "nothing set, ± a standard error", "peer": "peers, settings cross-validated"}[way]
        ax.scatter([], [], color=colour, marker=marker, s=size, label=label)
    ax.set_yticks(range(len(sets)), sets)
    ax.invert_yaxis()
    ax.set_xlim(left=max(ax.get_xlim()[0], -1.5))
    ax.set_xlabel("mean log density of what was held out: to the right is better")
    figure.legend(loc="outside upper right", ncols=2, frameon=False)
    return figure


def draw_few(table):
    """Draw what is left of R2 and of the intervals' coverage when cars keep k of their memberships."""
    rows = {name: int(name.rsplit(":", 1)[1]) for name in table.index.unique("set") if "few memberships" in name}
    order = sorted(rows, key=rows.get)
    figure, axes = plt.subplots(1, 2, figsize=(9, 3.4), layout="constrained")
    for ax, score, label in zip(axes, ("r2", "cover"), ("R2", "share that 90% intervals hold"), strict=True):
        for method in table.loc[order[0]].index:
            values = [table.loc[(name, method), (score, "mean")] for name in order]
            colour, style, width = ("#d55e00", "-", 2.5) if method == "default" else ("#6b7280", "--", 1)
            ax.plot([rows[name] for name in order], values, color=colour, ls=style, lw=width)
        ax.set(xlabel="memberships that are known of a car", ylabel=label)
    axes[1].axhline(0.9, color="#0072b2", lw=1)
    axes[0].set_ylim(bottom=max(axes[0].get_ylim()[0], -1.0))
    axes[0].plot([], [], color="#d55e00", lw=2.5, label="nothing set")
    axes[0].plot([], [], color="#6b7280", ls="--", lw=1, label="peers")
    axes[0].legend(frameon=False)
    return figure


def ratios(text):
    """Return ``{job: (measured, at most)}`` of the table that `benchmarks.check` writes."""
    found = re.findall(r"│\s*(.+?)\s*│\s*([\d.]+)\s*│[^│]*│\s*at most ([\d.]+): (?:met|MISSED)\s*│", text)
    return {job: (float(now), float(target)) for job, now, target in found}


def draw_ratios(rows):
    """Draw each measured ratio as a share of its target: left of the line is met."""
    share = np.array([now / target for now, target in rows.values()])
    figure, ax = plt.subplots(figsize=(7, 0.4 * len(rows) + 1.1), layout="constrained")
    ax.barh(range(len(rows)), share, color=np.where(share <= 1, "#009e73", "#d55e00"), height=0.6)
    for row, (now, target) in enumerate(rows.values()):  # right of the bar and of the line
        ax.text(max(share[row], 1) + 0.02, row, f"{now:g} of {target:g}", va="center", fontsize="small")
    ax.axvline(1, color="0.2", lw=1)
    ax.set_yticks(range(len(rows)), rows)
    ax.set(xlabel="measured, as a share of its target: left of the line is met", xlim=(0, max(1.3, share.max() * 1.25)))
    ax.invert_yaxis()
    return figure


def write(folder, root):
    """Write the figures, and ``benchmarks-….md`` with every stored text."""
    table = scores(root)
    figures = {"densities": draw_densities(table), "few": draw_few(table)}
    check = root / "benchmarks" / "results" / "check.txt"
    figures["ratios"] = draw_ratios(ratios(check.read_text(encoding="utf-8")))
    for name, figure in figures.items():
        figure.savefig(folder / f"benchmarks-{name}.png", dpi=130)
        plt.close(figure)
    for where, name in (("results", "studies"), ("benchmarks/results", "speed")):
        lines = []
        for stem, title, text, pictures in stored(root, where):
            lines += [f"### {title}", "", f"`{where}/{stem}.txt`", ""]
            lines += [f"![{title}, {path.stem}](../{path.relative_to(root)})\n" for path in pictures]
            lines += ["<details><summary>The stored outcome</summary>", "", "```text", text.rstrip(), "```", ""]
            lines += ["</details>", ""]
        (folder / f"benchmarks-{name}.md").write_text("\n".join(lines), encoding="utf-8")
