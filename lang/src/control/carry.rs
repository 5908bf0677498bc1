//! Values that loops and branches of the kernel can change.

use std::hash::{DefaultHasher, Hash, Hasher};

use crate::context::{Handle, Handles};
use crate::elem::AnyElem;
use crate::shape::Shape;
use crate::tile::Tile;

/// A value made of tiles and scalars: what a variable must be that is assigned in a loop or branch which runs
/// on the device.
///
/// Implemented by tiles, tuples of up to twelve, arrays, `Vec`, `Option` and `Box` of such values; `#[derive(Staged)]`
/// implements it for structs.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is a build-time value: a loop or branch that runs on the device cannot change or give it",
    label = "assigned or given where the device decides, but `{Self}` is known at build time",
    note = "make it a value of the kernel with `scalar(..)` or `full(..)`, or let build time decide: a `bool` condition, `unrolled(..)`",
    note = "for a struct of tiles write `#[derive(Staged)]`"
)]
pub trait Staged {
    /// Calls `f` with a place for each tile and scalar, in a fixed order.
    fn visit(&mut self, f: &mut dyn FnMut(&mut Handle));
}

impl<T: AnyElem, S: Shape> Staged for Tile<T, S> {
    fn visit(&mut self, f: &mut dyn FnMut(&mut Handle)) {
        f(self.handle_mut());
    }
}

#[diagnostic::do_not_recommend]
impl Staged for () {
    fn visit(&mut self, _: &mut dyn FnMut(&mut Handle)) {}
}

#[diagnostic::do_not_recommend]
impl<T: ?Sized> Staged for std::marker::PhantomData<T> {
    fn visit(&mut self, _: &mut dyn FnMut(&mut Handle)) {}
}

#[diagnostic::do_not_recommend]
impl<A: Staged + ?Sized> Staged for &mut A {
    fn visit(&mut self, f: &mut dyn FnMut(&mut Handle)) {
        (**self).visit(f);
    }
}

#[diagnostic::do_not_recommend]
impl<A: Staged + ?Sized> Staged for Box<A> {
    fn visit(&mut self, f: &mut dyn FnMut(&mut Handle)) {
        (**self).visit(f);
    }
}

#[diagnostic::do_not_recommend]
impl<A: Staged> Staged for Option<A> {
    fn visit(&mut self, f: &mut dyn FnMut(&mut Handle)) {
        if let Some(a) = self {
            a.visit(f);
        }
    }
}

#[diagnostic::do_not_recommend]
impl<A: Staged> Staged for [A] {
    fn visit(&mut self, f: &mut dyn FnMut(&mut Handle)) {
        for a in self {
            a.visit(f);
        }
    }
}

#[diagnostic::do_not_recommend]
impl<A: Staged, const N: usize> Staged for [A; N] {
    fn visit(&mut self, f: &mut dyn FnMut(&mut Handle)) {
        self.as_mut_slice().visit(f);
    }
}

#[diagnostic::do_not_recommend]
impl<A: Staged> Staged for Vec<A> {
    fn visit(&mut self, f: &mut dyn FnMut(&mut Handle)) {
        self.as_mut_slice().visit(f);
    }
}

macro_rules! tuple {
    ($($name:ident $i:tt),+) => {
        #[diagnostic::do_not_recommend]
        impl<$($name: Staged),+> Staged for ($($name,)+) {
            fn visit(&mut self, f: &mut dyn FnMut(&mut Handle)) {
                $(self.$i.visit(f);)+
            }
        }
    };
}

tuple!(A 0);
tuple!(A 0, B 1);
tuple!(A 0, B 1, C 2);
tuple!(A 0, B 1, C 2, D 3);
tuple!(A 0, B 1, C 2, D 3, E 4);
tuple!(A 0, B 1, C 2, D 3, E 4, F 5);
tuple!(A 0, B 1, C 2, D 3, E 4, F 5, G 6);
tuple!(A 0, B 1, C 2, D 3, E 4, F 5, G 6, H 7);
tuple!(A 0, B 1, C 2, D 3, E 4, F 5, G 6, H 7, I 8);
tuple!(A 0, B 1, C 2, D 3, E 4, F 5, G 6, H 7, I 8, J 9);
tuple!(A 0, B 1, C 2, D 3, E 4, F 5, G 6, H 7, I 8, J 9, K 10);
tuple!(A 0, B 1, C 2, D 3, E 4, F 5, G 6, H 7, I 8, J 9, K 10, L 11);

