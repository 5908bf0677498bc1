//! Conversions inside a warp by lane shuffles.
//!
//! In each round every lane sends one value and receives one. Which register a lane sends may depend on its number, and
//! so may the register where it puts what it receives; both are linear in the lane's number, as is the lane it reads
//! from. The plan exists when the elements that a warp wants are elements that it has, and finding it is linear
//! algebra:
//!
//! Let `X` map places (register, lane) of the target to places of the source with the same element. A schedule is a
//! linear choice `T` of the register that each lane receives in round 0; round `i` then serves `T(lane) ^ i`. All that
//! is asked of it: two lanes that read from the same lane in the same round must want the same register of it, because
//! a lane sends one value. So on the graph of `T`, what `X` sends to lane 0 must go to register 0 altogether. [`schedule`]
//! finds such a `T`, of the smallest rank, whenever there is one.

use super::super::linear::LinearLayout;
use super::super::matrix::{BitMatrix, Echelon, bits_of, independent, low_mask};
use super::super::space::Dim;

/// An affine function of lane and warp numbers: a constant, xored with what the set bits of the two numbers select.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct LaneMap {
    /// The value for lane 0 of warp 0.
    pub constant: u32,
    /// What each bit of the lane's number changes.
    pub lane: Vec<u32>,
    /// What each bit of the warp's number changes.
    pub warp: Vec<u32>,
}

impl LaneMap {
    /// The value for a lane of a warp.
    pub fn apply(&self, lane: u32, warp: u32) -> u32 {
        let select = |bases: &[u32], number: u32| bits_of(u64::from(number)).fold(0, |sum, i| sum ^ bases[i as usize]);
        self.constant ^ select(&self.lane, lane) ^ select(&self.warp, warp)
    }

    /// Whether the value is the same for all lanes and warps.
    pub fn is_constant(&self) -> bool {
        self.lane.iter().chain(&self.warp).all(|&basis| basis == 0)
    }

    /// All values that occur, ascending.
    pub fn values(&self) -> Vec<u32> {
        let moves = self.lane.iter().chain(&self.warp).map(|&basis| u64::from(basis));
        let mut values = vec![self.constant];
        for basis in independent(&[], moves) {
            values.extend(values.clone().iter().map(|value| value ^ basis as u32));
        }
        values.sort_unstable();
        values
    }
}

/// One shuffle: each lane reads from lane `from`, which sends its register `send`, and puts the value into its register
/// `receive`.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ShuffleRound {
    /// The lane to read from, as a function of the reading lane.
    pub from: LaneMap,
    /// The register sent, as a function of the **sending** lane.
    pub send: LaneMap,
    /// The register written, as a function of the reading lane; it does not depend on the warp.
    pub receive: LaneMap,
}

/// A conversion inside each warp.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ShufflePlan {
    /// Elements that travel together in one 32-bit value: pairs of what to xor to `send` and to `receive`, for the
    /// element in the lowest bits first. The first pair is `(0, 0)`.
    pub packed: Vec<(u32, u32)>,
    /// The rounds, independent of one another.
    pub rounds: Vec<ShuffleRound>,
    /// For each register of the result, the received register that it equals: itself, unless it is a duplicate.
    pub received: Vec<u32>,
}

impl ShufflePlan {
    /// Plans the rounds, if each warp has the elements that it wants and a schedule with as many rounds as values
    /// wanted exists.
    pub fn new(source: &LinearLayout, target: &LinearLayout, element_bits: u32) -> Option<ShufflePlan> {
        let most_packed = (32 / element_bits.max(1)).max(1).ilog2();
        (0..=most_packed).rev().find_map(|bits| Problem::new(source, target, bits)?.plan())
    }

    /// An estimate of the work, in shuffles: each register that a shuffle sends or receives must be selected among
    /// those that occur.
    pub fn cost(&self) -> u32 {
        let selects = |map: &LaneMap| map.values().len() as u32 - 1;
        let round = |round: &ShuffleRound| 1 + (selects(&round.send) + selects(&round.receive)) / 2;
        self.rounds.iter().map(round).sum()
    }
}

/// A place of the source: register and lane.
type Place = (u64, u64);

fn xor(a: Place, b: Place) -> Place {
    (a.0 ^ b.0, a.1 ^ b.1)
}

