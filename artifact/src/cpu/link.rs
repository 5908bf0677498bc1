//! An object into this process, without a linker: for objects as the code generator makes them for x86-64, which hold code
//! and constants and refer to hardly anything outside.
//!
//! It is what makes a kernel that was compiled before cheap to take up again. What is not here is an error of its own kind,
//! [`LinkError::Unsupported`]: a linker can do it.

use std::ffi::{c_int, c_void};
use std::io;

use memmap2::{Mmap, MmapMut};
use object::elf::{
    EM_X86_64, ET_REL, FileHeader64, R_X86_64_64, R_X86_64_PC32, R_X86_64_PC64, R_X86_64_PLT32, SHF_ALLOC, SHF_TLS,
    SHF_WRITE, SHN_UNDEF, SHT_RELA, SHT_SYMTAB, STT_FUNC,
};
use object::read::elf::{FileHeader, Rela, SectionHeader, Sym};
use object::{LittleEndian, SymbolIndex};
use thiserror::Error;

/// Alignment of the memory that code is put in.
const PAGE: u64 = 4096;

/// Most bytes of an object's code and constants: displacements have 31 bits.
const MOST: usize = 1 << 30;

/// Why an object was not linked.
#[derive(Debug, Error)]
pub enum LinkError {
    /// It is not an object, or a damaged one.
    #[error("not an object: {0}")]
    Malformed(String),
    /// It is an object, and has something that is not supported here.
    #[error("{0} is not supported")]
    Unsupported(String),
    /// It does not define the symbol.
    #[error("there is no function `{0}` in it")]
    Missing(String),
    /// The system gave no memory for code.
    #[error("no memory for code: {0}")]
    Memory(#[from] io::Error),
}

/// Linked code. Dropping it unmaps the code.
#[derive(Debug)]
pub struct LinkedCode {
    memory: Mmap,
    entry: usize,
}

impl LinkedCode {
    /// The address of the function.
    pub fn entry(&self) -> *const c_void {
        self.memory[self.entry..].as_ptr().cast()
    }
}

fn malformed(e: impl ToString) -> LinkError {
    LinkError::Malformed(e.to_string())
}

/// Links an object; `symbol` names the function to be called.
///
/// # Errors
/// If the object is damaged, refers to more than the few functions that code generators count on, or is not for x86-64.
pub fn link(object: &[u8], symbol: &str) -> Result<LinkedCode, LinkError> {
    let image = Image::new(object, symbol)?;
    let mut memory = MmapMut::map_anon(image.bytes.len())?;
    let base = memory.as_ptr() as u64;
    memory.copy_from_slice(&image.bytes);
    for (at, value) in image.absolute {
        memory[at..at + 8].copy_from_slice(&base.wrapping_add(value).to_le_bytes());
    }
    Ok(LinkedCode { memory: memory.make_exec()?, entry: image.entry })
}

/// Code and constants as they will lie in memory, at an address that is not known yet.
struct Image {
    bytes: Vec<u8>,
    /// Words that hold addresses of the image, and the offsets to put there.
    absolute: Vec<(usize, u64)>,
    entry: usize,
}

impl Image {
    fn new(object: &[u8], symbol: &str) -> Result<Self, LinkError> {
        let unsupported = |what: &str| LinkError::Unsupported(what.to_owned());
        let header = FileHeader64::<LittleEndian>::parse(object).map_err(malformed)?;
        let endian = header.endian().map_err(malformed)?;
        if header.e_type(endian) != ET_REL || header.e_machine(endian) != EM_X86_64 || cfg!(not(target_arch = "x86_64"))
        {
            return Err(unsupported("what is not an object for x86-64"));
        }
        let sections = header.sections(endian, object).map_err(malformed)?;
        let mut bytes = Vec::new();
        let mut placed: Vec<Option<usize>> = vec![None; sections.len()];
        for (index, section) in sections.enumerate() {
            let flags = section.sh_flags(endian);
            // Nothing unwinds through kernels.
            let wanted = flags.contains(SHF_ALLOC) && sections.section_name(endian, section) != Ok(b".eh_frame");
            if !wanted {
                continue;
            }
            if flags.contains(SHF_WRITE) || flags.contains(SHF_TLS) {
                return Err(unsupported("data that is written"));
            }
            let align = section.sh_addralign(endian).max(1);
            if !align.is_power_of_two() || align > PAGE {
                return Err(unsupported("such an alignment"));
            }
            let data = section.data(endian, object).map_err(malformed)?;
            bytes.resize(bytes.len().next_multiple_of(align as usize), 0);
            placed[index.0] = Some(bytes.len());
            bytes.extend_from_slice(data);
            if bytes.len() > MOST {
                return Err(unsupported("so large an object"));
            }
        }
        let place = |section: usize| placed.get(section).copied().flatten();

        let symbols = sections.symbols(endian, object, SHT_SYMTAB).map_err(malformed)?;
        let find = |s: &&object::elf::Sym64<LittleEndian>| {
            s.st_type() == STT_FUNC
                && s.st_shndx(endian) != SHN_UNDEF
                && s.name(endian, symbols.strings()) == Ok(symbol.as_bytes())
        };
        let missing = || LinkError::Missing(symbol.to_owned());
        let function = symbols.iter().find(find).ok_or_else(missing)?;
        let address = |s: &object::elf::Sym64<LittleEndian>| {
            let section = place(usize::from(s.st_shndx(endian).0));
            let section = section.ok_or_else(|| unsupported("a symbol outside of code and constants"))?;
            Ok::<u64, LinkError>((section as u64).wrapping_add(s.st_value(endian)))
        };
        let entry = address(function)? as usize;

        let mut image = Self { bytes, absolute: Vec::new(), entry };
        if entry >= image.bytes.len() {
            return Err(missing());
        }
        for section in sections.iter().filter(|s| s.sh_type(endian) == SHT_RELA) {
            let Some(start) = place(section.sh_info(endian) as usize) else { continue };
            let Some((entries, _)) = section.rela(endian, object).map_err(malformed)? else { continue };
            for entry in entries {
                let index = SymbolIndex(entry.r_sym(endian, false) as usize);
                let target = symbols.symbol(index).map_err(malformed)?;
                let kind = entry.r_type(endian, false);
                let value = match target.st_shndx(endian) {
                    SHN_UNDEF if kind.0 == R_X86_64_PLT32.0 => {
                        let name = target.name(endian, symbols.strings()).map_err(malformed)?;
                        let outside = outside(name).ok_or_else(|| {
                            LinkError::Unsupported(format!("a call of `{}`", String::from_utf8_lossy(name)))
                        })?;
                        image.jump(outside)
                    }
                    SHN_UNDEF => return Err(unsupported("data of another object")),
                    _ => address(target)?,
                };
                let value = value.wrapping_add(entry.r_addend(endian) as u64);
                let at = (start as u64).wrapping_add(entry.r_offset(endian));
                let relative = value.wrapping_sub(at);
                match kind {
                    R_X86_64_PC32 | R_X86_64_PLT32 => {
                        let short = i32::try_from(relative as i64).map_err(malformed)?;
                        image.write(at, &short.to_le_bytes())?;
                    }
                    R_X86_64_PC64 => image.write(at, &relative.to_le_bytes())?,
                    R_X86_64_64 => {
                        image.write(at, &[0; 8])?;
                        image.absolute.push((at as usize, value));
                    }
                    other => return Err(LinkError::Unsupported(format!("relocation {}", other.0))),
                }
            }
        }
        Ok(image)
    }

