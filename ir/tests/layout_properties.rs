//! Properties of the layout algebra and of conversion plans, on random layouts: plain and swizzled, with duplicates in
//! registers, lanes and warps. A plan is carried out, place by place, and its result compared with the definition.

use proptest::prelude::*;
use proptest::sample::Index;
use std::collections::BTreeSet;
use tegula_ir::layout::matrix::{BitMatrix, low_mask};
use tegula_ir::layout::{
    Blocked, Conversion, ConversionOptions, Dim, LinearLayout, MemoryPlan, SharedMemory, ShufflePlan, Space,
};

const LANE_BITS: usize = 4;

/// A layout that covers a tile of `shape`, with the given bits of registers beyond those needed.
fn covering(shape: Vec<u32>, warp_bits: usize, spare: usize, mixed: bool) -> impl Strategy<Value = LinearLayout> {
    let outs = Space::of_shape(&shape);
    let tile_bits = outs.total_bits() as usize;
    let threads = LANE_BITS + warp_bits;
    let registers = tile_bits.saturating_sub(threads) + spare;
    let count = registers + threads;
    let picks = prop::collection::vec((any::<Index>(), any::<Index>(), any::<bool>()), 40);
    let extra = prop::collection::vec(0..=low_mask(tile_bits as u32), count - tile_bits);
    (picks, extra, any::<bool>()).prop_map(move |(picks, extra, zeros)| {
        let mut columns: Vec<u64> = (0..tile_bits as u32).map(|bit| 1 << bit).collect();
        if mixed {
            for (a, b, _) in &picks {
                let (a, b) = (a.index(tile_bits.max(1)), b.index(tile_bits.max(1)));
                if a != b {
                    columns[a] ^= columns[b];
                }
            }
        }
        columns.extend(extra.iter().map(|&column| if zeros { 0 } else { column }));
        for (a, b, swap) in &picks {
            if *swap {
                columns.swap(a.index(count.max(1)), b.index(count.max(1)));
            }
        }
        let warps = columns.split_off(registers + LANE_BITS);
        let lanes = columns.split_off(registers);
        LinearLayout::from_bases(outs.clone(), [(Dim::Register, columns), (Dim::Lane, lanes), (Dim::Warp, warps)])
    })
}

fn shape() -> impl Strategy<Value = Vec<u32>> {
    prop::collection::vec(prop::sample::select(vec![1u32, 2, 4, 8, 16]), 1..4)
        .prop_filter("at most 256 elements", |shape| shape.iter().product::<u32>() <= 256)
}

fn one_layout() -> impl Strategy<Value = LinearLayout> {
    (shape(), 0usize..3, 0usize..3, any::<bool>())
        .prop_flat_map(|(shape, warps, spare, mixed)| covering(shape, warps, spare, mixed))
}

fn two_layouts() -> impl Strategy<Value = (LinearLayout, LinearLayout)> {
    (shape(), 0usize..3, (0usize..3, 0usize..3), any::<(bool, bool)>()).prop_flat_map(|(shape, warps, spare, mixed)| {
        (covering(shape.clone(), warps, spare.0, mixed.0), covering(shape, warps, spare.1, mixed.1))
    })
}

fn same_rank() -> impl Strategy<Value = (LinearLayout, LinearLayout)> {
    let extents = || prop::sample::select(vec![1u32, 2, 4]);
    let shapes = (1usize..4).prop_flat_map(move |rank| {
        (prop::collection::vec(extents(), rank), prop::collection::vec(extents(), rank), any::<bool>())
    });
    shapes.prop_flat_map(|(a, b, mixed)| (covering(a, 1, 1, mixed), covering(b, 1, 0, mixed)))
}

/// The contents of every register when each holds the index of its element: by warp, lane, register.
fn contents(layout: &LinearLayout) -> Vec<Vec<Vec<u64>>> {
    let element =
        |warp, lane, register| layout.apply(&[(Dim::Warp, warp), (Dim::Lane, lane), (Dim::Register, register)]);
    let thread = |warp, lane| (0..layout.in_size(Dim::Register)).map(|r| element(warp, lane, r)).collect();
    let warp = |warp| (0..layout.in_size(Dim::Lane)).map(|lane| thread(warp, lane)).collect();
    (0..layout.in_size(Dim::Warp)).map(warp).collect()
}