/// The handles of a value in order.
pub(crate) fn flatten(x: &mut (impl Staged + ?Sized)) -> Handles {
    let mut handles = Handles::new();
    x.visit(&mut |h| handles.push(*h));
    handles
}

/// Puts handles into a value in order, as many as there are.
pub(crate) fn refill(x: &mut (impl Staged + ?Sized), handles: &[Handle]) {
    let mut next = handles.iter();
    x.visit(&mut |h| {
        if let Some(&new) = next.next() {
            *h = new;
        }
    });
}

/// Drivers that can carry a variable of type `A` through their blocks. Those decided at build time carry
/// anything; those of the device [`Staged`] values.
pub trait Carries<A: ?Sized> {
    /// Announces the variable at one of the driver's fixed points.
    #[track_caller]
    fn carry(&mut self, variable: &mut A);
}

/// A variable whose method is called, which may change it: what it is made of decides what is done about that, by the
/// choice of method. The lookup starts at `&mut &mut Maybe`, and takes the first trait of those below that is implemented.
#[derive(Debug)]
pub struct Maybe<'a, A: ?Sized>(pub &'a mut A);

/// How a variable may change.
pub enum Changing<'a> {
    /// It is made of tiles and scalars: it is carried.
    Carried(&'a mut dyn Staged),
    /// A value of build time, with its hash: it must not change where the device decides.
    Host(u64),
    /// Nothing is known of it.
    Unknown,
}

/// Chosen for variables that are [`Staged`].
pub trait MaybeStaged {
    /// The variable, to be carried.
    fn changing(&mut self) -> Changing<'_>;
}

impl<A: Staged> MaybeStaged for &mut Maybe<'_, A> {
    fn changing(&mut self) -> Changing<'_> {
        Changing::Carried(self.0)
    }
}

/// Chosen for others that can be hashed.
pub trait MaybeHashed {
    /// What tells whether the variable changed.
    fn changing(&mut self) -> Changing<'_>;
}

impl<A: Hash + ?Sized> MaybeHashed for &mut &mut Maybe<'_, A> {
    fn changing(&mut self) -> Changing<'_> {
        let mut hasher = DefaultHasher::new();
        self.0.hash(&mut hasher);
        Changing::Host(hasher.finish())
    }
}

/// Chosen for what is left.
pub trait NotStaged {
    /// Nothing.
    fn changing(&mut self) -> Changing<'_> {
        Changing::Unknown
    }
}

impl<A: ?Sized> NotStaged for Maybe<'_, A> {}

/// Drivers that see whether values of build time change in their blocks.
pub trait Watches {
    /// Announces the hash of a value at one of the driver's fixed points. Drivers decided at build time let values change.
    #[track_caller]
    fn watch(&mut self, _: u64) {}
}

/// The hashes of values of build time before a block.
#[derive(Debug, Default)]
pub(crate) struct Watch {
    before: Vec<u64>,
    checked: usize,
}

impl Watch {
    /// Notes the next value before the block.
    pub(crate) fn begin(&mut self, hash: u64) {
        self.before.push(hash);
    }

    /// Reports the next value if it is another behind the block.
    #[track_caller]
    pub(crate) fn end(&mut self, hash: u64) {
        if self.before.get(self.checked).is_some_and(|&before| before != hash) {
            crate::context::report(
                "this value of build time is changed in a loop or branch of the device, once, when the kernel is built",
                "make it a value of the kernel with `scalar(..)`, or let build time decide: `unrolled(..)`, a `bool` condition",
            );
        }
        self.checked += 1;
    }
}

/// The values of variables at one point, as they are announced one after the other.
#[derive(Debug, Default)]
pub(crate) struct Slots {
    /// What the variables hold.
    pub(crate) handles: Vec<Handle>,
    cursor: usize,
}

impl Slots {
    /// Records the variable's handles.
    pub(crate) fn record(&mut self, x: &mut (impl Staged + ?Sized)) {
        self.handles.extend(flatten(x));
    }

    /// Puts the handles recorded or computed for the next variable into it.
    pub(crate) fn restore(&mut self, x: &mut (impl Staged + ?Sized)) {
        let (handles, cursor) = (&self.handles, &mut self.cursor);
        x.visit(&mut |h| {
            if let Some(&new) = handles.get(*cursor) {
                *h = new;
            }
            *cursor += 1;
        });
    }
}
