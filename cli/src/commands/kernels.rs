//! `tegula kernels`: each kernel's name, parameters with types, dims, defaults; and what it is compiled again for.

use serde::Serialize;
use tegula::lang::kernel::{BuildOptions, KernelInfo};
use tegula::runtime::launch::property::Property;

use crate::Library;
use crate::args::KernelsArgs;
use crate::error::Result;
use crate::select::Selection;
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
    /// Warps that the source asks for.
    warps: Option<u32>,
    /// Pipeline stages that the source asks for.
    stages: Option<u32>,
    /// What `tegula tune` chooses from.
    tuning: Vec<Axis>,
}

#[derive(Serialize)]
struct Param {
    name: &'static str,
    #[serde(rename = "type")]
    ty: &'static str,
    /// The properties of the argument that the kernel is compiled for, where they are asked for.
    #[serde(skip_serializing_if = "Option::is_none")]
    specialisations: Option<Vec<String>>,
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

#[derive(Serialize)]
struct Axis {
    name: &'static str,
    values: &'static [u32],
}

impl From<&KernelInfo> for Kernel {
    fn from(k: &KernelInfo) -> Self {
        let doc = k.doc.trim().split("\n\n").next().unwrap_or_default();
        Self {
            name: k.name,
            doc: doc.split_whitespace().collect::<Vec<_>>().join(" "),
            source: format!("{}:{}", k.file, k.line),
            params: k.params.iter().map(|p| Param { name: p.name, ty: p.ty, specialisations: None }).collect(),
            comptime: k.comptime.iter().map(|c| Comptime { name: c.name, ty: c.ty, default: c.default }).collect(),
            dims: k.dims.iter().map(|d| Dim { name: d.name, default: d.default }).collect(),
            instances: (k.instances)().iter().map(|i| i.types.iter().map(|t| t.name()).collect()).collect(),
            types: k.types.to_vec(),
            warps: k.num_warps,
            stages: k.num_stages,
            tuning: k.tuning.axes.iter().map(|a| Axis { name: a.name, values: a.values }).collect(),
        }
    }
}

/// Adds what the kernel is compiled again for, which its Tile IR tells.
fn with_specialisations(mut kernel: Kernel, info: &'static KernelInfo) -> Result<Kernel> {
    let function = Selection { info, options: BuildOptions::default() }.build()?;
    for ((param, of), built) in kernel.params.iter_mut().zip(info.params).zip(&function.params) {
        let properties = if of.specialize { Property::of(&built.kind) } else { Vec::new() };
        param.specialisations = Some(properties.iter().map(Property::to_string).collect());
    }
    Ok(kernel)
}

/// Lists them.
pub fn run(library: &Library, args: &KernelsArgs) -> Result<()> {
    let kernel = |info: &&'static KernelInfo| match args.specialisations {
        true => with_specialisations(Kernel::from(*info), info),
        false => Ok(Kernel::from(*info)),
    };
    let kernels: Vec<Kernel> = library.kernels.iter().map(kernel).collect::<Result<_>>()?;
    if args.json.json {
        println!("{}", serde_json::to_string_pretty(&kernels).expect("the list is plain data"));
    } else if args.specialisations {
        print!("{}", specialisations(&kernels));
    } else {
        print!("{}", overview(&kernels));
    }
    Ok(())
}

/// A line for each parameter, with the properties of its argument that make another kernel.
fn specialisations(kernels: &[Kernel]) -> Columns {
    let mut table = Columns::new(&["kernel", "parameter", "compiled for"]);
    for k in kernels {
        for (i, p) in k.params.iter().enumerate() {
            let kernel = if i == 0 { k.name } else { "" };
            let properties = p.specialisations.as_deref().unwrap_or_default().join(", ");
            let properties = if properties.is_empty() { "any".to_owned() } else { properties };
            table.row([kernel.into(), format!("{}: {}", p.name, p.ty), properties]);
        }
    }
    table
}

/// A line for each kernel.
fn overview(kernels: &[Kernel]) -> Columns {
    let mut table = Columns::new(&["kernel", "parameters", "dims", "types"]);
    for k in kernels {
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
    table
}
