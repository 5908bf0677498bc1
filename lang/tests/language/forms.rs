//! Control flow in the forms that Rust programmers write: nested, shadowed, in helpers, methods and closures, under labels.
//! Each kernel is compared with the same text run by Rust.

use tegula::prelude::*;
use tegula_macros::{Staged, device, kernel};

use crate::harness::{build_errors, empty, run, tensor, values};

type One = Const<1>;

/// Runs a kernel of one scalar on `0..n` and compares it with a function of the host.
macro_rules! agrees {
    ($kernel:ident, $n:expr, $host:expr $(, $comptime:expr)*) => {{
        let x = tensor(&[$n], 0..$n as i32);
        let mut y = empty::<i32>(&[$n]);
        run($kernel(&x, &mut y $(, $comptime)*));
        let host: fn(i32) -> i32 = $host;
        assert_eq!(values::<i32>(&y), (0..$n as i32).map(host).collect::<Vec<_>>());
    }};
}

#[kernel]
fn nested_values(x: &Tensor<i32, 1>, y: &mut Tiles<i32, (One,)>) {
    let v = x.get(y.index());
    let r = if v < 4 {
        if v < 2 {
            if v == 0 { v - 7 } else { v + 7 }
        } else {
            let w = v * v;
            w + if w > 4 { w } else { -w }
        }
    } else if v == 5 {
        v * 100
    } else {
        match 3 {
            3 => v,
            _ => v + 1,
        }
    };
    y.store(full(r));
}

#[test]
fn ifs_nest_as_values() {
    agrees!(nested_values, 8, |v| if v < 4 {
        if v < 2 {
            if v == 0 { v - 7 } else { v + 7 }
        } else {
            let w = v * v;
            w + if w > 4 { w } else { -w }
        }
    } else if v == 5 {
        v * 100
    } else {
        v
    });
}

#[kernel]
fn shadowing(x: &Tensor<i32, 1>, y: &mut Tiles<i32, (One,)>) {
    let v = x.get(y.index());
    let mut s = v;
    for i in 0..v {
        let s = i * 10;
        let mut t = s + 1;
        if t > 20 {
            let t2 = t;
            t = t2 - 5;
            let t = t * 1000;
            let _ = t;
        }
        let v = t;
        let _ = v + s;
    }
    for i in 0..v {
        s += i;
        let s2 = s;
        let s = s2 * 0;
        let _ = s;
    }
    {
        let s = s + 1;
        let _ = s;
    }
    let s = if s > 5 { s * 2 } else { s };
    y.store(full(s));
}

#[test]
fn shadows_are_variables_of_their_own() {
    agrees!(shadowing, 6, |v| {
        let s = v + (0..v).sum::<i32>();
        if s > 5 { s * 2 } else { s }
    });
}

#[kernel]
fn tuples(x: &Tensor<i32, 1>, y: &mut Tiles<i32, (One,)>) {
    let v = x.get(y.index());
    let (mut a, mut b) = (scalar(0), scalar(1));
    let mut state = (scalar(0), (scalar(1), [scalar(2), scalar(3)]));
    for i in 0..v {
        (a, b) = (b, a + b);
        state.0 += i;
        state.1.0 *= 2;
        state.1.1[1] -= state.0;
        (state.1.1[0], _) = (state.1.1[0] + 1, i);
    }
    let (p, (q, [r, s])) = state;
    y.store(full(a + p * 3 + q * 5 + r * 7 + s * 11));
}

#[test]
fn tuples_and_arrays_go_through_loops() {
    agrees!(tuples, 8, |v| {
        let (mut a, mut b) = (0, 1);
        let mut state = (0, (1, [2, 3]));
        for i in 0..v {
            (a, b) = (b, a + b);
            state.0 += i;
            state.1.0 *= 2;
            state.1.1[1] -= state.0;
            (state.1.1[0], _) = (state.1.1[0] + 1, i);
        }
        let (p, (q, [r, s])) = state;
        a + p * 3 + q * 5 + r * 7 + s * 11
    });
}

#[kernel]
fn many_carried(x: &Tensor<i32, 1>, y: &mut Tiles<i32, (One,)>) {
    let v = x.get(y.index());
    let mut t = (v, v, v, v, v, v, v, v, v, v, v, v);
    for i in 0..v {
        t = (t.11, t.0, t.1 + i, t.2, t.3, t.4, t.5, t.6 + 1, t.7, t.8, t.9, t.10);
    }
    y.store(full(t.0 + 2 * t.1 + 3 * t.2 + 4 * t.11));
}

