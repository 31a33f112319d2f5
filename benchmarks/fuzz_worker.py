"""One reader under atheris, in a process of its own: ``benchmarks.fuzz_worker READER INPUTS CORPUS OUTCOME``."""

from __future__ import annotations

import json
import sys
import warnings
from pathlib import Path

import atheris
import numpy as np

with atheris.instrument_imports(include=["hypergauss"]):
    from benchmarks.fuzz_readers import PATIENCE, READERS, Trial, changed


def main() -> None:
    name, inputs, corpus, outcome = sys.argv[1:]
    warnings.simplefilter("ignore")
    seeds = len(list(Path(corpus).iterdir()))
    trial = Trial(READERS[name]).__enter__()  # the process ends inside of atheris

    def one(data: bytes) -> None:
        trial.feed(data)
        if trial.outcomes.total() == int(inputs):
            found = {"kept": max(0, len(list(Path(corpus).iterdir())) - seeds)}
            Path(outcome).write_text(json.dumps(dict(trial.outcomes) | found))

    def mutate(data: bytes, most: int, seed: int) -> bytes:
        # Half of the changes know what means something to the format.
        rng = np.random.default_rng(seed)
        if rng.random() < 0.5:
            return changed(data, READERS[name].pieces, rng)[:most]
        return atheris.Mutate(data, most)

    longest = max(8192, 2 * (Path(corpus) / "good").stat().st_size)
    options = [f"-runs={inputs}", f"-timeout={PATIENCE}", "-seed=1", f"-max_len={longest}", "-rss_limit_mb=8192"]
    atheris.Setup([sys.argv[0], *options, f"-artifact_prefix={corpus}/../", corpus], one, custom_mutator=mutate)
    atheris.Fuzz()


if __name__ == "__main__":
    main()
