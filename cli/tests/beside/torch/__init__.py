"""As much of PyTorch as `scripts/gpu-session-beside` uses. Nothing is computed: each operation appends its name and the number
of its first tensor to the file that FAKE_TORCH_LOG names, and takes a millisecond, as the events say."""

import os
from types import SimpleNamespace

__version__ = "2.99"
float16, float32 = 2, 4
version = SimpleNamespace(cuda="13.0")
operations = 0


class Tensor:
    made = 0

    def __init__(self, extents, dtype):
        Tensor.made += 1
        self.number, self.extents, self.dtype = Tensor.made, tuple(extents), dtype

    def __sub__(self, _):
        return self


def log(operation, x, *written):
    global operations
    assert all(isinstance(t, Tensor) for t in (x, *written)), f"{operation} of what is no tensor"
    operations += 1
    with open(os.environ["FAKE_TORCH_LOG"], "a") as file:
        file.write(f"{operation} {x.number}\n")
    return Tensor(x.extents, x.dtype)


class Event:
    def __init__(self, enable_timing):
        assert enable_timing

    def record(self):
        self.at = operations

    def synchronize(self):
        pass

    def elapsed_time(self, end):
        return float(end.at - self.at)


def rand(extents, device, dtype):
    assert device == "cuda"
    return Tensor(extents, dtype)


empty = rand


def mm(a, b, out):
    (m, k), (k2, n) = a.extents, b.extents
    assert k == k2 and out.extents == (m, n), f"{a.extents} times {b.extents} into {out.extents}"
    return log("mm", a, b, out)


def add(x, y, out):
    assert x.extents == y.extents == out.extents
    return log("add", x, y, out)


cuda = SimpleNamespace(Event=Event, is_available=lambda: "FAKE_TORCH_NO_GPU" not in os.environ, empty_cache=lambda: None)