#[test]
fn a_tuple_of_twelve_goes_through_a_loop() {
    agrees!(many_carried, 5, |v| {
        let mut t = (v, v, v, v, v, v, v, v, v, v, v, v);
        for i in 0..v {
            t = (t.11, t.0, t.1 + i, t.2, t.3, t.4, t.5, t.6 + 1, t.7, t.8, t.9, t.10);
        }
        t.0 + 2 * t.1 + 3 * t.2 + 4 * t.11
    });
}

#[device]
fn gcd(a: Scalar<i32>, b: Scalar<i32>) -> Scalar<i32> {
    let (mut a, mut b) = (a, b);
    while b != 0 {
        (a, b) = (b, a % b);
    }
    a
}

#[device]
fn first_power_above(limit: Scalar<i32>) -> Scalar<i32> {
    let mut p = scalar(1);
    loop {
        if p > limit {
            break;
        }
        p *= 2;
    }
    p
}

#[kernel]
fn helpers(x: &Tensor<i32, 1>, y: &mut Tiles<i32, (One,)>) {
    let v = x.get(y.index());
    y.store(full(gcd(v * 6, v + 12) + 100 * first_power_above(v)));
}

#[test]
fn helpers_have_loops_of_their_own() {
    agrees!(helpers, 20, |v| {
        let (mut a, mut b) = (v * 6, v + 12);
        while b != 0 {
            (a, b) = (b, a % b);
        }
        let mut p = 1;
        while p <= v {
            p *= 2;
        }
        a + 100 * p
    });
}

#[derive(Clone, Copy, Staged)]
struct Counter {
    count: Scalar<i32>,
    last: Option<Scalar<i32>>,
}

impl Counter {
    #[device]
    fn add(&mut self, x: Scalar<i32>) {
        if x % 2 == 0 {
            self.count += x;
        } else {
            for i in 0..x {
                if i == 3 {
                    return;
                }
                self.count -= i;
            }
        }
        self.last = Some(x);
    }

    #[device]
    fn total(self) -> Scalar<i32> {
        let Some(last) = self.last else { return self.count };
        self.count + last * 1000
    }
}

trait Scale {
    #[device]
    fn scale(x: Scalar<i32>) -> Scalar<i32> {
        if x > 2 { x * 3 } else { x }
    }
}

struct Plain;

impl Scale for Plain {}

#[kernel]
fn methods(x: &Tensor<i32, 1>, y: &mut Tiles<i32, (One,)>) {
    let v = x.get(y.index());
    let mut c = Counter { count: scalar(1), last: Some(v) };
    for i in 0..v {
        c.add(i);
    }
    if v == 4 {
        c.add(Plain::scale(v));
    }
    y.store(full(c.total()));
}

#[test]
fn methods_can_be_marked() {
    agrees!(methods, 9, |v| {
        let (mut count, mut last) = (1, v);
        let mut add = |x: i32| {
            if x % 2 == 0 {
                count += x;
            } else {
                for i in 0..x {
                    if i == 3 {
                        return;
                    }
                    count -= i;
                }
            }
            last = x;
        };
        (0..v).for_each(&mut add);
        if v == 4 {
            add(12);
        }
        count + last * 1000
    });
}

#[kernel]
fn closures(x: &Tensor<i32, 1>, y: &mut Tiles<i32, (One,)>) {
    let v = x.get(y.index());
    let sign = |x: Scalar<i32>| {
        if x < 3 {
            return scalar(-1);
        }
        if x == 3 { scalar(0) } else { scalar(1) }
    };
    let power = |n: Scalar<i32>| {
        let mut p = scalar(1);
        for _ in 0..n {
            p *= 3;
        }
        p
    };
    let sum: Vec<Scalar<i32>> = (0..3).map(|i| if i == 1 { v * 10 } else { v + i }).collect();
    let mut r = sign(v) * 1000 + power(v);
    for s in sum {
        r += s;
    }
    y.store(full(r));
}

#[test]
fn closures_have_control_flow() {
    agrees!(closures, 7, |v| (v - 3).signum() * 1000 + 3i32.pow(v as u32) + v + v * 10 + v + 2);
}

