//! Data-parallel primitives: which lane reads which, worked out when the instruction is decoded.

use crate::gcn::arch::Arch;
use crate::gcn::inst::Dpp;

/// The 16-lane-row form, from its extra word. `None` for controls that the architecture does not have.
pub(crate) fn dpp16(word: u64, arch: Arch, wave32: bool) -> Option<Dpp> {
    let control = (word >> 8 & 0x1ff) as u32;
    let (row_mask, bank_mask) = (word >> 28 & 15, word >> 24 & 15);
    let lanes = if wave32 { 32 } else { 64 };
    let cdna = arch.is_cdna();
    let mut dpp = Dpp {
        from: std::array::from_fn(|lane| lane as u8),
        valid: 0,
        write: 0,
        zero: word >> 19 & 1 != 0,
        fetch_inactive: !cdna && word >> 18 & 1 != 0,
    };
    for lane in 0..lanes {
        let (row, place) = (lane & !15, lane & 15);
        let amount = (control & 15) as i32;
        let within = |at: i32| (0..16).contains(&at).then_some(row + at);
        let wave = |at: i32| (0..lanes).contains(&at).then_some(at);
        let from = match control {
            0x000..=0x0ff => Some(lane & !3 | (control >> ((lane & 3) * 2) & 3) as i32),
            0x101..=0x10f => within(place + amount),
            0x111..=0x11f => within(place - amount),
            0x121..=0x12f => Some(row + ((place - amount) & 15)),
            0x130 if cdna => wave(lane + 1),
            0x134 if cdna => Some((lane + 1) % lanes),
            0x138 if cdna => wave(lane - 1),
            0x13c if cdna => Some((lane + lanes - 1) % lanes),
            0x140 => Some(row + 15 - place),
            0x141 => Some(row + (place & 8) + 7 - (place & 7)),
            0x142 if cdna => wave(row - 1),
            0x143 if cdna => (lane >= 32).then_some(31),
            // Called row_newbcast on CDNA and row_share on RDNA.
            0x150..=0x15f => Some(row + amount),
            0x160..=0x16f if !cdna => Some(row + (place ^ amount)),
            _ => return None,
        };
        if let Some(from) = from {
            dpp.from[lane as usize] = from as u8;
            dpp.valid |= 1 << lane;
        }
        if row_mask >> (lane / 16) & 1 != 0 && bank_mask >> (place / 4) & 1 != 0 {
            dpp.write |= 1 << lane;
        }
    }
    Some(dpp)
}

/// The form with any choice within each eight lanes (RDNA).
pub(crate) fn dpp8(word: u64, fetch_inactive: bool) -> Dpp {
    Dpp {
        from: std::array::from_fn(|lane| (lane & !7) as u8 | (word >> (8 + (lane & 7) * 3) & 7) as u8),
        valid: u64::MAX,
        write: u64::MAX,
        zero: true,
        fetch_inactive,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn control(control: u64) -> Dpp {
        dpp16(control << 8 | 0xff << 24, Arch::Gfx942, false).expect("a control of gfx942")
    }

    #[test]
    fn rows_shift_and_rotate() {
        let shr = control(0x111);
        assert_eq!((shr.from[17], shr.valid & 0xffff), (16, 0xfffe));
        let shl = control(0x104);
        assert_eq!((shl.from[16], shl.valid & 0xffff), (20, 0x0fff));
        let ror = control(0x121);
        assert_eq!((ror.from[16], ror.from[17], ror.valid), (31, 16, u64::MAX));
    }

    #[test]
    fn broadcasts_and_whole_wave() {
        let bcast15 = control(0x142);
        assert_eq!((bcast15.from[16], bcast15.from[63], bcast15.valid & 0x1ffff), (15, 47, 0x10000));
        let bcast31 = control(0x143);
        assert_eq!((bcast31.from[32], bcast31.valid), (31, 0xffff_ffff_0000_0000));
        let shr = control(0x138);
        assert_eq!((shr.from[16], shr.valid), (15, u64::MAX - 1));
        assert_eq!(control(0x13c).from[0], 63);
        assert_eq!(control(0x1b).from[..4], [3, 2, 1, 0]);
        assert!(dpp16(0x161 << 8, Arch::Gfx942, false).is_none());
    }
}
