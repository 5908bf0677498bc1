//! Running kernels on the reference interpreter, with host values in and out.

use tegula::elem::{Element, bf16, f16};
use tegula::host::RunError;
use tegula::kernel::{Call, Kernel};
use tegula_ir::exec::HostTensor;
use tegula_ir::interp::Interpreter;

/// Host values that go in and out of tensors.
pub trait Value: Element + PartialEq {
    /// The bytes in memory.
    fn bytes(self) -> Vec<u8>;
    /// The value of these bytes.
    fn of(bytes: &[u8]) -> Self;
}

macro_rules! value {
    ($($ty:ty)*) => {$(
        impl Value for $ty {
            fn bytes(self) -> Vec<u8> {
                self.to_le_bytes().to_vec()
            }

            fn of(bytes: &[u8]) -> Self {
                <$ty>::from_le_bytes(bytes.try_into().unwrap())
            }
        }
    )*};
}

value!(i8 i16 i32 i64 u8 u16 u32 u64 f32 f64);

impl Value for bool {
    fn bytes(self) -> Vec<u8> {
        vec![u8::from(self)]
    }

    fn of(bytes: &[u8]) -> Self {
        bytes[0] != 0
    }
}

impl Value for f16 {
    fn bytes(self) -> Vec<u8> {
        self.to_le_bytes().to_vec()
    }

    fn of(bytes: &[u8]) -> Self {
        f16::from_le_bytes(bytes.try_into().unwrap())
    }
}

impl Value for bf16 {
    fn bytes(self) -> Vec<u8> {
        self.to_le_bytes().to_vec()
    }

    fn of(bytes: &[u8]) -> Self {
        bf16::from_le_bytes(bytes.try_into().unwrap())
    }
}

/// A row-major tensor of these values.
pub fn tensor<T: Value>(extents: &[i64], values: impl IntoIterator<Item = T>) -> HostTensor {
    let data: Vec<u8> = values.into_iter().flat_map(Value::bytes).collect();
    let t = HostTensor::from_bytes(T::TYPE, extents, data);
    assert_eq!(t.data.len(), t.count() * T::TYPE.memory_bytes().unwrap() as usize);
    t
}

/// A tensor of zeros.
pub fn empty<T: Value>(extents: &[i64]) -> HostTensor {
    HostTensor::zeros(T::TYPE, extents)
}

/// The values of a tensor in row-major order.
pub fn values<T: Value>(t: &HostTensor) -> Vec<T> {
    assert_eq!(t.elem, T::TYPE);
    t.data.chunks(T::TYPE.memory_bytes().unwrap() as usize).map(T::of).collect()
}

/// Runs a call; what it printed.
#[track_caller]
pub fn run<K: Kernel>(call: Call<'_, K>) -> String {
    try_run(call).unwrap_or_else(|e| panic!("{e}"))
}

/// Runs a call that may fail.
pub fn try_run<K: Kernel>(call: Call<'_, K>) -> Result<String, RunError> {
    let function = call.build()?;
    if let Err(errors) = tegula_ir::verify::verify(&function) {
        panic!("the kernel is not valid: {errors:?}\n{function}");
    }
    call.run_on(&Interpreter::new())
}

/// The errors of building a kernel, each on a line of its own.
#[track_caller]
pub fn build_errors<K: Kernel>(call: &Call<'_, K>) -> Vec<String> {
    let error = call.build().expect_err("the kernel should not build");
    error.diagnostics.iter().map(|d| d.message.clone()).collect()
}
