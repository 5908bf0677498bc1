//! Line tables: which Rust source line each instruction comes from.
//!
//! Variables and types are not described. inkwell has no name for the emission kind that PTX needs (see
//! [`LineTableKind::DirectivesOnly`]), so the few calls go to LLVM's C interface directly.

use std::collections::HashMap;
use std::ffi::c_uint;
use std::path::Path;

use inkwell::builder::Builder;
use inkwell::context::Context;
use inkwell::llvm_sys::LLVMModuleFlagBehavior;
use inkwell::llvm_sys::core::{
    LLVMAddModuleFlag, LLVMConstInt, LLVMInt32TypeInContext, LLVMSetCurrentDebugLocation2, LLVMValueAsMetadata,
};
use inkwell::llvm_sys::debuginfo::{
    LLVMCreateDIBuilder, LLVMDIBuilderCreateDebugLocation, LLVMDIBuilderCreateFile, LLVMDIBuilderCreateFunction,
    LLVMDIBuilderCreateLexicalBlockFile, LLVMDIBuilderCreateSubroutineType, LLVMDIBuilderFinalize, LLVMDIFlagZero,
    LLVMDWARFSourceLanguage, LLVMDebugMetadataVersion, LLVMDisposeDIBuilder, LLVMSetSubprogram,
};
use inkwell::llvm_sys::prelude::{LLVMBool, LLVMContextRef, LLVMDIBuilderRef, LLVMMetadataRef};
use inkwell::module::Module;
use inkwell::values::{AsValueRef, FunctionValue};

unsafe extern "C" {
    /// As in llvm-sys, but with the kind as a number: the binding's enum lacks `DebugDirectivesOnly`.
    #[allow(clashing_extern_declarations)]
    fn LLVMDIBuilderCreateCompileUnit(
        builder: LLVMDIBuilderRef,
        language: LLVMDWARFSourceLanguage,
        file: LLVMMetadataRef,
        producer: *const std::ffi::c_char,
        producer_len: usize,
        is_optimized: LLVMBool,
        flags: *const std::ffi::c_char,
        flags_len: usize,
        runtime_version: c_uint,
        split_name: *const std::ffi::c_char,
        split_name_len: usize,
        kind: c_uint,
        dwo_id: c_uint,
        split_debug_inlining: LLVMBool,
        debug_info_for_profiling: LLVMBool,
        sysroot: *const std::ffi::c_char,
        sysroot_len: usize,
        sdk: *const std::ffi::c_char,
        sdk_len: usize,
    ) -> LLVMMetadataRef;
}

/// Which form of line information to emit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LineTableKind {
    /// A DWARF line table.
    Dwarf,
    /// `.loc` directives alone. In PTX a DWARF table would mark the target as `debug`, and `ptxas` then no longer
    /// optimises as it should.
    DirectivesOnly,
}

/// A place in a source file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct SourceLocation<'a> {
    /// Path of the file.
    pub file: &'a str,
    /// Line, from 1.
    pub line: u32,
    /// Column, from 1; 0 if unknown.
    pub column: u32,
}

/// The line table of one function under construction.
pub struct LineTable {
    context: LLVMContextRef,
    builder: LLVMDIBuilderRef,
    subprogram: LLVMMetadataRef,
    scopes: HashMap<String, LLVMMetadataRef>,
}

