//! Classes of arguments: what is promised to the compiler of each argument of a launch.
//!
//! Few classes, so that a size which changes from launch to launch does not compile the kernel again and again. An
//! extent, stride or integer is a multiple of 16 or it is nothing special; an address is a multiple of 16 bytes or of
//! the element's size. Sizes 1, 3, 16 and 17 give two classes.

use smallvec::SmallVec;
use tegula_ir::function::ViewSpec;
use tegula_ir::types::ScalarType;
use tegula_lang::kernel::build::ArgSpec;

use super::check::Overlaps;
use super::property::{ALIGNMENT, DIVISOR, Property};
use crate::backend::Arg;

/// The class of an argument, in a form that is quick to compare: what [`ArgSpec`] says, in bits, and the kind of argument
/// with its element type, so that arguments of the same classes fit the same parameters.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Default, Debug)]
pub struct Class(u32);

/// The classes of a call's arguments.
pub type Classes = SmallVec<[Class; 24]>;

impl Class {
    // The lower bits are those of properties.
    /// The number of axes stands here.
    const RANK: u32 = 20;
    const VIEW: u32 = 1 << 24;
    const POINTER: u32 = 1 << 25;
    /// The element type stands here.
    const ELEM: u32 = 26;
    /// What remains where nothing is promised.
    const KIND: u32 = u32::MAX << Self::RANK;

    /// The class of a tensor whose memory nothing else uses.
    pub fn of_view(elem: ScalarType, address: u64, extents: &[i64], strides: &[i64], fits_32: bool) -> Self {
        let mut bits = Self::VIEW | (extents.len() as u32) << Self::RANK | Self::elem(elem);
        let mut set = |property: Property, yes: bool| bits |= if yes { property.bit() } else { 0 };
        set(Property::Address, address.is_multiple_of(ALIGNMENT.into()));
        set(Property::UnitInner, strides.last().is_none_or(|&s| s == 1));
        set(Property::Fits32, fits_32);
        set(Property::NoAlias, true);
        for (axis, (&e, &s)) in (0..).zip(extents.iter().zip(strides)) {
            set(Property::Extent(axis), is_multiple(e));
            set(Property::Stride(axis), is_multiple(s));
        }
        Self(bits)
    }

    fn pointer(elem: ScalarType, address: u64) -> Self {
        let aligned = if address.is_multiple_of(ALIGNMENT.into()) { Property::Address.bit() } else { 0 };
        Self(Self::POINTER | Self::elem(elem) | aligned)
    }

    fn scalar(elem: ScalarType, bits: u64) -> Self {
        let multiple = if elem.is_int() && is_multiple(bits as i64) { Property::Value.bit() } else { 0 };
        Self(Self::elem(elem) | multiple)
    }

    /// The class of an argument whose memory nothing else uses.
    pub fn of(arg: &Arg<'_>) -> Self {
        match *arg {
            Arg::View(view) => view.class(),
            Arg::Ptr(view) => Self::pointer(view.elem(), view.address()),
            Arg::Scalar(elem, bits) => Self::scalar(elem, bits),
            Arg::Address(elem, address) => Self::pointer(elem, address),
        }
    }

    /// The class that promises nothing.
    #[must_use]
    pub fn plain(self) -> Self {
        Self(self.0 & Self::KIND)
    }

    /// The class of a tensor whose memory another argument uses as well.
    #[must_use]
    pub fn shared(self) -> Self {
        Self(self.0 & !Property::NoAlias.bit())
    }

    /// The class as a number.
    pub fn bits(self) -> u32 {
        self.0
    }

    fn elem(elem: ScalarType) -> u32 {
        (elem as u32) << Self::ELEM
    }

    /// Whether the argument has a property; false where nothing is promised of it.
    pub fn has(self, property: Property) -> bool {
        self.0 & property.bit() != 0
    }

    /// What the class promises.
    pub fn spec(self) -> ArgSpec {
        let rank = (self.0 >> Self::RANK & 7) as u8;
        let divisors = |of: fn(u8) -> Property| (0..rank).map(move |axis| if self.has(of(axis)) { DIVISOR } else { 1 });
        let align = if self.has(Property::Address) { ALIGNMENT } else { 0 };
        if self.0 & Self::VIEW != 0 {
            let view = ViewSpec {
                align,
                unit_inner: self.has(Property::UnitInner),
                extent_divisor: divisors(Property::Extent).collect(),
                stride_divisor: divisors(Property::Stride).collect(),
                fits_32: self.has(Property::Fits32),
                no_alias: self.has(Property::NoAlias),
            };
            ArgSpec { view, ..ArgSpec::default() }
        } else if self.0 & Self::POINTER != 0 {
            ArgSpec { align, ..ArgSpec::default() }
        } else {
            ArgSpec { divisor: if self.has(Property::Value) { DIVISOR } else { 0 }, ..ArgSpec::default() }
        }
    }
}

