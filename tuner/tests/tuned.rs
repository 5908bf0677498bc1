//! A call takes its choice from the records of its kernel, device and sizes.

extern crate tegula_lang as tegula;

use tegula_lang::prelude::*;
use tegula_macros::kernel;
use tegula_runtime::{Device, Launch};
use tegula_tuner::record::{Outcome, source_hash};
use tegula_tuner::shape::Shape;
use tegula_tuner::{Record, Records, Space, Subject, Tuned};

#[kernel(defaults(B = 8), tune(B = [8, 16, 32], warps = [4, 8], when(B * warps <= 128)))]
fn double<T: Float, B: Dim>(x: &Tensor<T, 1>, y: &mut Tiles<T, (B,)>) {
    y.store(x.tile::<(B,)>(y.index()).load() * 2.0);
}

/// Records that prefer `B=32` for about 1000 elements and `B=16` for about 64.
fn records(device: &Device) -> Records {
    let info = <double::Listing as tegula_lang::__private::Listed>::INFO;
    let source = source_hash(&info.build(&Default::default()).expect("it builds"));
    let mut records = Records::default();
    for (extent, config, microseconds) in
        [(1000, "B=8", 9.0), (1000, "B=32", 5.0), (64, "B=32", 9.0), (64, "B=16", 5.0)]
    {
        let subject = Subject {
            kernel: "double".into(),
            source: source.clone(),
            dtype: "f32".into(),
            target: device.target().into(),
            device: device.description(),
            shape: Shape::new([&[extent][..], &[extent][..]]),
        };
        let outcome = Outcome::Measured { microseconds, spread: 0.0, launches: 1, head_to_head: true };
        records.insert(Record::new(subject, config.parse().expect("a configuration"), outcome));
    }
    records
}

#[test]
fn the_space_stands_at_the_kernel() {
    let info = <double::Listing as tegula_lang::__private::Listed>::INFO;
    let text = |gpu| Space::of(info, gpu).expect("a space").configs().iter().map(|c| c.to_string()).collect::<Vec<_>>();
    assert_eq!(text(false), ["B=8", "B=16", "B=32"]);
    assert_eq!(text(true), ["B=8 warps=4", "B=8 warps=8", "B=16 warps=4", "B=16 warps=8", "B=32 warps=4"]);
}

#[test]
fn a_call_takes_its_choice() {
    let device = Device::open("interp").expect("a device");
    let records = records(&device);
    for (n, want) in [(1000, 32), (800, 32), (50, 16), (3, 16)] {
        let x = device.tensor(&vec![1.5f32; n], [n]).expect("a tensor");
        let mut y = device.empty::<f32>([n]).expect("a tensor");
        let call = double(&x, &mut y).dims(double::Dims { b: 8 }).tuned(&records);
        assert_eq!(call.sizes[..], [want], "{n}");
        assert_eq!(call.options.num_warps, None);
        call.launch().expect("it runs");
        assert_eq!(y.to_vec().expect("values"), vec![3.0; n]);
    }
}

#[test]
fn records_of_another_type_are_not_taken() {
    let device = Device::open("interp").expect("a device");
    let records = records(&device);
    let x = device.tensor(&[1.5f64; 1000], [1000]).expect("a tensor");
    let mut y = device.empty::<f64>([1000]).expect("a tensor");
    assert!(double(&x, &mut y).tuned(&records).sizes.is_empty());
}
