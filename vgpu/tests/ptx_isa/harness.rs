//! Bodies of instructions run for a warp, on inputs of many patterns.

use tegula_vgpu::launch::{Argument, Launch};
use tegula_vgpu::memory::{Fill, GlobalMemory};
use tegula_vgpu::ptx::Module;

/// Runs a body for 32 lanes: `%r1` to `%r4` (and as pairs `%rd1`, `%rd2`) are inputs, `%r10` and `%r11` outputs.
pub fn eval(body: &str, inputs: &[[u32; 32]; 4]) -> [[u32; 32]; 2] {
    let text = format!(
        ".version 8.8\n.target sm_90a\n.address_size 64\n.visible .entry k(.param .u64 in, .param .u64 out) {{
        .reg .pred %p<9>; .reg .b16 %h<9>; .reg .b32 %r<64>; .reg .b64 %rd<16>; .reg .b64 %a<4>; .shared .align 1024 .b8 tile[32768];
        ld.param.u64 %a1, [in]; ld.param.u64 %a2, [out]; mov.u32 %r20, %laneid;
        mad.wide.u32 %a1, %r20, 16, %a1; mad.wide.u32 %a2, %r20, 8, %a2;
        ld.global.v4.u32 {{%r1, %r2, %r3, %r4}}, [%a1]; mov.b64 %rd1, {{%r1, %r2}}; mov.b64 %rd2, {{%r3, %r4}};
        mov.u32 %r10, 0; mov.u32 %r11, 0;
        {body}
        st.global.v2.u32 [%a2], {{%r10, %r11}}; ret;\n}}"
    );
    let memory = GlobalMemory::default();
    let input = memory.allocate("in", 512, Fill::Zero).expect("memory");
    let output = memory.allocate("out", 256, Fill::Zero).expect("memory");
    let words: Vec<u8> = (0..32).flat_map(|lane| inputs.iter().flat_map(move |i| i[lane].to_le_bytes())).collect();
    memory.write(input, &words).expect("in bounds");
    let module = Module::load(&text, None, &memory).expect("it parses");
    let launch = Launch::new("k").arg(Argument::pointer(input)).arg(Argument::pointer(output));
    let outcome = module.launch(&memory, &launch).unwrap_or_else(|error| panic!("{body}: {error}"));
    assert!(outcome.is_clean(), "{body}: {}", outcome.findings[0]);
    let mut bytes = vec![0; 256];
    memory.read(output, &mut bytes).expect("in bounds");
    let word = |at: usize| u32::from_le_bytes(bytes[at..at + 4].try_into().expect("4 bytes"));
    [std::array::from_fn(|lane| word(lane * 8)), std::array::from_fn(|lane| word(lane * 8 + 4))]
}

/// Words with many patterns: small, large, negative, floats of all sizes, infinities, NaN.
pub fn inputs(seed: u64) -> [[u32; 32]; 4] {
    const SPECIAL: [u32; 16] = [
        0,
        1,
        2,
        31,
        32,
        33,
        0xFFFF_FFFF,
        0x8000_0000,
        0x7FFF_FFFF,
        0x3F80_0000,
        0xBF80_0000,
        0x7F80_0000,
        0x7FC0_0000,
        0x0000_0200,
        0x4B00_0001,
        0xC2C8_0000,
    ];
    let mut state = seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1;
    let mut next = || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        (state >> 32) as u32
    };
    std::array::from_fn(|_| {
        std::array::from_fn(|_| match next() % 3 {
            0 => SPECIAL[next() as usize % 16],
            1 => 0x3000_0000 + next() % 0x2000_0000 + (next() & 1) * 0x8000_0000,
            _ => next(),
        })
    })
}

pub fn check32(instruction: &str, reference: impl Fn(u32, u32, u32) -> u32) {
    for seed in 1..6 {
        let i = inputs(seed);
        let [got, _] = eval(instruction, &i);
        for lane in 0..32 {
            let (a, b, c) = (i[0][lane], i[1][lane], i[2][lane]);
            assert_eq!(got[lane], reference(a, b, c), "{instruction} of {a:#x}, {b:#x}, {c:#x}");
        }
    }
}

pub fn check64(instruction: &str, reference: impl Fn(u64, u64) -> u64) {
    for seed in 1..6 {
        let i = inputs(seed);
        let [low, high] = eval(&format!("{instruction} mov.b64 {{%r10, %r11}}, %rd3;"), &i);
        for lane in 0..32 {
            let pair = |n: usize| u64::from(i[n][lane]) | u64::from(i[n + 1][lane]) << 32;
            let got = u64::from(low[lane]) | u64::from(high[lane]) << 32;
            assert_eq!(got, reference(pair(0), pair(2)), "{instruction} of {:#x}, {:#x}", pair(0), pair(2));
        }
    }
}
