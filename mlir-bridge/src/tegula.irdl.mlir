// The `tegula` dialect: the part of Tile IR that upstream dialects have no op for.
//
// IRDL binds a constraint to one type for a whole op, so operands that may differ in type are single optional
// operands, counted by `operandSegmentSizes`. Types are constrained as far as IRDL can say; Tile IR's own verifier
// holds the rest after import. Regions end in `gpu.yield`, the upstream terminator that asks nothing of its parent.
module {
  irdl.dialect @tegula {
    // A tensor in memory: rank and element type.
    irdl.type @view {
      %rank = irdl.any
      %elem = irdl.any
      irdl.parameters(rank: %rank, elem: %elem)
    }

    // A pointer to elements in global memory.
    irdl.type @ptr {
      %elem = irdl.any
      irdl.parameters(elem: %elem)
    }

    // A scalar, or a tile with equal elements; floats by the bits of their f64.
    irdl.operation @constant {
      %r_t = irdl.any
      %value_a = irdl.any
      irdl.attributes { "value" = %value_a }
      irdl.results(r: %r_t)
    }

    // Integers counting along an axis.
    irdl.operation @arange {
      %r_t = irdl.base "!builtin.tensor"
      %axis_a = irdl.any
      %start_a = irdl.any
      irdl.attributes { "axis" = %axis_a, "start" = %start_a }
      irdl.results(r: %r_t)
    }

    // A tile of one scalar.
    irdl.operation @splat {
      %x_t = irdl.any
      %r_t = irdl.base "!builtin.tensor"
      irdl.operands(x: %x_t)
      irdl.results(r: %r_t)
    }

    // Repeats axes of extent 1.
    irdl.operation @broadcast {
      %x_t = irdl.any
      %r_t = irdl.any
      irdl.operands(x: %x_t)
      irdl.results(r: %r_t)
    }

    // The same elements under other extents.
    irdl.operation @reshape {
      %x_t = irdl.any
      %r_t = irdl.any
      irdl.operands(x: %x_t)
      irdl.results(r: %r_t)
    }

    // Reorders axes.
    irdl.operation @permute {
      %x_t = irdl.any
      %r_t = irdl.any
      %perm_a = irdl.any
      irdl.operands(x: %x_t)
      irdl.attributes { "perm" = %perm_a }
      irdl.results(r: %r_t)
    }

    // Reverses an axis.
    irdl.operation @flip {
      %t = irdl.any
      %axis_a = irdl.any
      irdl.operands(x: %t)
      irdl.attributes { "axis" = %axis_a }
      irdl.results(r: %t)
    }

    // Concatenates along an axis.
    irdl.operation @cat {
      %a0_t = irdl.any
      %a1_t = irdl.any
      %a2_t = irdl.any
      %a3_t = irdl.any
      %a4_t = irdl.any
      %a5_t = irdl.any
      %a6_t = irdl.any
      %a7_t = irdl.any
      %r_t = irdl.any
      %axis_a = irdl.any
      irdl.operands(a0: optional %a0_t, a1: optional %a1_t, a2: optional %a2_t, a3: optional %a3_t, a4: optional %a4_t, a5: optional %a5_t, a6: optional %a6_t, a7: optional %a7_t)
      irdl.attributes { "axis" = %axis_a }
      irdl.results(r: %r_t)
    }

    // Pairs two tiles along a new last axis.
    irdl.operation @join {
      %t = irdl.any
      %r_t = irdl.base "!builtin.tensor"
      irdl.operands(a: %t, b: %t)
      irdl.results(r: %r_t)
    }

    // The inverse of join.
    irdl.operation @split {
      %x_t = irdl.base "!builtin.tensor"
      %t = irdl.any
      irdl.operands(x: %x_t)
      irdl.results(a: %t, b: %t)
    }

    // A sub-tile at static offsets.
    irdl.operation @extract_slice {
      %x_t = irdl.any
      %r_t = irdl.any
      %offsets_a = irdl.any
      irdl.operands(x: %x_t)
      irdl.attributes { "offsets" = %offsets_a }
      irdl.results(r: %r_t)
    }

    // Replaces a sub-tile at static offsets.
    irdl.operation @insert_slice {
      %x_t = irdl.any
      %t = irdl.any
      %offsets_a = irdl.any
      irdl.operands(x: %x_t, into: %t)
      irdl.attributes { "offsets" = %offsets_a }
      irdl.results(r: %t)
    }

    // Picks along an axis.
    irdl.operation @gather_axis {
      %x_t = irdl.any
      %index_t = irdl.any
      %r_t = irdl.any
      %axis_a = irdl.any
      irdl.operands(x: %x_t, index: %index_t)
      irdl.attributes { "axis" = %axis_a }
      irdl.results(r: %r_t)
    }

    // One-operand arithmetic without an upstream op of the same meaning.
    irdl.operation @unary {
      %x_t = irdl.any
      %r_t = irdl.any
      %op_a = irdl.any
      %fast_a = irdl.any
      irdl.operands(x: %x_t)
      irdl.attributes { "op" = %op_a, "fast" = %fast_a }
      irdl.results(r: %r_t)
    }

    // Two-operand arithmetic without an upstream op of the same meaning.
    irdl.operation @binary {
      %t = irdl.any
      %op_a = irdl.any
      irdl.operands(a: %t, b: %t)
      irdl.attributes { "op" = %op_a }
      irdl.results(r: %t)
    }

    // Comparison.
    irdl.operation @cmp {
      %t = irdl.any
      %r_t = irdl.any
      %op_a = irdl.any
      irdl.operands(a: %t, b: %t)
      irdl.attributes { "op" = %op_a }
      irdl.results(r: %r_t)
    }

    // A choice per element.
    irdl.operation @select {
      %cond_t = irdl.any
      %t = irdl.any
      irdl.operands(cond: %cond_t, a: %t, b: %t)
      irdl.results(r: %t)
    }

    // a * b + c on integers, wrapping.
    irdl.operation @fma {
      %t = irdl.any
      irdl.operands(a: %t, b: %t, c: %t)
      irdl.results(r: %t)
    }

    // Conversion by value.
    irdl.operation @cast {
      %x_t = irdl.any
      %r_t = irdl.any
      %rounding_a = irdl.any
      %saturate_a = irdl.any
      irdl.operands(x: %x_t)
      irdl.attributes { "rounding" = %rounding_a, "saturate" = %saturate_a }
      irdl.results(r: %r_t)
    }

    // Conversion by bits.
    irdl.operation @bitcast {
      %x_t = irdl.any
      %r_t = irdl.any
      irdl.operands(x: %x_t)
      irdl.results(r: %r_t)
    }

    // Reduction over axes.
    irdl.operation @reduce {
      %x_t = irdl.any
      %r_t = irdl.any
      %kind_a = irdl.any
      %axes_a = irdl.any
      irdl.operands(x: %x_t)
      irdl.attributes { "kind" = %kind_a, "axes" = %axes_a }
      irdl.results(r: %r_t)
    }

    // Extreme value and its index.
    irdl.operation @arg_reduce {
      %x_t = irdl.any
      %value_t = irdl.any
      %index_t = irdl.any
      %kind_a = irdl.any
      %axis_a = irdl.any
      irdl.operands(x: %x_t)
      irdl.attributes { "kind" = %kind_a, "axis" = %axis_a }
      irdl.results(value: %value_t, index: %index_t)
    }

    // Reduction of several tiles with an associative function.
    irdl.operation @reduce_with {
      %a0_t = irdl.any
      %a1_t = irdl.any
      %a2_t = irdl.any
      %a3_t = irdl.any
      %a4_t = irdl.any
      %a5_t = irdl.any
      %a6_t = irdl.any
      %a7_t = irdl.any
      %r0_t = irdl.any
      %r1_t = irdl.any
      %r2_t = irdl.any
      %r3_t = irdl.any
      %r4_t = irdl.any
      %r5_t = irdl.any
      %r6_t = irdl.any
      %r7_t = irdl.any
      %axis_a = irdl.any
      irdl.operands(a0: optional %a0_t, a1: optional %a1_t, a2: optional %a2_t, a3: optional %a3_t, a4: optional %a4_t, a5: optional %a5_t, a6: optional %a6_t, a7: optional %a7_t)
      irdl.attributes { "axis" = %axis_a }
      irdl.results(r0: optional %r0_t, r1: optional %r1_t, r2: optional %r2_t, r3: optional %r3_t, r4: optional %r4_t, r5: optional %r5_t, r6: optional %r6_t, r7: optional %r7_t)
      %body0 = irdl.region
      irdl.regions(body0: %body0)
    }

    // Prefix reduction.
    irdl.operation @scan {
      %t = irdl.any
      %kind_a = irdl.any
      %axis_a = irdl.any
      %reverse_a = irdl.any
      irdl.operands(x: %t)
      irdl.attributes { "kind" = %kind_a, "axis" = %axis_a, "reverse" = %reverse_a }
      irdl.results(r: %t)
    }

    // Prefix reduction of several tiles with an associative function.
    irdl.operation @scan_with {
      %a0_t = irdl.any
      %a1_t = irdl.any
      %a2_t = irdl.any
      %a3_t = irdl.any
      %a4_t = irdl.any
      %a5_t = irdl.any
      %a6_t = irdl.any
      %a7_t = irdl.any
      %r0_t = irdl.any
      %r1_t = irdl.any
      %r2_t = irdl.any
      %r3_t = irdl.any
      %r4_t = irdl.any
      %r5_t = irdl.any
      %r6_t = irdl.any
      %r7_t = irdl.any
      %axis_a = irdl.any
      %reverse_a = irdl.any
      irdl.operands(a0: optional %a0_t, a1: optional %a1_t, a2: optional %a2_t, a3: optional %a3_t, a4: optional %a4_t, a5: optional %a5_t, a6: optional %a6_t, a7: optional %a7_t)
      irdl.attributes { "axis" = %axis_a, "reverse" = %reverse_a }
      irdl.results(r0: optional %r0_t, r1: optional %r1_t, r2: optional %r2_t, r3: optional %r3_t, r4: optional %r4_t, r5: optional %r5_t, r6: optional %r6_t, r7: optional %r7_t)
      %body0 = irdl.region
      irdl.regions(body0: %body0)
    }

    // acc + a · b.
    irdl.operation @dot {
      %a_t = irdl.any
      %b_t = irdl.any
      %t = irdl.any
      %precision_a = irdl.any
      irdl.operands(a: %a_t, b: %b_t, acc: %t)
      irdl.attributes { "precision" = %precision_a }
      irdl.results(r: %t)
    }

    // The program's coordinate.
    irdl.operation @program_id {
      %r_t = irdl.is i64
      %axis_a = irdl.any
      irdl.attributes { "axis" = %axis_a }
      irdl.results(r: %r_t)
    }

    // The grid's extent.
    irdl.operation @num_programs {
      %r_t = irdl.is i64
      %axis_a = irdl.any
      irdl.attributes { "axis" = %axis_a }
      irdl.results(r: %r_t)
    }

    // A view's extent.
    irdl.operation @view_extent {
      %view_t = irdl.base @tegula::@view
      %r_t = irdl.is i64
      %axis_a = irdl.any
      irdl.operands(view: %view_t)
      irdl.attributes { "axis" = %axis_a }
      irdl.results(r: %r_t)
    }

    // A view's stride.
    irdl.operation @view_stride {
      %view_t = irdl.base @tegula::@view
      %r_t = irdl.is i64
      %axis_a = irdl.any
      irdl.operands(view: %view_t)
      irdl.attributes { "axis" = %axis_a }
      irdl.results(r: %r_t)
    }

    // A view's base pointer.
    irdl.operation @view_base {
      %view_t = irdl.base @tegula::@view
      %r_t = irdl.any
      irdl.operands(view: %view_t)
      irdl.results(r: %r_t)
    }

    // A view from a pointer, extents and strides.
    irdl.operation @make_view {
      %base_t = irdl.any
      %dims_t = irdl.is i64
      %r_t = irdl.base @tegula::@view
      irdl.operands(base: %base_t, dims: variadic %dims_t)
      irdl.results(r: %r_t)
    }

    // Pointer arithmetic.
    irdl.operation @ptr_add {
      %ptr_t = irdl.any
      %offset_t = irdl.any
      %r_t = irdl.any
      irdl.operands(ptr: %ptr_t, offset: %offset_t)
      irdl.results(r: %r_t)
    }

    // Reads memory.
    irdl.operation @load {
      %base_t = irdl.any
      %i0_t = irdl.any
      %i1_t = irdl.any
      %i2_t = irdl.any
      %i3_t = irdl.any
      %i4_t = irdl.any
      %m_t = irdl.any
      %p_t = irdl.any
      %r_t = irdl.any
      %address_a = irdl.any
      %mask_a = irdl.any
      %pad_a = irdl.any
      %cache_a = irdl.any
      %volatile_a = irdl.any
      irdl.operands(base: %base_t, i0: optional %i0_t, i1: optional %i1_t, i2: optional %i2_t, i3: optional %i3_t, i4: optional %i4_t, m: optional %m_t, p: optional %p_t)
      irdl.attributes { "address" = %address_a, "mask" = %mask_a, "pad" = %pad_a, "cache" = %cache_a, "volatile" = %volatile_a }
      irdl.results(r: %r_t)
    }

    // Writes memory.
    irdl.operation @store {
      %base_t = irdl.any
      %i0_t = irdl.any
      %i1_t = irdl.any
      %i2_t = irdl.any
      %i3_t = irdl.any
      %i4_t = irdl.any
      %value_t = irdl.any
      %m_t = irdl.any
      %address_a = irdl.any
      %mask_a = irdl.any
      %cache_a = irdl.any
      %volatile_a = irdl.any
      irdl.operands(base: %base_t, i0: optional %i0_t, i1: optional %i1_t, i2: optional %i2_t, i3: optional %i3_t, i4: optional %i4_t, value: %value_t, m: optional %m_t)
      irdl.attributes { "address" = %address_a, "mask" = %mask_a, "cache" = %cache_a, "volatile" = %volatile_a }
    }

    // Atomic read-modify-write.
    irdl.operation @atomic_rmw {
      %base_t = irdl.any
      %i0_t = irdl.any
      %i1_t = irdl.any
      %i2_t = irdl.any
      %i3_t = irdl.any
      %i4_t = irdl.any
      %t = irdl.any
      %m_t = irdl.any
      %address_a = irdl.any
      %op_a = irdl.any
      %mask_a = irdl.any
      %ordering_a = irdl.any
      %scope_a = irdl.any
      irdl.operands(base: %base_t, i0: optional %i0_t, i1: optional %i1_t, i2: optional %i2_t, i3: optional %i3_t, i4: optional %i4_t, value: %t, m: optional %m_t)
      irdl.attributes { "address" = %address_a, "op" = %op_a, "mask" = %mask_a, "ordering" = %ordering_a, "scope" = %scope_a }
      irdl.results(r: %t)
    }

    // Atomic compare and exchange.
    irdl.operation @atomic_cas {
      %base_t = irdl.any
      %i0_t = irdl.any
      %i1_t = irdl.any
      %i2_t = irdl.any
      %i3_t = irdl.any
      %i4_t = irdl.any
      %t = irdl.any
      %m_t = irdl.any
      %address_a = irdl.any
      %mask_a = irdl.any
      %ordering_a = irdl.any
      %scope_a = irdl.any
      irdl.operands(base: %base_t, i0: optional %i0_t, i1: optional %i1_t, i2: optional %i2_t, i3: optional %i3_t, i4: optional %i4_t, compare: %t, value: %t, m: optional %m_t)
      irdl.attributes { "address" = %address_a, "mask" = %mask_a, "ordering" = %ordering_a, "scope" = %scope_a }
      irdl.results(r: %t)
    }

    // A loop over unsigned integers; scf.for serves the others.
    irdl.operation @for {
      %t = irdl.any
      %a0_t = irdl.any
      %a1_t = irdl.any
      %a2_t = irdl.any
      %a3_t = irdl.any
      %a4_t = irdl.any
      %a5_t = irdl.any
      %a6_t = irdl.any
      %a7_t = irdl.any
      %r0_t = irdl.any
      %r1_t = irdl.any
      %r2_t = irdl.any
      %r3_t = irdl.any
      %r4_t = irdl.any
      %r5_t = irdl.any
      %r6_t = irdl.any
      %r7_t = irdl.any
      %stages_a = irdl.any
      %unroll_a = irdl.any
      %warp_specialize_a = irdl.any
      %flatten_a = irdl.any
      irdl.operands(lower: %t, upper: %t, step: %t, a0: optional %a0_t, a1: optional %a1_t, a2: optional %a2_t, a3: optional %a3_t, a4: optional %a4_t, a5: optional %a5_t, a6: optional %a6_t, a7: optional %a7_t)
      irdl.attributes { "stages" = %stages_a, "unroll" = %unroll_a, "warp_specialize" = %warp_specialize_a, "flatten" = %flatten_a }
      irdl.results(r0: optional %r0_t, r1: optional %r1_t, r2: optional %r2_t, r3: optional %r3_t, r4: optional %r4_t, r5: optional %r5_t, r6: optional %r6_t, r7: optional %r7_t)
      %body0 = irdl.region
      irdl.regions(body0: %body0)
    }

    // Waits for all threads of the program.
    irdl.operation @barrier {
    }

    // A promise about a value.
    irdl.operation @assume {
      %t = irdl.any
      %fact_a = irdl.any
      %args_a = irdl.any
      irdl.operands(x: %t)
      irdl.attributes { "fact" = %fact_a, "args" = %args_a }
      irdl.results(r: %t)
    }

    // Prints values.
    irdl.operation @print {
      %a0_t = irdl.any
      %a1_t = irdl.any
      %a2_t = irdl.any
      %a3_t = irdl.any
      %a4_t = irdl.any
      %a5_t = irdl.any
      %a6_t = irdl.any
      %a7_t = irdl.any
      %message_a = irdl.any
      irdl.operands(a0: optional %a0_t, a1: optional %a1_t, a2: optional %a2_t, a3: optional %a3_t, a4: optional %a4_t, a5: optional %a5_t, a6: optional %a6_t, a7: optional %a7_t)
      irdl.attributes { "message" = %message_a }
    }

    // Stops where a condition is false.
    irdl.operation @assert {
      %cond_t = irdl.any
      %message_a = irdl.any
      irdl.operands(cond: %cond_t)
      irdl.attributes { "message" = %message_a }
    }
  }
}
