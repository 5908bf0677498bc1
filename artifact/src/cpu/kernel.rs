//! A compiled kernel, and its launch over a grid.
//!
//! Threads take programs in chunks, lowest numbers first. Results do not depend on the number of threads: programs do
//! not share anything but memory, what they print is put in the order of their numbers, and of several that fail the
//! lowest is reported.

use std::any::Any;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};

use tegula_ir::diag::Diagnostic;
use tegula_ir::function::{Function, ParamKind};
use tegula_ir::interp::format_lines;
use tegula_ir::literal::Literal;
use tegula_ir::numeric::eval;

use super::abi::{ArgSlots, KernelFn, LaunchContext};
use super::arena::with_arena;
use super::crew;
use super::site::{CpuInfo, PrintArg, Site};

/// An argument of a launch.
#[derive(Clone, Copy, Debug)]
pub enum CpuArg<'a> {
    /// For a view parameter.
    View {
        /// Address of element zero.
        base: *mut u8,
        /// Extents in elements.
        extents: &'a [i64],
        /// Strides in elements.
        strides: &'a [i64],
    },
    /// For a scalar parameter.
    Scalar(Literal),
    /// For a pointer parameter.
    Ptr(*mut u8),
}

/// Why a launch did not end well.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum LaunchError {
    /// The arguments do not fit the kernel's parameters.
    #[error("{0}")]
    Arguments(String),
    /// The kernel failed while it ran.
    #[error("{0}")]
    Kernel(Diagnostic),
}

/// A kernel compiled for this processor.
pub struct CpuKernel {
    name: String,
    params: Vec<(String, ParamKind)>,
    slots: ArgSlots,
    info: CpuInfo,
    entry: KernelFn,
    /// Keeps the code of `entry` mapped.
    _code: Box<dyn Any + Send + Sync>,
}

impl std::fmt::Debug for CpuKernel {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("CpuKernel").field("name", &self.name).field("info", &self.info).finish_non_exhaustive()
    }
}

impl CpuKernel {
    /// The kernel of a function whose code is at `entry` for as long as `code` lives.
    ///
    /// # Safety
    /// `entry` is the code of `function` as the compiler made it together with `info`.
    pub unsafe fn new(function: &Function, info: CpuInfo, entry: KernelFn, code: Box<dyn Any + Send + Sync>) -> Self {
        Self {
            name: function.name.clone(),
            params: function.params.iter().map(|p| (p.name.clone(), p.kind.clone())).collect(),
            slots: ArgSlots::of(function),
            info,
            entry,
            _code: code,
        }
    }

    /// The kernel's name.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Names and kinds of the parameters.
    pub(crate) fn params(&self) -> &[(String, ParamKind)] {
        &self.params
    }

    /// Whether the kernel accesses memory through pointers, or views made of them.
    pub fn uses_pointers(&self) -> bool {
        self.info.uses_pointers
    }

    /// Whether accesses through pointers are checked.
    pub fn checks_pointers(&self) -> bool {
        self.info.checks_pointers
    }

    /// Bytes of memory that each running program uses for tiles.
    pub fn arena_bytes(&self) -> u64 {
        self.info.arena_bytes
    }

