//! The options of the PTX compiler, its logs, and the linker.

use crate::abi::Handle;
use crate::api::module::compile;
use crate::entry::{Buffer, In, Out, Text, c_interface};
use crate::image::{self, Image};
use crate::state::{live, lock};
use crate::status::{CUresult, Outcome};
use std::ffi::{c_uint, c_void};
use std::sync::{Arc, Mutex};
use std::time::Instant;
use tegula_vgpu_driver::error::Error;
use tegula_vgpu_driver::handle::Table;

/// Numbers of the options that matter here.
mod option {
    pub const WALL_TIME: u32 = 2;
    pub const INFO_LOG_BUFFER: u32 = 3;
    pub const INFO_LOG_SIZE: u32 = 4;
    pub const ERROR_LOG_BUFFER: u32 = 5;
    pub const ERROR_LOG_SIZE: u32 = 6;
}

/// A log that C wants, and where its length is told.
#[derive(Debug, Default)]
struct Log {
    buffer: Option<Buffer>,
    size: Option<(usize, Out<*mut c_void>)>,
}

impl Log {
    fn write(&self, text: &str) {
        let Some((room, told)) = self.size else { return };
        let written = self.buffer.map_or(Ok(0), |buffer| buffer.write(room, text)).unwrap_or(0);
        told.set_if_wanted(written as *mut c_void);
    }
}

/// The options of a compilation.
#[derive(Debug)]
pub struct JitOptions {
    info: Log,
    error: Log,
    wall_time: Option<Out<*mut c_void>>,
    started: Instant,
}

// SAFETY: the pointers are C's, which promises that they stay as long as the linker that holds them, and that calls on one linker do
// not overlap.
unsafe impl Send for JitOptions {}
// SAFETY: as above.
unsafe impl Sync for JitOptions {}

impl Default for JitOptions {
    fn default() -> Self {
        Self { info: Log::default(), error: Log::default(), wall_time: None, started: Instant::now() }
    }
}

impl JitOptions {
    /// Reads the options.
    pub fn read(count: c_uint, options: In<c_uint>, values: Out<*mut c_void>) -> Outcome<Self> {
        let mut read = Self::default();
        for (index, number) in options.values(count as usize)?.into_iter().enumerate() {
            let slot = values.element(index);
            let value = slot.get()?;
            match number {
                option::WALL_TIME => read.wall_time = Some(slot),
                option::INFO_LOG_BUFFER => read.info.buffer = Some(Buffer::untyped(value)),
                // A size is a 32-bit number in the pointer's place.
                option::INFO_LOG_SIZE => read.info.size = Some((value as usize & 0xFFFF_FFFF, slot)),
                option::ERROR_LOG_BUFFER => read.error.buffer = Some(Buffer::untyped(value)),
                option::ERROR_LOG_SIZE => read.error.size = Some((value as usize & 0xFFFF_FFFF, slot)),
                // The others bound or tune what a real compiler makes.
                _ => {}
            }
        }
        Ok(read)
    }

    /// Tells how the compilation went.
    pub fn finish(&self, error: Option<&Error>) {
        let (info, text) = match error {
            None => ("", String::new()),
            Some(Error::InvalidPtx(log) | Error::Unsupported(log)) => ("", log.clone()),
            Some(other) => ("", format!("error   : {other}\n")),
        };
        self.info.write(info);
        self.error.write(&text);
        if let Some(slot) = self.wall_time {
            let milliseconds = self.started.elapsed().as_secs_f32() * 1e3;
            slot.set_if_wanted(milliseconds.to_bits() as usize as *mut c_void);
        }
    }
}

/// A linker: the PTX that was added, and the image once it is made.
#[derive(Debug)]
struct Linker {
    options: JitOptions,
    inputs: Mutex<Vec<String>>,
    image: Mutex<Option<Vec<u8>>>,
}

static LINKERS: Table<Linker> = Table::new(10);

fn linker(handle: Handle) -> Outcome<Arc<Linker>> {
    LINKERS.get(handle).ok_or_else(|| CUresult::ERROR_INVALID_HANDLE.into())
}

