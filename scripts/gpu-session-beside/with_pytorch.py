"""The workloads in PyTorch, whose products are those of cuBLAS or hipBLAS."""

import torch
import torch.nn.functional as F

from measure import tensor


def name():
    return f"PyTorch {torch.__version__} ({'cuBLAS' if torch.version.cuda else 'hipBLAS'})"


def launcher(workload):
    """What launches a workload, and what makes a set of tensors for it; `None` for one that is not known here."""
    sizes = workload["sizes"]
    match workload["kernel"]:
        case "matmul":
            m, n, k = sizes
            return lambda a, b, c: torch.mm(a, b, out=c), lambda: (tensor(m, k), tensor(k, n), tensor(m, n))
        case "attention":
            causal = workload["causal"]
            attention = lambda q, k, v: F.scaled_dot_product_attention(q, k, v, is_causal=causal)
            return attention, lambda: tuple(tensor(*sizes) for _ in range(3))
        case "add":
            return lambda x, y, out: torch.add(x, y, out=out), lambda: tuple(tensor(*sizes) for _ in range(3))
        case "gelu":
            return F.gelu, lambda: (tensor(*sizes),)
        case "softmax":
            return lambda x: F.softmax(x, -1), lambda: (tensor(*sizes),)
        case "layernorm":
            weight, bias = tensor(sizes[-1]), tensor(sizes[-1])
            return lambda x: F.layer_norm(x, sizes[-1:], weight, bias), lambda: (tensor(*sizes),)
        case "rmsnorm":
            weight = tensor(sizes[-1])
            return lambda x: F.rms_norm(x, sizes[-1:], weight), lambda: (tensor(*sizes),)
    return None
