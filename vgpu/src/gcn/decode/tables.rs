//! The instruction tables of each architecture: encoding, opcode, mnemonic, and the registers of each operand.
//!
//! The tables are data, made by `tools/gcn_tables.py` from what LLVM's disassembler says of every opcode of every encoding.

use crate::gcn::arch::Arch;
use std::collections::HashMap;
use std::sync::OnceLock;

/// How an instruction is laid out in its words.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Encoding {
    Sop1,
    Sop2,
    Sopk,
    Sopc,
    Sopp,
    Smem,
    Vop1,
    Vop2,
    Vopc,
    Vop3,
    Vop3p,
    VopdX,
    VopdY,
    Ds,
    Flat,
    Global,
    Scratch,
    Mubuf,
    Mtbuf,
}

impl Encoding {
    const ALL: [Self; 19] = [
        Self::Sop1,
        Self::Sop2,
        Self::Sopk,
        Self::Sopc,
        Self::Sopp,
        Self::Smem,
        Self::Vop1,
        Self::Vop2,
        Self::Vopc,
        Self::Vop3,
        Self::Vop3p,
        Self::VopdX,
        Self::VopdY,
        Self::Ds,
        Self::Flat,
        Self::Global,
        Self::Scratch,
        Self::Mubuf,
        Self::Mtbuf,
    ];

    fn parse(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|encoding| encoding.name() == name)
    }

    /// Its name.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Sop1 => "SOP1",
            Self::Sop2 => "SOP2",
            Self::Sopk => "SOPK",
            Self::Sopc => "SOPC",
            Self::Sopp => "SOPP",
            Self::Smem => "SMEM",
            Self::Vop1 => "VOP1",
            Self::Vop2 => "VOP2",
            Self::Vopc => "VOPC",
            Self::Vop3 => "VOP3",
            Self::Vop3p => "VOP3P",
            Self::VopdX => "VOPDX",
            Self::VopdY => "VOPDY",
            Self::Ds => "DS",
            Self::Flat => "FLAT",
            Self::Global => "GLOBAL",
            Self::Scratch => "SCRATCH",
            Self::Mubuf => "MUBUF",
            Self::Mtbuf => "MTBUF",
        }
    }
}

/// The shape of one operand, in the order of the assembler.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Shape {
    /// So many vector registers.
    Vector(u8),
    /// So many scalar registers.
    Scalar(u8),
    /// Half a vector register.
    Half,
    /// The vector condition code, implied.
    Vcc,
    /// A literal or an immediate.
    Constant,
}

impl Shape {
    fn parse(token: &str) -> Option<Self> {
        let (kind, count) = token.split_at_checked(1)?;
        Some(match (kind, count.parse()) {
            ("v", Ok(n)) => Self::Vector(n),
            ("s", Ok(n)) => Self::Scalar(n),
            ("h", _) => Self::Half,
            ("c", _) => Self::Vcc,
            _ => Self::Constant,
        })
    }

    /// Registers that it takes.
    pub(crate) fn registers(self) -> u8 {
        match self {
            Self::Vector(n) | Self::Scalar(n) => n,
            _ => 1,
        }
    }
}

/// A row of a table.
#[derive(Clone, Debug)]
pub(crate) struct Row {
    /// As the architecture calls it.
    pub mnemonic: &'static str,
    /// As this machine calls it: the name of GFX9 where there is one.
    pub name: &'static str,
    pub shapes: Vec<Shape>,
}

/// A table.
#[derive(Debug)]
pub(crate) struct Table {
    rows: HashMap<(Encoding, u16), Row>,
}

impl Table {
    /// The table of an architecture, read once.
    pub(crate) fn of(arch: Arch) -> &'static Self {
        static TABLES: [OnceLock<Table>; 4] = [const { OnceLock::new() }; 4];
        let (slot, text) = match arch {
            Arch::Gfx942 => (0, include_str!("tables/gfx942.txt")),
            Arch::Gfx950 => (1, include_str!("tables/gfx950.txt")),
            Arch::Gfx1100 => (2, include_str!("tables/gfx1100.txt")),
            Arch::Gfx1201 => (3, include_str!("tables/gfx1201.txt")),
        };
        TABLES[slot].get_or_init(|| Self::parse(text))
    }

    fn parse(text: &'static str) -> Self {
        let row = |line: &'static str| {
            let mut words = line.split(' ');
            let encoding = Encoding::parse(words.next()?)?;
            let opcode = words.next()?.parse().ok()?;
            let mnemonic = words.next()?;
            let shapes = words.map(Shape::parse).collect::<Option<_>>()?;
            Some(((encoding, opcode), Row { mnemonic, name: super::names::canonical(mnemonic), shapes }))
        };
        Self { rows: text.lines().filter_map(row).collect() }
    }

    /// All rows.
    pub(crate) fn rows(&self) -> impl Iterator<Item = (Encoding, u16, &Row)> {
        self.rows.iter().map(|(&(encoding, number), row)| (encoding, number, row))
    }

    /// The instruction with an opcode.
    pub(crate) fn get(&self, encoding: Encoding, opcode: u32) -> Option<&Row> {
        self.rows.get(&(encoding, opcode as u16))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// All that an architecture has is executed, but for what compute kernels cannot use: each of those is refused with a reason.
    #[test]
    fn all_is_executed_but_what_compute_cannot_use() {
        const CDNA: &[&str] =
            &["s_endpgm_ordered_ps_done", "s_rfe_b64", "s_rfe_restore_b64", "v_screen_partition_4se_b32"];
        const GFX11: &[&str] = &[
            "ds_bvh_stack_rtn_b32",
            "s_endpgm_ordered_ps_done",
            "s_rfe_b64",
            "s_subvector_loop_begin",
            "s_subvector_loop_end",
        ];
        const GFX12: &[&str] = &[
            "ds_bvh_stack_push4_pop1_rtn_b32",
            "ds_bvh_stack_push8_pop1_rtn_b32",
            "ds_bvh_stack_push8_pop2_rtn_b64",
            "global_atomic_ordered_add_b64",
            "global_load_block",
            "global_store_block",
            "s_alloc_vgpr",
            "s_barrier_init",
            "s_barrier_join",
            "s_rfe_b64",
            "scratch_load_block",
            "scratch_store_block",
        ];
        for (arch, left_out) in
            [(Arch::Gfx942, CDNA), (Arch::Gfx950, CDNA), (Arch::Gfx1100, GFX11), (Arch::Gfx1201, GFX12)]
        {
            let resolve = |row: &Row| crate::gcn::exec::resolve(row.name, arch).is_some();
            let mut missing: Vec<_> =
                Table::of(arch).rows.values().filter(|row| !resolve(row)).map(|row| row.mnemonic).collect();
            missing.sort_unstable();
            missing.dedup();
            assert_eq!(missing, left_out, "{arch}");
            assert!(missing.iter().all(|mnemonic| !crate::gcn::exec::refusal(mnemonic).is_empty()));
        }
    }

    #[test]
    fn every_line_of_every_table_is_read() {
        for (arch, text) in [
            (Arch::Gfx942, include_str!("tables/gfx942.txt")),
            (Arch::Gfx950, include_str!("tables/gfx950.txt")),
            (Arch::Gfx1100, include_str!("tables/gfx1100.txt")),
            (Arch::Gfx1201, include_str!("tables/gfx1201.txt")),
        ] {
            assert_eq!(Table::of(arch).rows.len(), text.lines().count(), "{arch}");
        }
    }
}
