#!/usr/bin/env python3
"""Checks the virtual GPUs with kernels that Triton compiles: each case of `cases/` is compiled for each target (no GPU is needed for
that), run by `vgpu run` in strict mode with the sanitizer, and compared with numpy.

    check.py --vgpu PATH [--targets sm_90,gfx942] [--only REGEX] [--quick] [--work FOLDER]

Exit status 0: all results right, nothing found. What Triton itself refuses to compile for a target is counted and told.
"""

import argparse
import re
import sys
import time
from collections import Counter
from pathlib import Path

from cases import CASES, Definition
from launch import TARGETS, Outcome, Target, Verdict, run_case


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description="Runs Triton's kernels on the virtual GPUs.")
    parser.add_argument("--vgpu", type=Path, required=True, help="the tool `vgpu`")
    parser.add_argument("--targets", default=",".join(TARGETS), help="targets, with commas between them")
    parser.add_argument("--only", default="", help="a pattern that `TARGET CASE` must match")
    parser.add_argument("--quick", action="store_true", help="one size of each case only")
    parser.add_argument("--work", type=Path, default=Path("triton-check"), help="where launches are written")
    parser.add_argument("--timeout", type=float, default=300, help="seconds that a run may take")
    parser.add_argument("--list", action="store_true", help="print the names of the cases")
    return parser.parse_args()


def run_size(definition: Definition, target: Target, size: int, options: argparse.Namespace) -> Outcome:
    """Runs a case at one of its sizes."""
    path = (options.work / target.name / f"{definition.name}-{size}").resolve()
    case = definition.build(target, definition.sizes[size])
    return run_case(case, target, path, options.vgpu.resolve(), options.timeout)


def run_definition(definition: Definition, target: Target, options: argparse.Namespace) -> list[Outcome]:
    """Runs a case at its sizes, and prints a line for each."""
    outcomes = []
    for size in range(1 if options.quick else len(definition.sizes)):
        start = time.monotonic()
        outcome = run_size(definition, target, size, options)
        outcomes.append(outcome)
        where = f"{target.name:8} {definition.name:28} {definition.sizes[size]!s:24}"
        print(f"{where} {outcome.verdict.value:20} {time.monotonic() - start:5.1f} s", flush=True)
        if outcome.verdict not in (Verdict.RIGHT, Verdict.REFUSED):
            print("    " + outcome.detail.replace("\n", "\n    "), flush=True)
        if outcome.verdict is Verdict.NOT_COMPILED:
            break
    return outcomes


def table(counts: dict[str, Counter[Verdict]]) -> str:
    """Runs by target and verdict."""
    verdicts = [verdict for verdict in Verdict if any(count[verdict] for count in counts.values())]
    lines = ["".join([f"{'target':10}", *(f"{verdict.value:>22}" for verdict in verdicts)])]
    for target, count in counts.items():
        lines.append("".join([f"{target:10}", *(f"{count[verdict]:>22}" for verdict in verdicts)]))
    return "\n".join(lines)


def main() -> int:
    options = arguments()
    if options.list:
        print("\n".join(definition.name for definition in CASES))
        return 0
    only = re.compile(options.only)
    counts: dict[str, Counter[Verdict]] = {}
    for name in options.targets.split(","):
        target = TARGETS[name]
        count = counts.setdefault(name, Counter())
        for definition in CASES:
            if only.search(f"{name} {definition.name}") and definition.applies(target):
                count.update(outcome.verdict for outcome in run_definition(definition, target, options))
    print("\n" + table(counts))
    return int(any(verdict.is_failure and number for count in counts.values() for verdict, number in count.items()))


if __name__ == "__main__":
    sys.exit(main())