/// One module's text of several: the directives at the top of the first one hold for all.
fn join(inputs: &[String]) -> String {
    let directive = |line: &str| {
        let line = line.trim_start();
        [".version", ".target", ".address_size"].iter().any(|name| line.starts_with(name))
    };
    let mut text = inputs.first().cloned().unwrap_or_default();
    for input in inputs.iter().skip(1) {
        for line in input.lines().filter(|line| !directive(line)) {
            text.push('\n');
            text.push_str(line);
        }
    }
    text
}

fn add(linker: &Linker, kind: c_uint, image: Image, size: usize, pointer: *const c_void) -> Outcome {
    let ptx = match kind {
        // PTX comes with its size, with or without a zero behind it.
        1 => {
            if pointer.is_null() || size == 0 {
                return Err(CUresult::ERROR_INVALID_VALUE.into());
            }
            // SAFETY: C promises so many bytes.
            let bytes = unsafe { std::slice::from_raw_parts(pointer.cast::<u8>(), size) };
            let text = std::str::from_utf8(bytes).map_err(|_| CUresult::ERROR_INVALID_PTX)?;
            text.trim_end_matches('\0').to_owned()
        }
        // Linked images and fat binaries.
        0 | 2 => image.ptx()?,
        _ => return Err(CUresult::ERROR_NOT_SUPPORTED.into()),
    };
    // What is wrong with a text is told when it is added.
    compile(&ptx, &linker.options)?;
    lock(&linker.inputs).push(ptx);
    Ok(())
}

c_interface! {
    /// Makes a linker.
    fn cuLinkCreate_v2(count: c_uint, options: In<c_uint>, values: Out<*mut c_void>, out: Out<Handle>) {
        out.check()?;
        live()?;
        let options = JitOptions::read(count, options, values)?;
        let linker = Linker { options, inputs: Mutex::default(), image: Mutex::default() };
        out.set(LINKERS.insert(Arc::new(linker)))
    }

    /// Adds PTX, or an image that was linked before.
    fn cuLinkAddData_v2(
        to: Handle,
        kind: c_uint,
        data: *mut c_void,
        size: usize,
        name: *const c_void,
        count: c_uint,
        options: In<c_uint>,
        values: Out<*mut c_void>,
    ) {
        let _ = (name, count, options, values);
        add(&*linker(to)?, kind, Image::at(data), size, data)
    }

    /// Adds a file.
    fn cuLinkAddFile_v2(
        to: Handle,
        kind: c_uint,
        path: Text,
        count: c_uint,
        options: In<c_uint>,
        values: Out<*mut c_void>,
    ) {
        let _ = (count, options, values);
        let bytes = std::fs::read(path.get()?).map_err(|_| CUresult::ERROR_FILE_NOT_FOUND)?;
        let pointer = bytes.as_ptr().cast::<c_void>();
        add(&*linker(to)?, kind, Image::at(pointer), bytes.len(), pointer)
    }

    /// Makes the image, which stays until the linker is destroyed.
    fn cuLinkComplete(of: Handle, image: Out<*const c_void>, size: Out<usize>) {
        image.check()?;
        let linker = linker(of)?;
        let inputs = lock(&linker.inputs);
        if inputs.is_empty() {
            return Err(CUresult::ERROR_INVALID_VALUE.into());
        }
        let text = join(&inputs);
        // One text was compiled when it was added.
        if inputs.len() > 1 {
            compile(&text, &linker.options)?;
        }
        let (major, minor) = live()?.core.device.model.capability();
        let mut made = lock(&linker.image);
        let bytes = made.insert(image::link(&text, major * 10 + minor));
        size.set_if_wanted(bytes.len());
        image.set(bytes.as_ptr().cast())
    }

    /// Destroys a linker.
    fn cuLinkDestroy(handle: Handle) {
        LINKERS.remove(handle).map(drop).ok_or_else(|| CUresult::ERROR_INVALID_HANDLE.into())
    }
}
