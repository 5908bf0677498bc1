//! Types of Tile IR: element types, shapes, tiles, pointers and tensor views.

use std::fmt;
use std::sync::Arc;

use smallvec::SmallVec;

use crate::layout::LinearLayout;

/// The most axes a tile or a tensor view can have.
pub const MAX_RANK: usize = 5;

/// A number format. Signedness belongs to the type, as in Rust, so that division, comparison, shifts and
/// conversions need no signed and unsigned variants.
///
/// `I4` and `U4` exist in registers only: a packed tensor is loaded as `U8` and unpacked.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub enum ScalarType {
    /// A truth value, `i1`. In memory one byte, zero or one.
    Bool,
    /// 4-bit signed integer (registers only).
    I4,
    /// 8-bit signed integer.
    I8,
    /// 16-bit signed integer.
    I16,
    /// 32-bit signed integer.
    I32,
    /// 64-bit signed integer; also the type of extents, offsets and program coordinates.
    I64,
    /// 4-bit unsigned integer (registers only).
    U4,
    /// 8-bit unsigned integer.
    U8,
    /// 16-bit unsigned integer.
    U16,
    /// 32-bit unsigned integer.
    U32,
    /// 64-bit unsigned integer.
    U64,
    /// OCP 8-bit float, 4 exponent and 3 mantissa bits, no infinities, largest 448 (`e4m3fn`).
    F8E4M3,
    /// OCP 8-bit float, 5 exponent and 2 mantissa bits, with infinities, largest 57344.
    F8E5M2,
    /// AMD's `e4m3fnuz` (CDNA3): bias 8, one NaN (0x80), no negative zero, largest 240.
    F8E4M3Fnuz,
    /// AMD's `e5m2fnuz` (CDNA3): bias 16, one NaN (0x80), no negative zero, largest 57344.
    F8E5M2Fnuz,
    /// IEEE binary16.
    F16,
    /// bfloat16: the upper half of a binary32.
    BF16,
    /// IEEE binary32.
    F32,
    /// IEEE binary64.
    F64,
}

impl ScalarType {
    /// Every scalar type, narrow to wide within each family.
    pub const ALL: [ScalarType; 19] = [
        Self::Bool,
        Self::I4,
        Self::I8,
        Self::I16,
        Self::I32,
        Self::I64,
        Self::U4,
        Self::U8,
        Self::U16,
        Self::U32,
        Self::U64,
        Self::F8E4M3,
        Self::F8E5M2,
        Self::F8E4M3Fnuz,
        Self::F8E5M2Fnuz,
        Self::F16,
        Self::BF16,
        Self::F32,
        Self::F64,
    ];

    /// Width of the value in bits (1 for `Bool`).
    pub const fn bits(self) -> u32 {
        match self {
            Self::Bool => 1,
            Self::I4 | Self::U4 => 4,
            Self::I8 | Self::U8 => 8,
            Self::F8E4M3 | Self::F8E5M2 | Self::F8E4M3Fnuz | Self::F8E5M2Fnuz => 8,
            Self::I16 | Self::U16 | Self::F16 | Self::BF16 => 16,
            Self::I32 | Self::U32 | Self::F32 => 32,
            Self::I64 | Self::U64 | Self::F64 => 64,
        }
    }

    /// Bytes of one element in memory, or `None` for the types that live in registers only.
    pub const fn memory_bytes(self) -> Option<u32> {
        match self {
            Self::Bool => Some(1),
            Self::I4 | Self::U4 => None,
            _ => Some(self.bits() / 8),
        }
    }

    /// Whether this is one of the float formats, fp8 included.
    pub const fn is_float(self) -> bool {
        matches!(
            self,
            Self::F8E4M3
                | Self::F8E5M2
                | Self::F8E4M3Fnuz
                | Self::F8E5M2Fnuz
                | Self::F16
                | Self::BF16
                | Self::F32
                | Self::F64
        )
    }

