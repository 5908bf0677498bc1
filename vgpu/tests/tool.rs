//! The `vgpu` command, from files to files, with its exit statuses.

use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use tegula_vgpu::tool::npy::Array;

/// `o = x * scale` for `n` elements, with an error on demand: `skew` is added to the index of the store.
const SCALE: &str = "
.version 8.0
.target sm_80
.address_size 64
.visible .entry scale(.param .u64 x, .param .u64 o, .param .u32 n, .param .f32 s, .param .u32 skew) {
    .reg .pred %p<2>;
    .reg .b32 %r<10>;
    .reg .f32 %f<4>;
    .reg .b64 %rd<8>;
    mov.u32 %r1, %ctaid.x;
    mov.u32 %r2, %ntid.x;
    mov.u32 %r3, %tid.x;
    mad.lo.u32 %r4, %r1, %r2, %r3;
    ld.param.u32 %r5, [n];
    setp.ge.u32 %p1, %r4, %r5;
    @%p1 exit;
    ld.param.u64 %rd1, [x];
    ld.param.u64 %rd2, [o];
    ld.param.f32 %f1, [s];
    ld.param.u32 %r6, [skew];
    mad.wide.u32 %rd3, %r4, 4, %rd1;
    ld.global.f32 %f2, [%rd3];
    mul.f32 %f3, %f2, %f1;
    add.u32 %r7, %r4, %r6;
    mad.wide.u32 %rd4, %r7, 4, %rd2;
    st.global.f32 [%rd4], %f3;
    exit;
}";

struct Folder(PathBuf);

impl Folder {
    fn new(name: &str) -> Self {
        let path = std::env::temp_dir().join(format!("vgpu-tool-{name}-{}", std::process::id()));
        std::fs::create_dir_all(&path).expect("a folder");
        Self(path)
    }

