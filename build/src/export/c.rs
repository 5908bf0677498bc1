//! The text of headers and launchers in C.

use std::fmt::Write;

use tegula_artifact::archive::Archived;
use tegula_artifact::cpu::{CpuInfo, CpuLevel, Site};
use tegula_artifact::gpu::{Component, KernelInfo};
use tegula_artifact::promise::Promise;
use tegula_artifact::{Entry, Format};
use tegula_ir::Function;
use tegula_ir::function::{Grid, Param, ParamKind, ViewAccess};
use tegula_ir::types::ScalarType;

/// The types that all exported kernels share.
pub(super) const COMMON_HEADER: &str = include_str!("c/tegula.h");

/// What C has other plans for, or the launcher uses itself.
const TAKEN: &[&str] = &[
    "auto", "break", "case", "char", "const", "continue", "default", "do", "double", "else", "enum", "extern", "float",
    "for", "goto", "if", "inline", "int", "long", "register", "restrict", "return", "short", "signed", "sizeof",
    "static", "struct", "switch", "typedef", "union", "unsigned", "void", "volatile", "while", "class", "new",
    "delete", "template", "this", "stream", "grid", "programs", "args", "context", "status", "code", "kernel",
    "device", "params", "sink", "total", "starved", "arena", "program", "message", "cuda", "hip", "fail", "check",
    "range", "i",
];

/// The names of the parameters, as C takes them.
fn names(function: &Function) -> Vec<String> {
    let rename = |p: &Param| if TAKEN.contains(&p.name.as_str()) { format!("{}_", p.name) } else { p.name.clone() };
    function.params.iter().map(rename).collect()
}

/// The type in C that holds a number: floating-point formats that C has not are passed as their bits.
fn scalar_type(elem: ScalarType) -> &'static str {
    match (elem, elem.bits()) {
        (ScalarType::F32, _) => "float",
        (ScalarType::F64, _) => "double",
        (t, bits) => match (t.is_signed_int(), bits) {
            (true, 0..=8) => "int8_t",
            (true, 16) => "int16_t",
            (true, 32) => "int32_t",
            (true, _) => "int64_t",
            (false, 0..=8) => "uint8_t",
            (false, 16) => "uint16_t",
            (false, 32) => "uint32_t",
            (false, _) => "uint64_t",
        },
    }
}

/// The parameters of every function in C.
fn parameters(function: &Function) -> String {
    let mut list: Vec<String> = function
        .params
        .iter()
        .zip(names(function))
        .map(|(p, name)| match &p.kind {
            ParamKind::View { .. } => format!("const tegula_tensor *{name}"),
            ParamKind::Scalar { elem, .. } => format!("{} {name}", scalar_type(*elem)),
            ParamKind::Ptr { .. } => format!("void *{name}"),
        })
        .collect();
    if function.grid == Grid::Explicit {
        list.push("const uint32_t grid_[3]".into());
    }
    list.join(", ")
}

/// The arguments by which one function in C calls another.
fn arguments(function: &Function) -> String {
    let mut list = names(function);
    if function.grid == Grid::Explicit {
        list.push("grid_".into());
    }
    list.join(", ")
}

/// What is promised of an argument, in words; nothing for what is natural.
fn promised(kind: &ParamKind) -> Vec<String> {
    let (promise, natural) = (Promise::of(kind), natural_alignment(kind));
    let mut words = Vec::new();
    if promise.align > natural {
        words.push(format!("aligned to {} bytes", promise.align));
    }
    if promise.unit_inner {
        words.push("the last stride is 1".into());
    }
    let multiples = |what: &str, of: &[u32]| of.iter().any(|&d| d > 1).then(|| format!("{what} multiples of {of:?}"));
    words.extend(multiples("extents", &promise.extents));
    words.extend(multiples("strides", &promise.strides));
    if promise.fits_32 {
        words.push("smaller than 2 GiB".into());
    }
    if promise.no_alias {
        words.push("overlapping no tensor that is written".into());
    }
    if promise.divisor > 1 {
        words.push(format!("a multiple of {}", promise.divisor));
    }
    words
}

