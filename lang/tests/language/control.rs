//! Control flow: every form, decided at build time and on the device.

use tegula::prelude::*;
use tegula_macros::{Staged, device, kernel};

use crate::harness::{build_errors, empty, run, tensor, values};

/// Runs a kernel of one scalar parameter on `0..n` and gives what each program wrote.
macro_rules! on_scalars {
    ($kernel:ident, $n:expr $(, $comptime:expr)*) => {{
        let x = tensor(&[$n], 0..$n as i32);
        let mut y = empty::<i32>(&[$n]);
        run($kernel(&x, &mut y $(, $comptime)*));
        values::<i32>(&y)
    }};
}

type One = Const<1>;

#[kernel]
fn if_statement(x: &Tensor<i32, 1>, y: &mut Tiles<i32, (One,)>) {
    let [i] = y.index();
    let v = x.get(i);
    let mut r = v;
    if v > 3 {
        r = v * 10;
    }
    y.store(full(r));
}

#[test]
fn an_if_without_else_assigns() {
    assert_eq!(on_scalars!(if_statement, 6), [0, 1, 2, 3, 40, 50]);
}

#[kernel]
fn if_value(x: &Tensor<i32, 1>, y: &mut Tiles<i32, (One,)>) {
    let v = x.get(y.index());
    let r = if v % 3 == 0 {
        v + 100
    } else if v % 3 == 1 && v > 1 {
        -v
    } else {
        scalar(7)
    };
    y.store(full(r));
}

#[test]
fn an_if_gives_a_value() {
    assert_eq!(on_scalars!(if_value, 6), [100, 7, 7, 103, -4, 7]);
}

#[kernel]
fn several_results(x: &Tensor<i32, 1>, y: &mut Tiles<i32, (One,)>) {
    let v = x.get(y.index());
    let (mut a, mut b) = (v, scalar(1));
    let mut pair = [v, v];
    let c = if v >= 2 {
        a += 1;
        pair[1] = a;
        (b, a)
    } else {
        b = a - 5;
        (a, b)
    };
    y.store(full(c.0 * 1000 + c.1 * 100 + pair[1] * 10 + b));
}

#[test]
fn an_if_carries_tuples_and_arrays() {
    let host = |v: i32| {
        let (mut a, mut b) = (v, 1);
        let mut pair = [v, v];
        let c = if v >= 2 {
            a += 1;
            pair[1] = a;
            (b, a)
        } else {
            b = a - 5;
            (a, b)
        };
        c.0 * 1000 + c.1 * 100 + pair[1] * 10 + b
    };
    assert_eq!(on_scalars!(several_results, 5), (0..5).map(host).collect::<Vec<_>>());
}

#[kernel]
fn runtime_for(x: &Tensor<i32, 1>, y: &mut Tiles<i32, (One,)>) {
    let n = x.get(y.index());
    let mut sum = scalar(0);
    for i in 0..n {
        sum += i;
    }
    for i in 2..=n {
        sum += 100 * i;
    }
    for i in (0..n).step_by(2).stages(3).unroll(2) {
        sum += 10_000 * i;
    }
    y.store(full(sum));
}

#[test]
fn a_for_over_a_range_of_the_device() {
    let host = |n: i32| (0..n).sum::<i32>() + (2..=n).sum::<i32>() * 100 + (0..n).step_by(2).sum::<i32>() * 10_000;
    assert_eq!(on_scalars!(runtime_for, 6), (0..6).map(host).collect::<Vec<_>>());
}

#[kernel]
fn nested_for(x: &Tensor<i32, 1>, y: &mut Tiles<i32, (One,)>) {
    let n = x.get(y.index());
    let (mut sum, mut last) = (scalar(0), scalar(-1));
    for i in 0..n {
        let mut row = scalar(0);
        for j in 0..i {
            row += j;
            last = j;
        }
        sum = sum * 2 + row;
    }
    y.store(full(sum * 100 + last));
}

#[test]
fn nested_loops_carry_their_own() {
    let host = |n: i32| {
        let (mut sum, mut last) = (0, -1);
        for i in 0..n {
            let mut row = 0;
            for j in 0..i {
                row += j;
                last = j;
            }
            sum = sum * 2 + row;
        }
        sum * 100 + last
    };
    assert_eq!(on_scalars!(nested_for, 7), (0..7).map(host).collect::<Vec<_>>());
}

#[kernel]
fn unrolled_for(x: &Tensor<i32, 1>, y: &mut Tiles<i32, (One,)>) {
    let v = x.get(y.index());
    let mut sum = scalar(0);
    let mut count = 0;
    let parts = [v, v + 1, v + 2];
    for i in unrolled(0..3) {
        sum += parts[i] * 10;
        count += 1;
    }
    for (i, part) in parts.iter().enumerate() {
        if i % 2 == 0 {
            sum += *part;
        }
    }
    for p in parts {
        sum = sum + p;
    }
    y.store(full(sum * count));
}