    fn write(&self, name: &str, text: &str) -> PathBuf {
        let path = self.0.join(name);
        std::fs::write(&path, text).expect("a file");
        path
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

fn vgpu(args: &[&str], file: &Path) -> Output {
    Command::new(env!("CARGO_BIN_EXE_vgpu")).args(args).arg(file).output().expect("the command runs")
}

fn launch(skew: u32, entry: &str) -> String {
    serde_json::json!({
        "file": "scale.ptx", "target": "sm_80", "entry": entry, "grid": [4, 1, 1], "block": [32, 1, 1],
        "args": [
            {"buffer": "x", "npy": "x.npy"},
            {"buffer": "o", "shape": [100], "dtype": "f32", "fill": "poison", "out": "o.npy"},
            {"scalar": 100, "dtype": "i32"},
            {"scalar": 2.5, "dtype": "f32"},
            {"scalar": skew, "dtype": "u32"},
        ],
        "report": "report.json",
    })
    .to_string()
}

#[test]
fn a_launch_goes_from_files_to_files() {
    let folder = Folder::new("run");
    folder.write("scale.ptx", SCALE);
    let x: Vec<f32> = (0..100).map(|i| i as f32).collect();
    let bytes = x.iter().flat_map(|x| x.to_le_bytes()).collect();
    Array { descr: "<f4".into(), shape: vec![100], bytes }.write(&folder.0.join("x.npy")).expect("written");
    let file = folder.write("launch.json", &launch(0, "scale"));
    let output = vgpu(&["run"], &file);
    assert_eq!(output.status.code(), Some(0), "{}", String::from_utf8_lossy(&output.stderr));
    let o = Array::read(&folder.0.join("o.npy")).expect("an output");
    assert_eq!((o.descr.as_str(), o.shape.as_slice()), ("<f4", [100].as_slice()));
    let expected: Vec<u8> = x.iter().flat_map(|x| (x * 2.5).to_le_bytes()).collect();
    assert_eq!(o.bytes, expected);
    let report: serde_json::Value =
        serde_json::from_slice(&std::fs::read(folder.0.join("report.json")).expect("a report")).expect("JSON");
    assert_eq!(report["status"], "clean");
    assert_eq!(report["counters"]["global_load_bytes"], 400);

    let file = folder.write("skewed.json", &launch(1, "scale"));
    let output = vgpu(&["run"], &file);
    assert_eq!(output.status.code(), Some(3));
    assert!(String::from_utf8_lossy(&output.stderr).contains("4 bytes at offset 400 of `o`"));
    let report: serde_json::Value =
        serde_json::from_slice(&std::fs::read(folder.0.join("report.json")).expect("a report")).expect("JSON");
    assert_eq!(report["findings"][0]["kind"], "out-of-bounds");
    assert_eq!(report["findings"][0]["address"]["allocation"], "o");
    assert_eq!(report["findings"][0]["agent"]["lane"], 3);

    let output = vgpu(&["trace", "--warp", "0", "--program", "1,0,0", "--contains", "mul.f32"], &file);
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    assert_eq!(text.lines().count(), 1, "{text}");
    assert!(text.contains("mul.f32 %f3, %f2, %f1"), "{text}");

    let output = vgpu(&["counters"], &file);
    assert!(String::from_utf8_lossy(&output.stdout).contains("global load bytes                 400"));
}

#[test]
fn exit_statuses_tell_what_went_wrong() {
    let folder = Folder::new("status");
    folder.write("scale.ptx", SCALE);
    // No input file; no such kernel; not JSON.
    assert_eq!(vgpu(&["run"], &folder.write("a.json", &launch(0, "scale"))).status.code(), Some(2));
    let without = launch(0, "none").replace(r#""npy":"x.npy""#, r#""shape":[100],"dtype":"f32","fill":"zero""#);
    let output = vgpu(&["run"], &folder.write("b.json", &without));
    assert_eq!(output.status.code(), Some(2));
    assert!(String::from_utf8_lossy(&output.stderr).contains("no kernel `none`"));
    assert_eq!(vgpu(&["run"], &folder.write("c.json", "{")).status.code(), Some(2));
    let unsupported = folder.write("scale.ptx", &SCALE.replace("mul.f32", "frob.f32"));
    let output = vgpu(&["run"], &folder.write("d.json", &without.replace("none", "scale")));
    assert_eq!(output.status.code(), Some(4));
    assert!(String::from_utf8_lossy(&output.stderr).contains("23:5: unsupported instruction `frob.f32 %f3, %f2, %f1`"));
    let output = vgpu(&["info"], &unsupported);
    assert_eq!(output.status.code(), Some(4));
    assert!(String::from_utf8_lossy(&output.stdout).contains("frob.f32  NOT SUPPORTED"));
}

#[test]
fn tensor_maps_are_made_from_their_description() {
    let folder = Folder::new("maps");
    folder.write(
        "copy.ptx",
        "
.version 8.8
.target sm_90a
.address_size 64
.visible .entry copy(.param .align 64 .b8 map[128], .param .u64 o) {
    .reg .pred %p<4>;
    .reg .b32 %r<10>;
    .reg .b64 %rd<8>;
    .shared .align 128 .b8 tile[512];
    .shared .align 8 .b64 bar;
    mov.u32 %r1, %tid.x;
    setp.ne.u32 %p1, %r1, 0;
    mov.u32 %r2, bar;
    mov.u32 %r3, tile;
    @%p1 bra WAIT;
    mbarrier.init.shared::cta.b64 [%r2], 1;
    mbarrier.arrive.expect_tx.shared::cta.b64 _, [%r2], 512;
    mov.u64 %rd1, map;
    cvta.param.u64 %rd2, %rd1;
    mov.u32 %r4, 2;
    mov.u32 %r5, -1;
    cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes [%r3], [%rd2, {%r4, %r5}], [%r2];
WAIT:
    bar.sync 0;
LOOP:
    mbarrier.try_wait.parity.shared::cta.b64 %p2, [%r2], 0;
    @!%p2 bra LOOP;
    shl.b32 %r6, %r1, 4;
    add.u32 %r7, %r3, %r6;
    ld.shared.v4.b32 {%r1, %r2, %r4, %r5}, [%r7];
    ld.param.u64 %rd3, [o];
    cvt.u64.u32 %rd4, %r6;
    add.u64 %rd5, %rd3, %rd4;
    st.global.v4.b32 [%rd5], {%r1, %r2, %r4, %r5};
    ret;
}",
    );
    let x: Vec<u32> = (0..64).collect();
    let bytes = x.iter().flat_map(|x| x.to_le_bytes()).collect();
    Array { descr: "<u4".into(), shape: vec![8, 8], bytes }.write(&folder.0.join("x.npy")).expect("written");
    let text = serde_json::json!({
        "file": "copy.ptx", "entry": "copy", "grid": [1, 1, 1], "block": [32, 1, 1],
        "buffers": [{"buffer": "x", "npy": "x.npy"}],
        "args": [
            {"tensormap": "x", "dtype": "u32", "shape": [8, 8], "strides": [32], "box": [8, 16], "swizzle": "none",
             "interleave": "none", "oob_fill": "zero"},
            {"buffer": "o", "shape": [16, 8], "dtype": "u32", "out": "o.npy"},
        ],
    });
    let output = vgpu(&["run"], &folder.write("launch.json", &text.to_string()));
    assert_eq!(output.status.code(), Some(0), "{}", String::from_utf8_lossy(&output.stderr));
    let o = Array::read(&folder.0.join("o.npy")).expect("an output");
    for (index, word) in o.bytes.chunks_exact(4).enumerate() {
        let (row, column) = (index as i32 / 8 - 1, index as i32 % 8 + 2);
        let inside = (0..8).contains(&row) && (0..8).contains(&column);
        let expected = if inside { row * 8 + column } else { 0 };
        assert_eq!(i32::from_le_bytes(word.try_into().expect("4 bytes")), expected, "{row} {column}");
    }
}
