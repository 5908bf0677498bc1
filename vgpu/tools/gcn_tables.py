#!/usr/bin/env python3
"""Makes the instruction tables of the AMD machine from what LLVM's disassembler says of every opcode of every encoding.

For each opcode, words with plausible operand fields are tried, those with more fields set first: fields that an instruction has no use
for must be zero. A table has a line for each opcode: encoding, opcode, mnemonic, and the shape of each operand (v2: two vector registers,
s1: a scalar one, h1: half a vector register, c: vcc, x: exec, k: an immediate or a literal).

    vgpu/tools/gcn_tables.py gfx942 gfx950 gfx1100 gfx1201
"""

import os
import re
import subprocess
import sys
from itertools import product

BIN = os.environ.get("LLVM_BIN", "/usr/lib/llvm-22/bin")
TABLES = os.path.join(os.path.dirname(__file__), "..", "src", "gcn", "decode", "tables")
# Source operands: v8, v16, v32.
V0, V1, V2 = 256 + 8, 256 + 16, 256 + 32


def common(rdna):
    """Encodings that lie alike in all generations."""
    for op in range(62):
        yield "VOP2", op, [op << 25 | 4 << 17 | 16 << 9 | V0, 0x40000000, 0]
    for op in range(256):
        for dst, src in ((4, V0), (4, 0), (0, 0)):
            yield "VOP1", op, [0x7E000000 | dst << 17 | op << 9 | src]
        yield "VOPC", op, [0x7C000000 | op << 17 | 16 << 9 | V0]
    for op in range(96):
        yield "SOP2", op, [0x80000000 | op << 23 | 8 << 16 | 16 << 8 | 24, 0, 0]
    for op in range(29):
        for dst in (8, 0):
            yield "SOPK", op, [0xB0000000 | op << 23 | dst << 16 | 5, 7]
    for op in range(256):
        for dst, src in product((8, 0), (16, 0)):
            yield "SOP1", op, [0xBE800000 | dst << 16 | op << 8 | src]
    for op in range(128):
        yield "SOPC", op, [0xBF000000 | op << 16 | 16 << 8 | 24]
        for imm in (1, 0):
            yield "SOPP", op, [0xBF800000 | op << 16 | imm]
    shift = 18 if rdna else 17
    for op in range(256):
        for dst, data1, data0, addr, offset in product((4, 0), (16, 0), (8, 0), (2, 0), (2, 0)):
            yield "DS", op, [0xD8000000 | op << shift | offset, dst << 24 | data1 << 16 | data0 << 8 | addr]


def vop3(base, ops):
    for op in range(ops):
        yield "VOP3", op, [base | op << 16 | 4, V0 | V1 << 9 | V2 << 18]
        yield "VOP3", op, [base | op << 16 | 4 | 10 << 8, V0 | V1 << 9 | V2 << 18]
        yield "VOP3", op, [base | op << 16 | 4, V0 | V1 << 9]
        yield "VOP3", op, [base | op << 16 | 4, V0]
        yield "VOP3", op, [base | op << 16, 0]


def gfx9():
    yield from common(False)
    yield from vop3(0xD0000000, 0x380)
    for op in range(128):
        yield "VOP3P", op, [0xD3800000 | op << 16 | 4 | 1 << 14, V0 | V1 << 9 | V2 << 18 | 3 << 27]
        yield "VOP3P", op, [0xD3800000 | op << 16 | 4, V0 | V1 << 9 | V2 << 18]
    for op in range(256):
        for data in (16, 0):
            yield "SMEM", op, [0xC0000000 | op << 18 | 1 << 17 | data << 6 | 8 >> 1, 8]
        for data in (0, 16):
            yield "SMEM", op, [0xC0000000 | op << 18 | data << 6, 0]
    for segment, name in enumerate(("FLAT", "SCRATCH", "GLOBAL")):
        for op, dst, saddr, data, glc in product(range(128), (4, 0), (0x7F, 0), (8, 0), (0, 1)):
            word = 0xDC000000 | op << 18 | segment << 14 | glc << 16
            yield name, op, [word, dst << 24 | saddr << 16 | data << 8 | 2]
    for op in range(128):
        for glc in (0, 1):
            yield "MUBUF", op, [0xE0000000 | op << 18 | 1 << 12 | glc << 14, 128 << 24 | 2 << 16 | 4 << 8 | 2]
        yield "MUBUF", op, [0xE0000000 | op << 18, 0]
    for op in range(16):
        yield "MTBUF", op, [0xE8000000 | op << 15 | 4 << 19 | 1 << 12, 128 << 24 | 2 << 16 | 4 << 8 | 2]


