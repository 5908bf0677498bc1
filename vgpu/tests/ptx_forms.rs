//! Every form of every instruction: `ptx/forms.txt` lists thousands that NVIDIA's assembler accepts for `sm_90a`, made from the
//! grammar of the PTX ISA and thinned where only the order, the scope or the shape differs. The machine must decode them all, and those that
//! compute on registers alone must run. `{%r0..%r63}` stands for a list of registers.
//!
//! Lines such as `# sm_90 7.8` say from which target and version on the assembler (13.5, which begins with `sm_75`) accepts what
//! is below them: the machine must refuse it before. Versions were tried from 7.1 on, and from 7.8 for what needs `sm_86`.

use std::collections::BTreeMap;
use std::fmt::Write;
use tegula_vgpu::launch::{Argument, Launch};
use tegula_vgpu::memory::GlobalMemory;
use tegula_vgpu::ptx::Module;

/// The forms, each with the target and the version from which on there is such an instruction.
fn forms() -> impl Iterator<Item = (&'static str, (u32, u32), &'static str)> {
    let mut needs = ("", (0, 0));
    include_str!("ptx/forms.txt").lines().filter_map(move |line| {
        let Some(heading) = line.strip_prefix("# ") else { return Some((needs.0, needs.1, line)) };
        let (target, version) = heading.split_once(' ').expect("a target and a version");
        let (major, minor) = version.split_once('.').expect("a version");
        needs = (target, (major.parse().expect("a number"), minor.parse().expect("a number")));
        None
    })
}

/// Writes ranges of registers out.
fn expand(form: &str) -> String {
    let mut text = String::new();
    let mut rest = form;
    while let Some((before, after)) = rest.split_once("..%") {
        let (head, first) = before.rsplit_once('{').expect("a range stands in braces");
        let (last, tail) = after.split_once('}').expect("a range stands in braces");
        let digits = first.find(|c: char| c.is_ascii_digit()).expect("registers are numbered");
        let (prefix, start) = first.split_at(digits);
        let end: u32 = last.trim_start_matches(|c: char| !c.is_ascii_digit()).parse().expect("a number");
        let start: u32 = start.parse().expect("a number");
        let names: Vec<_> = (start..=end).map(|n| format!("{prefix}{n}")).collect();
        let _ = write!(text, "{head}{{{}}}", names.join(", "));
        rest = tail;
    }
    text + rest
}

fn module(target: &str, version: (u32, u32), forms: impl Iterator<Item = &'static str>) -> String {
    let (major, minor) = version;
    let mut text = format!(".version {major}.{minor}\n.target {target}\n");
    text.push_str(
        ".address_size 64
.func (.param .b32 r) callee(.param .b32 x) { st.param.b32 [r], 1; ret; }
.visible .entry k(.param .u64 p, .param .align 64 .b8 map[128]) {
.reg .pred %p<9>; .reg .b8 %b<9>; .reg .b16 %h<40>; .reg .b32 %r<300>; .reg .f32 %f<300>; .reg .b64 %rd<40>; .reg .f64 %fd<40>; .reg .b128 %q<9>;
.shared .align 1024 .b8 sm[4096]; .local .align 16 .b8 lo[64]; .shared .align 8 .b64 bar;
T: .branchtargets L1, L2;
PT: .callprototype (.param .b32 _) _ (.param .b32 _);\n",
    );
    for form in forms {
        text.push_str(&expand(form));
        text.push('\n');
    }
    text + "L1: L2: ret;\n}\n"
}

#[test]
fn all_forms_are_decoded() {
    let memory = GlobalMemory::default();
    assert!(forms().count() > 5000);
    let text = module("sm_90a", (9, 0), forms().map(|(.., form)| form));
    let module = Module::load(&text, None, &memory).unwrap_or_else(|error| panic!("{error}"));
    let info = module.survey("k").unwrap_or_else(|error| panic!("{error}"));
    let refused: Vec<_> = info.unsupported.iter().map(ToString::to_string).collect();
    assert!(refused.is_empty(), "{} refused:\n{}", refused.len(), refused.join("\n"));
}

/// What touches neither memory nor the flow of control runs on whatever the registers hold.
#[test]
fn forms_on_registers_run() {
    const ELSEWHERE: [&str; 16] = [
        "bra", "brx", "ret", "exit", "trap", "brkpt", "call", "bar", "barrier", "mbarrier", "cp", "ld", "st", "atom",
        "red", "wgmma",
    ];
    let computes = |form: &&'static str| {
        let opcode = form.split(['.', ' ', ';']).next().unwrap_or_default();
        !form.contains('[') && !form.starts_with('@') && !ELSEWHERE.contains(&opcode)
    };
    let forms: Vec<&'static str> = forms().map(|(.., form)| form).filter(computes).collect();
    assert!(forms.len() > 2000, "{}", forms.len());
    let memory = GlobalMemory::default();
    let text = module("sm_90a", (9, 0), forms.into_iter());
    let module = Module::load(&text, None, &memory).unwrap_or_else(|error| panic!("{error}"));
    let launch = Launch::new("k").arg(Argument::pointer(0)).arg(Argument::bytes([0; 128]));
    module.launch(&memory, &launch.fast()).unwrap_or_else(|error| panic!("{error}"));
}

