//! Modules: loading, their kernels and variables.

use crate::abi::Handle;
use crate::entry::{In, Out, Text, c_interface};
use crate::image::Image;
use crate::state::{FUNCTIONS, HipModule, MODULES, live, lock, module};
use crate::status::{Outcome, hipError_t};
use std::ffi::{c_uint, c_void};
use std::sync::{Arc, Mutex};
use tegula_vgpu_driver::code::Module;

fn load(out: Out<Handle>, image: Image) -> Outcome {
    out.check()?;
    let device = &live()?.device;
    let core = Arc::new(Module::load_code_object(device, &image.code_object(device.model.target)?)?);
    out.set(MODULES.insert(Arc::new(HipModule { core, functions: Mutex::default() })))
}

c_interface! {
    /// Loads a module from an image.
    fn hipModuleLoadData(out: Out<Handle>, image: Image) {
        load(out, image)
    }

    /// Loads a module from an image. The options are for a compiler, which is not needed.
    fn hipModuleLoadDataEx(
        out: Out<Handle>,
        image: Image,
        count: c_uint,
        options: In<c_uint>,
        values: In<*mut c_void>,
    ) {
        let _ = (count, options, values);
        load(out, image)
    }

    /// Loads a module from a fat binary.
    fn hipModuleLoadFatBinary(out: Out<Handle>, image: Image) {
        load(out, image)
    }

    /// Loads a module from a file.
    fn hipModuleLoad(out: Out<Handle>, path: Text) {
        let mut bytes = std::fs::read(path.get()?).map_err(|_| hipError_t::FILE_NOT_FOUND)?;
        // Whatever it is not, its first bytes can be read.
        bytes.extend([0; 64]);
        load(out, Image::at(bytes.as_ptr().cast()))
    }

    /// Unloads a module. Launches under way end as they would have.
    fn hipModuleUnload(handle: Handle) {
        let module = MODULES.remove(handle).ok_or(hipError_t::INVALID_HANDLE)?;
        for (_, function) in lock(&module.functions).drain() {
            FUNCTIONS.remove(function);
        }
        Ok(())
    }

    /// A kernel of a module: the same handle whenever it is asked for.
    fn hipModuleGetFunction(out: Out<Handle>, of: Handle, name: Text) {
        out.check()?;
        let (module, name) = (module(of)?, name.get()?);
        let mut functions = lock(&module.functions);
        let handle = match functions.get(name) {
            Some(&handle) => handle,
            None => {
                let handle = FUNCTIONS.insert(Arc::new(module.core.kernel(name)?));
                functions.insert(name.to_owned(), handle);
                handle
            }
        };
        out.set(handle)
    }

    /// How many kernels a module has.
    fn hipModuleGetFunctionCount(out: Out<c_uint>, of: Handle) {
        out.set(module(of)?.core.kernel_names().len() as c_uint)
    }

    /// Address and size of a module's variable.
    fn hipModuleGetGlobal(address: Out<u64>, size: Out<usize>, of: Handle, name: Text) {
        let (start, length) = module(of)?.core.global(name.get()?)?;
        address.set_if_wanted(start);
        size.set_if_wanted(length as usize);
        Ok(())
    }
}