    /// Whether this is one of the 8-bit floats: storage formats that are converted before arithmetic.
    pub const fn is_fp8(self) -> bool {
        matches!(self, Self::F8E4M3 | Self::F8E5M2 | Self::F8E4M3Fnuz | Self::F8E5M2Fnuz)
    }

    /// Whether this is an integer type (`Bool` is not).
    pub const fn is_int(self) -> bool {
        !self.is_float() && !matches!(self, Self::Bool)
    }

    /// Whether this is a signed integer type.
    pub const fn is_signed_int(self) -> bool {
        matches!(self, Self::I4 | Self::I8 | Self::I16 | Self::I32 | Self::I64)
    }

    /// Whether this is an unsigned integer type.
    pub const fn is_unsigned_int(self) -> bool {
        matches!(self, Self::U4 | Self::U8 | Self::U16 | Self::U32 | Self::U64)
    }

    /// The name in the text format: `i1 i8 u32 f16 bf16 f8e4m3 f8e4m3fnuz` and so on.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Bool => "i1",
            Self::I4 => "i4",
            Self::I8 => "i8",
            Self::I16 => "i16",
            Self::I32 => "i32",
            Self::I64 => "i64",
            Self::U4 => "u4",
            Self::U8 => "u8",
            Self::U16 => "u16",
            Self::U32 => "u32",
            Self::U64 => "u64",
            Self::F8E4M3 => "f8e4m3",
            Self::F8E5M2 => "f8e5m2",
            Self::F8E4M3Fnuz => "f8e4m3fnuz",
            Self::F8E5M2Fnuz => "f8e5m2fnuz",
            Self::F16 => "f16",
            Self::BF16 => "bf16",
            Self::F32 => "f32",
            Self::F64 => "f64",
        }
    }

    /// The type with this name in the text format.
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|t| t.name() == name)
    }

    /// The format that sums and products of this type are accumulated in: `F32` for the 8- and 16-bit
    /// floats, the type itself otherwise.
    pub const fn accumulator(self) -> Self {
        match self {
            Self::F16 | Self::BF16 => Self::F32,
            t if t.is_fp8() => Self::F32,
            t => t,
        }
    }
}

impl fmt::Display for ScalarType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// What one element of a tile, or one scalar value, is.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub enum Elem {
    /// A number or truth value.
    Scalar(ScalarType),
    /// A pointer to elements of this type in global memory.
    Ptr(ScalarType),
}

impl Elem {
    /// The number format, if this is not a pointer.
    pub const fn scalar(self) -> Option<ScalarType> {
        match self {
            Self::Scalar(t) => Some(t),
            Self::Ptr(_) => None,
        }
    }

    /// The type pointed to, if this is a pointer.
    pub const fn pointee(self) -> Option<ScalarType> {
        match self {
            Self::Scalar(_) => None,
            Self::Ptr(t) => Some(t),
        }
    }
}

impl From<ScalarType> for Elem {
    fn from(t: ScalarType) -> Self {
        Self::Scalar(t)
    }
}

impl fmt::Display for Elem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Scalar(t) => write!(f, "{t}"),
            Self::Ptr(t) => write!(f, "ptr<{t}>"),
        }
    }
}

/// Extents of a tile, outermost axis first. Extents need not be powers of two.
pub type Shape = SmallVec<[u32; MAX_RANK]>;

/// A layout shared by the types that use it.
pub type LayoutRef = Arc<LinearLayout>;

/// A value of fixed shape, spread over the threads of a program. The rank is at least 1: a tile of rank 0 is
/// a scalar.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct TileType {
    /// Extents, outermost axis first.
    pub shape: Shape,
    /// What each element is.
    pub elem: Elem,
    /// Where each element lives (GPU paths, after layout assignment).
    pub layout: Option<LayoutRef>,
}