/// The targets that the assembler has up to `sm_90a`, and the first version of each.
const TARGETS: [(&str, (u32, u32)); 6] =
    [("sm_75", (6, 3)), ("sm_80", (7, 0)), ("sm_86", (7, 1)), ("sm_89", (7, 8)), ("sm_90", (7, 8)), ("sm_90a", (8, 0))];

/// Operands alone tell that these need more: the machine takes them earlier.
const EARLIER: [&str; 5] = [
    "cp.async.cg.shared.global [%r9], [%rd9], 16, %p1;",
    "cp.async.ca.shared.global [%r9], [%rd9], 4, !%p1;",
    "mbarrier.arrive.shared.b64 %rd1, [%r9], 2;",
    "mbarrier.arrive.shared::cta.b64 %rd1, [%r9], %r2;",
    "mbarrier.arrive_drop.shared::cta.b64 %rd1, [%r9], 1;",
];

#[test]
fn forms_need_the_target_and_the_version_that_the_assembler_wants() {
    let memory = GlobalMemory::default();
    let error = |target: &str, version: (u32, u32), forms: &[&'static str]| {
        let text = module(target, version, forms.iter().copied());
        let module = Module::load(&text, None, &memory).unwrap_or_else(|error| panic!("{error}"));
        module.survey("k").err().map(|error| error.to_string())
    };
    let mut groups: BTreeMap<_, Vec<_>> = BTreeMap::new();
    for (target, version, form) in forms() {
        groups.entry((target, version)).or_default().push(form);
    }
    for ((target, version), forms) in groups {
        assert_eq!(error(target, version, &forms), None, "{target}, {version:?}");
    }
    let refusal = |target: &str, version, form| error(target, version, &[form]);
    for (target, version, form) in forms() {
        if EARLIER.contains(&form) {
            continue;
        }
        let at = TARGETS.iter().position(|(name, _)| *name == target).expect("a target of the list");
        if let Some((before, _)) = at.checked_sub(1).map(|at| TARGETS[at]) {
            let refusal = refusal(before, (9, 0), form).unwrap_or_else(|| panic!("{before} takes {form}"));
            assert!(refusal.contains(&format!("needs `.target {target}")), "{form}: {refusal}");
            assert!(refusal.contains(&format!("has `.target {before}`")), "{form}: {refusal}");
        }
        if version > TARGETS[at].1.max((7, 1)) {
            // The last of the sevens is 7.8.
            let before = if version == (8, 0) { (7, 8) } else { (version.0, version.1 - 1) };
            let refusal = refusal(target, before, form).unwrap_or_else(|| panic!("{before:?} takes {form}"));
            let (major, minor) = version;
            assert!(refusal.contains(&format!("needs `.version {major}.{minor}`")), "{form}: {refusal}");
        }
    }
}