    /// Runs all programs of a grid on up to `threads` threads (0: as many as rayon's pool has, and the caller's); gives
    /// what was printed.
    ///
    /// # Errors
    /// [`LaunchError::Arguments`] if the arguments do not fit the parameters, [`LaunchError::Kernel`] if an assertion fails.
    ///
    /// # Safety
    /// - Every element of every view, and every element that the kernel reaches through a pointer, must be valid memory
    ///   of the parameter's type for the time of the launch, aligned to the element.
    /// - The arguments must keep the promises of the parameters' [`tegula_ir::function::ViewSpec`].
    /// - The memory of a view that the kernel only reads must not be written meanwhile, also not through another
    ///   argument.
    /// - What the kernel writes must not be used by others meanwhile.
    pub unsafe fn launch(&self, grid: [u32; 3], args: &[CpuArg<'_>], threads: usize) -> Result<String, LaunchError> {
        if self.info.checks_pointers {
            return Err(LaunchError::Arguments(format!(
                "{} was compiled to be launched with its allocations",
                self.name
            )));
        }
        // SAFETY: as the caller promises.
        unsafe { self.run(self.pack(args)?, grid, threads) }
    }

    /// As [`Self::launch`], for a kernel that was compiled with its
    /// pointers checked ([`CpuInfo::checks_pointers`]): accesses through pointers that touch none of
    /// `allocations` (first address and bytes of the memory behind each view and pointer argument, in order) stop the
    /// kernel with an error.
    ///
    /// # Errors
    /// As [`Self::launch`].
    ///
    /// # Safety
    /// As [`Self::launch`], but for pointers: instead every allocation must be valid for the time of the launch.
    pub unsafe fn launch_checked(
        &self,
        grid: [u32; 3],
        args: &[CpuArg<'_>],
        allocations: &[(*mut u8, usize)],
        threads: usize,
    ) -> Result<String, LaunchError> {
        let memories = self.params.iter().filter(|(_, kind)| !matches!(kind, ParamKind::Scalar { .. })).count();
        if allocations.len() != memories {
            return Err(LaunchError::Arguments(format!(
                "{} has {memories} arguments in memory, got {} allocations",
                self.name,
                allocations.len()
            )));
        }
        let mut words = self.pack(args)?;
        words.extend(allocations.iter().flat_map(|&(base, bytes)| [base as usize as u64, bytes as u64]));
        // SAFETY: as the caller promises.
        unsafe { self.run(words, grid, threads) }
    }

    /// # Safety
    /// As [`Self::launch`]; the words are those of this kernel's arguments.
    unsafe fn run(&self, words: Vec<u64>, grid: [u32; 3], threads: usize) -> Result<String, LaunchError> {
        let sink = Sink {
            kernel: self,
            printed: Mutex::new(Vec::new()),
            failed: Mutex::new(None),
            first: AtomicU64::new(u64::MAX),
        };
        let context = LaunchContext {
            num_programs: grid.map(i64::from),
            print: on_print,
            fail: on_fail,
            sink: (&raw const sink).cast(),
        };
        let total: u64 = grid.iter().map(|&n| u64::from(n)).product();
        let threads = match threads {
            0 => rayon::current_num_threads(),
            n => n,
        };
        let threads = threads.min(total.try_into().unwrap_or(usize::MAX));
        let chunk = (total / (threads.max(1) as u64 * 32)).clamp(1, 1024);
        let next = AtomicU64::new(0);
        let shared = Shared { words: &words, context: &context };
        let work = || {
            let shared = &shared;
            with_arena(self.info.arena_bytes, |arena| {
                loop {
                    let from = next.fetch_add(chunk, Ordering::Relaxed);
                    if from >= total {
                        return;
                    }
                    for number in from..(from + chunk).min(total) {
                        // Programs after one that failed need not run; those before it still may fail first.
                        if number > sink.first.load(Ordering::Relaxed) {
                            return;
                        }
                        let program = coordinates(number, grid);
                        // SAFETY: the arguments are what the caller promises, the arena is this thread's own and as
                        // large as the kernel asks for.
                        unsafe { (self.entry)(shared.words.as_ptr(), shared.context, &program, arena) };
                    }
                }
            });
        };
        crew::share(threads.saturating_sub(1), &work);
        let failed = sink.failed.into_inner().unwrap_or_else(std::sync::PoisonError::into_inner);
        if let Some((_, diagnostic)) = failed {
            return Err(LaunchError::Kernel(diagnostic));
        }
        let mut printed = sink.printed.into_inner().unwrap_or_else(std::sync::PoisonError::into_inner);
        printed.sort_by_key(|(number, _)| *number);
        Ok(printed.into_iter().map(|(_, line)| line).collect())
    }

    /// The argument words, after a check of number, kind and rank.
    fn pack(&self, args: &[CpuArg<'_>]) -> Result<Vec<u64>, LaunchError> {
        let bad = |m: String| Err(LaunchError::Arguments(m));
        if args.len() != self.params.len() {
            return bad(format!("{} takes {} arguments, got {}", self.name, self.params.len(), args.len()));
        }
        let mut words = vec![0u64; self.slots.words()];
        for (((name, kind), arg), start) in self.params.iter().zip(args).zip(self.slots.starts()) {
            match (kind, arg) {
                (ParamKind::View { rank, spec, .. }, CpuArg::View { base, extents, strides }) => {
                    let rank = usize::from(*rank);
                    if extents.len() != rank || strides.len() != rank {
                        return bad(format!("parameter {name} has rank {rank}, got {}", extents.len()));
                    }
                    if extents.iter().any(|&e| e < 0) {
                        return bad(format!("parameter {name} has a negative extent: {extents:?}"));
                    }
                    if spec.unit_inner && strides.last().is_some_and(|&s| s != 1) {
                        return bad(format!(
                            "parameter {name} is promised to be contiguous in its last axis, its strides are {strides:?}"
                        ));
                    }
                    words[start] = *base as usize as u64;
                    for (i, &v) in extents.iter().chain(*strides).enumerate() {
                        words[start + 1 + i] = v as u64;
                    }
                }
                (ParamKind::Scalar { elem, .. }, CpuArg::Scalar(v)) if v.fits(*elem) => {
                    words[start] = eval::to_bits(*elem, *v);
                }
                (ParamKind::Ptr { .. }, CpuArg::Ptr(p)) => words[start] = *p as usize as u64,
                (kind, _) => {
                    return bad(format!("parameter {name} is {}, got another kind of argument", kind.ty()));
                }
            }
        }
        Ok(words)
    }
}

/// What all threads of a launch read.
struct Shared<'a> {
    words: &'a [u64],
    context: &'a LaunchContext,
}

// SAFETY: the words are plain data, and the context's pointer leads to a `Sink`, which locks itself.
unsafe impl Sync for Shared<'_> {}

/// Where callbacks put what they are told.
struct Sink<'a> {
    kernel: &'a CpuKernel,
    printed: Mutex<Vec<(u64, String)>>,
    failed: Mutex<Option<(u64, Diagnostic)>>,
    /// Number of the first program known to have failed.
    first: AtomicU64,
}

/// Coordinates of a program, axis 0 fastest.
fn coordinates(number: u64, grid: [u32; 3]) -> [i64; 3] {
    let [x, y, _] = grid.map(|n| u64::from(n.max(1)));
    [(number % x) as i64, (number / x % y) as i64, (number / x / y) as i64]
}

fn number_of(program: [i64; 3], context: &LaunchContext) -> u64 {
    let [x, y, z] = program.map(|p| p as u64);
    let [nx, ny, _] = context.num_programs.map(|n| n as u64);
    (z * ny + y) * nx + x
}

unsafe extern "C" fn on_print(
    context: *const LaunchContext,
    program: *const [i64; 3],
    number: u32,
    addresses: *const *const u8,
) {
    // SAFETY: the kernel passes on what `launch` gave it; the sink lives as long as the launch.
    let (context, program) = unsafe { (&*context, *program) };
    // SAFETY: as above.
    let sink = unsafe { &*context.sink.cast::<Sink<'_>>() };
    let Some(Site::Print { message, args }) = sink.kernel.info.sites.get(number as usize) else { return };
    let read = |i: usize, arg: PrintArg| {
        let bytes = arg.elem.bits().div_ceil(8) as usize;
        // SAFETY: the kernel gives an address for each argument, with as many elements as its tile has.
        let elements = unsafe { std::slice::from_raw_parts(*addresses.add(i), bytes * arg.count) };
        elements.chunks_exact(bytes).map(move |chunk| {
            let mut word = [0; 8];
            word[..bytes].copy_from_slice(chunk);
            eval::from_bits(arg.elem, u64::from_le_bytes(word))
        })
    };
    let line = format_lines(
        program.map(|p| p as u32),
        message,
        args.iter().enumerate().map(|(i, &arg)| {
            let elements: Box<dyn Iterator<Item = Literal>> = Box::new(read(i, arg));
            (arg.elem, arg.tile, elements)
        }),
    );
    let mut printed = sink.printed.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
    printed.push((number_of(program, context), line));
}

unsafe extern "C" fn on_fail(context: *const LaunchContext, program: *const [i64; 3], number: u32, element: i64) {
    // SAFETY: as in `on_print`.
    let (context, program) = unsafe { (&*context, *program) };
    // SAFETY: as in `on_print`.
    let sink = unsafe { &*context.sink.cast::<Sink<'_>>() };
    let [x, y, z] = program;
    let place = format!("in program ({x}, {y}, {z})");
    let diagnostic = match sink.kernel.info.sites.get(number as usize) {
        Some(Site::Assert { message, loc, shape }) => {
            let diagnostic = Diagnostic::error(format!("assertion failed: {message}")).at(loc).note(place);
            match shape {
                Some(shape) => diagnostic.note(format!("at element {:?}", unravel(element, shape))),
                None => diagnostic,
            }
        }
        Some(Site::Access { loc }) => {
            Diagnostic::error("an access through a pointer lies outside every argument's allocation")
                .at(loc)
                .note(place)
        }
        Some(Site::Print { .. }) | None => return,
    };
    let number = number_of(program, context);
    let mut failed = sink.failed.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
    if failed.as_ref().is_none_or(|(first, _)| number < *first) {
        *failed = Some((number, diagnostic));
        sink.first.fetch_min(number, Ordering::Relaxed);
    }
}

/// The index of a row-major position.
fn unravel(position: i64, shape: &[u32]) -> Vec<i64> {
    let mut rest = position;
    let mut index: Vec<i64> = shape
        .iter()
        .rev()
        .map(|&d| {
            let i = rest % i64::from(d);
            rest /= i64::from(d);
            i
        })
        .collect();
    index.reverse();
    index
}
