//! Build-time parameters: what their types must do, and how tools that know a kernel only from
//! [`KernelInfo`] choose them by name.
//!
//! A parameter may have any type that can be hashed. Whether that type has a default, and whether it can be parsed, is found where the
//! macro's code is compiled, by the choice of method: the traits for `Probe<T>` have bounds and are preferred, those
//! for `&Probe<T>` have none.

use std::fmt::Display;
use std::hash::{DefaultHasher, Hash};
use std::marker::PhantomData;
use std::str::FromStr;

use super::build::{BuildError, BuildOptions};
use super::info::{ComptimeInfo, KernelInfo};

/// Types of build-time parameters: values that make another kernel when they differ.
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot be the type of a build-time parameter",
    label = "not `Clone + Hash + Send + Sync + 'static`",
    note = "derive `Clone` and `Hash` for a type of your own; take a float as `Scalar<f32>`, or by its bits, as a `u32`"
)]
pub trait Comptime: Sized {
    /// The value for one build.
    fn value(&self) -> Self;

    /// Adds the value to what tells kernels apart.
    fn add_to(&self, hasher: &mut DefaultHasher);
}

#[diagnostic::do_not_recommend]
impl<T: Clone + Hash + Send + Sync + 'static> Comptime for T {
    fn value(&self) -> Self {
        self.clone()
    }

    fn add_to(&self, hasher: &mut DefaultHasher) {
        self.hash(hasher);
    }
}

/// Stands for a type about which something is asked.
#[derive(Clone, Copy, Debug)]
pub struct Probe<T>(pub PhantomData<T>);

/// Types with a default.
pub trait HasDefault<T> {
    /// The default.
    fn default_value(&self) -> Option<T>;
}

impl<T: Default> HasDefault<T> for Probe<T> {
    fn default_value(&self) -> Option<T> {
        Some(T::default())
    }
}

/// Types without.
pub trait HasNoDefault<T> {
    /// None.
    fn default_value(&self) -> Option<T>;
}

impl<T> HasNoDefault<T> for &Probe<T> {
    fn default_value(&self) -> Option<T> {
        None
    }
}

/// Types that can be parsed.
pub trait Parses<T> {
    /// The value that `text` stands for.
    fn parse_value(&self, text: &str) -> Result<T, String>;
}

impl<T: FromStr> Parses<T> for Probe<T>
where
    T::Err: Display,
{
    fn parse_value(&self, text: &str) -> Result<T, String> {
        text.parse().map_err(|e: T::Err| e.to_string())
    }
}

/// Types that cannot.
pub trait ParsesNot<T> {
    /// Says so.
    fn parse_value(&self, text: &str) -> Result<T, String>;
}

impl<T> ParsesNot<T> for &Probe<T> {
    fn parse_value(&self, _: &str) -> Result<T, String> {
        Err("its type does not implement FromStr".into())
    }
}

/// The value of build-time parameter `index`: what `options` say, else the default.
///
/// # Errors
/// If the text cannot be parsed, or there is neither.
pub fn choose<T>(
    info: &KernelInfo,
    index: usize,
    options: &BuildOptions,
    default: impl FnOnce() -> Option<T>,
    parse: impl FnOnce(&str) -> Result<T, String>,
) -> Result<T, BuildError> {
    let ComptimeInfo { name, ty, .. } = info.comptime[index];
    if let Some((_, text)) = options.comptime.iter().rev().find(|(n, _)| n == name) {
        return parse(text).map_err(|e| {
            BuildError::message(
                info,
                format!("build-time parameter `{name}` cannot be `{text}`"),
                format!("it is a `{ty}`: {e}"),
            )
        });
    }
    default().ok_or_else(|| {
        BuildError::message(
            info,
            format!("build-time parameter `{name}` of type `{ty}` has no value"),
            format!("give it one by name, or a default: `#[comptime(default = …)] {name}: {ty}`"),
        )
    })
}
