//! Measuring in another process: what is asked of it and what it answers, as JSON on its standard input and output. A
//! candidate that crashes the driver, hangs or runs out of memory costs itself only.

use std::io::{Read, Write};
use std::process::{Command, Stdio};
use std::time::Duration;

use serde::{Deserialize, Serialize};
use wait_timeout::ChildExt;

use crate::sample::Samples;
use crate::space::Config;

/// What the process is asked to measure.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct Request {
    /// Name of the kernel.
    pub kernel: String,
    /// Which of its problems.
    pub variant: String,
    /// Element type.
    pub dtype: String,
    /// Sizes of the problem by name.
    pub sizes: Vec<(String, i64)>,
    /// Name of the device.
    pub device: String,
    /// The candidate.
    pub config: Config,
    /// Launches to time, after some that warm up.
    pub launches: usize,
    /// Seed of the data.
    pub seed: u64,
}

/// What it answers.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Response {
    /// The results were right, and each launch took so many seconds.
    Seconds(Vec<f64>),
    /// It does not compile, does not fit the device, or gave a wrong result.
    Failed(String),
}

/// Has a process measure a candidate: `command` reads a [`Request`] and writes a [`Response`].
///
/// # Errors
/// One line that says what became of the candidate: it failed, the process ended otherwise, or took longer than
/// `deadline`.
pub fn measure(mut command: Command, request: &Request, deadline: Duration) -> Result<Samples, String> {
    let mut child = command
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .map_err(|e| format!("the measuring process cannot be started: {e}"))?;
    let text = serde_json::to_string(request).expect("a request is plain data");
    // A process that ends before it has read everything is told by its exit status below.
    let _ = child.stdin.take().expect("the pipe was asked for").write_all(text.as_bytes());
    let mut stdout = child.stdout.take().expect("the pipe was asked for");
    // An answer longer than the pipe's buffer must not block the process that waits for us to wait.
    let reader = std::thread::spawn(move || {
        let mut answer = String::new();
        stdout.read_to_string(&mut answer).map(|_| answer)
    });
    let status = match child.wait_timeout(deadline) {
        Ok(Some(status)) => status,
        Ok(None) => {
            let _ = child.kill();
            let _ = child.wait();
            return Err(format!("took longer than {} s", deadline.as_secs_f64()));
        }
        Err(e) => return Err(format!("the measuring process cannot be waited for: {e}")),
    };
    if !status.success() {
        return Err(format!("the measuring process ended with {status}"));
    }
    let answer = reader.join().ok().and_then(Result::ok).unwrap_or_default();
    match serde_json::from_str(answer.trim()) {
        Ok(Response::Seconds(seconds)) => Samples::new(seconds).ok_or_else(|| "it gave no times".into()),
        Ok(Response::Failed(message)) => Err(message),
        Err(e) => Err(format!("the measuring process gave no answer: {e}")),
    }
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;

    fn request() -> Request {
        Request {
            kernel: "add".into(),
            variant: String::new(),
            dtype: "f32".into(),
            sizes: vec![("N".into(), 8)],
            device: "cpu".into(),
            config: Config::default(),
            launches: 3,
            seed: 1,
        }
    }

    fn shell(script: &str, deadline: Duration) -> Result<Samples, String> {
        let mut command = Command::new("sh");
        command.args(["-c", script]);
        measure(command, &request(), deadline)
    }

    const LONG: Duration = Duration::from_secs(60);

    #[test]
    fn an_answer_is_read() {
        let samples = shell(r#"cat >/dev/null; echo '{"seconds":[0.5,0.25,0.75]}'"#, LONG).expect("times");
        assert_eq!((samples.count(), samples.median()), (3, 0.5));
        let long: Vec<String> = (0..50_000).map(|i| format!("{i}.5")).collect();
        let file = tempfile::NamedTempFile::new().expect("a file");
        std::fs::write(file.path(), format!("{{\"seconds\":[{}]}}", long.join(","))).expect("written");
        assert_eq!(shell(&format!("cat {}", file.path().display()), LONG).expect("times").count(), 50_000);
    }

    #[test]
    fn whatever_goes_wrong_costs_the_candidate_only() {
        let failed = shell(r#"cat >/dev/null; echo '{"failed":"element 3 is wrong"}'"#, LONG);
        assert_eq!(failed.expect_err("it failed"), "element 3 is wrong");
        assert!(shell("kill -SEGV $$", LONG).expect_err("a crash").contains("signal"));
        assert!(shell("exit 3", LONG).expect_err("a status").contains("3"));
        assert!(shell("exec sleep 60", Duration::from_millis(200)).expect_err("a hang").contains("longer than 0.2 s"));
        assert!(shell("echo nonsense", LONG).expect_err("no JSON").contains("no answer"));
        assert!(
            measure(Command::new("/does/not/exist"), &request(), LONG).expect_err("no program").contains("started")
        );
    }
}
