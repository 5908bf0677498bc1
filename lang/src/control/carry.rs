//! Values that loops and branches of the kernel can change.

use crate::context::{Handle, Handles};
use crate::elem::AnyElem;
use crate::shape::Shape;
use crate::tile::Tile;

/// A value made of tiles and scalars: what a variable must be that is assigned in a loop or branch which runs
/// on the device.
///
/// Implemented by tiles, tuples, arrays, `Vec`, `Option` and `Box` of such values; `#[derive(Staged)]`
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

/// A variable whose method is called: it may change, if it is made of tiles and scalars.
#[derive(Debug)]
pub struct Maybe<'a, A: ?Sized>(pub &'a mut A);

/// Chosen for variables that are [`Staged`].
pub trait MaybeStaged {
    /// The variable, to be carried.
    fn staged(&mut self) -> Option<&mut dyn Staged>;
}

impl<A: Staged> MaybeStaged for Maybe<'_, A> {
    fn staged(&mut self) -> Option<&mut dyn Staged> {
        Some(self.0)
    }
}

/// Chosen, as the lookup of methods goes one reference further, for other variables.
pub trait NotStaged {
    /// Nothing to be carried.
    fn staged(&mut self) -> Option<&mut dyn Staged> {
        None
    }
}

impl<A: ?Sized> NotStaged for &mut Maybe<'_, A> {}

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