fn run_shuffles(plan: &ShufflePlan, source: &LinearLayout, target: &LinearLayout) -> Vec<Vec<Vec<u64>>> {
    let registers = target.in_size(Dim::Register) as usize;
    let run_warp = |(warp, held): (usize, Vec<Vec<u64>>)| {
        let mut result = vec![vec![None; registers]; held.len()];
        for round in &plan.rounds {
            // What each lane offers depends on the lane alone: one value (packed) a round.
            let offered: Vec<Vec<u64>> = (0..held.len())
                .map(|lane| {
                    let send = round.send.apply(lane as u32, warp as u32);
                    plan.packed.iter().map(|&(offset, _)| held[lane][(send ^ offset) as usize]).collect()
                })
                .collect();
            for (lane, result) in result.iter_mut().enumerate() {
                let from = round.from.apply(lane as u32, warp as u32) as usize;
                let receive = round.receive.apply(lane as u32, warp as u32);
                for (i, &(_, offset)) in plan.packed.iter().enumerate() {
                    result[(receive ^ offset) as usize] = Some(offered[from][i]);
                }
            }
        }
        let thread = |received: Vec<Option<u64>>| {
            plan.received.iter().map(|&owner| received[owner as usize].expect("every register is received")).collect()
        };
        result.into_iter().map(thread).collect()
    };
    contents(source).into_iter().enumerate().map(run_warp).collect()
}

fn run_memory(plan: &MemoryPlan, source: &LinearLayout, target: &LinearLayout) -> Vec<Vec<Vec<u64>>> {
    let mut memory = vec![None; plan.memory.in_size(Dim::Offset) as usize];
    let (store_groups, load_groups) = (plan.store.groups(), plan.load.groups());
    let mut written = BTreeSet::new();
    for (warp, lanes) in contents(source).into_iter().enumerate() {
        for (lane, held) in lanes.into_iter().enumerate() {
            for group in &store_groups {
                let place = |register| [(Dim::Warp, warp as u32), (Dim::Lane, lane as u32), (Dim::Register, register)];
                let start = plan.store_offsets.apply(&place(group[0])) as usize;
                assert_eq!(start % group.len(), 0, "an access is aligned");
                for (i, &register) in group.iter().enumerate() {
                    memory[start + i] = Some(held[register as usize]);
                }
            }
            written.extend(store_groups.iter().flatten().copied());
        }
    }
    assert_eq!(written.len(), source.in_size(Dim::Register) as usize, "all registers are stored");
    let load = |warp: u32, lane: u32| {
        let mut registers = vec![0; target.in_size(Dim::Register) as usize];
        for group in &load_groups {
            let place = [(Dim::Warp, warp), (Dim::Lane, lane), (Dim::Register, group[0])];
            let start = plan.load_offsets.apply(&place) as usize;
            assert_eq!(start % group.len(), 0, "an access is aligned");
            for (i, &register) in group.iter().enumerate() {
                registers[register as usize] = memory[start + i].expect("what is loaded was stored");
            }
        }
        registers
    };
    let lanes = |warp| (0..target.in_size(Dim::Lane)).map(|lane| load(warp, lane)).collect();
    (0..target.in_size(Dim::Warp)).map(lanes).collect()
}