#[test]
fn a_for_at_build_time_changes_host_values() {
    let host = |v: i32| ((3 * v + 3) * 10 + v + v + 2 + 3 * v + 3) * 3;
    assert_eq!(on_scalars!(unrolled_for, 4), (0..4).map(host).collect::<Vec<_>>());
}

#[kernel]
fn runtime_while(x: &Tensor<i32, 1>, y: &mut Tiles<i32, (One,)>) {
    let mut n = x.get(y.index());
    let mut steps = scalar(0);
    while n > 1 {
        n = if n % 2 == 0 { n / 2 } else { 3 * n + 1 };
        steps += 1;
    }
    y.store(full(steps));
}

fn collatz(mut n: i32) -> i32 {
    let mut steps = 0;
    while n > 1 {
        n = if n % 2 == 0 { n / 2 } else { 3 * n + 1 };
        steps += 1;
    }
    steps
}

#[test]
fn a_while_on_the_device() {
    assert_eq!(on_scalars!(runtime_while, 12), (0..12).map(collatz).collect::<Vec<_>>());
}

#[kernel]
fn host_while(x: &Tensor<i32, 1>, y: &mut Tiles<i32, (One,)>, #[comptime] n: u32) {
    let mut v = x.get(y.index());
    let mut i = 0;
    while i < n {
        v = v * 2 + 1;
        i += 1;
    }
    let mut left = n;
    while left > 1 {
        v += 1;
        left /= 2;
    }
    y.store(full(v));
}

#[test]
fn a_while_at_build_time() {
    assert_eq!(on_scalars!(host_while, 3, 4), [17, 33, 49]);
}

#[kernel]
fn endless(x: &Tensor<i32, 1>, y: &mut Tiles<i32, (One,)>) {
    let mut n = x.get(y.index());
    let mut steps = scalar(0);
    loop {
        if n <= 1 {
            break;
        }
        steps += 1;
        if n % 2 == 0 {
            n /= 2;
            continue;
        }
        n = 3 * n + 1;
    }
    y.store(full(steps));
}

#[test]
fn a_loop_with_break_and_continue() {
    assert_eq!(on_scalars!(endless, 12), (0..12).map(collatz).collect::<Vec<_>>());
}

#[kernel]
fn for_break(x: &Tensor<i32, 1>, y: &mut Tiles<i32, (One,)>) {
    let n = x.get(y.index());
    let mut sum = scalar(0);
    for i in 0..n {
        if i == 5 {
            sum += 1000;
            break;
        }
        if i % 2 == 1 {
            continue;
        }
        sum += i;
    }
    y.store(full(sum));
}

#[test]
fn a_for_with_break_and_continue() {
    let host = |n: i32| {
        let mut sum = 0;
        for i in 0..n {
            if i == 5 {
                sum += 1000;
                break;
            }
            if i % 2 == 1 {
                continue;
            }
            sum += i;
        }
        sum
    };
    assert_eq!(on_scalars!(for_break, 9), (0..9).map(host).collect::<Vec<_>>());
}

#[kernel]
fn partial_jumps(x: &Tensor<i32, 1>, y: &mut Tiles<i32, (One,)>) {
    let n = x.get(y.index());
    let mut sum = scalar(0);
    for i in 0..10 + n {
        sum += 1;
        if i > n {
            sum += 10;
            if i > 2 * n {
                sum += 100;
                if i == 7 {
                    break;
                }
                sum += 1000;
            } else if i % 3 == 0 {
                continue;
            }
            sum += 5;
        }
        sum += 2;
    }
    y.store(full(sum));
}

#[test]
fn jumps_in_a_part_of_a_branch() {
    let host = |n: i32| {
        let mut sum = 0;
        for i in 0..10 + n {
            sum += 1;
            if i > n {
                sum += 10;
                if i > 2 * n {
                    sum += 100;
                    if i == 7 {
                        break;
                    }
                    sum += 1000;
                } else if i % 3 == 0 {
                    continue;
                }
                sum += 5;
            }
            sum += 2;
        }
        sum
    };
    assert_eq!(on_scalars!(partial_jumps, 9), (0..9).map(host).collect::<Vec<_>>());
}

#[kernel]
fn break_out_of_unrolled(x: &Tensor<i32, 1>, y: &mut Tiles<i32, (One,)>) {
    let v = x.get(y.index());
    let mut sum = scalar(0);
    for i in unrolled(0..6) {
        if v < i {
            break;
        }
        sum += i;
    }
    y.store(full(sum));
}