def rdna(gfx12):
    yield from common(True)
    yield from vop3(0xD4000000, 1024)
    for op in range(128):
        yield "VOP3P", op, [0xCC000000 | op << 16 | 4 | 1 << 14, V0 | V1 << 9 | V2 << 18 | 3 << 27]
    for op in range(64 if gfx12 else 256):
        shift = 13 if gfx12 else 18
        for data in (16, 0):
            yield "SMEM", op, [0xF4000000 | op << shift | data << 6 | 8 >> 1, 8 | 0x7C << 25]
        yield "SMEM", op, [0xF4000000 | op << shift, 0]
    for segment, name in enumerate(("FLAT", "SCRATCH", "GLOBAL")):
        scratch = segment == 1
        if gfx12:
            for op, dst, data, addr, th in product(range(256), (4, 0), (8, 0), (2, 0), (0, 1)):
                word = 0xEC000000 | segment << 24 | op << 14 | 0x7C
                yield name, op, [word, dst | th << 20 | data << 23 | scratch << 17, addr]
        else:
            for op, dst, data, addr, glc in product(range(128), (4, 0), (8, 0), (2, 0), (0, 1)):
                word = 0xDC000000 | op << 18 | segment << 16 | glc << 14
                yield name, op, [word, dst << 24 | 0x7C << 16 | data << 8 | addr | scratch << 23]
    for op in range(16):
        if gfx12:
            yield "MTBUF", op, [0xC4000000 | 0x80 + op << 14 | 0x7C, 4 | 8 << 9 | 22 << 23 | 1 << 30, 2]
        else:
            yield "MTBUF", op, [0xE8000000 | op << 15 | 22 << 19, 0x7C << 24 | 1 << 22 | 2 << 16 | 4 << 8 | 2]
    for op in range(128 if gfx12 else 256):
        if gfx12:
            for th in (0, 1):
                yield "MUBUF", op, [0xC4000000 | op << 14 | 0x7C, 4 | 8 << 9 | th << 20 | 1 << 30, 2]
        else:
            for glc in (0, 1):
                yield "MUBUF", op, [0xE0000000 | op << 18 | glc << 14, 0x7C << 24 | 1 << 22 | 2 << 16 | 4 << 8 | 2]
            yield "MUBUF", op, [0xE0000000 | op << 18, 0]


# The halves of dual-issue instructions, whose fields constrain each other too much to be tried one by one.
DUAL = [
    "v_fmac_f32 v1 v1 v1", "v_fmaak_f32 v1 v1 v1 k", "v_fmamk_f32 v1 v1 k v1", "v_mul_f32 v1 v1 v1", "v_add_f32 v1 v1 v1",
    "v_sub_f32 v1 v1 v1", "v_subrev_f32 v1 v1 v1", "v_mul_dx9_zero_f32 v1 v1 v1", "v_mov_b32 v1 v1", "v_cndmask_b32 v1 v1 v1 c",
    "v_max_f32 v1 v1 v1", "v_min_f32 v1 v1 v1", "v_dot2acc_f32_f16 v1 v1 v1", "v_dot2acc_f32_bf16 v1 v1 v1",
]
DUAL_Y = {16: "v_add_nc_u32 v1 v1 v1", 17: "v_lshlrev_b32 v1 v1 v1", 18: "v_and_b32 v1 v1 v1"}


def block(words):
    return "[" + ",".join("0x%02x" % byte for word in words for byte in word.to_bytes(4, "little")) + "]"


def disassemble(cpu, encodings):
    """Yields encoding, opcode, mnemonic and operands of what decodes, once for each opcode."""
    encodings = list(encodings)
    # A sentinel before each block (s_nop with its number) keeps the correspondence when a block does not decode.
    text = "\n".join(block([0xBF800000 | n & 0xFFFF]) + "\n" + block(w) for n, (_, _, w) in enumerate(encodings))
    command = [f"{BIN}/llvm-mc", "-triple=amdgcn", "-mcpu=" + cpu, "-disassemble"]
    if cpu.startswith("gfx1"):
        command.append("-mattr=+wavefrontsize32,+real-true16")
    output = subprocess.run(command, input=text + "\n", capture_output=True, text=True).stdout
    seen, current, fresh = set(), None, False
    for line in output.splitlines():
        line = line.split("//")[0].strip()
        if not line or line.startswith("."):
            continue
        match = re.match(r"s_nop (\S+)$", line)
        own = current is not None and encodings[current][:2] == ("SOPP", 0)
        if match and not (own and fresh):
            current, fresh = int(match.group(1), 0), True
            continue
        if current is None or not fresh:
            continue
        fresh = False
        encoding, opcode, _ = encodings[current]
        if (encoding, opcode) not in seen:
            seen.add((encoding, opcode))
            mnemonic, _, operands = line.partition(" ")
            yield encoding, opcode, mnemonic, operands.strip()


def shape(operand):
    operand = operand.strip().strip("|-")
    match = re.match(r"^([vsa])\[(\d+):(\d+)\]$", operand)
    if match:
        return match.group(1).replace("a", "v") + str(int(match.group(3)) - int(match.group(2)) + 1)
    if re.match(r"^v\d+\.[lh]$", operand):
        return "h1"
    if re.match(r"^[va]\d+$", operand):
        return "v1"
    if re.match(r"^s\d+$", operand):
        return "s1"
    return {"vcc": "c", "vcc_lo": "c", "exec": "x", "exec_lo": "x"}.get(operand, "k")


def table(cpu):
    for encoding, opcode, mnemonic, operands in disassemble(cpu, gfx9() if cpu.startswith("gfx9") else rdna("gfx12" in cpu)):
        if mnemonic == "s_code_end":
            continue
        shapes = []
        if encoding[:3] in ("SOP", "VOP") and encoding != "SOPP":
            plain = re.sub(r"\s+(op_sel|abid|cbsz|blgp|clamp|neg_|mul:|div:|byte_sel)\S*", "", operands)
            shapes = [shape(operand) for operand in plain.split(",") if operand.strip()]
        if encoding.startswith("VOP"):
            mnemonic = re.sub("_e(32|64)$", "", mnemonic)
        yield " ".join([encoding, str(opcode), mnemonic, *shapes])
    if cpu.startswith("gfx1"):
        for opcode, row in enumerate(DUAL):
            yield f"VOPDX {opcode} {row}"
        for opcode, row in [*enumerate(DUAL), *DUAL_Y.items()]:
            yield f"VOPDY {opcode} {row}"


for name in sys.argv[1:]:
    with open(os.path.join(TABLES, name + ".txt"), "w") as file:
        file.writelines(row + "\n" for row in table(name))
