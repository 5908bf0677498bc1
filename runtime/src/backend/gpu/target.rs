//! Which code a device runs: from the architecture that the driver names to one that Tegula compiles for.

use tegula_codegen::target::{Architecture, Family};

use crate::error::{Error, Result};

/// The architecture to compile for. An NVIDIA device runs PTX of every older architecture, unless it is of a kind
/// (`sm_90a`) that only its own runs; an AMD device runs only its own code.
///
/// # Errors
/// [`Error::UnsupportedArchitecture`], naming the nearest there is.
pub fn choose(device: &str, architecture: &str) -> Result<&'static Architecture> {
    let name = architecture.split(':').next().unwrap_or(architecture);
    let exact = |a: &&Architecture| a.name == name || a.name.strip_suffix('a') == Some(name);
    if let Some(found) = Architecture::all().find(exact) {
        return Ok(found);
    }
    if let Some(version) = sm_version(name) {
        let older = Architecture::all()
            .filter(|a| a.family == Family::Nvidia)
            .filter_map(|a| Some((sm_version(a.name)?, a)))
            .filter(|(v, a)| *v <= version && !a.name.ends_with('a'))
            .max_by_key(|(v, _)| *v);
        if let Some((_, found)) = older {
            return Ok(found);
        }
    }
    Err(Error::UnsupportedArchitecture {
        device: device.into(),
        architecture: architecture.into(),
        nearest: nearest(name),
    })
}

/// Whether code for `made_for` runs on a device that code is compiled for `target` for, and is not made for it: PTX of
/// an older NVIDIA architecture.
pub fn is_older(made_for: &str, target: &str) -> bool {
    let older = made_for.strip_prefix("sm_").and_then(|version| version.parse::<u32>().ok());
    older.zip(sm_version(target)).is_some_and(|(older, device)| older <= device)
}

/// Whether Tegula's code for an architecture waits itself for the kernel before it in its stream.
pub fn has_dependent_launches(architecture: &str) -> bool {
    Architecture::by_name(architecture).is_ok_and(|a| a.dependent_launches)
}

/// The number in `sm_90a`.
fn sm_version(name: &str) -> Option<u32> {
    name.strip_prefix("sm_")?.trim_end_matches(|c: char| c.is_alphabetic()).parse().ok()
}

/// The architectures whose names begin most alike, nearest first.
fn nearest(name: &str) -> String {
    let alike = |a: &str| a.bytes().zip(name.bytes()).take_while(|(x, y)| x == y).count();
    let most = Architecture::all().map(|a| alike(a.name)).max().unwrap_or(0);
    // Of NVIDIA's, all names begin alike, and the oldest is the one that is nearest to a device still older.
    let names: Vec<&str> = match sm_version(name) {
        Some(_) => Architecture::all().filter(|a| a.family == Family::Nvidia).map(|a| a.name).take(1).collect(),
        None => Architecture::all().map(|a| a.name).filter(|a| alike(a) == most).collect(),
    };
    names.join(" or ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn devices_get_the_newest_code_they_run() {
        for (device, code) in [
            ("sm_80", "sm_80"),
            ("sm_87", "sm_86"),
            ("sm_89", "sm_89"),
            ("sm_90", "sm_90a"),
            ("sm_100", "sm_89"),
            ("sm_120", "sm_89"),
            ("gfx942:sramecc+:xnack-", "gfx942"),
            ("gfx1100", "gfx1100"),
        ] {
            assert_eq!(choose("gpu", device).map(|a| a.name), Ok(code), "{device}");
        }
    }

    #[test]
    fn ptx_runs_on_newer_devices() {
        for (made_for, target, runs) in [
            ("sm_80", "sm_90a", true),
            ("sm_89", "sm_89", true),
            ("sm_90a", "sm_89", false),
            ("sm_90a", "sm_90a", false),
            ("gfx942", "gfx950", false),
        ] {
            assert_eq!(is_older(made_for, target), runs, "{made_for} on {target}");
        }
    }

    #[test]
    fn others_are_refused_with_the_nearest() {
        for (device, near) in [("sm_75", "sm_80"), ("gfx906", "gfx90a or gfx942 or gfx950"), ("gfx1030", "gfx1100")] {
            let error = choose("gpu", device).map(|a| a.name).expect_err("not supported").to_string();
            assert!(error.contains(near.split(" or ").next().unwrap_or(near)), "{error}");
            assert!(error.contains(device), "{error}");
        }
    }
}
