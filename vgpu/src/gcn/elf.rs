//! The code object as an ELF file: its image, its symbols, its relocations and its notes.

use crate::error::{Error, Location, Result};
use crate::gcn::arch::Arch;
use crate::gcn::descriptor::KernelDescriptor;
use crate::gcn::metadata::{self, KernelInfo};
use object::LittleEndian;
use object::elf::{EM_AMDGPU, FileHeader64, PF_X, PT_LOAD, SHT_NOBITS, SHT_NOTE, SHT_RELA, STT_FUNC, STT_OBJECT};
use object::read::elf::{FileHeader, ProgramHeader, Rela, SectionHeader, Sym};
use std::collections::HashMap;
use std::ops::Range;

/// The type of the metadata note.
const NT_AMDGPU_METADATA: u32 = 32;
/// A relocation by a symbol's address.
const R_AMDGPU_ABS64: u32 = 3;
/// A relocation by an address in the image.
const R_AMDGPU_RELATIVE64: u32 = 13;
/// No code object is larger when loaded.
const MAX_IMAGE: u64 = 1 << 28;

/// A kernel as the file has it.
#[derive(Clone, Debug)]
pub struct ElfKernel {
    /// What the metadata says.
    pub info: KernelInfo,
    /// The descriptor.
    pub descriptor: KernelDescriptor,
    /// The first instruction's address in the image.
    pub entry: u64,
}

/// A place in the image that is to hold an address in the image.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Relocation {
    /// Where.
    pub offset: u64,
    /// Relative to the image's start.
    pub target: u64,
}

/// A code object, read.
#[derive(Clone, Debug)]
pub struct CodeObject {
    /// The processor.
    pub arch: Arch,
    /// The file's ABI version: 4, 5 or 6.
    pub version: u32,
    /// All that is loaded, at the addresses that the file gives, from 0.
    pub image: Vec<u8>,
    /// Which of it is executable.
    pub code: Vec<Range<u64>>,
    /// Addresses to be written into the image.
    pub relocations: Vec<Relocation>,
    /// Its kernels.
    pub kernels: Vec<ElfKernel>,
    /// Functions by address, for reports.
    pub functions: Vec<(u64, String)>,
    /// Global variables: address and size by name.
    pub globals: HashMap<String, (u64, u64)>,
    /// Line information, where the file has any: address, file, line and column, by address.
    pub lines: Vec<crate::gcn::lines::LineRow>,
    /// The formats that kernels print with, by number.
    pub print_formats: HashMap<u32, crate::gcn::printf::PrintFormat>,
}

fn bad(message: impl Into<String>) -> Error {
    Error::Parse { location: Location::default(), message: message.into() }
}