fn natural_alignment(kind: &ParamKind) -> u32 {
    match kind {
        ParamKind::View { elem, .. } | ParamKind::Ptr { elem, .. } => element_bytes(*elem) as u32,
        ParamKind::Scalar { .. } => 1,
    }
}

fn element_bytes(elem: ScalarType) -> i64 {
    elem.memory_bytes().map_or(1, i64::from).max(1)
}

/// The header of a kernel.
pub(super) fn header(name: &str, function: &Function, compiled: &[Archived]) -> String {
    let guard = name.to_ascii_uppercase();
    let mut text = format!("/* Kernel `{}`", function.name);
    let dims: Vec<String> = function.dims.iter().map(|(n, s)| format!("{n} = {s}")).collect();
    if !dims.is_empty() {
        let _ = write!(text, " with {}", dims.join(", "));
    }
    let targets: Vec<String> = compiled.iter().map(target_name).collect();
    let _ = writeln!(text, ", compiled for {}. Written by `tegula export`.\n", targets.join(", "));
    for (p, name) in function.params.iter().zip(names(function)) {
        let what = match &p.kind {
            ParamKind::View { elem, rank, access, .. } => {
                let access = if *access == ViewAccess::Read { "read" } else { "written" };
                let axes = if *rank == 1 { "axis" } else { "axes" };
                format!("{rank} {axes} of {}, {access}", elem.name())
            }
            ParamKind::Scalar { elem, .. } if scalar_type(*elem).starts_with("uint") && elem.is_float() => {
                format!("the bits of a {}", elem.name())
            }
            ParamKind::Scalar { elem, .. } => elem.name().to_owned(),
            ParamKind::Ptr { elem, .. } => format!("a pointer to {}", elem.name()),
        };
        let promised: String = promised(&p.kind).iter().map(|w| format!("; {w}")).collect();
        let _ = writeln!(text, "   {name}: {what}{promised}");
    }
    match &function.grid {
        Grid::Explicit => text += "   grid_: the number of programs on each axis\n",
        Grid::Tiles { .. } => {}
    }
    text += "   */\n";
    let _ = write!(
        text,
        "#ifndef TEGULA_{guard}_H\n#define TEGULA_{guard}_H\n\n#include \"tegula.h\"\n\n\
         #ifdef __cplusplus\nextern \"C\" {{\n#endif\n\n"
    );
    let params = parameters(function);
    if compiled.iter().any(|k| k.artifact.format == Format::Object) {
        let _ = writeln!(text, "/* Runs to its end, on memory of the host. */");
        let _ = writeln!(text, "tegula_status {name}_cpu({params});\n");
    }
    if compiled.iter().any(|k| k.artifact.format == Format::Ptx) {
        let _ = writeln!(text, "/* Launches in a CUstream (NULL: the default one) of the current context. */");
        let _ = writeln!(text, "tegula_status {name}_cuda(void *stream, {params});\n");
    }
    if compiled.iter().any(|k| k.artifact.format == Format::CodeObject) {
        let _ = writeln!(text, "/* Launches in a hipStream_t (NULL: the default one) of the current device. */");
        let _ = writeln!(text, "tegula_status {name}_hip(void *stream, {params});\n");
    }
    let _ = writeln!(text, "/* What went wrong in this thread's last call that did not give TEGULA_OK. */");
    let _ = write!(text, "const char *{name}_error(void);\n\n#ifdef __cplusplus\n}}\n#endif\n\n#endif\n");
    text
}

fn target_name(kernel: &Archived) -> String {
    kernel.level.map_or_else(|| kernel.artifact.target.clone(), |l| format!("the CPU ({})", l.name()))
}

