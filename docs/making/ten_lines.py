"""The README's ten lines and what they print, so that the front page cannot say something else."""

import re


def write(folder, root):
    """Write ``ten-lines.py`` and ``ten-lines.txt``."""
    readme = (root / "README.md").read_text(encoding="utf-8")
    code, output = re.search(r"```python\n(.*?)```\n```\n(.*?)```", readme, re.DOTALL).groups()
    (folder / "ten-lines.py").write_text(code, encoding="utf-8")
    (folder / "ten-lines.txt").write_text(output, encoding="utf-8")