fn check_plan(source: &LinearLayout, target: &LinearLayout, options: &ConversionOptions) -> Conversion {
    let plan = Conversion::plan(source, target, options).expect("both layouts cover the tile");
    let wanted = contents(target);
    match &plan {
        Conversion::Identity => assert_eq!(source, target),
        Conversion::Registers { source: map } => {
            let rename = |held: Vec<u64>| map.iter().map(|&r| held[r as usize]).collect();
            let warp = |lanes: Vec<Vec<u64>>| lanes.into_iter().map(rename).collect();
            assert_eq!(contents(source).into_iter().map(warp).collect::<Vec<Vec<Vec<u64>>>>(), wanted);
        }
        Conversion::Shuffle(plan) => assert_eq!(run_shuffles(plan, source, target), wanted),
        Conversion::Memory(plan) => assert_eq!(run_memory(plan, source, target), wanted),
    }
    plan
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 1000, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn conversions_do_what_they_are_for((source, target) in two_layouts(), element_bits in prop::sample::select(vec![8u32, 16, 32, 64])) {
        let cheap = ConversionOptions { max_shuffle_cost: u32::MAX, ..ConversionOptions::new(element_bits) };
        let no_shuffles = ConversionOptions { max_shuffle_cost: 0, ..cheap.clone() };
        check_plan(&source, &target, &cheap);
        check_plan(&source, &target, &no_shuffles);
    }

    /// Within one warp, and without duplicates, shuffles always suffice, one for each value wanted.
    #[test]
    fn bijections_inside_a_warp_are_shuffled((source, target) in (shape(), any::<(bool, bool)>())
        .prop_filter("fills the lanes", |(shape, _)| shape.iter().product::<u32>() >= 1 << LANE_BITS)
        .prop_flat_map(|(shape, mixed)| (covering(shape.clone(), 0, 0, mixed.0), covering(shape, 0, 0, mixed.1))))
    {
        let plan = ShufflePlan::new(&source, &target, 32).expect("a schedule exists");
        prop_assert_eq!(plan.rounds.len(), target.in_size(Dim::Register) as usize);
    }

    #[test]
    fn texts_round_trip(layout in one_layout()) {
        prop_assert_eq!(layout.to_string().parse::<LinearLayout>(), Ok(layout));
    }

    #[test]
    fn parsing_never_panics(text in "[0-9xdrelanw :,\\[\\]()^-]{0,40}") {
        let _ = text.parse::<LinearLayout>();
    }

    #[test]
    fn pseudo_inverse_finds_the_owner(layout in one_layout()) {
        let inverse = layout.pseudo_inverse().expect("the layout covers its tile");
        prop_assert_eq!(inverse.then(&layout), Ok(LinearLayout::identity(layout.outs().clone())));
        for element in 0..1u64 << layout.outs().total_bits() {
            let place = inverse.apply_flat(element);
            for dim in Dim::HARDWARE {
                prop_assert_eq!(layout.ins().coordinate(place, dim) & layout.free_bits(dim), 0);
            }
        }
    }

    #[test]
    fn free_bits_single_out_each_element_once(layout in one_layout()) {
        let mut seen = BTreeSet::new();
        for place in 0..1u64 << layout.ins().total_bits() {
            let owns = Dim::HARDWARE.iter().all(|&dim| layout.ins().coordinate(place, dim) & layout.free_bits(dim) == 0);
            if owns {
                prop_assert!(seen.insert(layout.apply_flat(place)), "an element has two owners");
            }
        }
        prop_assert_eq!(seen.len(), 1 << layout.outs().total_bits());
    }

    #[test]
    fn kernel_says_who_holds_the_same(layout in one_layout()) {
        for vector in layout.kernel() {
            for place in 0..1u64 << layout.ins().total_bits() {
                prop_assert_eq!(layout.apply_flat(place), layout.apply_flat(place ^ vector));
            }
        }
        prop_assert_eq!(layout.kernel().is_empty(), layout.is_injective());
    }

    #[test]
    fn products_divide((inner, outer) in same_rank()) {
        let product = inner.product(&outer);
        prop_assert_eq!(product.divide_left(&inner), Some(outer.clone()));
        prop_assert_eq!(product.divide_right(&outer), Some(inner.clone()));
        // By definition: low bits to the inner, high bits to the outer layout.
        let dims = [Dim::Register, Dim::Lane, Dim::Warp];
        for seed in 0..64u64 {
            let place = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) & low_mask(product.ins().total_bits());
            let point: Vec<_> = dims.iter().map(|&d| (d, product.ins().coordinate(place, d))).collect();
            let low: Vec<_> = point.iter().map(|&(d, x)| (d, x & (inner.in_size(d) - 1))).collect();
            let high: Vec<_> = point.iter().map(|&(d, x)| (d, x >> inner.ins().bits(d))).collect();
            let expected: Vec<u32> = outer.coordinates(&high).iter().zip(inner.coordinates(&low)).enumerate()
                .map(|(axis, (h, l))| h << inner.outs().bits(Dim::Axis(axis as u8)) | l)
                .collect();
            prop_assert_eq!(product.coordinates(&point), expected);
        }
    }

    #[test]
    fn composition_is_associative(layout in one_layout(), a in any::<u64>(), b in any::<u64>()) {
        let space = layout.outs().clone();
        let bits = space.total_bits();
        let map = |seed: u64| {
            let columns = (0..bits).map(|i| seed.rotate_left(i * 7) & low_mask(bits)).collect();
            LinearLayout::new(space.clone(), space.clone(), BitMatrix::from_columns(bits, columns))
        };
        let (f, g) = (map(a), map(b));
        let left = layout.then(&f).and_then(|l| l.then(&g));
        let right = f.then(&g).and_then(|r| layout.then(&r));
        prop_assert_eq!(left, right);
    }

    #[test]
    fn shapes_follow_the_elements(layout in one_layout(), seed in any::<Index>()) {
        let shape = layout.shape();
        let rank = shape.len();
        let axis = seed.index(rank);
        let order: Vec<usize> = (0..rank).map(|i| (i + axis) % rank).collect();
        let permuted = layout.permute(&order).expect("a permutation");
        let flat = layout.reshape(&[shape.iter().product()]).expect("as many elements");
        let reduced = layout.remove_axis(axis).expect("an axis");
        for place in 0..1u64 << layout.ins().total_bits() {
            let point: Vec<_> = layout.ins().dims().map(|(d, _)| (d, layout.ins().coordinate(place, d))).collect();
            let at = layout.coordinates(&point);
            prop_assert_eq!(permuted.coordinates(&point), order.iter().map(|&a| at[a]).collect::<Vec<_>>());
            prop_assert_eq!(flat.coordinates(&point)[0], at.iter().zip(&shape).fold(0, |i, (&x, &n)| i * n + x));
        }
        prop_assert!(reduced.is_surjective());
        prop_assert_eq!(reduced.shape(), [&shape[..axis], &shape[axis + 1..]].concat());
        // The reduced layout, broadcast back, is available in every thread that the layout uses.
        let squashed = layout.squash_axis(axis).expect("an axis");
        prop_assert_eq!(squashed.remove_axis(axis).expect("an axis"), reduced);
    }
}