#[test]
fn a_break_of_the_device_leaves_an_unrolled_loop() {
    assert_eq!(on_scalars!(break_out_of_unrolled, 8), [0, 1, 3, 6, 10, 15, 15, 15]);
}

#[kernel]
fn early_return(x: &Tensor<i32, 1>, y: &mut Tiles<i32, (One,)>) {
    let v = x.get(y.index());
    if v == 2 {
        return;
    }
    let mut r = v;
    for i in 0..v {
        r += 10;
        if i == 3 {
            y.store(full(-r));
            return;
        }
    }
    y.store(full(r));
}

#[test]
fn a_return_ends_the_program() {
    assert_eq!(on_scalars!(early_return, 7), [0, 11, 0, 33, -44, -45, -46]);
}

#[kernel]
fn return_out_of_nested_loops(x: &Tensor<i32, 1>, y: &mut Tiles<i32, (One,)>) {
    let v = x.get(y.index());
    let mut count = scalar(0);
    for i in 0..v {
        for j in 0..v {
            count += 1;
            if i * j == 6 {
                y.store(full(count));
                return;
            }
        }
        count += 100;
    }
    y.store(full(-count));
}

#[test]
fn a_return_leaves_all_loops() {
    let host = |v: i32| {
        let mut count = 0;
        for i in 0..v {
            for j in 0..v {
                count += 1;
                if i * j == 6 {
                    return count;
                }
            }
            count += 100;
        }
        -count
    };
    assert_eq!(on_scalars!(return_out_of_nested_loops, 8), (0..8).map(host).collect::<Vec<_>>());
}

#[device]
fn clamp_sign(v: Scalar<i32>) -> Scalar<i32> {
    if v < 0 {
        return scalar(-1);
    }
    if v == 0 {
        return v;
    }
    let big = v > 100;
    if big { scalar(2) } else { scalar(1) }
}

#[kernel]
fn with_helper(x: &Tensor<i32, 1>, y: &mut Tiles<i32, (One,)>) {
    let v = x.get(y.index());
    y.store(full(clamp_sign(v - 2) * 10 + clamp_sign(v * 60)));
}

#[test]
fn a_device_function_returns_early() {
    assert_eq!(on_scalars!(with_helper, 5), [-10, -9, 2, 12, 12]);
}

#[derive(Clone, Copy, Staged)]
struct Stats<T: Num, S: Shape> {
    sum: Tile<T, S>,
    max: Tile<T, S>,
}

impl<T: Num, S: Shape> Stats<T, S> {
    fn push(self, x: Tile<T, S>) -> Self {
        Self { sum: self.sum + x, max: self.max.maximum(x) }
    }
}

#[kernel]
fn struct_state(x: &Tensor<i32, 1>, y: &mut Tiles<i32, (One,)>) {
    let v = x.get(y.index());
    let mut stats = Stats { sum: scalar(0), max: scalar(i32::MIN) };
    for i in 0..v {
        stats = stats.push(i * (5 - i));
    }
    if v > 4 {
        stats.sum += 1000;
    }
    y.store(full(stats.sum * 100 + stats.max.maximum(0)));
}

#[test]
fn loops_carry_structs() {
    let host = |v: i32| {
        let xs: Vec<i32> = (0..v).map(|i| i * (5 - i)).collect();
        let sum = xs.iter().sum::<i32>() + if v > 4 { 1000 } else { 0 };
        sum * 100 + xs.iter().copied().max().unwrap_or(0).max(0)
    };
    assert_eq!(on_scalars!(struct_state, 7), (0..7).map(host).collect::<Vec<_>>());
}

impl<T: Num, S: Shape> Stats<T, S> {
    fn update(&mut self, x: Tile<T, S>) {
        *self = self.push(x);
    }
}

#[kernel]
fn changed_by_a_method(x: &Tensor<i32, 1>, y: &mut Tiles<i32, (One,)>) {
    let v = x.get(y.index());
    let mut stats = Stats { sum: scalar(0), max: scalar(i32::MIN) };
    let mut kept = v + 1;
    for i in 0..v {
        stats.update(i * 3 - stats.sum + kept.maximum(0));
        if i == 2 {
            stats.update(scalar(1000));
        }
    }
    kept += 0;
    y.store(full(stats.sum * 10 + stats.max.maximum(0) + kept));
}

#[test]
fn methods_change_what_loops_carry() {
    let host = |v: i32| {
        let (mut sum, mut max) = (0, i32::MIN);
        for i in 0..v {
            let x = i * 3 - sum + v + 1;
            (sum, max) = (sum + x, max.max(x));
            if i == 2 {
                (sum, max) = (sum + 1000, max.max(1000));
            }
        }
        sum * 10 + max.max(0) + v + 1
    };
    assert_eq!(on_scalars!(changed_by_a_method, 6), (0..6).map(host).collect::<Vec<_>>());
}