#[kernel]
fn comptime_options(
    x: &Tensor<i32, 1>,
    y: &mut Tiles<i32, (One,)>,
    #[comptime] add: Option<i32>,
    #[comptime] name: &'static str,
    #[comptime] steps: (u32, bool),
) {
    let v = x.get(y.index());
    let mut r = v;
    if let Some(n) = add {
        r += n;
        if r > 6 {
            r *= 2;
        }
    } else {
        r -= 1;
    }
    r = match name {
        "double" => r * 2,
        "keep" => r,
        other => r + other.len() as i32,
    };
    r += match (steps, add) {
        ((0, _), _) => v,
        ((n, true), Some(_)) if n > 2 => v * n as i32,
        ((1..=9, _), None) => v * 0,
        _ => v * 7,
    };
    let Some(n) = add else {
        y.store(full(r));
        return;
    };
    while let (0, false) = steps {
        r += 1000;
        break;
    }
    y.store(full(r + n));
}

#[test]
fn comptime_values_are_matched() {
    agrees!(
        comptime_options,
        6,
        |v| {
            let r = v + 4;
            let r = if r > 6 { r * 2 } else { r };
            r * 2 + v * 5 + 4
        },
        Some(4),
        "double",
        (5, true)
    );
    agrees!(comptime_options, 6, |v| v - 1 + 5, None, "other", (2, true));
    agrees!(comptime_options, 6, |v| v + 1 + v + 1000 + 1, Some(1), "keep", (0, false));
}

#[kernel]
fn operators(x: &Tensor<i32, 1>, y: &mut Tiles<i32, (One,)>) {
    let s = x.get(y.index());
    let mut t = full::<i32, (One,)>(s);
    t += 1;
    t -= s;
    t *= 7;
    t /= 2;
    t %= 5;
    t |= 8;
    t &= 13;
    t ^= s;
    t <<= 2;
    t >>= 1;
    let mut u = s;
    u += 1;
    u -= 2 - s;
    u *= 7;
    u /= 2;
    u %= 50;
    u |= 8;
    u &= 61;
    u ^= s;
    u <<= 2;
    u >>= 1;
    let mut f = s.cast::<f32>();
    f *= 0.5;
    f += 1.0;
    f /= 0.25;
    f -= 2;
    f %= 3;
    let mut b = s > 2;
    b &= s < 5;
    b |= s == 0;
    b ^= true;
    let c = !(s > 3) && (s != 1 || s == 4) || s >= 6;
    y.store(t + u * 1000 + f.cast::<i32>() * 100_000 + b.cast::<i32>() * 1_000_000 + c.cast::<i32>() * 10_000_000);
}

#[test]
fn every_assignment_operator() {
    agrees!(operators, 8, |s| {
        let mut t = s;
        t += 1;
        t -= s;
        t *= 7;
        t /= 2;
        t %= 5;
        t |= 8;
        t &= 13;
        t ^= s;
        t <<= 2;
        t >>= 1;
        let mut u = s;
        u += 1;
        u -= 2 - s;
        u *= 7;
        u /= 2;
        u %= 50;
        u |= 8;
        u &= 61;
        u ^= s;
        u <<= 2;
        u >>= 1;
        let mut f = s as f32;
        f *= 0.5;
        f += 1.0;
        f /= 0.25;
        f -= 2.0;
        f %= 3.0;
        let mut b = s > 2;
        b &= s < 5;
        b |= s == 0;
        b ^= true;
        let c = s <= 3 && (s != 1 || s == 4) || s >= 6;
        t + u * 1000 + f as i32 * 100_000 + i32::from(b) * 1_000_000 + i32::from(c) * 10_000_000
    });
}

#[kernel]
fn labels(x: &Tensor<i32, 1>, y: &mut Tiles<i32, (One,)>) {
    let v = x.get(y.index());
    let mut r = scalar(0);
    'outer: for i in 0..v {
        let mut j = scalar(0);
        'inner: while j < v {
            j += 1;
            if j == 2 {
                continue 'inner;
            }
            if i * j == 6 {
                break 'outer;
            }
            if j > i + 2 {
                continue 'outer;
            }
            for k in 0..3 {
                if i + j + k == 8 {
                    r += 500;
                    continue 'outer;
                }
                if i + j == 9 {
                    break 'inner;
                }
            }
            r += 1;
        }
        r += 100;
    }
    y.store(full(r));
}

