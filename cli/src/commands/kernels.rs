//! `tegula kernels`: each kernel's name, parameters with types, dims, defaults.

use serde::Serialize;
use tegula::lang::kernel::KernelInfo;

use crate::Library;
use crate::args::Json;
use crate::error::Result;
use crate::table::Columns;

/// A kernel. `--json` prints an array of these.
#[derive(Serialize)]
struct Kernel {
    /// Name, as `tegula compile` takes it.
    name: &'static str,
    /// First paragraph of its documentation.
    doc: String,
    /// File and line of its source.
    source: String,
    /// Parameters in order.
    params: Vec<Param>,
    /// Parameters of build time.
    comptime: Vec<Comptime>,
    /// Symbolic dims with their default sizes.
    dims: Vec<Dim>,
    /// Combinations of element types, each in the order of `types`.
    instances: Vec<Vec<&'static str>>,
    /// Names of the element-type parameters.
    types: Vec<&'static str>,
}

#[derive(Serialize)]
struct Param {
    name: &'static str,
    #[serde(rename = "type")]
    ty: &'static str,
}

#[derive(Serialize)]
struct Comptime {
    name: &'static str,
    #[serde(rename = "type")]
    ty: &'static str,
    default: Option<&'static str>,
}

#[derive(Serialize)]
struct Dim {
    name: &'static str,
    default: u32,
}

impl From<&KernelInfo> for Kernel {
    fn from(k: &KernelInfo) -> Self {
        let doc = k.doc.trim().split("\n\n").next().unwrap_or_default();
        Self {
            name: k.name,
            doc: doc.split_whitespace().collect::<Vec<_>>().join(" "),
            source: format!("{}:{}", k.file, k.line),
            params: k.params.iter().map(|p| Param { name: p.name, ty: p.ty }).collect(),
            comptime: k.comptime.iter().map(|c| Comptime { name: c.name, ty: c.ty, default: c.default }).collect(),
            dims: k.dims.iter().map(|d| Dim { name: d.name, default: d.default }).collect(),
            instances: (k.instances)().iter().map(|i| i.types.iter().map(|t| t.name()).collect()).collect(),
            types: k.types.to_vec(),
        }
    }
}

/// Lists them.
pub fn run(library: &Library, args: &Json) -> Result<()> {
    let kernels: Vec<Kernel> = library.kernels.iter().map(|k| Kernel::from(*k)).collect();
    if args.json {
        println!("{}", serde_json::to_string_pretty(&kernels).expect("the list is plain data"));
        return Ok(());
    }
    let mut table = Columns::new(&["kernel", "parameters", "dims", "types"]);
    for k in &kernels {
        let params = k.params.iter().map(|p| format!("{}: {}", p.name, p.ty));
        let comptime = k.comptime.iter().map(|c| {
            let default = c.default.map(|d| format!(" = {d}")).unwrap_or_default();
            format!("#[comptime] {}: {}{default}", c.name, c.ty)
        });
        let dims: Vec<_> = k.dims.iter().map(|d| format!("{}={}", d.name, d.default)).collect();
        let instances: Vec<_> = k.instances.iter().map(|i| i.join("/")).collect();
        table.row([
            k.name.into(),
            params.chain(comptime).collect::<Vec<_>>().join(", "),
            dims.join(" "),
            instances.join(" "),
        ]);
    }
    print!("{table}");
    Ok(())
}
