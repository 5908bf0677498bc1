#!/usr/bin/env python3
"""Times what `tegula session` times in another system: PyTorch or Triton.

python3 gpu-session-beside PyTorch|Triton PLAN FILE

PLAN is what `tegula session --list` prints; FILE is for `tegula session --beside`. Where the system is not there, says so
in a line, and exits with 1. A workload that fails costs only itself.
"""

import importlib
import json
import sys

SYSTEMS = {"PyTorch": "with_pytorch", "Triton": "with_triton"}


def main():
    if len(sys.argv) != 4 or sys.argv[1] not in SYSTEMS:
        sys.exit(f"usage: gpu-session-beside {'|'.join(SYSTEMS)} PLAN FILE")
    name, plan_file, result_file = sys.argv[1:]
    with open(plan_file) as file:
        plan = json.load(file)
    try:
        import torch

        system = importlib.import_module(SYSTEMS[name])
        from measure import measure
    except ImportError as error:
        sys.exit(str(error))
    if not torch.cuda.is_available():
        sys.exit(f"PyTorch {torch.__version__} finds no GPU")

    times, problems = {}, {}
    for workload in plan["workloads"]:
        try:
            # A function of the tensors of a set, and what makes a set.
            made = system.launcher(workload)
            if made is None:
                continue
            launch, make = made
            sets = [make() for _ in range(workload["sets"])]
            seconds = measure(launch, sets, plan["samples"], plan["sample_seconds"])
            times[workload["name"]] = seconds * 1e6
        except Exception as error:
            problems[workload["name"]] = f"{type(error).__name__}: {error}".splitlines()[0]
        launch = sets = None
        torch.cuda.empty_cache()
    with open(result_file, "w") as file:
        json.dump({"system": system.name(), "times": times, "problems": problems}, file, indent=2)


main()