#[test]
fn labels_name_outer_loops() {
    agrees!(labels, 9, |v| {
        let mut r = 0;
        'outer: for i in 0..v {
            let mut j = 0;
            'inner: while j < v {
                j += 1;
                if j == 2 {
                    continue 'inner;
                }
                if i * j == 6 {
                    break 'outer;
                }
                if j > i + 2 {
                    continue 'outer;
                }
                for k in 0..3 {
                    if i + j + k == 8 {
                        r += 500;
                        continue 'outer;
                    }
                    if i + j == 9 {
                        break 'inner;
                    }
                }
                r += 1;
            }
            r += 100;
        }
        r
    });
}

#[kernel]
fn labels_in_arms(x: &Tensor<i32, 1>, y: &mut Tiles<i32, (One,)>, #[comptime] parts: Vec<Option<i32>>) {
    let v = x.get(y.index());
    let mut r = scalar(0);
    'parts: for part in parts.iter() {
        match part {
            Some(n) => {
                for i in 0..v {
                    if i == *n {
                        continue 'parts;
                    }
                    if i * *n == 8 {
                        break 'parts;
                    }
                    r += i;
                }
            }
            None => r += 100,
        }
        r += 1000;
    }
    y.store(full(r));
}

#[test]
fn labels_are_jumped_to_from_arms() {
    let parts = vec![Some(2), None, Some(7), Some(4), Some(1)];
    agrees!(
        labels_in_arms,
        9,
        |v| {
            let mut r = 0;
            'parts: for part in [Some(2), None, Some(7), Some(4), Some(1)] {
                match part {
                    Some(n) => {
                        for i in 0..v {
                            if i == n {
                                continue 'parts;
                            }
                            if i * n == 8 {
                                break 'parts;
                            }
                            r += i;
                        }
                    }
                    None => r += 100,
                }
                r += 1000;
            }
            r
        },
        parts
    );
}

#[kernel]
fn loops_in_branches(x: &Tensor<i32, 1>, y: &mut Tiles<i32, (One,)>) {
    let v = x.get(y.index());
    let mut r = v;
    if v > 2 {
        for i in unrolled([1, 5, 9]) {
            if v == i {
                continue;
            }
            let mut n = scalar(i);
            while n > 0 {
                n -= 2;
                r += n;
            }
        }
    } else {
        let mut i = 0;
        while i < 3 {
            r += i;
            i += 1;
            if i == 2 {
                break;
            }
        }
    }
    let mut k = v;
    loop {
        k += 1;
        if k % 4 == 0 {
            r += 10;
            if k > 6 {
                break;
            } else {
                continue;
            }
        }
        r += 1;
    }
    for i in (1..=v).step_by(3) {
        r += i * 100;
    }
    for i in (0..v).step_by(2) {
        if i == 4 {
            break;
        }
        r += 1000;
    }
    y.store(full(r));
}

#[test]
fn loops_stand_in_branches() {
    agrees!(loops_in_branches, 10, |v| {
        let mut r = v;
        if v > 2 {
            for i in [1, 5, 9] {
                if v == i {
                    continue;
                }
                let mut n = i;
                while n > 0 {
                    n -= 2;
                    r += n;
                }
            }
        } else {
            r += 1;
        }
        let mut k = v;
        loop {
            k += 1;
            if k % 4 == 0 {
                r += 10;
                if k > 6 {
                    break;
                }
                continue;
            }
            r += 1;
        }
        for i in (1..=v).step_by(3) {
            r += i * 100;
        }
        for i in (0..v).step_by(2) {
            if i == 4 {
                break;
            }
            r += 1000;
        }
        r
    });
}

#[kernel]
fn tiles_and_options(x: &Tensor<i32, 1>, y: &mut Tiles<i32, (One,)>) {
    let [i] = y.index();
    let v = x.get(i);
    let mut best: Option<Tile<i32, (One,)>> = None;
    let mut parts = vec![full::<i32, (One,)>(v), full(2)];
    for (k, w) in [3, 1, 2].into_iter().enumerate() {
        let t = parts[0] * w + k as i32;
        best = Some(match best {
            None => t,
            Some(b) => b.maximum(t),
        });
    }
    let Some(mut best) = best else { return };
    for _ in 0..v {
        parts[1] += best;
        parts.swap(0, 1);
        best -= 1;
    }
    y.store(if v % 2 == 0 { parts[0] } else { parts[1] + best });
}

