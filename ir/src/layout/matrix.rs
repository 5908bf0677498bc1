//! Matrices and subspaces over F2, the field of two elements: the arithmetic under every layout.
//!
//! A vector is a `u64` whose bit `i` is its `i`-th entry; addition is exclusive or. A matrix keeps its columns, so
//! applying it is the exclusive or of the columns that the argument selects. All of linear algebra that layouts need
//! (rank, kernel, solving, complements, intersections) rests on one incremental elimination, [`Echelon`].

/// A matrix over F2, at most 64 by 64, stored by columns.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct BitMatrix {
    rows: u32,
    columns: Vec<u64>,
}

impl BitMatrix {
    /// The matrix with these columns; bits at or above `rows` must be clear.
    ///
    /// # Panics
    /// If there are more than 64 rows or columns, or a column does not fit in `rows` bits.
    pub fn from_columns(rows: u32, columns: Vec<u64>) -> Self {
        assert!(rows <= 64 && columns.len() <= 64, "an F2 matrix is at most 64 by 64");
        assert!(columns.iter().all(|&c| c & !low_mask(rows) == 0), "a column does not fit in {rows} rows");
        Self { rows, columns }
    }

    /// The zero matrix.
    pub fn zero(rows: u32, columns: u32) -> Self {
        Self::from_columns(rows, vec![0; columns as usize])
    }

    /// The identity matrix of `size` rows.
    pub fn identity(size: u32) -> Self {
        Self::from_columns(size, (0..size).map(|bit| 1 << bit).collect())
    }

    /// The linear map that sends each independent `from` vector to its `to` vector, and unit vectors that complete
    /// `from` to a basis of the `columns`-dimensional space to zero.
    ///
    /// # Panics
    /// If the `from` vectors are dependent.
    pub fn extend_by_zero(rows: u32, columns: u32, pairs: &[(u64, u64)]) -> Self {
        let mut basis = Echelon::default();
        for &(from, _) in pairs {
            assert!(basis.insert(from).is_ok(), "the vectors to extend from are dependent");
        }
        let given = low_mask(pairs.len() as u32);
        for bit in 0..columns {
            // A unit vector that is already spanned adds nothing; the others are sent to zero.
            let _ = basis.insert(1 << bit);
        }
        let images = (0..columns).map(|bit| {
            let combination = basis.express(1 << bit).expect("the completed basis spans the space") & given;
            bits_of(combination).fold(0, |image, i| image ^ pairs[i as usize].1)
        });
        Self::from_columns(rows, images.collect())
    }

    /// Number of rows: bits of a result.
    pub fn rows(&self) -> u32 {
        self.rows
    }

    /// The columns, least significant input bit first.
    pub fn columns(&self) -> &[u64] {
        &self.columns
    }

    /// The matrix times a vector; bits of `vector` beyond the columns are ignored.
    pub fn apply(&self, vector: u64) -> u64 {
        bits_of(vector & low_mask(self.columns.len() as u32)).fold(0, |result, bit| result ^ self.columns[bit as usize])
    }

    /// The product `self * rhs`: first `rhs`, then `self`.
    ///
    /// # Panics
    /// If `rhs` has another number of rows than `self` has columns.
    pub fn multiply(&self, rhs: &BitMatrix) -> BitMatrix {
        assert_eq!(self.columns.len(), rhs.rows as usize, "inner sizes of an F2 product differ");
        Self::from_columns(self.rows, rhs.columns.iter().map(|&c| self.apply(c)).collect())
    }

    /// Dimension of the image.
    pub fn rank(&self) -> u32 {
        Echelon::spanned_by(self.columns.iter().copied()).rank()
    }

    /// Whether every vector of `rows` bits is an image.
    pub fn is_surjective(&self) -> bool {
        self.rank() == self.rows
    }

    /// Whether different vectors have different images.
    pub fn is_injective(&self) -> bool {
        self.rank() as usize == self.columns.len()
    }

