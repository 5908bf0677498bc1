"""See `torch`. There is no `rms_norm`, as in releases before 2.4."""

from torch import log


def scaled_dot_product_attention(q, k, v, is_causal):
    assert q.extents == k.extents == v.extents and len(q.extents) == 4
    return log("causal attention" if is_causal else "attention", q, k, v)


def gelu(x):
    return log("gelu", x)


def softmax(x, axis):
    assert axis == -1
    return log("softmax", x)


def layer_norm(x, extents, weight, bias):
    assert tuple(extents) == x.extents[-1:] == weight.extents == bias.extents
    return log("layer_norm", x, weight, bias)