#[test]
fn a_transpose_between_blocked_layouts_has_no_bank_conflicts() {
    // Rows in, columns out, at every element size and for both warp sizes: the case that naive buffers serve worst.
    for (element_bits, lanes) in [(8u32, 32u32), (16, 32), (32, 32), (32, 64), (64, 32), (64, 64)] {
        let options = ConversionOptions::new(element_bits);
        let vector = 128 / element_bits;
        for (from, to) in [([1, 0], [0, 1]), ([0, 1], [1, 0])] {
            let layout = |order: &[usize]| Blocked::coalesced(&[128, 128], order, vector, lanes, 4).layout(&[128, 128]);
            let Conversion::Memory(plan) = check_plan(&layout(&from), &layout(&to), &options) else {
                panic!("a transposition between warps goes through memory")
            };
            let memory = SharedMemory::COMMON;
            let bytes = plan.element_bytes;
            assert_eq!(memory.conflicts(&plan.store_offsets, bytes, plan.store.width()), 1, "{}", plan.memory);
            assert_eq!(memory.conflicts(&plan.load_offsets, bytes, plan.load.width()), 1, "{}", plan.memory);
        }
    }
}

#[test]
fn fragments_to_blocked_layouts_keep_their_vectors() {
    use tegula_ir::layout::fragment::mma_accumulator;
    let accumulator = mma_accumulator().tile_warps(&[128, 128], &[Some(0), Some(1)]);
    let blocked = Blocked::coalesced(&[128, 128], &[1, 0], 4, 32, 4).layout(&[128, 128]);
    let Conversion::Memory(plan) = check_plan(&accumulator, &blocked, &ConversionOptions::new(32)) else {
        panic!("the accumulator's warps own other rows than the blocked layout's")
    };
    assert_eq!((plan.store.width(), plan.load.width()), (4, 4));
    let memory = SharedMemory::COMMON;
    assert_eq!(memory.conflicts(&plan.store_offsets, 4, 4), 1, "{}", plan.memory);
    assert_eq!(memory.conflicts(&plan.load_offsets, 4, 4), 1, "{}", plan.memory);
}

