//! Code for several NVIDIA architectures in one file, which `cuModuleLoad` takes. The format is NVIDIA's own and not
//! documented: its tool `fatbinary` writes it, where there is one.

use std::path::Path;
use std::process::Command;

use tegula_codegen_nvptx::ptxas;

/// The fatbin of PTX, each with its architecture; and of the machine code that `ptxas` makes of it, where there is one. `None`
/// without the tool.
///
/// # Errors
/// What the tools say.
pub(super) fn fatbin(kernels: &[(&str, &[u8])]) -> Result<Option<Vec<u8>>, String> {
    let Some(program) = ptxas::find_tool("fatbinary", "TEGULA_FATBINARY") else { return Ok(None) };
    let folder = tempfile::tempdir().map_err(|e| e.to_string())?;
    let output = folder.path().join("kernel.fatbin");
    let mut command = Command::new(&program);
    command.arg("-64").arg(format!("--create={}", output.display()));
    let image = |kind: &str, architecture: &str, code: &[u8]| {
        let file = folder.path().join(format!("{architecture}.{kind}"));
        std::fs::write(&file, code).map_err(|e| e.to_string())?;
        let number = architecture.trim_start_matches("sm_");
        Ok::<_, String>(format!("--image3=kind={kind},sm={number},file={}", file.display()))
    };
    for (architecture, ptx) in kernels {
        command.arg(image("ptx", architecture, ptx)?);
        if let Some(cubin) = assemble(architecture, ptx)? {
            command.arg(image("elf", architecture, &cubin)?);
        }
    }
    run(&mut command)?;
    std::fs::read(&output).map(Some).map_err(|e| e.to_string())
}

fn assemble(architecture: &str, ptx: &[u8]) -> Result<Option<Vec<u8>>, String> {
    let Some(program) = ptxas::find() else { return Ok(None) };
    let text = std::str::from_utf8(ptx).map_err(|e| e.to_string())?;
    ptxas::assemble(Path::new(&program), text, architecture).map(|a| Some(a.cubin)).map_err(|e| e.to_string())
}

fn run(command: &mut Command) -> Result<(), String> {
    let output = command.output().map_err(|e| format!("fatbinary: {e}"))?;
    if output.status.success() {
        return Ok(());
    }
    let text = String::from_utf8_lossy(&output.stderr).into_owned() + &String::from_utf8_lossy(&output.stdout);
    Err(format!("fatbinary: {}", text.trim()))
}