/// The launchers of a kernel; an error says what cannot be exported.
pub(super) fn launcher(name: &str, function: &Function, compiled: &[Archived]) -> Result<String, String> {
    let link = if compiled.iter().any(|k| k.level.is_some()) { &format!(" and {name}.o") } else { "" };
    let mut text = include_str!("c/common.c").replace("@LINK@", link).replace("@CHECKS@", &checks(function));
    for kernel in compiled {
        if let (Entry::Cpu(info), Some(level)) = (&kernel.artifact.entry, kernel.level) {
            text += &cpu(function, info, level)?;
        }
    }
    let gpus = |format: Format| -> Vec<(&Archived, &KernelInfo)> {
        let of = compiled.iter().filter(|k| k.artifact.format == format);
        of.filter_map(|k| if let Entry::Gpu(info) = &k.artifact.entry { Some((k, info)) } else { None }).collect()
    };
    for (format, prefix, template) in
        [(Format::Ptx, "cuda", include_str!("c/cuda.c")), (Format::CodeObject, "hip", include_str!("c/hip.c"))]
    {
        let kernels = gpus(format);
        let Some((_, info)) = kernels.first() else { continue };
        let upper = prefix.to_uppercase();
        let names: Vec<&str> = kernels.iter().map(|(k, _)| k.artifact.target.as_str()).collect();
        text += &template
            .replace(&format!("@{upper}_CODE@"), &arrays(prefix, &kernels))
            .replace(&format!("@{upper}_CODES@"), &table(prefix, &kernels))
            .replace(&format!("@{upper}_NAMES@"), &names.join(", "))
            .replace(&format!("@{upper}_PARAMS@"), &gpu_params(function, info))
            .replace("@KERNEL@", &info.name);
    }
    Ok(text.replace("@NAME@", name).replace("@PARAMS@", &parameters(function)).replace("@NAMES@", &arguments(function)))
}

/// The code of each architecture as an array. PTX is text that ends in a zero; code objects are aligned as their headers
/// want.
fn arrays(prefix: &str, kernels: &[(&Archived, &KernelInfo)]) -> String {
    let mut text = String::new();
    for (kernel, _) in kernels {
        let mut code = kernel.artifact.code.clone();
        if kernel.artifact.format == Format::Ptx {
            code.push(0);
        }
        let _ = write!(text, "static const _Alignas(16) unsigned char {prefix}_{}[] = {{", kernel.artifact.target);
        for (i, byte) in code.iter().enumerate() {
            if i % 32 == 0 {
                text += "\n    ";
            }
            let _ = write!(text, "{byte},");
        }
        text += "\n};\n";
    }
    text
}

fn table(prefix: &str, kernels: &[(&Archived, &KernelInfo)]) -> String {
    let mut text = String::new();
    for (kernel, info) in kernels {
        let target = &kernel.artifact.target;
        let architecture = match target.strip_prefix("sm_") {
            Some(number) => {
                let exact = number.ends_with(|c: char| c.is_ascii_alphabetic());
                format!("{}, {}, ", number.trim_end_matches(char::is_alphabetic), u8::from(exact))
            }
            None => String::new(),
        };
        let _ = write!(text, "\n    {{ {architecture}{prefix}_{target}, {}, {} }},", info.threads, info.dynamic_shared);
    }
    text + "\n"
}

/// Addresses of the arguments, in the order of the kernel's parameters.
fn gpu_params(function: &Function, info: &KernelInfo) -> String {
    let names = names(function);
    let mut list = Vec::new();
    for param in &info.params {
        let name = &names[param.param as usize];
        list.push(match param.component {
            Component::Base => format!("(void *)&{name}->data"),
            Component::Extent(axis) => format!("(void *)&{name}->extents[{axis}]"),
            Component::Stride(axis) => format!("(void *)&{name}->strides[{axis}]"),
            Component::Value => format!("(void *)&{name}"),
        });
    }
    list.join(", ")
}