    /// Adds a jump to a function outside, which may be farther away than a call reaches; gives its offset.
    fn jump(&mut self, to: *const c_void) -> u64 {
        self.bytes.resize(self.bytes.len().next_multiple_of(16), 0);
        let at = self.bytes.len() as u64;
        // `jmp *0(%rip)`, and the address.
        self.bytes.extend_from_slice(&[0xff, 0x25, 0, 0, 0, 0]);
        self.bytes.extend_from_slice(&(to as u64).to_le_bytes());
        at
    }

    fn write(&mut self, at: u64, value: &[u8]) -> Result<(), LinkError> {
        let place = usize::try_from(at).ok().and_then(|at| self.bytes.get_mut(at..at.checked_add(value.len())?));
        place.ok_or_else(|| malformed("a relocation outside of its section"))?.copy_from_slice(value);
        Ok(())
    }
}

unsafe extern "C" {
    fn memcpy(to: *mut c_void, from: *const c_void, n: usize) -> *mut c_void;
    fn memmove(to: *mut c_void, from: *const c_void, n: usize) -> *mut c_void;
    fn memset(to: *mut c_void, byte: c_int, n: usize) -> *mut c_void;
}

/// Functions that code generators call of themselves. They are in every process.
fn outside(name: &[u8]) -> Option<*const c_void> {
    Some(match name {
        b"memcpy" => memcpy as *const c_void,
        b"memmove" => memmove as *const c_void,
        b"memset" => memset as *const c_void,
        _ => return None,
    })
}
