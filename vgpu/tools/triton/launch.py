"""One kernel from Triton's compiler to `vgpu run` and back: a case is compiled, written as a launch file, run, and compared."""

import json
import re
import subprocess
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import Enum
from pathlib import Path
from typing import Any

import numpy as np
import triton
from triton.backends.compiler import GPUTarget
from triton.compiler import ASTSource
from triton.runtime.driver import driver

from formats import Array, Format


@dataclass(frozen=True)
class Target:
    """A processor that is compiled for."""

    name: str
    triton: GPUTarget

    @property
    def is_amd(self) -> bool:
        return self.triton.backend == "hip"

    @property
    def is_cdna(self) -> bool:
        return self.triton.warp_size == 64

    @property
    def machine(self) -> str:
        """The target's name in a launch file."""
        return "sm_90a" if self.name == "sm_90" else self.name


TARGETS = {
    name: Target(name, triton_target)
    for name, triton_target in {
        "sm_80": GPUTarget("cuda", 80, 32),
        "sm_90": GPUTarget("cuda", 90, 32),
        "gfx942": GPUTarget("hip", "gfx942", 64),
        "gfx950": GPUTarget("hip", "gfx950", 64),
        "gfx1100": GPUTarget("hip", "gfx1100", 32),
        "gfx1201": GPUTarget("hip", "gfx1201", 32),
    }.items()
}


@dataclass(frozen=True)
class Buffer:
    """A buffer that a kernel gets the address of: with contents, or a shape of memory that nobody has written."""

    format: Format
    contents: Array | None = None
    shape: tuple[int, ...] = ()
    written: bool = False


@dataclass(frozen=True)
class Scalar:
    """A number."""

    format: Format
    value: int | float


@dataclass(frozen=True)
class Descriptor:
    """A tensor descriptor that the host makes: of a whole row-major buffer, read or written in blocks."""

    buffer: Buffer
    shape: tuple[int, ...]
    block: tuple[int, ...]


Argument = Buffer | Scalar | Descriptor


def given(number_format: Format, values: Array, *, written: bool = False) -> Buffer:
    """A buffer with numbers in it; `written` if the kernel changes it."""
    return Buffer(number_format, number_format.encode(values), values.shape, written)


def fresh(number_format: Format, *shape: int) -> Buffer:
    """A buffer for results: to read it before a write is a finding."""
    return Buffer(number_format, None, shape, True)


def zeros(number_format: Format, *shape: int) -> Buffer:
    """A buffer for results that starts with zeroes."""
    return given(number_format, np.zeros(shape), written=True)


@dataclass(frozen=True)
class Expected:
    """What a buffer must hold: within a tolerance relative to the largest magnitude."""

    values: Array
    tolerance: float = 0.0

    def difference(self, held: Array) -> str | None:
        """What is wrong, in a few words."""
        values = self.values.reshape(held.shape)
        if self.tolerance == 0.0:
            wrong = int((values != held).sum())
            return f"{wrong} of {values.size} elements differ" if wrong else None
        scale = max(float(np.abs(values).max(initial=0.0)), 1e-30)
        error = float(np.abs(values.astype(np.float64) - held).max(initial=0.0)) / scale
        return None if error <= self.tolerance else f"relative error {error:.2g}, allowed {self.tolerance:.2g}"


@dataclass(frozen=True)
class Case:
    """A kernel with arguments, and what must come out."""

    kernel: Any
    arguments: Mapping[str, Argument]
    constants: Mapping[str, Any]
    grid: Sequence[int]
    expected: Mapping[str, Expected | Callable[[Array], str | None]]
    options: Mapping[str, Any] = field(default_factory=dict)
    # The text that the machine must stop with, where the kernel asks for what the machine refuses by name.
    refusal: str | None = None
    # What the kernel prints contains this.
    prints: str | None = None


class Verdict(Enum):
    """How a case ended."""

    RIGHT = "right"
    REFUSED = "refused as expected"
    NOT_COMPILED = "not compiled"
    WRONG = "WRONG"
    FINDINGS = "FINDINGS"
    UNSUPPORTED = "UNSUPPORTED"
    FAILED = "FAILED"

    @property
    def is_failure(self) -> bool:
        return self.name in ("WRONG", "FINDINGS", "UNSUPPORTED", "FAILED")