fn cpu(function: &Function, info: &CpuInfo, level: CpuLevel) -> Result<String, String> {
    let mut asserts = Vec::new();
    for site in &info.sites {
        asserts.push(match site {
            Site::Assert { message, loc, .. } => c_string(&format!("{loc}: assertion failed: {message}")),
            Site::Access { loc } => c_string(&format!("{loc}: an access outside of every argument")),
            Site::Print { .. } => return Err("it prints, which only programs with Tegula's runtime can".into()),
        });
    }
    if asserts.is_empty() {
        asserts.push("\"\"".into());
    }
    let mut words = Vec::new();
    for (param, name) in function.params.iter().zip(names(function)) {
        match &param.kind {
            ParamKind::View { rank, .. } => {
                words.push(format!("(uint64_t)(uintptr_t){name}->data"));
                words.extend((0..*rank).map(|i| format!("(uint64_t){name}->extents[{i}]")));
                words.extend((0..*rank).map(|i| format!("(uint64_t){name}->strides[{i}]")));
            }
            // The bits of a number, in the first bytes of a word.
            ParamKind::Scalar { elem: ScalarType::F32, .. } => {
                words.push(format!("(union {{ float f; uint32_t u; }}){{ {name} }}.u"));
            }
            ParamKind::Scalar { elem: ScalarType::F64, .. } => {
                words.push(format!("(union {{ double f; uint64_t u; }}){{ {name} }}.u"));
            }
            ParamKind::Scalar { elem, .. } => {
                let unsigned = scalar_type(*elem).trim_start_matches('u');
                words.push(format!("(u{unsigned}){name}"));
            }
            ParamKind::Ptr { .. } => words.push(format!("(uint64_t)(uintptr_t){name}")),
        }
    }
    let features: Vec<String> = match level {
        CpuLevel::X86V1 | CpuLevel::Arm64 => Vec::new(),
        CpuLevel::X86V2 => vec!["sse4.2".into(), "popcnt".into()],
        CpuLevel::X86V3 => vec!["avx2".into(), "fma".into(), "bmi2".into()],
        CpuLevel::X86V4 => vec!["avx512f".into(), "avx512bw".into(), "avx512dq".into(), "avx512vl".into()],
    };
    let mut check = String::new();
    if !features.is_empty() {
        let has: Vec<String> = features.iter().map(|f| format!("__builtin_cpu_supports(\"{f}\")")).collect();
        let _ = writeln!(check, "    if (!({}))", has.join(" && "));
        let _ = writeln!(
            check,
            "        return fail(TEGULA_NO_CODE, \"@NAME@ was exported for {}, which this processor is not\");",
            level.name()
        );
    }
    Ok(include_str!("c/cpu.c")
        .replace("@ASSERTS@", &asserts.join(", "))
        .replace("@CPU_CHECK@", &check)
        .replace("@WORDS@", &words.join(", "))
        .replace("@ARENA@", &info.arena_bytes.to_string())
        .replace("@SYMBOL@", &info.symbol))
}

/// A text as a string literal.
fn c_string(text: &str) -> String {
    let mut out = String::from("\"");
    for c in text.chars() {
        match c {
            '"' | '\\' => out.extend(['\\', c]),
            '\n' => out += "\\n",
            // Question marks could make trigraphs; other bytes are as they are, in UTF-8.
            '?' => out += "\\?",
            c => out.push(c),
        }
    }
    out + "\""
}

/// The body of the check of all arguments.
fn checks(function: &Function) -> String {
    let names = names(function);
    // What nothing is asked of is not an unused parameter.
    let mut text: String = names.iter().map(|name| format!("    (void){name};\n")).collect();
    let mut line = |condition: &str, message: &str| {
        let _ = writeln!(text, "    if ({condition})\n        INVALID({});", c_string(message));
    };
    for (param, name) in function.params.iter().zip(&names) {
        let (promise, shown) = (Promise::of(&param.kind), &param.name);
        match &param.kind {
            ParamKind::View { elem, rank, .. } => {
                line(&format!("!{name}"), &format!("argument `{shown}` is NULL"));
                for i in 0..*rank {
                    line(&format!("{name}->extents[{i}] < 0"), &format!("an extent of `{shown}` is negative"));
                }
                align_check(&mut line, &format!("(uintptr_t){name}->data"), shown, promise.align);
                if promise.unit_inner && *rank > 0 {
                    let last = rank - 1;
                    line(&format!("{name}->strides[{last}] != 1"), &format!("the last stride of `{shown}` is not 1"));
                }
                for (what, divisors) in [("extents", &promise.extents), ("strides", &promise.strides)] {
                    for (i, d) in divisors.iter().enumerate().filter(|(_, d)| **d > 1) {
                        line(
                            &format!("{name}->{what}[{i}] % {d} != 0"),
                            &format!("{what}[{i}] of `{shown}` is not a multiple of {d}"),
                        );
                    }
                }
                if promise.fits_32 {
                    let size = element_bytes(*elem);
                    let mut far = format!("{size}");
                    for i in 0..*rank {
                        let reach = format!("({name}->extents[{i}] - 1) * {name}->strides[{i}] * {size}");
                        let _ = write!(far, " + ({reach} < 0 ? -({reach}) : {reach})");
                    }
                    line(&format!("{far} > INT32_MAX"), &format!("`{shown}` is not smaller than 2 GiB"));
                }
            }
            ParamKind::Ptr { .. } => align_check(&mut line, &format!("(uintptr_t){name}"), shown, promise.align),
            ParamKind::Scalar { .. } => {
                if promise.divisor > 1 {
                    let d = promise.divisor;
                    line(&format!("{name} % {d} != 0"), &format!("`{shown}` is not a multiple of {d}"));
                }
            }
        }
    }
    overlap_checks(function, &names, &mut text);
    grid(function, &names, &mut text);
    text
}

