//! Parameters, grid and launch defaults.

use super::Verifier;
use crate::function::{Grid, ParamKind, ValueDef, ViewAccess};
use crate::ops::infer::check_type;
use crate::types::ScalarType;

/// The most warps that a program can have on any target.
const MAX_WARPS: u32 = 32;

impl Verifier<'_> {
    pub(super) fn header(&mut self) {
        let f = self.f;
        for (i, p) in f.params.iter().enumerate() {
            let mut bad = |message: String| self.error_at(f.loc, format!("parameter {}: {message}", p.name));
            if p.value.as_u32() as usize >= f.num_values() {
                bad("its value does not exist".into());
                continue;
            }
            let value = f.value(p.value);
            if value.def != ValueDef::Param(i as u32) {
                bad(format!("its value is defined as {:?}", value.def));
            }
            if value.ty != p.kind.ty() {
                bad(format!("its value has type {}, not {}", value.ty, p.kind.ty()));
            }
            let alignment = |align: u32| align == 0 || align.is_power_of_two();
            match &p.kind {
                ParamKind::View { elem, rank, spec, .. } => {
                    if let Err(e) = check_type(&p.kind.ty()) {
                        bad(e.message);
                    }
                    if elem.memory_bytes().is_none() {
                        bad(format!("{elem} has no form in memory"));
                    }
                    if spec.extent_divisor.len() > usize::from(*rank) || spec.stride_divisor.len() > usize::from(*rank)
                    {
                        bad(format!("more divisors than the {rank} axes of the tensor"));
                    }
                    if !alignment(spec.align) {
                        bad(format!("the alignment {} is not a power of two", spec.align));
                    }
                    if spec.unit_inner && *rank == 0 {
                        bad("a tensor without axes has no inner stride".into());
                    }
                }
                ParamKind::Scalar { elem, divisor } => {
                    if matches!(elem, ScalarType::I4 | ScalarType::U4) {
                        bad(format!("{elem} has no form in memory, and cannot be passed"));
                    }
                    if *divisor == 0 {
                        bad("nothing is divisible by 0".into());
                    }
                    if *divisor > 1 && !elem.is_int() {
                        bad(format!("{elem} has no divisor"));
                    }
                }
                ParamKind::Ptr { elem, align } => {
                    if elem.memory_bytes().is_none() {
                        bad(format!("{elem} has no form in memory"));
                    }
                    if !alignment(*align) {
                        bad(format!("the alignment {align} is not a power of two"));
                    }
                }
            }
        }
        self.grid();
        if !f.num_warps.is_power_of_two() || f.num_warps > MAX_WARPS {
            let message = format!("{} warps: a program has a power of two from 1 to {MAX_WARPS}", f.num_warps);
            self.error_at(f.loc, message);
        }
        if f.num_stages == 0 {
            self.error_at(f.loc, "0 pipeline stages: 1 is the least, and means none");
        }
    }

    fn grid(&mut self) {
        let f = self.f;
        let Grid::Tiles { outputs } = &f.grid else { return };
        for (i, (index, shape)) in outputs.iter().enumerate() {
            let Some(p) = f.params.get(*index as usize) else {
                self.error_at(f.loc, format!("the grid follows parameter {index}, which does not exist"));
                continue;
            };
            let mut bad = |message: String| self.error_at(f.loc, format!("the grid follows {}: {message}", p.name));
            match &p.kind {
                ParamKind::View { rank, access, .. } => {
                    if shape.len() != usize::from(*rank) {
                        bad(format!("its tile has {} axes, the tensor {rank}", shape.len()));
                    }
                    if *access == ViewAccess::Read {
                        bad("it is only read".into());
                    }
                    if shape.contains(&0) {
                        bad(format!("its tile {shape:?} has an empty axis"));
                    }
                }
                _ => bad("it is not a tensor".into()),
            }
            if outputs[..i].iter().any(|(other, _)| other == index) {
                bad("it is given twice".into());
            }
        }
    }
}