#[test]
fn loops_carry_only_what_changes() {
    use tegula::kernel::{BuildOptions, Listed};
    let f = changed_by_a_method::Listing::INFO.build(&BuildOptions::default()).unwrap();
    let carried = f
        .ops_in_order()
        .into_iter()
        .find_map(|op| match f.kind(op) {
            tegula_ir::ops::OpKind::For { init, .. } => Some(init.len()),
            _ => None,
        })
        .unwrap();
    assert_eq!(carried, 2);
}

#[kernel]
fn host_breaks(x: &Tensor<i32, 1>, y: &mut Tiles<i32, (One,)>, #[comptime] limit: i32) {
    let mut v = x.get(y.index());
    let mut count = 0;
    for i in 0..8 {
        if i == limit {
            break;
        }
        if i % 2 == 1 {
            continue;
        }
        if v > 2 {
            v += 1;
        }
        count += 1;
    }
    y.store(full(v * 100 + count));
}

#[test]
fn a_break_of_the_host_leaves_a_loop_of_the_host() {
    assert_eq!(on_scalars!(host_breaks, 4, 5), [3, 103, 203, 603]);
    assert_eq!(on_scalars!(host_breaks, 4, 100), [4, 104, 204, 704]);
}

#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
enum Mode {
    Plain,
    Scaled(i32),
}

#[kernel]
fn comptime_mode(x: &Tensor<i32, 1>, y: &mut Tiles<i32, (One,)>, #[comptime] mode: Mode, #[comptime] twice: bool) {
    let v = x.get(y.index());
    let mut r = match mode {
        Mode::Plain => v,
        Mode::Scaled(by) => v * by,
    };
    if twice {
        r = r + r;
    }
    if let Mode::Scaled(by) = mode
        && by > 2
    {
        if v == 1 {
            r = scalar(by);
        }
    }
    y.store(full(r));
}

#[test]
fn build_time_values_choose() {
    assert_eq!(on_scalars!(comptime_mode, 3, Mode::Plain, false), [0, 1, 2]);
    assert_eq!(on_scalars!(comptime_mode, 3, Mode::Plain, true), [0, 2, 4]);
    assert_eq!(on_scalars!(comptime_mode, 3, Mode::Scaled(5), true), [0, 5, 20]);
}

fn apply<S: Shape>(x: Tile<i32, S>, f: impl Fn(Tile<i32, S>) -> Tile<i32, S>) -> Tile<i32, S> {
    f(f(x))
}

#[kernel]
fn closures(x: &Tensor<i32, 1>, y: &mut Tiles<i32, (One,)>) {
    let v = x.tile::<(One,)>(y.index()).load();
    let offset = v * 0 + 3;
    y.store(apply(v, |x| x * 2 + offset));
}

#[test]
fn closures_are_ordinary_rust() {
    assert_eq!(on_scalars!(closures, 4), [9, 13, 17, 21]);
}

#[kernel]
fn let_else_continue(x: &Tensor<i32, 1>, y: &mut Tiles<i32, (One,)>, #[comptime] parts: Vec<Option<i32>>) {
    let v = x.get(y.index());
    let mut r = scalar(0);
    for part in parts.iter() {
        let Some(part) = part else { continue };
        let scaled = match *part {
            0 => continue,
            p if p < 0 => v - p,
            p => v * p,
        };
        r += scaled;
    }
    y.store(full(r));
}

#[test]
fn jumps_under_patterns() {
    let parts = vec![Some(2), None, Some(0), Some(3)];
    assert_eq!(on_scalars!(let_else_continue, 3, parts), [0, 5, 10]);
}

#[kernel]
fn collects(x: &Tensor<i32, 1>, y: &mut Tiles<i32, (One,)>) {
    let n = x.get(y.index());
    let mut all = Vec::new();
    for i in 0..n {
        all.push(i);
    }
    y.store(full(all[0]));
}

#[kernel]
fn escapes(x: &Tensor<i32, 1>, y: &mut Tiles<i32, (One,)>) {
    let n = x.get(y.index());
    let last = std::cell::Cell::new(n);
    for i in 0..n {
        last.set(i);
    }
    y.store(full(last.get()));
}

#[test]
fn a_value_that_leaves_its_loop_is_reported() {
    let x = tensor(&[1], [1]);
    let mut y = empty::<i32>(&[1]);
    assert_eq!(
        build_errors(&collects(&x, &mut y)),
        ["a variable has another number of tiles at the end of the loop than at its start"]
    );
    assert_eq!(build_errors(&escapes(&x, &mut y)), ["this value was made inside a loop or branch that has ended"]);
}
