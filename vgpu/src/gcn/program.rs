//! A code object's instructions, decoded once for all launches.

use crate::error::{Error, Location, Result};
use crate::finding::SourceLine;
use crate::gcn::decode::Decoder;
use crate::gcn::elf::CodeObject;
use crate::gcn::inst::{ACC, Inst, Opnd};
use crate::gcn::lines::LineRow;
use crate::gcn::text;

/// No instruction starts there.
const NONE: u32 = u32::MAX;

/// Decoded code.
pub(crate) struct Program {
    /// By ascending address, without gaps inside a range of code.
    pub insts: Vec<Inst>,
    /// By range of code: where it starts, and the instruction by address over four from there.
    index: Vec<(u64, Vec<u32>)>,
    lines: Vec<LineRow>,
    /// Rows that a wave's register file needs.
    pub rows: usize,
    /// Vector registers used, accumulation registers apart.
    pub vgprs: u32,
}

impl Program {
    /// Decodes all code of a code object.
    pub(crate) fn decode(object: &CodeObject, wave32: bool) -> Self {
        let decoder = Decoder::new(object.arch, wave32);
        let mut insts: Vec<Inst> = Vec::new();
        let mut index = Vec::new();
        for range in &object.code {
            let mut pc = range.start.next_multiple_of(4);
            let start = pc;
            let mut at = vec![NONE; (range.end.saturating_sub(start) as usize).div_ceil(4)];
            while pc + 4 <= range.end {
                let inst = decoder.decode(&object.image[pc as usize..range.end as usize], pc as u32);
                at[(pc - start) as usize / 4] = insts.len() as u32;
                pc += u64::from(inst.size);
                insts.push(inst);
            }
            index.push((start, at));
        }
        let highest = |keep: fn(u16) -> bool| {
            let registers = |inst: &Inst| {
                let mut all = vec![(inst.dst, inst.dst_regs.max(1))];
                all.extend(inst.src.iter().copied().zip(inst.src_regs));
                all
            };
            insts
                .iter()
                .flat_map(|inst| {
                    let mut all = registers(inst);
                    if let Some(dual) = &inst.dual {
                        all.extend(registers(dual));
                    }
                    all
                })
                .filter_map(|(opnd, count)| match opnd {
                    Opnd::V(r) if keep(r) => Some(usize::from(r) + usize::from(count)),
                    _ => None,
                })
                .max()
        };
        let vgprs = highest(|r| r < ACC).unwrap_or(1) as u32;
        // Wide operands whose width the tables do not tell may reach further: 32 registers are the most.
        let rows = highest(|r| r >= ACC).unwrap_or(vgprs as usize) + 32;
        Self { insts, index, lines: object.lines.clone(), rows, vgprs }
    }

    /// The instruction at an address.
    #[inline]
    pub(crate) fn at(&self, pc: u64) -> Option<usize> {
        if !pc.is_multiple_of(4) {
            return None;
        }
        let of = |(start, index): &(u64, Vec<u32>)| {
            let index = *index.get(usize::try_from(pc.checked_sub(*start)? / 4).ok()?)?;
            (index != NONE).then_some(index as usize)
        };
        self.index.iter().find_map(of)
    }

    /// The text of the instruction at an address.
    pub(crate) fn text(&self, pc: u32) -> String {
        self.at(u64::from(pc)).map_or_else(|| "?".to_owned(), |index| text::instruction(&self.insts[index]))
    }

    /// The mnemonic of the instruction at an address.
    pub(crate) fn name(&self, pc: u32) -> &'static str {
        self.at(u64::from(pc)).map_or("?", |index| self.insts[index].name)
    }

    /// The source line of the instruction at an address.
    pub(crate) fn source(&self, pc: u32) -> Option<SourceLine> {
        let after = self.lines.partition_point(|row| row.address <= u64::from(pc));
        let row = self.lines.get(after.checked_sub(1)?)?;
        (row.line != 0).then(|| SourceLine { file: row.file.clone(), line: row.line, column: row.column })
    }

    /// Instructions from `entry` to the next function's start that this machine cannot execute.
    pub(crate) fn unsupported(&self, entry: u64, end: u64) -> Vec<Error> {
        let Some(first) = self.at(entry) else { return Vec::new() };
        self.insts[first..]
            .iter()
            .take_while(|inst| u64::from(inst.pc) < end)
            .filter(|inst| !inst.supported)
            .map(|inst| Error::Unsupported {
                instruction: text::instruction(inst),
                location: Location::code(u64::from(inst.pc)),
                reason: crate::gcn::exec::refusal(inst.name).to_owned(),
            })
            .collect()
    }

    /// Checks that a kernel can start at an address.
    pub(crate) fn check_entry(&self, kernel: &str, entry: u64) -> Result<()> {
        match self.at(entry) {
            Some(_) => Ok(()),
            None => Err(Error::Parse {
                location: Location::code(entry),
                message: format!("the entry of `{kernel}` is not at an instruction"),
            }),
        }
    }
}