fn align_check(line: &mut impl FnMut(&str, &str), address: &str, shown: &str, align: u32) {
    if align > 1 {
        line(&format!("{address} % {align} != 0"), &format!("`{shown}` is not aligned to {align} bytes"));
    }
}

/// Tensors that are promised to lie apart from those that are written, do.
fn overlap_checks(function: &Function, names: &[String], text: &mut String) {
    let views: Vec<(usize, ScalarType, u8, bool, bool)> = function
        .params
        .iter()
        .enumerate()
        .filter_map(|(i, p)| match &p.kind {
            ParamKind::View { elem, rank, access, spec } => {
                Some((i, *elem, *rank, *access != ViewAccess::Read, spec.no_alias))
            }
            _ => None,
        })
        .collect();
    for (n, a) in views.iter().enumerate() {
        for b in &views[n + 1..] {
            if !((a.4 || b.4) && (a.3 || b.3)) {
                continue;
            }
            let (x, y) = (&names[a.0], &names[b.0]);
            let message =
                c_string(&format!("`{}` and `{}` overlap", function.params[a.0].name, function.params[b.0].name));
            let _ = write!(
                text,
                "    {{\n        uintptr_t from, to, from2, to2;\n        range({x}, {}, {}, &from, &to);\n        \
                 range({y}, {}, {}, &from2, &to2);\n        if (from < to2 && from2 < to)\n            INVALID({message});\n    }}\n",
                a.2,
                element_bytes(a.1),
                b.2,
                element_bytes(b.1)
            );
        }
    }
}

/// Counts the programs.
fn grid(function: &Function, names: &[String], text: &mut String) {
    let Grid::Tiles { outputs } = &function.grid else {
        *text += "    if (!grid_)\n        INVALID(\"the grid is NULL\");\n";
        *text += "    for (int axis = 0; axis < 3; axis++)\n        programs[axis] = grid_[axis];\n";
        return;
    };
    for (i, (param, tile)) in outputs.iter().enumerate() {
        let name = &names[*param as usize];
        let factors: Vec<String> = tile
            .iter()
            .enumerate()
            .map(|(axis, t)| format!("(({name}->extents[{axis}] + {}) / {t})", i64::from(*t) - 1))
            .collect();
        let count = if factors.is_empty() { "1".to_owned() } else { factors.join(" * ") };
        let _ = writeln!(text, "    const int64_t count{i} = {count};");
        if i > 0 {
            let first = &function.params[outputs[0].0 as usize].name;
            let message = c_string(&format!(
                "`{}` has another number of tiles than `{first}`",
                function.params[*param as usize].name
            ));
            let _ = writeln!(text, "    if (count{i} != count0)\n        INVALID({message});");
        }
    }
    *text += "    if (count0 > UINT32_MAX)\n        INVALID(\"more than 4294967295 programs\");\n";
    *text += "    programs[0] = (uint32_t)count0;\n    programs[1] = programs[2] = 1;\n";
}
