//! The finished program: comparison of results, and its text as a filetest.

use super::{Config, Gen, Info};
use crate::exec::HostArg;
use crate::function::{Function, ParamKind, ViewAccess};
use crate::literal::Literal;
use crate::numeric::FloatFormat;
use crate::testing::value::{arg_text, elements, gaps, literal_text, literals_text};
use crate::types::ScalarType;

/// A kernel with arguments.
#[derive(Clone, Debug)]
pub struct Program {
    /// The kernel; it is valid.
    pub function: Function,
    /// Programs on each axis of the launch.
    pub grid: [u32; 3],
    /// The arguments before the run.
    pub args: Vec<HostArg>,
    /// For each parameter how far its elements may differ between executors.
    pub infos: Vec<Info>,
}

impl Program {
    /// The program of a list of decisions.
    ///
    /// # Panics
    /// If the generator makes an invalid op: a bug in it.
    pub fn new(list: &[u32], config: &Config) -> Self {
        Gen::new(list, config).kernel()
    }

    /// Compares the arguments after the run on two executors: outputs within the difference allowed, everything
    /// else to the byte.
    ///
    /// # Errors
    /// With the first element that differs.
    pub fn compare(&self, wanted: &[HostArg], found: &[HostArg]) -> Result<(), String> {
        for (i, p) in self.function.params.iter().enumerate() {
            let (w, f) = match (&wanted[i], &found[i]) {
                (HostArg::Tensor(w), HostArg::Tensor(f)) | (HostArg::Ptr(w), HostArg::Ptr(f)) => (w, f),
                _ => continue,
            };
            let written = matches!(p.kind, ParamKind::View { access: ViewAccess::Write | ViewAccess::ReadWrite, .. });
            if !written {
                if w.data != f.data {
                    return Err(format!("%{}, which is only read, changed", p.name));
                }
                continue;
            }
            if gaps(w) != gaps(f) {
                return Err(format!("memory outside the elements of %{} differs", p.name));
            }
            for (at, (&w, &f)) in elements(w).iter().zip(&elements(f)).enumerate() {
                let elem = match p.kind {
                    ParamKind::View { elem, .. } | ParamKind::Ptr { elem, .. } | ParamKind::Scalar { elem, .. } => elem,
                };
                if !agrees(elem, self.infos[i], w, f) {
                    let [w, f] = [w, f].map(|v| literal_text(elem, v));
                    return Err(format!("%{} differs at element {at}: {w} and {f}", p.name));
                }
            }
        }
        Ok(())
    }

    /// The program as a filetest, with these arguments after the run as what is expected.
    pub fn filetest(&self, comment: &str, expected: Option<&[HostArg]>) -> String {
        let tolerance = self.infos.iter().map(|i| i.rel + i.abs).filter(|t| t.is_finite()).fold(0.0, f64::max);
        let mut text = String::new();
        for line in comment.lines() {
            text += &format!("; {line}\n");
        }
        text += &format!("; test run\n\n{}\n; run grid {:?}", self.function, self.grid);
        if tolerance > 0.0 {
            text += &format!(" tol {tolerance:e}");
        }
        text.push('\n');
        for (p, arg) in self.function.params.iter().zip(&self.args) {
            text += &format!(";   %{} = {}\n", p.name, arg_text(arg, p));
        }
        for (i, p) in self.function.params.iter().enumerate() {
            if let (Some(HostArg::Tensor(t)), ParamKind::View { access, .. }) = (expected.map(|e| &e[i]), &p.kind)
                && *access != ViewAccess::Read
            {
                text += &format!(";   %{} -> {}\n", p.name, literals_text(t.elem, &elements(t)));
            }
        }
        text
    }
}

/// Whether two executors may give these two values.
fn agrees(elem: ScalarType, info: Info, wanted: Literal, found: Literal) -> bool {
    let (Literal::Float(w), Literal::Float(f)) = (wanted, found) else { return wanted == found };
    if w.is_nan() || f.is_nan() {
        return w.is_nan() && f.is_nan();
    }
    if info.exact() || w == f {
        return w.to_bits() == f.to_bits() || (w == f && !info.exact());
    }
    // One may overflow where the other just does not.
    let max = FloatFormat::of(elem).max_finite();
    let clamp = |v: f64| v.clamp(-max, max);
    (clamp(w) - clamp(f)).abs() <= info.rel * clamp(w).abs().min(max) + info.abs
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::exec::Executor;
    use crate::interp::Interpreter;
    use crate::testing::filetest::TestFile;
    use crate::text::parse_function;
    use crate::verify::verify;

    fn lists() -> impl Strategy<Value = Vec<u32>> {
        prop::collection::vec(any::<u32>(), 0..400)
    }

    proptest! {
        #![proptest_config(ProptestConfig { cases: 400, failure_persistence: None, ..ProptestConfig::default() })]

        #[test]
        fn programs_are_valid_and_round_trip(list in lists()) {
            let p = Program::new(&list, &Config::default());
            prop_assert_eq!(verify(&p.function), Ok(()));
            let text = p.function.to_string();
            let again = parse_function(&text, "p").map_err(|e| TestCaseError::fail(format!("{e}\n{text}")))?;
            prop_assert_eq!(verify(&again), Ok(()));
            prop_assert_eq!(again.to_string(), text);
        }

        #[test]
        fn programs_run_and_agree_with_their_text(list in lists()) {
            let p = Program::new(&list, &Config::default());
            let interp = Interpreter::new();
            let mut args = p.args.clone();
            interp.run(&p.function, p.grid, &mut args).map_err(|e| TestCaseError::fail(format!("{e}\n{}", p.function)))?;
            let again = parse_function(&p.function.to_string(), "p").unwrap();
            let mut other = p.args.clone();
            interp.run(&again, p.grid, &mut other).unwrap();
            prop_assert_eq!(&args, &other);
            let text = p.filetest("generated", Some(&args));
            prop_assert_eq!(TestFile::parse(&text).map(|f| f.runs.len()), Ok(1));
        }

        /// Sums in `f64` and in the accumulation type stay within the difference that is tracked.
        #[test]
        fn rounding_stays_within_the_difference_allowed(list in lists()) {
            let p = Program::new(&list, &Config::default());
            let (mut a, mut b) = (p.args.clone(), p.args.clone());
            Interpreter::new().run(&p.function, p.grid, &mut a).unwrap();
            Interpreter::precise().run(&p.function, p.grid, &mut b).unwrap();
            prop_assert_eq!(p.compare(&a, &b), Ok(()), "{}", p.filetest("", Some(&a)));
        }
    }

    /// Which ops a number of programs consists of.
    #[test]
    fn every_op_is_generated() {
        let mut seen = std::collections::BTreeSet::new();
        for seed in 0..3000 {
            let list = super::super::decisions(seed);
            let p = Program::new(&list, &Config::default());
            p.function.walk(|_, op| {
                seen.insert(p.function.kind(op).mnemonic());
            });
        }
        let mut all: Vec<&str> = crate::text::mnemonics().collect();
        // Printed text has no order among parallel programs; layouts come with layout assignment.
        all.retain(|op| !["print", "convert_layout"].contains(op));
        let missing: Vec<&&str> = all.iter().filter(|op| !seen.contains(**op)).collect();
        assert!(missing.is_empty(), "never generated: {missing:?}");
    }
}