/// What a schedule is sought for.
struct Problem<'a> {
    target: &'a LinearLayout,
    packed: Vec<(u64, u64)>,
    /// The target's register bits that count rounds: neither duplicates nor packed.
    rounds: Vec<u32>,
    /// Where in the source the element of each such register bit is, then of each lane bit.
    sources: Vec<Place>,
    /// The same for each warp bit.
    warp_sources: Vec<Place>,
    /// Differences of places in the source that hold the same element, with their lane parts not zero.
    duplicates: Vec<Place>,
}

impl<'a> Problem<'a> {
    fn new(source: &LinearLayout, target: &'a LinearLayout, packed_bits: u32) -> Option<Self> {
        let (source_registers, source_lanes) = (source.bases(Dim::Register), source.bases(Dim::Lane));
        let lane_bits = source_lanes.len();
        let register_mask = |mask: u64| mask & low_mask(source_registers.len() as u32);
        // Places in the source by element: own registers first, so that what a lane has it takes from itself.
        let mut places = Echelon::spanned_by(source_registers.iter().copied());
        let own = places.clone();
        let mut duplicates = Vec::new();
        for &basis in source_lanes {
            if let Err(dependency) = places.insert(basis) {
                duplicates.push((register_mask(dependency), dependency >> source_registers.len()));
            }
        }
        let place = |element: u64| places.express(element).map(|p| (register_mask(p), p >> source_registers.len()));

        let distinct = !BitMatrix::from_columns(target.outs().total_bits(), target.bases(Dim::Register).to_vec())
            .dependent_columns();
        let mut packed = Vec::new();
        let mut rounds = Vec::new();
        for (bit, &basis) in target.bases(Dim::Register).iter().enumerate() {
            if distinct >> bit & 1 == 0 {
                continue;
            }
            match own.express(basis) {
                Some(register) if (packed.len() as u32) < packed_bits => packed.push((register, 1 << bit)),
                _ => rounds.push(bit as u32),
            }
        }
        if (packed.len() as u32) < packed_bits {
            return None;
        }
        let mut sources: Vec<Place> = Vec::new();
        for &bit in &rounds {
            sources.push(place(target.bases(Dim::Register)[bit as usize])?);
        }
        for (bit, &basis) in target.bases(Dim::Lane).iter().enumerate().take(lane_bits) {
            let from_itself = own.express(basis ^ source_lanes[bit]).map(|register| (register, 1 << bit));
            sources.push(from_itself.or_else(|| place(basis))?);
        }
        let warps = target.bases(Dim::Warp).iter().zip(source.bases(Dim::Warp));
        let warp_sources: Option<Vec<Place>> = warps.map(|(&want, &have)| place(want ^ have)).collect();
        Some(Self { target, packed, rounds, sources, warp_sources: warp_sources?, duplicates })
    }

    fn lane_bits(&self) -> u32 {
        (self.sources.len() - self.rounds.len()) as u32
    }

    /// Where the element of a combination of round and lane bits is.
    fn locate(&self, wanted: u64) -> Place {
        bits_of(wanted).fold((0, 0), |place, i| xor(place, self.sources[i as usize]))
    }

    /// `X` as a matrix, or its lane part alone.
    fn matrix(&self, lanes_only: bool) -> BitMatrix {
        let column = |&(register, lane): &Place| lane | if lanes_only { 0 } else { register << 32 };
        BitMatrix::from_columns(64, self.sources.iter().map(column).collect())
    }