fn is_multiple(value: i64) -> bool {
    value & i64::from(DIVISOR - 1) == 0
}

/// The class of each argument; `specialize` tells for which ones the kernel is compiled again.
pub fn classify(
    args: &[Arg<'_>],
    overlaps: Overlaps,
    specialize: impl Fn(usize) -> bool,
) -> impl Iterator<Item = Class> {
    let class = move |(i, arg): (usize, &Arg<'_>)| match Class::of(arg) {
        class if !specialize(i) => class.plain(),
        class if overlaps.contains(i) => class.shared(),
        class => class,
    };
    args.iter().enumerate().map(class)
}

#[cfg(test)]
mod tests {
    use super::*;
    use tegula_ir::function::{ParamKind, ViewAccess};

    #[test]
    fn scalars_have_two_classes() {
        let class = |v: u64| Class::of(&Arg::Scalar(ScalarType::I32, v));
        assert_eq!(class(1), class(17));
        assert_eq!(class(16), class(0));
        assert_ne!(class(16), class(17));
        assert_eq!(class(16).spec().divisor, 16);
        assert_eq!(class(-16i32 as u32 as u64).spec().divisor, 16);
    }

    /// What fits a parameter does so by its class alone, also where nothing is promised of it.
    #[test]
    fn kinds_have_classes_of_their_own() {
        let view = |rank: usize, elem| Class::of_view(elem, 16, &[16; 5][..rank], &[16; 5][..rank], true);
        let mut all = Vec::new();
        for elem in ScalarType::ALL {
            all.extend([Class::scalar(elem, 16), Class::pointer(elem, 16)]);
            all.extend((0..=5).map(|rank| view(rank, elem)));
        }
        let plain: Vec<_> = all.iter().map(|class| class.plain()).collect();
        for classes in [&all, &plain] {
            for (i, class) in classes.iter().enumerate() {
                assert!(!classes[..i].contains(class), "{class:?}");
            }
        }
        assert!(view(2, ScalarType::F32).spec().view.no_alias);
        assert!(!view(2, ScalarType::F32).shared().spec().view.no_alias);
        let nothing =
            ViewSpec { extent_divisor: [1; 2][..].into(), stride_divisor: [1; 2][..].into(), ..ViewSpec::default() };
        assert_eq!(view(2, ScalarType::F32).plain().spec().view, nothing);
    }

    /// What is listed of a parameter is what makes classes of its arguments, and each property has a bit of its own.
    #[test]
    fn classes_are_the_listed_properties() {
        let elem = ScalarType::F32;
        for rank in 0..=5u8 {
            let kind = ParamKind::View { elem, rank, access: ViewAccess::Read, spec: ViewSpec::default() };
            let properties = Property::of(&kind);
            let all = Class::of_view(elem, 16, &[16; 5][..rank.into()], &[16; 5][..rank.into()], true);
            let unit = Property::UnitInner;
            let has = |p: &Property| all.has(*p) || (*p == unit && rank > 0);
            assert!(properties.iter().all(has), "{rank}");
            let bits = properties.iter().fold(0, |bits, p| bits | p.bit());
            assert_eq!(bits.count_ones() as usize, properties.len());
            assert_eq!(all.bits() & !Class::KIND & !bits, 0);
        }
        let scalar = |elem| Property::of(&ParamKind::Scalar { elem, divisor: 1 });
        assert_eq!(scalar(ScalarType::I64), [Property::Value]);
        assert_eq!(scalar(ScalarType::BF16), []);
        assert_eq!(scalar(ScalarType::Bool), []);
        assert_eq!(Property::of(&ParamKind::Ptr { elem, align: 0 }), [Property::Address]);
    }

    #[test]
    fn floats_have_one_class() {
        let class = |v: f32| Class::of(&Arg::Scalar(ScalarType::F32, v.to_bits().into()));
        assert_eq!(class(0.0), class(1.1));
    }
}
