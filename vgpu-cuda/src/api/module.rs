//! Modules and libraries: loading, their kernels and variables. A library is a module that belongs to no context, and both are the
//! same here.

use crate::abi::{DevicePtr, Handle};
use crate::api::link::JitOptions;
use crate::entry::{In, Out, Text, c_interface};
use crate::image::Image;
use crate::state::{CudaModule, FUNCTIONS, MODULES, function, live, lock, module};
use crate::status::{CUresult, Failure, Outcome};
use std::ffi::{c_uint, c_void};
use std::sync::{Arc, Mutex};
use tegula_vgpu_driver::code::Module;

/// Compiles PTX for the current context's device; what is wrong with it goes to the log of the options.
pub(crate) fn compile(ptx: &str, options: &JitOptions) -> Outcome<Module> {
    let device = &live()?.core.device;
    let compiled = Module::load_ptx(device, ptx);
    options.finish(compiled.as_ref().err());
    Ok(compiled?)
}

fn load(out: Out<Handle>, image: Image, options: &JitOptions) -> Outcome {
    out.check()?;
    live()?;
    let ptx = image.ptx().inspect_err(|failure| {
        if let Failure::Error(error) = failure {
            options.finish(Some(error));
        }
    })?;
    let core = Arc::new(compile(&ptx, options)?);
    out.set(MODULES.insert(Arc::new(CudaModule { core, functions: Mutex::default() })))
}

fn load_file(out: Out<Handle>, path: Text, options: &JitOptions) -> Outcome {
    let mut bytes = std::fs::read(path.get()?).map_err(|_| CUresult::ERROR_FILE_NOT_FOUND)?;
    // A text ends with zero.
    bytes.push(0);
    load(out, Image::at(bytes.as_ptr().cast()), options)
}

fn unload(handle: Handle) -> Outcome {
    let module = MODULES.remove(handle).ok_or(CUresult::ERROR_INVALID_HANDLE)?;
    // Launches under way hold the kernels, and through them the module.
    for (_, function) in lock(&module.functions).drain() {
        FUNCTIONS.remove(function);
    }
    Ok(())
}

/// The handle of a kernel of a module: the same whenever it is asked for.
fn handle_of(module: &CudaModule, name: &str) -> Outcome<Handle> {
    let mut functions = lock(&module.functions);
    if let Some(&handle) = functions.get(name) {
        return Ok(handle);
    }
    let handle = FUNCTIONS.insert(Arc::new(module.core.kernel(name)?));
    functions.insert(name.to_owned(), handle);
    Ok(handle)
}

fn global(address: Out<DevicePtr>, size: Out<usize>, of: Handle, name: Text) -> Outcome {
    let (start, length) = module(of)?.core.global(name.get()?)?;
    address.set_if_wanted(start);
    size.set_if_wanted(length as usize);
    Ok(())
}

fn enumerate(out: Out<Handle>, room: c_uint, of: Handle) -> Outcome {
    let module = module(of)?;
    let names = module.core.kernel_names();
    let handles: Vec<_> =
        names.iter().take(room as usize).map(|name| handle_of(&module, name)).collect::<Outcome<_>>()?;
    out.set_all(handles)
}

c_interface! {
    /// Loads a module from an image.
    fn cuModuleLoadData(out: Out<Handle>, image: Image) {
        load(out, image, &JitOptions::default())
    }

    /// Loads a module from an image, with options of the compiler.
    fn cuModuleLoadDataEx(
        out: Out<Handle>,
        image: Image,
        count: c_uint,
        options: In<c_uint>,
        values: Out<*mut c_void>,
    ) {
        load(out, image, &JitOptions::read(count, options, values)?)
    }

    /// Loads a module from a fat binary.
    fn cuModuleLoadFatBinary(out: Out<Handle>, image: Image) {
        load(out, image, &JitOptions::default())
    }

    /// Loads a module from a file.
    fn cuModuleLoad(out: Out<Handle>, path: Text) {
        load_file(out, path, &JitOptions::default())
    }

    /// Unloads a module. Launches under way end as they would have.
    fn cuModuleUnload(handle: Handle) {
        live()?;
        unload(handle)
    }

    /// A kernel of a module.
    fn cuModuleGetFunction(out: Out<Handle>, of: Handle, name: Text) {
        out.check()?;
        out.set(handle_of(&*module(of)?, name.get()?)?)
    }

    /// How many kernels a module has.
    fn cuModuleGetFunctionCount(out: Out<c_uint>, of: Handle) {
        out.set(module(of)?.core.kernel_names().len() as c_uint)
    }

    /// The kernels of a module.
    fn cuModuleEnumerateFunctions(out: Out<Handle>, room: c_uint, of: Handle) {
        enumerate(out, room, of)
    }

    /// Address and size of a module's variable.
    fn cuModuleGetGlobal_v2(address: Out<DevicePtr>, size: Out<usize>, of: Handle, name: Text) {
        global(address, size, of, name)
    }

    /// Whether modules are loaded when they are used: no.
    fn cuModuleGetLoadingMode(out: Out<c_uint>) {
        out.set(1)
    }

    /// Loads a library from an image.
    fn cuLibraryLoadData(
        out: Out<Handle>,
        image: Image,
        options: In<c_uint>,
        values: Out<*mut c_void>,
        count: c_uint,
        library_options: In<c_uint>,
        library_values: In<*mut c_void>,
        library_count: c_uint,
    ) {
        let _ = (library_options, library_values, library_count);
        load(out, image, &JitOptions::read(count, options, values)?)
    }

    /// Loads a library from a file.
    fn cuLibraryLoadFromFile(
        out: Out<Handle>,
        path: Text,
        options: In<c_uint>,
        values: Out<*mut c_void>,
        count: c_uint,
        library_options: In<c_uint>,
        library_values: In<*mut c_void>,
        library_count: c_uint,
    ) {
        let _ = (library_options, library_values, library_count);
        load_file(out, path, &JitOptions::read(count, options, values)?)
    }

    /// Unloads a library.
    fn cuLibraryUnload(handle: Handle) {
        unload(handle)
    }

    /// A kernel of a library.
    fn cuLibraryGetKernel(out: Out<Handle>, of: Handle, name: Text) {
        out.check()?;
        out.set(handle_of(&*module(of)?, name.get()?)?)
    }

    /// How many kernels a library has.
    fn cuLibraryGetKernelCount(out: Out<c_uint>, of: Handle) {
        out.set(module(of)?.core.kernel_names().len() as c_uint)
    }

    /// The kernels of a library.
    fn cuLibraryEnumerateKernels(out: Out<Handle>, room: c_uint, of: Handle) {
        enumerate(out, room, of)
    }

    /// A library as a module.
    fn cuLibraryGetModule(out: Out<Handle>, of: Handle) {
        module(of)?;
        out.set(of)
    }

    /// Address and size of a library's variable.
    fn cuLibraryGetGlobal(address: Out<DevicePtr>, size: Out<usize>, of: Handle, name: Text) {
        global(address, size, of, name)
    }

    /// A library's kernel as a function of the current context.
    fn cuKernelGetFunction(out: Out<Handle>, kernel: Handle) {
        live()?;
        function(kernel)?;
        out.set(kernel)
    }

    /// The module that a function is of.
    fn cuFuncGetModule(out: Out<Handle>, handle: Handle) as cuKernelGetLibrary {
        let kernel = function(handle)?;
        let of = MODULES.find_by(|module| Arc::ptr_eq(&module.core, kernel.module()));
        out.set(of.ok_or(CUresult::ERROR_INVALID_HANDLE)?)
    }
}
