"""The list of cases: a function that builds one, with the targets and sizes it is for."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from launch import Case, Target

Builder = Callable[[Target, Any], Case]

CASES: list["Definition"] = []


@dataclass(frozen=True)
class Definition:
    """A case, its sizes, and the targets that it makes sense for."""

    name: str
    build: Builder
    sizes: Sequence[Any]
    applies: Callable[[Target], bool]


def everywhere(_: Target) -> bool:
    return True


def nvidia(target: Target) -> bool:
    return not target.is_amd


def hopper(target: Target) -> bool:
    return target.name == "sm_90"


def case(*sizes: Any, name: str = "", on: Callable[[Target], bool] = everywhere) -> Callable[[Builder], Builder]:
    """Registers a function that builds a case from a target and one of the sizes."""

    def register(build: Builder) -> Builder:
        CASES.append(Definition(name or build.__name__, build, sizes, on))
        return build

    return register


def random(*seed: int) -> np.random.Generator:
    """Numbers that are the same in every run."""
    return np.random.default_rng([2026, *seed])


def blocks(extent: int, block: int) -> int:
    """Blocks that cover an extent."""
    return -(-extent // block)