#[test]
fn accumulator_to_operand_of_the_next_product_is_a_renaming() {
    // Flash attention's second product takes the first one's accumulators as operand A: on mma.sync no data moves.
    use tegula_ir::layout::fragment::{mma_accumulator, mma_operand_a};
    let accumulator = mma_accumulator().tile_warps(&[64, 64], &[Some(0), Some(0)]);
    let operand = mma_operand_a(16, 16).tile_warps(&[64, 64], &[Some(0), Some(0)]);
    let plan = check_plan(&accumulator, &operand, &ConversionOptions::new(16));
    assert!(matches!(plan, Conversion::Identity | Conversion::Registers { .. }), "{plan:?}");
}

#[test]
fn conversions_between_layouts_in_use_have_no_bank_conflicts() {
    use tegula_ir::layout::fragment::{
        Mfma, mfma_accumulator, mfma_operand_a, mfma_operand_b, mma_accumulator, mma_operand_a, mma_operand_b,
        wgmma_accumulator,
    };
    let mut checked = 0;
    for shape in [[64u32, 64], [128, 64], [32, 128], [16, 256], [256, 16]] {
        for lanes in [32u32, 64] {
            let mut layouts = Vec::new();
            for order in [[1usize, 0], [0, 1]] {
                for vector in [1u32, 2, 4, 8] {
                    layouts.push(Blocked::coalesced(&shape, &order, vector, lanes, 4).layout(&shape));
                }
            }
            let (both, rows, columns) = ([Some(0), Some(1)], [Some(0), None], [None, Some(1)]);
            if lanes == 32 {
                layouts.push(mma_accumulator().tile_warps(&shape, &both));
                layouts.push(mma_operand_a(16, 16).tile_warps(&shape, &rows));
                layouts.push(mma_operand_b(16, 16).tile_warps(&shape, &columns));
                layouts.push(wgmma_accumulator(shape[1]).tile_warps(&shape, &[]));
            } else {
                layouts.push(mfma_accumulator(Mfma::M32).tile_warps(&shape, &both));
                layouts.push(mfma_accumulator(Mfma::M16).tile_warps(&shape, &both));
                layouts.push(mfma_operand_a(Mfma::M32, 4).tile_warps(&shape, &rows));
                layouts.push(mfma_operand_b(Mfma::M32, 4).tile_warps(&shape, &columns));
            }
            for (source, target) in layouts.iter().flat_map(|a| layouts.iter().map(move |b| (a, b))) {
                for element_bits in [8u32, 16, 32, 64] {
                    let options = ConversionOptions { max_shuffle_cost: 0, ..ConversionOptions::new(element_bits) };
                    let Ok(Conversion::Memory(plan)) = Conversion::plan(source, target, &options) else { continue };
                    let conflicts = |offsets, width| SharedMemory::COMMON.conflicts(offsets, plan.element_bytes, width);
                    let found = (
                        conflicts(&plan.store_offsets, plan.store.width()),
                        conflicts(&plan.load_offsets, plan.load.width()),
                    );
                    assert_eq!(found, (1, 1), "{source} to {target}, {element_bits} bits");
                    checked += 1;
                }
            }
        }
    }
    assert!(checked > 1000);
}