impl LineTable {
    /// Starts the table of `function`, which is declared at `location`.
    pub fn new(
        context: &Context,
        module: &Module<'_>,
        function: FunctionValue<'_>,
        location: SourceLocation<'_>,
        kind: LineTableKind,
    ) -> LineTable {
        let name = function.get_name().to_string_lossy().into_owned();
        let kind = match kind {
            LineTableKind::Dwarf => 2,
            LineTableKind::DirectivesOnly => 3,
        };
        let producer = concat!("tegula ", env!("CARGO_PKG_VERSION"));
        let flag = "Debug Info Version";
        // SAFETY: every string is given with its length, every metadata node comes from `builder` of this module,
        // and the DI builder lives until `Drop`.
        unsafe {
            let version = LLVMConstInt(LLVMInt32TypeInContext(context.raw()), LLVMDebugMetadataVersion().into(), 0);
            LLVMAddModuleFlag(
                module.as_mut_ptr(),
                LLVMModuleFlagBehavior::LLVMModuleFlagBehaviorWarning,
                flag.as_ptr().cast(),
                flag.len(),
                LLVMValueAsMetadata(version),
            );
            let builder = LLVMCreateDIBuilder(module.as_mut_ptr());
            let file = create_file(builder, location.file);
            let unit = LLVMDIBuilderCreateCompileUnit(
                builder,
                LLVMDWARFSourceLanguage::LLVMDWARFSourceLanguageRust,
                file,
                producer.as_ptr().cast(),
                producer.len(),
                1,
                c"".as_ptr(),
                0,
                0,
                c"".as_ptr(),
                0,
                kind,
                0,
                0,
                0,
                c"".as_ptr(),
                0,
                c"".as_ptr(),
                0,
            );
            let ty = LLVMDIBuilderCreateSubroutineType(builder, file, std::ptr::null_mut(), 0, LLVMDIFlagZero);
            let subprogram = LLVMDIBuilderCreateFunction(
                builder,
                unit,
                name.as_ptr().cast(),
                name.len(),
                name.as_ptr().cast(),
                name.len(),
                file,
                location.line,
                ty,
                0,
                1,
                location.line,
                LLVMDIFlagZero,
                1,
            );
            LLVMSetSubprogram(function.as_value_ref(), subprogram);
            let scopes = HashMap::from([(location.file.to_owned(), subprogram)]);
            LineTable { context: context.raw(), builder, subprogram, scopes }
        }
    }

    /// Gives the instructions that `builder` makes from now on the source `location`.
    pub fn set_location(&mut self, builder: &Builder<'_>, location: SourceLocation<'_>) {
        let scope = match self.scopes.get(location.file) {
            Some(scope) => *scope,
            None => {
                // A helper function of the kernel may stand in another file than the kernel itself.
                // SAFETY: both nodes belong to this table's module.
                let scope = unsafe {
                    let file = create_file(self.builder, location.file);
                    LLVMDIBuilderCreateLexicalBlockFile(self.builder, self.subprogram, file, 0)
                };
                self.scopes.insert(location.file.to_owned(), scope);
                scope
            }
        };
        // SAFETY: the scope is a node of this context, and `builder` builds in it.
        unsafe {
            let location = LLVMDIBuilderCreateDebugLocation(
                self.context,
                location.line,
                location.column,
                scope,
                std::ptr::null_mut(),
            );
            LLVMSetCurrentDebugLocation2(builder.as_mut_ptr(), location);
        }
    }

    /// Completes the table. The module can be verified and emitted after it.
    pub fn finish(self) {
        // SAFETY: the builder is alive until `Drop`, which runs next.
        unsafe { LLVMDIBuilderFinalize(self.builder) }
    }
}

impl Drop for LineTable {
    fn drop(&mut self) {
        // SAFETY: the builder was made by `new` and is disposed of once. The metadata belongs to the context.
        unsafe { LLVMDisposeDIBuilder(self.builder) }
    }
}

/// # Safety
/// `builder` must be alive.
unsafe fn create_file(builder: LLVMDIBuilderRef, path: &str) -> LLVMMetadataRef {
    let path = Path::new(path);
    let name = path.file_name().map_or("<unknown>".into(), |n| n.to_string_lossy());
    let directory = path.parent().map_or("".into(), |p| p.to_string_lossy());
    // SAFETY: strings are given with their lengths; the caller promises a live builder.
    unsafe {
        LLVMDIBuilderCreateFile(builder, name.as_ptr().cast(), name.len(), directory.as_ptr().cast(), directory.len())
    }
}
