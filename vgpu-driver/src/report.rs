//! What launches found, for people and for tools.

use crate::lock;
use crate::settings::Settings;
use serde::Serialize;
use std::fs::File;
use std::io::Write;
use std::sync::{LazyLock, Mutex};
use tegula_vgpu::finding::Finding;
use tegula_vgpu::launch::Outcome;

/// A line of the report.
#[derive(Debug, Serialize)]
#[serde(tag = "type", rename_all = "kebab-case")]
enum Line<'a> {
    /// A finding of the sanitizer.
    Finding {
        /// The device's name and number.
        device: &'a str,
        #[serde(flatten)]
        finding: &'a Finding,
    },
    /// A launch that did not run to its end.
    Fault { device: &'a str, kernel: &'a str, message: &'a str },
}

#[derive(Default)]
struct Report {
    file: Option<File>,
    findings: u64,
    faults: u64,
}

static REPORT: LazyLock<Mutex<Report>> = LazyLock::new(|| {
    let path = Settings::get().report.as_ref();
    let open = |path| File::options().create(true).append(true).open(path);
    let file = path.and_then(|path| {
        open(path).inspect_err(|error| eprintln!("vgpu: cannot write the report {}: {error}", path.display())).ok()
    });
    // SAFETY: `summary` takes no arguments and does not unwind; the library is never unloaded (it is linked so).
    unsafe { libc::atexit(summary) };
    Mutex::new(Report { file, ..Report::default() })
});

/// Told at the end of the process.
extern "C" fn summary() {
    // Whoever holds the lock now is a thread that the end of the process stops: nothing is told rather than waiting for it.
    let Ok(report) = REPORT.try_lock() else { return };
    if report.findings == 0 && report.faults == 0 {
        return;
    }
    let place = match &Settings::get().report {
        Some(path) => format!("; see {}", path.display()),
        None => String::new(),
    };
    // Standard error may be gone already.
    let _ = writeln!(
        std::io::stderr(),
        "vgpu: findings: {}, launches that faulted: {}{place}",
        report.findings,
        report.faults
    );
}

impl Report {
    /// Writes a line at once: the process may end at any time. Without a file it goes to standard error as text.
    fn line(&mut self, line: &Line<'_>, text: &dyn std::fmt::Display) {
        match &mut self.file {
            Some(file) => {
                if let Ok(mut json) = serde_json::to_vec(line) {
                    json.push(b'\n');
                    if let Err(error) = file.write_all(&json) {
                        eprintln!("vgpu: cannot write the report: {error}");
                    }
                }
            }
            None => eprintln!("vgpu: {text}"),
        }
    }
}

/// Records what a launch found and prints what it printed. `error` is why it did not run to its end.
pub fn record(device: &str, kernel: &str, outcome: &Outcome, error: Option<&tegula_vgpu::error::Error>) {
    if !outcome.printed.is_empty() {
        let mut out = std::io::stdout().lock();
        // A closed standard output is the program's own wish.
        let _ = out.write_all(outcome.printed.as_bytes()).and_then(|()| out.flush());
    }
    if outcome.is_clean() && error.is_none() {
        return;
    }
    let mut report = lock(&REPORT);
    report.findings += outcome.findings.len() as u64 + outcome.findings_dropped;
    for finding in &outcome.findings {
        report.line(&Line::Finding { device, finding }, finding);
    }
    if let Some(error) = error {
        report.faults += 1;
        let message = error.to_string();
        report.line(&Line::Fault { device, kernel, message: &message }, &message);
    }
}

/// Why a call failed, where that is wanted.
pub fn log(call: &str, error: &dyn std::fmt::Display) {
    if Settings::get().log {
        eprintln!("vgpu: {call}: {error}");
    }
}
