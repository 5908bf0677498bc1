"""Timing on the GPU, as `tegula session` does it: by the device's events, sets of tensors in turn so that caches do not
help, the median of several samples."""

import torch


def tensor(*extents):
    return torch.rand(extents, device="cuda", dtype=torch.float16) - 0.5


def measure(launch, sets, samples, sample_seconds):
    """The median of the seconds that `launch(*tensors)` takes."""
    # What a launch returns is kept until the turn of its set comes again: results take turns in memory as well.
    results = [None] * len(sets)
    number = 0

    def run(launches):
        nonlocal number
        start, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
        start.record()
        for _ in range(launches):
            turn = number % len(sets)
            results[turn] = launch(*sets[turn])
            number += 1
        end.record()
        end.synchronize()
        return start.elapsed_time(end) / 1e3 / launches

    # The first launches compile, and wake the device up.
    run(3)
    launches = int(min(1000, max(1, -(-sample_seconds // max(run(3), 1e-7)))))
    return sorted(run(launches) for _ in range(samples))[samples // 2]