    /// A basis of the vectors that are sent to zero. Each basis vector has, as its highest bit, a column that depends
    /// on columns before it.
    pub fn kernel(&self) -> Vec<u64> {
        let mut echelon = Echelon::default();
        self.columns.iter().filter_map(|&column| echelon.insert(column).err()).collect()
    }

    /// The columns that depend on columns before them, as a mask.
    pub fn dependent_columns(&self) -> u64 {
        let mut echelon = Echelon::default();
        let dependent = |(bit, &column): (usize, &u64)| u64::from(echelon.insert(column).is_err()) << bit;
        self.columns.iter().enumerate().map(dependent).fold(0, |mask, bit| mask | bit)
    }

    /// `X` with `self * X == target`, or `None` if a column of `target` is not in the image. Dependent columns of
    /// `self` are never used, so the answer is unique and prefers low input bits.
    pub fn solve(&self, target: &BitMatrix) -> Option<BitMatrix> {
        let echelon = Echelon::spanned_by(self.columns.iter().copied());
        let columns: Option<Vec<u64>> = target.columns.iter().map(|&c| echelon.express(c)).collect();
        Some(Self::from_columns(self.columns.len() as u32, columns?))
    }

    /// The inverse, if the matrix is square and of full rank.
    pub fn inverse(&self) -> Option<BitMatrix> {
        (self.rows as usize == self.columns.len()).then(|| self.right_inverse()).flatten()
    }

    /// `X` with `self * X` the identity, if the matrix is surjective.
    pub fn right_inverse(&self) -> Option<BitMatrix> {
        self.solve(&Self::identity(self.rows))
    }
}

/// A basis under construction, kept in echelon form, which remembers how each reduced vector came from inserted ones.
#[derive(Clone, Default, Debug)]
pub struct Echelon {
    /// Reduced vector and the set of insertions whose sum it is; no two have the same leading bit.
    rows: Vec<(u64, u64)>,
    insertions: u32,
}

impl Echelon {
    /// The space spanned by these vectors.
    pub fn spanned_by(vectors: impl IntoIterator<Item = u64>) -> Self {
        let mut echelon = Self::default();
        for vector in vectors {
            // Only the span matters here: a dependent vector changes nothing.
            let _ = echelon.insert(vector);
        }
        echelon
    }

    /// Adds a vector. If it depends on vectors before it, the space is unchanged and the error is the set of
    /// insertions, itself included, whose sum is zero. Dependent vectors count as insertions too.
    ///
    /// # Panics
    /// On the 65th insertion.
    pub fn insert(&mut self, vector: u64) -> Result<(), u64> {
        assert!(self.insertions < 64, "an F2 basis takes at most 64 vectors");
        let own = 1 << self.insertions;
        self.insertions += 1;
        let (rest, used) = self.reduce(vector);
        if rest == 0 {
            return Err(used ^ own);
        }
        self.rows.push((rest, used ^ own));
        Ok(())
    }

    /// Dimension of the space.
    pub fn rank(&self) -> u32 {
        self.rows.len() as u32
    }

    /// Whether the vector lies in the space.
    pub fn contains(&self, vector: u64) -> bool {
        self.reduce(vector).0 == 0
    }

    /// The set of insertions whose sum is the vector, if it lies in the space.
    pub fn express(&self, vector: u64) -> Option<u64> {
        let (rest, used) = self.reduce(vector);
        (rest == 0).then_some(used)
    }

    fn reduce(&self, vector: u64) -> (u64, u64) {
        // A row only has bits at and below its leading bit, so going down by leading bit meets each row at most once.
        let mut rest = vector;
        let mut used = 0;
        let mut pending = rest;
        while pending != 0 {
            let leading = 63 - pending.leading_zeros();
            if let Some(&(row, combination)) = self.rows.iter().find(|(row, _)| 63 - row.leading_zeros() == leading) {
                rest ^= row;
                used ^= combination;
            }
            pending = rest & low_mask(leading);
        }
        (rest, used)
    }
}

