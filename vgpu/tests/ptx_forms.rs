//! Every form of every instruction: `ptx/forms.txt` lists thousands that NVIDIA's assembler (13.0, for `sm_90a`) accepts, made from the
//! grammar of the PTX ISA and thinned where only the order, the scope or the shape differs. The machine must decode them all, and those that
//! compute on registers alone must run. `{%r0..%r63}` stands for a list of registers.

use std::fmt::Write;
use tegula_vgpu::launch::{Argument, Launch};
use tegula_vgpu::memory::GlobalMemory;
use tegula_vgpu::ptx::Module;

const FORMS: &str = include_str!("ptx/forms.txt");

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

fn module(forms: impl Iterator<Item = &'static str>) -> String {
    let mut text = String::from(
        ".version 9.0\n.target sm_90a\n.address_size 64
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
    assert!(FORMS.lines().count() > 5000);
    let module = Module::load(&module(FORMS.lines()), None, &memory).unwrap_or_else(|error| panic!("{error}"));
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
    let computes = |form: &&str| {
        let opcode = form.split(['.', ' ', ';']).next().unwrap_or_default();
        !form.contains('[') && !form.starts_with('@') && !ELSEWHERE.contains(&opcode)
    };
    let forms: Vec<&'static str> = FORMS.lines().filter(computes).collect();
    assert!(forms.len() > 2000, "{}", forms.len());
    let memory = GlobalMemory::default();
    let module = Module::load(&module(forms.into_iter()), None, &memory).unwrap_or_else(|error| panic!("{error}"));
    let launch = Launch::new("k").arg(Argument::pointer(0)).arg(Argument::bytes([0; 128]));
    module.launch(&memory, &launch.fast()).unwrap_or_else(|error| panic!("{error}"));
}
