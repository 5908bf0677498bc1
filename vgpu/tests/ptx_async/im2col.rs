//! Tensor copies that gather the columns of a convolution, against a loop over the filter.

use super::harness::{Run, WAIT, bytes, words};
use tegula_vgpu::ptx::{Element, Mode, TensorMap};

/// A convolution over images of `n × d × h × w × c` words, the innermost last; unused dimensions are 1.
struct Image {
    spatial: Vec<i64>,
    channels: i64,
    images: i64,
    /// Corners of the box of base positions, innermost first.
    lower: Vec<i64>,
    upper: Vec<i64>,
    stride: Vec<i64>,
}

impl Image {
    fn map(&self, address: u64, pixels: u16, channels: u16) -> TensorMap {
        let mut extents = vec![self.channels as u64];
        extents.extend(self.spatial.iter().map(|&x| x as u64));
        extents.push(self.images as u64);
        let mut strides = Vec::new();
        let mut stride = 4;
        for extent in &extents[..extents.len() - 1] {
            stride *= extent;
            strides.push(stride);
        }
        let mut map = TensorMap::tiled(address, Element::U32, &extents, &strides, &vec![1; extents.len()]);
        map.element_strides = std::iter::once(1).chain(self.stride.iter().map(|&s| s as u32)).chain([1]).collect();
        let corner =
            |values: &[i64]| -> [i16; 3] { std::array::from_fn(|n| values.get(n).copied().unwrap_or(0) as i16) };
        map.mode = Mode::Im2col { lower: corner(&self.lower), upper: corner(&self.upper), channels, pixels };
        map
    }

    /// The base positions in order, from one on: innermost spatial dimension first, then the next image.
    fn bases(&self, start: &[i64], image: i64, count: usize) -> Vec<(Vec<i64>, i64)> {
        let mut all = Vec::new();
        let (mut at, mut image) = (start.to_vec(), image);
        for _ in 0..count {
            all.push((at.clone(), image));
            let mut n = 0;
            loop {
                if n == at.len() {
                    image += 1;
                    break;
                }
                at[n] += self.stride[n];
                if at[n] < self.spatial[n] + self.upper[n] {
                    break;
                }
                at[n] = self.lower[n];
                n += 1;
            }
        }
        all
    }

    fn value(&self, at: &[i64], image: i64, channel: i64) -> u32 {
        let inside = at.iter().zip(&self.spatial).all(|(x, extent)| (0..*extent).contains(x));
        if !inside || !(0..self.images).contains(&image) || channel >= self.channels {
            return 0;
        }
        let mut linear = image;
        for (x, extent) in at.iter().zip(&self.spatial).rev() {
            linear = linear * extent + x;
        }
        (linear * self.channels + channel) as u32 + 1
    }

    fn check(&self, start: &[i64], image: i64, offsets: &[i64], pixels: u16, channels: u16, channel: i64) {
        let count = self.images * self.spatial.iter().product::<i64>() * self.channels;
        let input = bytes(1..=count as u32);
        let size = usize::from(pixels) * usize::from(channels) * 4;
        let rank = self.spatial.len() + 2;
        let list = |values: &mut dyn Iterator<Item = i64>| values.map(|x| x.to_string()).collect::<Vec<_>>().join(", ");
        let coordinates =
            list(&mut std::iter::once(channel).chain(start.iter().copied()).chain(std::iter::once(image)));
        let run = Run { input: &input, output: vec![0; size], ..Run::default() };
        let out = run.with_maps(
            &format!(
                "@%p1 mbarrier.init.shared::cta.b64 [%r4], 1; fence.mbarrier_init.release.cluster; bar.sync 0;
                @%p1 mbarrier.arrive.expect_tx.shared::cta.b64 _, [%r4], {size};
                @%p1 cp.async.bulk.tensor.{rank}d.shared::cluster.global.im2col.mbarrier::complete_tx::bytes [%r3], [%rd3, {{{coordinates}}}], [%r4], {{{}}};
                {WAIT}
                mov.u32 %r10, %r1; L: shl.b32 %r11, %r10, 2; add.u32 %r12, %r11, %r3; ld.shared.u32 %r13, [%r12];
                mad.wide.u32 %rd10, %r10, 4, %rd2; st.global.u32 [%rd10], %r13;
                add.u32 %r10, %r10, 32; setp.lt.u32 %p2, %r10, {}; @%p2 bra L;",
                list(&mut offsets.iter().copied()),
                size / 4,
            ),
            |input, _| vec![self.map(input, pixels, channels)],
        );
        let mut wanted = Vec::new();
        for (base, image) in self.bases(start, image, pixels.into()) {
            let at: Vec<i64> = base.iter().zip(offsets).map(|(x, offset)| x + offset).collect();
            wanted.extend((0..i64::from(channels)).map(|c| self.value(&at, image, channel + c)));
        }
        assert_eq!(words(&out), wanted, "at {start:?} of image {image}, offsets {offsets:?}");
    }
}

#[test]
fn a_3_by_3_filter_with_padding() {
    // Bases run from -1 to extent - 2: the padded convolution of the same size.
    let image = Image {
        spatial: vec![6, 5],
        channels: 8,
        images: 2,
        lower: vec![-1, -1],
        upper: vec![-1, -1],
        stride: vec![1, 1],
    };
    for offsets in [[0, 0], [1, 0], [2, 2], [0, 1]] {
        image.check(&[-1, -1], 0, &offsets, 32, 8, 0);
        image.check(&[2, 1], 0, &offsets, 16, 4, 4);
        // Over the end of the last image.
        image.check(&[3, 3], 1, &offsets, 8, 8, 0);
    }
}

#[test]
fn filters_with_strides_in_one_and_three_dimensions() {
    let line = Image { spatial: vec![11], channels: 4, images: 3, lower: vec![0], upper: vec![-2], stride: vec![2] };
    for offset in 0..3 {
        line.check(&[0], 0, &[offset], 12, 4, 0);
    }
    let volume = Image {
        spatial: vec![4, 3, 5],
        channels: 4,
        images: 2,
        lower: vec![0, -1, 0],
        upper: vec![-1, -1, -2],
        stride: vec![1, 1, 2],
    };
    for offsets in [[0, 0, 0], [1, 2, 1], [1, 0, 2]] {
        volume.check(&[0, -1, 0], 0, &offsets, 30, 4, 0);
    }
}
