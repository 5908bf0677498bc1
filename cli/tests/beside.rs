//! `scripts/gpu-session-beside` over the plan that `tegula session --list` prints. PyTorch and Triton need a GPU; in their
//! place stand modules (in the folder of this file's name) that look at arguments and count launches.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::process::{Command, Output};

use serde_json::Value;

const SCRIPT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../scripts/gpu-session-beside");
const MODULES: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/beside");

fn plan(options: &[&str]) -> String {
    let mut command = Command::new(env!("CARGO_BIN_EXE_tegula"));
    let output = command.args(["session", "--list"]).args(options).output().expect("the command starts");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).expect("text")
}

fn workloads(plan: &str) -> Vec<Value> {
    let plan: Value = serde_json::from_str(plan).expect("JSON");
    plan["workloads"].as_array().expect("workloads").clone()
}

/// Runs a system over a plan. The folder then has `result.json` and `log`.
fn beside(system: &str, plan: &str, folder: &Path, modules: &str, variables: &[(&str, &str)]) -> Output {
    std::fs::write(folder.join("plan.json"), plan).expect("the folder is new");
    let mut command = Command::new("python3");
    command.args(["-B", SCRIPT, system, "plan.json", "result.json"]).current_dir(folder);
    command.env("PYTHONPATH", modules).env("FAKE_TORCH_LOG", "log").envs(variables.iter().copied());
    command.output().expect("there is Python")
}

/// No cache of a GPU (MI300: 256 MiB) has anything left of a set of tensors when its turn comes again.
#[test]
fn sets_of_tensors_are_more_than_caches_hold() {
    let workloads = workloads(&plan(&[]));
    let mut kernels = BTreeSet::new();
    for workload in &workloads {
        let number = |name: &str| workload[name].as_u64().unwrap_or_else(|| panic!("no {name}: {workload}"));
        assert!(number("sets") >= 2 && number("sets") * number("bytes") >= 3 * (256 << 20), "{workload}");
        let elements: u64 = workload["sizes"].as_array().expect("sizes").iter().filter_map(Value::as_u64).product();
        // Each kernel reads and writes f16; a product's sizes are not those of a tensor.
        assert!(workload["kernel"] == "matmul" || number("bytes") >= 4 * elements, "{workload}");
        kernels.insert((workload["kernel"].as_str().expect("a name").to_owned(), workload["causal"] == true));
    }
    let expected = ["add", "gelu", "layernorm", "matmul", "rmsnorm", "softmax"].map(|k| (k.to_owned(), false));
    let attention = [false, true].map(|causal| ("attention".to_owned(), causal));
    assert_eq!(kernels, expected.into_iter().chain(attention).collect());
    assert!(self::workloads(&plan(&["--only", "check"])).is_empty(), "nothing is timed");
}

#[test]
fn every_workload_is_timed_over_its_sets_in_turn() {
    let plan = plan(&["--quick"]);
    let workloads = workloads(&plan);
    for (system, problems) in [("PyTorch", 1), ("Triton", 0)] {
        let folder = tempfile::tempdir().expect("a folder");
        let output = beside(system, &plan, folder.path(), MODULES, &[]);
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        let result = std::fs::read(folder.path().join("result.json")).expect("a result");
        let result: Value = serde_json::from_slice(&result).expect("JSON");
        assert!(result["system"].as_str().is_some_and(|s| s.starts_with(system)), "{result}");
        // This PyTorch has no `rms_norm`: that costs one workload.
        assert_eq!(result["problems"].as_object().map(|p| p.len()), Some(problems), "{result}");
        for workload in &workloads {
            let name = workload["name"].as_str().expect("a name");
            let timed = result["times"][name].as_f64();
            assert!(
                timed.is_some_and(|us| (us - 1000.0).abs() < 1e-6) || result["problems"][name].is_string(),
                "{result}"
            );
        }
        // The first tensors of the launches of each operation, in order.
        let mut launches: BTreeMap<String, Vec<u64>> = BTreeMap::new();
        for line in std::fs::read_to_string(folder.path().join("log")).expect("a log").lines() {
            let (operation, tensor) = line.split_once(' ').expect("two words at least");
            let (more, tensor) = tensor.rsplit_once(' ').unwrap_or(("", tensor));
            launches.entry(format!("{operation} {more}")).or_default().push(tensor.parse().expect("a number"));
        }
        assert!(launches.len() >= 6, "{launches:?}");
        for (operation, tensors) in &launches {
            let of_two = tensors.iter().collect::<BTreeSet<_>>().len() % 2 == 0;
            assert!(of_two && tensors.windows(2).all(|w| w[0] != w[1]), "{system}: {operation}: {tensors:?}");
        }
    }
}

#[test]
fn what_is_missing_is_said_in_a_line() {
    let plan = plan(&["--quick"]);
    let folder = tempfile::tempdir().expect("a folder");
    let refused = |system: &str, modules: &str, variables: &[(&str, &str)]| {
        let output = beside(system, &plan, folder.path(), modules, variables);
        let text = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!((output.status.code(), text.trim().lines().count()), (Some(1), 1), "{text}");
        text
    };
    assert!(refused("PyTorch", MODULES, &[("FAKE_TORCH_NO_GPU", "1")]).contains("finds no GPU"));
    // A folder that shadows PyTorch with nothing.
    let nothing = folder.path().join("nothing");
    std::fs::create_dir_all(&nothing).expect("the folder is ours");
    std::fs::write(nothing.join("torch.py"), "raise ImportError('no PyTorch here')").expect("the folder is ours");
    assert!(refused("PyTorch", nothing.to_str().expect("text"), &[]).contains("no PyTorch here"));
    assert!(refused("JAX", MODULES, &[]).contains("usage"));
}
