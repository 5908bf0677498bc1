//! How a thread's registers group into vector accesses of memory.

use super::linear::LinearLayout;
use super::matrix::low_mask;
use super::space::Dim;

/// The vector accesses by which a thread moves its registers to or from memory: which register bits, from the lowest,
/// walk along consecutive elements.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct VectorAccess {
    register_bits: Vec<u32>,
    registers: u32,
}

impl VectorAccess {
    /// Elements of one access.
    pub fn width(&self) -> u32 {
        1 << self.register_bits.len()
    }

    /// The registers of each access, in the order of memory. The first of each is the one at the lowest address.
    pub fn groups(&self) -> Vec<Vec<u32>> {
        let walked = self.register_bits.iter().fold(0, |mask, bit| mask | 1 << bit);
        let leaders = (0..self.registers).filter(|register| register & walked == 0);
        let member = |leader: u32, element: u32| {
            let place = |register, (i, bit): (usize, &u32)| register | (element >> i & 1) << bit;
            self.register_bits.iter().enumerate().fold(leader, place)
        };
        leaders.map(|leader| (0..self.width()).map(|element| member(leader, element)).collect()).collect()
    }
}

impl LinearLayout {
    /// The widest vector accesses, of at most `limit` elements, along an output dimension whose elements are
    /// consecutive in memory: an axis of a tile in global memory, or [`Dim::Offset`] of a map into shared memory.
    ///
    /// `limit` carries what the layout cannot know: the contiguity and the alignment of the addresses, and the widest
    /// access of the machine. The elements of an access are neighbours that start at a multiple of its width.
    pub fn vector_access(&self, along: Dim, limit: u32) -> VectorAccess {
        let unit = |bit: u32| self.outs().flatten(&[(along, 1 << bit)]);
        let register_of = |bit: u32| self.bases(Dim::Register).iter().position(|&basis| basis == unit(bit));
        let most = self.outs().bits(along).min(limit.max(1).ilog2());
        let mut register_bits: Vec<u32> = (0..most).map_while(register_of).map(|bit| bit as u32).collect();
        // Other bits of the place must not move inside a vector, or it would not start at a multiple of its width.
        while !register_bits.is_empty() {
            let inside = low_mask(register_bits.len() as u32) as u32;
            let moving = self.matrix().columns().iter().filter(|&&c| self.outs().coordinate(c, along) & inside != 0);
            if moving.count() == register_bits.len() {
                break;
            }
            register_bits.pop();
        }
        VectorAccess { register_bits, registers: self.in_size(Dim::Register) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn width(layout: &str, axis: u8, limit: u32) -> u32 {
        layout.parse::<LinearLayout>().expect(layout).vector_access(Dim::Axis(axis), limit).width()
    }

    #[test]
    fn neighbours_in_registers_make_vectors() {
        let blocked = "128x64: reg d1[1 2 4] d0[16], lane d1[8 16 32] d0[1 2], warp d0[4 8]";
        assert_eq!(width(blocked, 1, 16), 8);
        assert_eq!(width(blocked, 1, 4), 4);
        assert_eq!(width(blocked, 1, 7), 4);
        assert_eq!(width(blocked, 0, 16), 1);
    }

    #[test]
    fn lanes_between_registers_end_a_vector() {
        assert_eq!(width("16: reg d0[1 4], lane d0[2 8]", 0, 8), 2);
        assert_eq!(width("16: reg d0[2], lane d0[1 4 8]", 0, 8), 1);
    }

    #[test]
    fn a_swizzle_that_moves_inside_a_vector_narrows_it() {
        assert_eq!(width("16x4: reg d0[1 2], lane d0[4 8] d1[1 2]", 0, 8), 4);
        assert_eq!(width("16x4: reg d0[1 2], lane d0[4 8] d1[1] d1:2^d0:2", 0, 8), 2);
    }

    #[test]
    fn groups_list_registers_in_the_order_of_memory() {
        let layout: LinearLayout = "8x2: reg d1[1] d0[2 1], lane d0[4]".parse().expect("a layout");
        assert_eq!(layout.vector_access(Dim::Axis(0), 4).groups(), [[0, 4, 2, 6], [1, 5, 3, 7]]);
    }
}