#[test]
fn vectors_and_options_of_tiles() {
    agrees!(tiles_and_options, 7, |v| {
        let mut parts = [v, 2];
        let mut best = [3, 1, 2].iter().enumerate().map(|(k, w)| v * w + k as i32).max().unwrap();
        for _ in 0..v {
            parts[1] += best;
            parts.swap(0, 1);
            best -= 1;
        }
        if v % 2 == 0 { parts[0] } else { parts[1] + best }
    });
}

#[kernel]
fn chosen_by_target(x: &Tensor<i32, 1>, y: &mut Tiles<i32, (One,)>) {
    let v = x.get(y.index());
    y.store(full(match target() {
        Target::Nvidia(sm) if sm >= 90 => v * 90,
        Target::Nvidia(_) => v * 80,
        Target::Amd(0x942) => v * 942,
        Target::Interpreter => v * 2,
        _ => v,
    }));
}

#[test]
fn the_source_chooses_by_its_target() {
    use tegula::kernel::{BuildOptions, Listed};
    use tegula_ir::exec::HostTensor;

    agrees!(chosen_by_target, 4, |v| 2 * v);
    let factor = |name: &str| {
        let x = tensor(&[1], [1]);
        let f = chosen_by_target::Listing::INFO.build(&BuildOptions::default().target(name)).unwrap();
        let mut args = [&x, &empty::<i32>(&[1])].map(|t: &HostTensor| tegula_ir::exec::HostArg::Tensor(t.clone()));
        tegula_ir::exec::Executor::run(&tegula_ir::interp::Interpreter::new(), &f, [1, 1, 1], &mut args).unwrap();
        let [_, tegula_ir::exec::HostArg::Tensor(y)] = &args else { panic!("the second argument is a tensor") };
        values::<i32>(y)[0]
    };
    assert_eq!(
        ["sm_80", "sm_90a", "vgpu:sm_90a", "gfx942", "gfx1201", "cpu", "cpu:x86-64-v3", "toaster"].map(factor),
        [80, 90, 90, 942, 1, 1, 1, 1]
    );
}

#[kernel(defaults(IN = 2, TYPE = 3))]
fn bounds_behind<T, IN, TYPE>(x: &Tensor<T, 2>, y: &mut Tiles<T, (IN,)>)
where
    T: Float,
    IN: Dim,
    TYPE: Dim,
{
    y.store(x.tile::<(IN, TYPE)>([0, 0]).load().sum::<1>());
}

#[test]
fn dims_may_be_bounded_behind_and_be_called_like_keywords() {
    let x = tensor(&[2, 3], (0..6).map(|i| i as f32));
    let mut y = empty::<f32>(&[2]);
    run(bounds_behind::<f32>(&x, &mut y).dims(bounds_behind::Dims { r#in: 2, r#type: 3 }));
    assert_eq!(values::<f32>(&y), [3.0, 12.0]);
    assert_eq!(bounds_behind::Dims::default().r#type, 3);
}

#[kernel]
fn collects_numbers(x: &Tensor<i32, 1>, y: &mut Tiles<i32, (One,)>, #[comptime] by_device: bool) {
    let n = x.get(y.index());
    let mut places: Vec<usize> = Vec::new();
    let mut sum = n;
    if by_device {
        for i in 0..n {
            places.push(1);
            sum += i;
        }
        if n > 3 {
            places.push(2);
        }
    } else {
        for i in 0..4 {
            places.push(i);
        }
    }
    y.store(full(sum + places.iter().map(|&p| p as i32).sum::<i32>()));
}

#[test]
fn a_vector_of_numbers_changes_at_build_time_only() {
    agrees!(collects_numbers, 3, |v| v + 6, false);
    let x = tensor(&[1], [1]);
    let mut y = empty::<i32>(&[1]);
    let message =
        "this value of build time is changed in a loop or branch of the device, once, when the kernel is built";
    assert_eq!(build_errors(&collects_numbers(&x, &mut y, true)), [message, message]);
}