/// A basis of the intersection of two spaces, each given by independent vectors.
pub fn intersection(a: &[u64], b: &[u64]) -> Vec<u64> {
    let mut echelon = Echelon::spanned_by(a.iter().copied());
    let in_a = low_mask(a.len() as u32);
    let dependencies = b.iter().filter_map(|&vector| echelon.insert(vector).err());
    // A dependency says: a sum of vectors of `a` equals a sum of vectors of `b`; that common sum is in both.
    dependencies.map(|set| bits_of(set & in_a).fold(0, |sum, i| sum ^ a[i as usize])).collect()
}

/// Those of `candidates`, in order, that are independent of `of` and of one another.
pub fn independent(of: &[u64], candidates: impl IntoIterator<Item = u64>) -> Vec<u64> {
    let mut echelon = Echelon::spanned_by(of.iter().copied());
    candidates.into_iter().filter(|&vector| echelon.insert(vector).is_ok()).collect()
}

/// The `count` low bits set.
pub fn low_mask(count: u32) -> u64 {
    if count >= 64 { u64::MAX } else { (1 << count) - 1 }
}

/// Positions of the set bits, from the lowest.
pub fn bits_of(mut mask: u64) -> impl Iterator<Item = u32> {
    std::iter::from_fn(move || {
        let bit = (mask != 0).then(|| mask.trailing_zeros())?;
        mask &= mask - 1;
        Some(bit)
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// A matrix of up to 9 by 9; small ones have the dependencies that matter.
    fn matrix() -> impl Strategy<Value = BitMatrix> {
        (0u32..9, 0usize..9).prop_flat_map(|(rows, columns)| {
            prop::collection::vec(0..=low_mask(rows), columns).prop_map(move |c| BitMatrix::from_columns(rows, c))
        })
    }

    proptest! {
        #[test]
        fn kernel_is_exactly_what_maps_to_zero(m in matrix()) {
            let kernel = m.kernel();
            prop_assert_eq!(m.rank() as usize + kernel.len(), m.columns().len());
            let span = Echelon::spanned_by(kernel.iter().copied());
            for vector in 0..1u64 << m.columns().len() {
                prop_assert_eq!(m.apply(vector) == 0, span.contains(vector));
            }
        }

        #[test]
        fn solve_agrees_with_search(m in matrix(), target in any::<u64>()) {
            let target = target & low_mask(m.rows());
            let found = m.solve(&BitMatrix::from_columns(m.rows(), vec![target]));
            let exists = (0..1u64 << m.columns().len()).any(|x| m.apply(x) == target);
            prop_assert_eq!(found.is_some(), exists);
            if let Some(x) = found {
                prop_assert_eq!(m.apply(x.columns()[0]), target);
                prop_assert_eq!(x.columns()[0] & m.dependent_columns(), 0);
            }
        }

        #[test]
        fn inverse_is_two_sided(m in matrix()) {
            match m.inverse() {
                Some(inverse) => {
                    prop_assert_eq!(m.multiply(&inverse), BitMatrix::identity(m.rows()));
                    prop_assert_eq!(inverse.multiply(&m), BitMatrix::identity(m.rows()));
                }
                None => prop_assert!(m.rows() as usize != m.columns().len() || !m.is_injective()),
            }
        }

        #[test]
        fn intersection_is_what_both_contain(a in matrix(), b in matrix()) {
            let (a, b) = (independent(&[], a.columns().to_vec()), independent(&[], b.columns().to_vec()));
            let common = Echelon::spanned_by(intersection(&a, &b));
            let (a, b) = (Echelon::spanned_by(a), Echelon::spanned_by(b));
            for vector in 0..512 {
                prop_assert_eq!(common.contains(vector), a.contains(vector) && b.contains(vector));
            }
        }

        #[test]
        fn extension_sends_given_vectors_where_asked(m in matrix(), images in prop::collection::vec(0u64..32, 9)) {
            let from = independent(&[], m.columns().to_vec());
            let pairs: Vec<_> = from.iter().copied().zip(images).collect();
            let map = BitMatrix::extend_by_zero(5, m.rows(), &pairs);
            for (from, to) in pairs {
                prop_assert_eq!(map.apply(from), to);
            }
        }
    }
}
