//! What the driver's own launch costs: the floor under ours.

use std::time::{Duration, Instant};

use super::driver::{Driver, Failure, RawLaunch};
use super::failure;
use crate::error::{Error, Result};

/// An empty kernel as PTX that every driver takes.
const NOTHING: &[u8] = b".version 7.0\n.target sm_80\n.address_size 64\n.visible .entry nothing() { ret; }\n\0";

/// The time of this many launches of an empty kernel on device 0, by nothing but the driver's call; the best of several
/// rounds. `None` for drivers that take no PTX.
///
/// # Errors
/// If the driver fails.
pub fn launches(driver: &dyn Driver, launches: u32, rounds: u32) -> Result<Option<Duration>> {
    if driver.kind() != "cuda" {
        return Ok(None);
    }
    let failed = |e: Failure| match e.cause() {
        super::driver::Cause::TooOld => failure::too_old(driver, &e.text),
        _ => Error::Driver { device: format!("{}:0", driver.kind()), call: e.call.into(), message: e.text },
    };
    measure(driver, launches, rounds).map(Some).map_err(failed)
}

fn measure(driver: &dyn Driver, launches: u32, rounds: u32) -> super::driver::Result<Duration> {
    driver.bind(driver.context(0)?)?;
    let module = driver.load(NOTHING)?;
    let stream = driver.create_stream()?;
    let mut best = Duration::MAX;
    // SAFETY: module and stream were made just now, and are destroyed after their last work; the function takes nothing.
    unsafe {
        let function = driver.function(module, c"nothing")?;
        let launch = RawLaunch {
            grid: [1; 3],
            threads: 128,
            shared: 0,
            stream,
            cooperative: false,
            cluster: None,
            programmatic: false,
        };
        for _ in 0..rounds {
            driver.synchronize_stream(stream)?;
            let start = Instant::now();
            for _ in 0..launches {
                driver.launch(function, &launch, std::ptr::null_mut())?;
            }
            best = best.min(start.elapsed());
        }
        driver.synchronize_stream(stream)?;
        driver.destroy_stream(stream)?;
        driver.unload(module)?;
    }
    Ok(best)
}