impl CodeObject {
    /// Reads a code object of version 4, 5 or 6.
    pub fn parse(bytes: &[u8]) -> Result<Self> {
        let elf = |error: object::read::Error| bad(format!("not a code object: {error}"));
        let header = FileHeader64::<LittleEndian>::parse(bytes).map_err(elf)?;
        let endian = header.endian().map_err(elf)?;
        if header.e_machine(endian) != EM_AMDGPU {
            return Err(bad("not a code object: an ELF file, but not for AMDGPU"));
        }
        let version = match header.e_ident().abi_version {
            2 => 4,
            3 => 5,
            4 => 6,
            other => return Err(bad(format!("code object ABI version {other}; versions 4, 5 and 6 are supported"))),
        };
        let flags = header.e_flags(endian).0;
        let arch = Arch::from_elf_flags(flags).ok_or_else(|| {
            bad(format!(
                "the code object is for {} ({:#x}); there are machines for gfx942, gfx950, gfx1100 and gfx1201",
                Arch::name_of_elf_flags(flags),
                flags & 0xff
            ))
        })?;

        let segments = header.program_headers(endian, bytes).map_err(elf)?;
        let loaded = || segments.iter().filter(|segment| segment.p_type(endian) == PT_LOAD);
        let end = loaded().map(|s| s.p_vaddr(endian).saturating_add(s.p_memsz(endian))).max().unwrap_or(0);
        if end > MAX_IMAGE {
            return Err(bad("a segment that is too large"));
        }
        let mut image = vec![0; end as usize];
        let mut code = Vec::new();
        for segment in loaded() {
            let (start, size) = (segment.p_vaddr(endian), segment.p_memsz(endian));
            let data = segment.data(endian, bytes).map_err(|()| bad("a segment outside the file"))?;
            if data.len() as u64 > size {
                return Err(bad("a segment with more bytes in the file than in memory"));
            }
            image[start as usize..start as usize + data.len()].copy_from_slice(data);
            if segment.p_flags(endian).contains(PF_X) {
                // There is no code beyond what the file has of it.
                code.push(start..start + data.len() as u64);
            }
        }

        let sections = header.sections(endian, bytes).map_err(elf)?;
        let mut kernels = Vec::new();
        let mut print_formats = HashMap::new();
        for section in sections.iter().filter(|section| section.sh_type(endian) == SHT_NOTE) {
            let Some(mut notes) = section.notes(endian, bytes).map_err(elf)? else { continue };
            while let Some(note) = notes.next().map_err(elf)? {
                if note.name() == b"AMDGPU" && note.n_type(endian).0 == NT_AMDGPU_METADATA {
                    let metadata = metadata::parse(note.desc())?;
                    kernels.extend(metadata.kernels);
                    print_formats.extend(metadata.print_formats);
                }
            }
        }

        let symbols = sections.symbols(endian, bytes, object::elf::SHT_SYMTAB).map_err(elf)?;
        let symbols = if symbols.is_empty() {
            sections.symbols(endian, bytes, object::elf::SHT_DYNSYM).map_err(elf)?
        } else {
            symbols
        };
        let mut addresses = HashMap::new();
        let mut functions = Vec::new();
        let mut globals = HashMap::new();
        for symbol in symbols.iter() {
            let Ok(name) = symbol.name(endian, symbols.strings()) else { continue };
            let name = String::from_utf8_lossy(name).into_owned();
            let address = symbol.st_value(endian);
            match symbol.st_type() {
                STT_FUNC => functions.push((address, name.clone())),
                STT_OBJECT if !name.ends_with(".kd") => {
                    globals.insert(name.clone(), (address, symbol.st_size(endian)));
                }
                _ => {}
            }
            addresses.insert(name, address);
        }
        functions.sort();

        let mut relocations = Vec::new();
        for section in sections.iter().filter(|section| section.sh_type(endian) == SHT_RELA) {
            let Some((entries, _)) = section.rela(endian, bytes).map_err(elf)? else { continue };
            for entry in entries {
                let kind = entry.r_type(endian, false);
                let addend = entry.r_addend(endian) as u64;
                let target = match kind.0 {
                    R_AMDGPU_RELATIVE64 => addend,
                    R_AMDGPU_ABS64 => {
                        let index = object::SymbolIndex(entry.r_sym(endian, false) as usize);
                        let dynamic = sections.symbols(endian, bytes, object::elf::SHT_DYNSYM).map_err(elf)?;
                        dynamic.symbol(index).map_err(elf)?.st_value(endian).wrapping_add(addend)
                    }
                    other => return Err(bad(format!("relocation type {other} is not supported"))),
                };
                let offset = entry.r_offset(endian);
                if offset.checked_add(8).is_none_or(|end| end > image.len() as u64) {
                    return Err(bad("a relocation outside the image"));
                }
                relocations.push(Relocation { offset, target });
            }
        }

        let kernels = kernels
            .into_iter()
            .map(|info| {
                let at = *addresses.get(&info.symbol).ok_or_else(|| bad(format!("no symbol `{}`", info.symbol)))?;
                let bytes = at
                    .checked_add(KernelDescriptor::BYTES as u64)
                    .and_then(|end| image.get(at as usize..end as usize))
                    .and_then(|bytes| bytes.try_into().ok())
                    .ok_or_else(|| bad(format!("the descriptor of `{}` is not in the image", info.name)))?;
                let descriptor = KernelDescriptor::parse(bytes, arch);
                let mut entry = at.wrapping_add(descriptor.entry_offset as u64);
                // Code that preloads arguments starts with 256 bytes that load them for firmware that cannot.
                if descriptor.preload_words > 0 {
                    entry = entry.wrapping_add(256);
                }
                if !code.iter().any(|range| range.contains(&entry)) {
                    return Err(bad(format!("the entry of `{}` is not in the code", info.name)));
                }
                Ok(ElfKernel { info, descriptor, entry })
            })
            .collect::<Result<_>>()?;

        let section_data = |name: &str| -> Option<&[u8]> {
            let (_, section) = sections.section_by_name(endian, name.as_bytes())?;
            if section.sh_type(endian) == SHT_NOBITS { None } else { section.data(endian, bytes).ok() }
        };
        let lines = crate::gcn::lines::read(section_data);
        Ok(Self { arch, version, image, code, relocations, kernels, functions, globals, lines, print_formats })
    }
}