impl TileType {
    /// A tile type without a layout.
    pub fn new(shape: impl IntoIterator<Item = u32>, elem: impl Into<Elem>) -> Self {
        Self { shape: shape.into_iter().collect(), elem: elem.into(), layout: None }
    }

    /// Number of axes.
    pub fn rank(&self) -> usize {
        self.shape.len()
    }

    /// Number of elements.
    pub fn count(&self) -> u64 {
        self.shape.iter().map(|&d| u64::from(d)).product()
    }
}

/// The type of a value.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub enum Type {
    /// One number, truth value or pointer, the same in every thread of the program.
    Scalar(Elem),
    /// A tile.
    Tile(TileType),
    /// A tensor in memory: base pointer, one extent (elements) and one stride (elements) per axis, as `i64`.
    View {
        /// Element type in memory.
        elem: ScalarType,
        /// Number of axes, 0 to [`MAX_RANK`].
        rank: u8,
    },
}

impl Type {
    /// The scalar type `i64`, which indexes and extents have.
    pub const INDEX: Type = Type::Scalar(Elem::Scalar(ScalarType::I64));
    /// The scalar type `i1`.
    pub const BOOL: Type = Type::Scalar(Elem::Scalar(ScalarType::Bool));

    /// A scalar of a number format.
    pub const fn scalar(t: ScalarType) -> Self {
        Self::Scalar(Elem::Scalar(t))
    }

    /// A tile of this shape, or a scalar where the shape has no axes.
    pub fn shaped(shape: impl IntoIterator<Item = u32>, elem: impl Into<Elem>) -> Self {
        let tile = TileType::new(shape, elem);
        if tile.shape.is_empty() { Self::Scalar(tile.elem) } else { Self::Tile(tile) }
    }

    /// The element of a scalar or tile.
    pub fn elem(&self) -> Option<Elem> {
        match self {
            Self::Scalar(e) => Some(*e),
            Self::Tile(t) => Some(t.elem),
            Self::View { .. } => None,
        }
    }

    /// The number format of a scalar or tile of numbers.
    pub fn elem_scalar(&self) -> Option<ScalarType> {
        self.elem().and_then(Elem::scalar)
    }

    /// The extents of a tile; empty for a scalar; `None` for a view.
    pub fn shape(&self) -> Option<&[u32]> {
        match self {
            Self::Scalar(_) => Some(&[]),
            Self::Tile(t) => Some(&t.shape),
            Self::View { .. } => None,
        }
    }

    /// The tile type, if this is a tile.
    pub fn tile(&self) -> Option<&TileType> {
        match self {
            Self::Tile(t) => Some(t),
            _ => None,
        }
    }

    /// The layout, if this is a tile that has one.
    pub fn layout(&self) -> Option<&LayoutRef> {
        self.tile().and_then(|t| t.layout.as_ref())
    }

    /// The same shape (and no layout) with another element.
    pub fn with_elem(&self, elem: impl Into<Elem>) -> Option<Self> {
        self.shape().map(|s| Self::shaped(s.iter().copied(), elem))
    }

    /// The same type with the layout removed.
    pub fn without_layout(&self) -> Self {
        match self {
            Self::Tile(t) => Self::Tile(TileType { layout: None, ..t.clone() }),
            other => other.clone(),
        }
    }

    /// The same tile type with this layout; scalars and views are unchanged.
    pub fn with_layout(&self, layout: LayoutRef) -> Self {
        match self {
            Self::Tile(t) => Self::Tile(TileType { layout: Some(layout), ..t.clone() }),
            other => other.clone(),
        }
    }
}

impl fmt::Display for Type {
    /// Without layouts; the printer of the text format adds them as aliases.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Scalar(e) => write!(f, "{e}"),
            Self::Tile(t) => {
                f.write_str("tile<")?;
                for d in &t.shape {
                    write!(f, "{d}x")?;
                }
                write!(f, "{}>", t.elem)
            }
            Self::View { elem, rank } => write!(f, "view<{rank}d, {elem}>"),
        }
    }
}