@dataclass(frozen=True)
class Outcome:
    """How a case ended, and why."""

    verdict: Verdict
    detail: str = ""


class Driver:
    """Stands for a device that is not there: Triton asks which target is current while it compiles."""

    def __init__(self, target: Target) -> None:
        self.target = target

    def get_current_target(self) -> GPUTarget:
        return self.target.triton

    def get_current_device(self) -> int:
        return 0


def signature_type(argument: Argument) -> str:
    """An argument's type in Triton's signatures."""
    match argument:
        case Buffer(number_format):
            return f"*{number_format.triton}"
        case Scalar(number_format):
            return number_format.triton
        case Descriptor(buffer, _, block):
            return f"tensordesc<{buffer.format.triton}{list(block)}>"


def is_aligned(argument: Argument) -> bool:
    """Whether Triton's own launcher would tell the compiler that this is a multiple of 16."""
    match argument:
        case Buffer():
            return True
        case Scalar(_, value):
            return isinstance(value, int) and value % 16 == 0
        case Descriptor():
            return False


def compile_case(case: Case, target: Target) -> Any:
    """Compiles a case's kernel."""
    driver.set_active(Driver(target))
    names = case.kernel.arg_names
    signature = {n: "constexpr" if n in case.constants else signature_type(case.arguments[n]) for n in names}
    aligned = (i for i, n in enumerate(names) if n in case.arguments and is_aligned(case.arguments[n]))
    attributes = {(index,): [["tt.divisibility", 16]] for index in aligned}
    source = ASTSource(case.kernel, signature, dict(case.constants), attributes)
    return triton.compile(source, target=target.triton, options=dict(case.options))


def scalar(value: int | float, dtype: str) -> dict[str, Any]:
    return {"scalar": value, "dtype": dtype}