    fn plan(mut self) -> Option<ShufflePlan> {
        self.spread_over_duplicates();
        let schedule = self.schedule()?;
        let lane_bits = self.lane_bits();
        // Per reading lane, in round 0: where it reads.
        let reads: Vec<Place> = (0..lane_bits)
            .map(|bit| self.locate(schedule.apply(1 << bit) | 1 << (bit + self.rounds.len() as u32)))
            .collect();
        // Per sending lane: what it sends. Defined on the lanes that are read; the rest send whatever.
        let mut pairs = Vec::new();
        let mut read_lanes = Echelon::default();
        for &(register, lane) in &reads {
            if read_lanes.insert(lane).is_ok() {
                pairs.push((lane, register));
            }
        }
        let send = BitMatrix::extend_by_zero(64, lane_bits, &pairs);
        let sent = |(register, lane): Place| (register ^ send.apply(lane)) as u32;
        let bases = |columns: &[u64]| columns.iter().map(|&c| c as u32).collect::<Vec<_>>();
        let receive_lane: Vec<u32> = schedule.columns().iter().map(|&rounds| self.register(rounds)).collect();
        let rounds = (0..1u64 << self.rounds.len()).map(|round| {
            let place = self.locate(round);
            ShuffleRound {
                from: LaneMap {
                    constant: place.1 as u32,
                    lane: reads.iter().map(|read| read.1 as u32).collect(),
                    warp: self.warp_sources.iter().map(|place| place.1 as u32).collect(),
                },
                send: LaneMap {
                    constant: sent(place),
                    lane: bases(send.columns()),
                    warp: self.warp_sources.iter().map(|&place| sent(place)).collect(),
                },
                receive: LaneMap {
                    constant: self.register(round),
                    lane: receive_lane.clone(),
                    warp: vec![0; self.warp_sources.len()],
                },
            }
        });
        let rounds = rounds.collect();
        let mut packed = vec![(0, 0)];
        for &(send, receive) in &self.packed {
            packed.extend(packed.clone().iter().map(|&(s, r)| (s ^ send as u32, r ^ receive as u32)));
        }
        Some(ShufflePlan { packed, rounds, received: self.target.register_owners() })
    }

    /// The target's register of a combination of round bits.
    fn register(&self, rounds: u64) -> u32 {
        bits_of(rounds).fold(0, |register, i| register | 1 << self.rounds[i as usize])
    }

    /// Where the source holds elements several times, makes lanes read from different holders, so far as that is needed
    /// for every lane to send no more values than there are rounds.
    fn spread_over_duplicates(&mut self) {
        loop {
            let useless = self.matrix(false).kernel();
            // Combinations that all read from lane 0, beyond those that read its register 0.
            let crowded = independent(&useless, self.matrix(true).kernel());
            if crowded.len() <= self.rounds.len() {
                return;
            }
            let read_lanes = self.matrix(true);
            let free = |&&(_, lane): &&Place| !Echelon::spanned_by(read_lanes.columns().iter().copied()).contains(lane);
            let Some(&other_holder) = self.duplicates.iter().find(free) else { return };
            // Move one crowded combination to the other holder, and with it all that contain it as a coordinate.
            let moved = useless.len();
            let mut basis = Echelon::spanned_by(useless.iter().copied().chain([crowded[0]]));
            for bit in 0..self.sources.len() {
                // Units complete the basis; those already spanned change nothing.
                let _ = basis.insert(1 << bit);
            }
            for (bit, source) in self.sources.iter_mut().enumerate() {
                let coordinates = basis.express(1 << bit).expect("the basis is complete");
                if coordinates >> moved & 1 == 1 {
                    *source = xor(*source, other_holder);
                }
            }
        }
    }

    /// For each lane bit, the round bits that it adds to what the lane receives (see the module's description).
    fn schedule(&self) -> Option<BitMatrix> {
        let (round_bits, lane_bits) = (self.rounds.len() as u32, self.lane_bits());
        let split = |combination: u64| (combination & low_mask(round_bits), combination >> round_bits);
        // Lanes that differ by a useless combination read the same register of the same lane: the schedule follows it.
        let mut pairs: Vec<(u64, u64)> =
            self.matrix(false).kernel().into_iter().map(split).map(|(r, l)| (l, r)).collect();
        let mut chosen = Echelon::default();
        for &(lanes, _) in &pairs {
            chosen.insert(lanes).ok()?;
        }
        let others: Vec<u64> = (0..lane_bits).map(|bit| 1 << bit).filter(|&unit| chosen.insert(unit).is_ok()).collect();
        // The other lanes must read from different lanes. Where they would not, rounds tell them apart.
        let mut read = Echelon::default();
        let mut clashes = Vec::new();
        for &unit in &others {
            match read.insert(self.locate(unit << round_bits).1) {
                Ok(()) => pairs.push((unit, 0)),
                Err(clash) => {
                    let lanes = bits_of(clash).fold(0, |lanes, j| lanes ^ others[j as usize]);
                    clashes.push(lanes);
                }
            }
        }
        let mut read = Echelon::spanned_by(others.iter().map(|&unit| self.locate(unit << round_bits).1));
        let mut helpers = (0..round_bits).filter(|&bit| read.insert(self.locate(1 << bit).1).is_ok());
        for lanes in clashes {
            pairs.push((lanes, 1 << helpers.next()?));
        }
        Some(BitMatrix::extend_by_zero(round_bits, lane_bits, &pairs))
    }
}
