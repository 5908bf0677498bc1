//! Layout assignment for GPUs: gives every tile a layout, and converts where layouts disagree.
//!
//! 1. **Anchors** know which layout suits them: matrix products their accumulator's, memory accesses the one that is
//!    coalesced and vectorised as far as axis information allows (`anchors`).
//! 2. **Propagation** takes the anchors by weight and gives each one's layout to all that can share it without moving
//!    elements: through elementwise ops, through shape ops by their algebra, around loops (`plan`). A memory access that
//!    was reached by a layout that serves it badly keeps its own, if that pays for the conversion.
//! 3. **Materialisation** writes the layouts into the types. Where an operand is in another layout than its op works in,
//!    cheap producers (constants, ranges, masks) are computed again in the layout wanted, and everything else goes through
//!    an explicit `convert_layout` (`materialize`).
//!
//! Which layouts each op works in is in [`crate::layout::rules`].

mod anchors;
mod cheap;
mod materialize;
mod plan;

use crate::analysis::axis_info::AxisInfo;
use crate::diag::Diagnostic;
use crate::function::Function;
use crate::layout::rules::{self, LaidOut};
use crate::pass::{Changed, OptionInfo, Pass, PassContext, PassInfo};

/// The pass. The number of warps is the function's.
#[derive(Clone, Copy, Debug)]
pub struct AssignLayouts {
    /// Lanes of a warp or wavefront: 32 or 64.
    pub lanes: u32,
}

/// The pass in pass lists.
pub const INFO: PassInfo = PassInfo {
    name: "assign-layouts",
    summary: "give every tile a layout and convert where layouts disagree (GPUs)",
    options: &[OptionInfo { name: "lanes", help: "lanes of a warp, a power of two (default 32)" }],
    make: |options| Ok(Box::new(AssignLayouts { lanes: options.get("lanes", 32)? })),
};

impl Pass for AssignLayouts {
    fn name(&self) -> &'static str {
        INFO.name
    }

    fn run(&self, function: &mut Function, cx: &mut PassContext) -> Result<Changed, Diagnostic> {
        for (what, count) in [("lanes", self.lanes), ("warps", function.num_warps)] {
            if !(count.is_power_of_two() && count <= 64) {
                return Err(Diagnostic::error(format!("{count} {what} cannot be laid out"))
                    .at(function.locs.get(function.loc))
                    .help(format!("the number of {what} is a power of two, at most 64")));
            }
        }
        if rules::laid_out(function) != LaidOut::None {
            return Err(Diagnostic::error(format!("{} has layouts already", function.name))
                .at(function.locs.get(function.loc))
                .help("run assign-layouts once, on IR without layouts"));
        }
        let info = AxisInfo::compute(function);
        let threads = anchors::Threads { lanes: self.lanes, warps: function.num_warps };
        let plan = plan::Plan::new(function, &info, threads);
        let conversions = materialize::run(function, plan, threads);
        cx.count("layout conversions", conversions);
        Ok(Changed::Yes)
    }
}