class LaunchFolder:
    """The folder of a launch: code, buffers, the launch file, and what comes out."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.apart: list[dict[str, Any]] = []
        path.mkdir(parents=True, exist_ok=True)

    def buffer(self, name: str, buffer: Buffer) -> dict[str, Any]:
        """Describes a buffer, and writes its contents."""
        described: dict[str, Any] = {"buffer": name, "dtype": buffer.format.launch}
        if buffer.contents is None:
            described |= {"shape": list(buffer.shape), "fill": "poison"}
        else:
            np.save(self.path / f"{name}.npy", buffer.contents)
            described["npy"] = f"{name}.npy"
        if buffer.written:
            described["out"] = f"{name}.out.npy"
        return described

    def descriptor(self, name: str, argument: Descriptor, tma: Mapping[str, Any] | None) -> list[dict[str, Any]]:
        """The arguments that a descriptor becomes: a tensor map where the kernel uses one (`tma` says how), else pointer and extents."""
        described = self.buffer(name, argument.buffer)
        shape = argument.shape
        strides = [int(np.prod(shape[axis + 1 :], dtype=np.int64)) for axis in range(len(shape))]
        extents = [scalar(n, "i32") for n in shape] + [scalar(n, "i64") for n in strides]
        if tma is None:
            wide = [scalar(n, "i64") for n in (*shape, *strides)]
            neither_nan_nor_rounded = [scalar(0, "u8"), scalar(0, "u8")]
            return [described, *wide, *neither_nan_nor_rounded, *extents]
        self.apart.append(described)
        tensor_map = {
            "tensormap": name,
            "dtype": argument.buffer.format.launch,
            "shape": list(reversed(shape)),
            "strides": [n * tma["elem_size"] for n in reversed(strides[:-1])],
            "box": list(reversed(tma["block_size"])),
            "swizzle": ["none", "32", "64", "128"][tma["swizzle"]],
            "oob_fill": "zero",
        }
        return [tensor_map, *extents]

    def arguments(self, case: Case, maps: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
        """All arguments of a case, in order; `maps` is what the compiler says of each descriptor, if it uses tensor maps."""
        described: list[dict[str, Any]] = []
        remaining = list(maps)
        for name in case.kernel.arg_names:
            match case.arguments.get(name):
                case None:
                    pass
                case Buffer() as buffer:
                    described.append(self.buffer(name, buffer))
                case Scalar(number_format, value):
                    described.append(scalar(value, number_format.launch))
                case Descriptor() as descriptor:
                    described += self.descriptor(name, descriptor, remaining.pop(0) if remaining else None)
        return described

    def write(self, case: Case, target: Target, compiled: Any) -> None:
        """Writes the code and the launch file."""
        metadata = compiled.metadata
        code = self.path / ("kernel.hsaco" if target.is_amd else "kernel.ptx")
        binary = compiled.asm[code.suffix[1:]]
        code.write_bytes(binary if isinstance(binary, bytes) else binary.encode())
        clusters = [getattr(metadata, "num_ctas", 1), 1, 1]
        grid = [g * c for g, c in zip([*case.grid, 1, 1][:3], clusters)]
        arguments = self.arguments(case, getattr(metadata, "tensordesc_meta", None) or [])
        scratch = (getattr(metadata, "global_scratch_size", 0) or 0) * int(np.prod(grid))
        arguments.append(
            {"buffer": "global scratch", "shape": [scratch], "dtype": "u8", "fill": "poison"} if scratch else {"null": 8}
        )
        arguments.append({"null": 8})
        launch = {
            "file": code.name,
            "target": target.machine,
            "entry": metadata.name,
            "grid": grid,
            "block": [threads(target, compiled), 1, 1],
            "cluster": clusters,
            "dynamic_shared": metadata.shared,
            "args": arguments,
            "buffers": self.apart,
            "strict": True,
            "seed": 1,
            "report": "report.json",
        }
        (self.path / "launch.json").write_text(json.dumps(launch, indent=1))

    def held(self, name: str, buffer: Buffer) -> Array:
        """What a buffer held after the run."""
        return buffer.format.decode(np.load(self.path / f"{name}.out.npy"))


def threads(target: Target, compiled: Any) -> int:
    """Threads of a program. Warp specialisation adds some to those asked for, and PTX says how many there are."""
    if target.is_amd:
        return compiled.metadata.num_warps * target.triton.warp_size
    required = re.search(r"\.reqntid (\d+)", compiled.asm["ptx"])
    return int(required[1]) if required else compiled.metadata.num_warps * 32


def judge(case: Case, folder: LaunchFolder, process: subprocess.CompletedProcess[str]) -> Outcome:
    """Says how a run ended."""
    said = (process.stderr + process.stdout).strip()
    if case.refusal is not None:
        refused = process.returncode != 0 and case.refusal in said
        return Outcome(Verdict.REFUSED if refused else Verdict.FAILED, said[:400])
    match process.returncode:
        case 0:
            pass
        case 3:
            return Outcome(Verdict.FINDINGS, said[:1200])
        case 4:
            return Outcome(Verdict.UNSUPPORTED, said[:400])
        case _:
            return Outcome(Verdict.FAILED, said[:400])
    if case.prints is not None and case.prints not in process.stdout:
        return Outcome(Verdict.WRONG, f"`{case.prints}` was not printed")
    for name, expected in case.expected.items():
        argument = case.arguments[name]
        buffer = argument.buffer if isinstance(argument, Descriptor) else argument
        assert isinstance(buffer, Buffer)
        held = folder.held(name, buffer)
        difference = expected.difference(held) if isinstance(expected, Expected) else expected(held)
        if difference is not None:
            return Outcome(Verdict.WRONG, f"{name}: {difference}")
    return Outcome(Verdict.RIGHT)


def run_case(case: Case, target: Target, path: Path, vgpu: Path, timeout: float) -> Outcome:
    """Compiles, runs and judges a case."""
    try:
        compiled = compile_case(case, target)
    except Exception as error:  # Triton raises errors of many kinds for what a target lacks.
        return Outcome(Verdict.NOT_COMPILED, " ".join(f"{type(error).__name__}: {error}".split())[-300:])
    folder = LaunchFolder(path)
    folder.write(case, target, compiled)
    try:
        command = [str(vgpu), "run", "launch.json"]
        process = subprocess.run(command, cwd=path, capture_output=True, text=True, timeout=timeout, errors="replace")
    except subprocess.TimeoutExpired:
        return Outcome(Verdict.FAILED, f"not finished after {timeout:g} s")
    return judge(case, folder, process)
