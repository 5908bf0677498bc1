//! Graphs: made node by node or by capture, instantiated, and launched.

use crate::abi::{
    GraphExecUpdateResultInfo, GraphInstantiateParams, Handle, HostNodeParams, KernelNodeParams, Memcpy3D,
    MemsetNodeParams,
};
use crate::api::copy::copy_3d;
use crate::api::launch::arguments;
use crate::entry::{Buffer, In, Out, c_interface};
use crate::state::{CudaGraph, CudaNode, EXECS, GRAPHS, NODES, current, event, function, graph, live, lock, stream};
use crate::status::{self, CUresult, Failure, Outcome};
use std::ffi::{c_uint, c_void};
use std::sync::{Arc, Mutex};
use tegula_vgpu_driver::copy::Fill;
use tegula_vgpu_driver::ffi::host_function;
use tegula_vgpu_driver::graph::{Exec, Graph};
use tegula_vgpu_driver::launch::{Config, Launch};
use tegula_vgpu_driver::op::Op;

fn invalid() -> Failure {
    CUresult::ERROR_INVALID_VALUE.into()
}

/// The handle of a graph; one of its own if it had none.
pub(crate) fn adopt(core: Arc<Graph>) -> Handle {
    let found = GRAPHS.find_by(|graph| Arc::ptr_eq(&graph.core, &core));
    found.unwrap_or_else(|| GRAPHS.insert(Arc::new(CudaGraph { core, nodes: Mutex::default() })))
}

/// The handle of a node: the same whenever it is asked for.
fn node_handle(graph: &CudaGraph, index: usize) -> Handle {
    let mut nodes = lock(&graph.nodes);
    *nodes.entry(index).or_insert_with(|| NODES.insert(Arc::new(CudaNode { graph: Arc::clone(&graph.core), index })))
}

fn node(handle: Handle) -> Outcome<Arc<CudaNode>> {
    NODES.get(handle).ok_or_else(invalid)
}

/// The numbers of nodes.
pub(crate) fn indices(nodes: In<Handle>, count: usize) -> Outcome<Vec<usize>> {
    nodes.values(count)?.into_iter().map(|handle| Ok(node(handle)?.index)).collect()
}

/// Handles of nodes in memory that stays until the thread asks again.
pub(crate) fn keep_handles(of: Handle, nodes: &[usize]) -> Outcome<*const Handle> {
    thread_local! {
        static KEPT: std::cell::RefCell<Vec<Handle>> = const { std::cell::RefCell::new(Vec::new()) };
    }
    let graph = graph(of)?;
    let handles = nodes.iter().map(|&index| node_handle(&graph, index)).collect();
    Ok(KEPT.with_borrow_mut(|kept| {
        *kept = handles;
        kept.as_ptr()
    }))
}

fn add(out: Out<Handle>, to: Handle, depends: In<Handle>, count: usize, op: Op) -> Outcome {
    out.check()?;
    let graph = graph(to)?;
    let depends = depends.values(count)?;
    let depends: Vec<_> = depends
        .into_iter()
        .map(|handle| {
            let node = node(handle)?;
            if Arc::ptr_eq(&node.graph, &graph.core) { Ok(node.index) } else { Err(invalid()) }
        })
        .collect::<Outcome<_>>()?;
    let index = graph.core.add(op, &depends)?;
    out.set(node_handle(&graph, index))
}

fn kernel(params: KernelNodeParams, kern: Handle) -> Outcome<Op> {
    let kernel = function(if params.func == 0 { kern } else { params.func })?;
    let args = arguments(&kernel, params.kernel_params, params.extra)?;
    let config = Config::new(params.grid, params.block, params.shared_mem_bytes);
    Ok(Op::Launch(Arc::new(Launch::new(kernel, config, args)?)))
}

/// The first version of the parameters ends before the kernel and the context.
fn kernel_v1(params: In<[u64; 7]>) -> Outcome<Op> {
    let words = params.get()?;
    let half = |at: usize| (words[at / 2] >> (32 * (at % 2))) as u32;
    let params = KernelNodeParams {
        func: words[0] as Handle,
        grid: [half(2), half(3), half(4)],
        block: [half(5), half(6), half(7)],
        shared_mem_bytes: half(8),
        kernel_params: words[5] as *const *const c_void,
        extra: words[6] as *const *const c_void,
        kern: 0,
        ctx: 0,
    };
    kernel(params, 0)
}

fn kernel_v2(params: In<KernelNodeParams>) -> Outcome<Op> {
    let params = params.get()?;
    kernel(params, params.kern)
}

fn memcpy(params: In<Memcpy3D>) -> Outcome<Op> {
    let copy = copy_3d(params)?;
    copy.check(&current()?.core.devices)?;
    Ok(Op::Copy(copy))
}

fn memset(params: In<MemsetNodeParams>) -> Outcome<Op> {
    let params = params.get()?;
    let fill = Fill {
        address: params.dst,
        pitch: params.pitch,
        value: params.value,
        element: params.element_size as usize,
        width: params.width,
        height: params.height,
    };
    fill.check(&current()?.core.devices)?;
    Ok(Op::Fill(fill))
}

fn host(params: In<HostNodeParams>) -> Outcome<Op> {
    let params = params.get()?;
    Ok(Op::Host(host_function(params.func, params.user_data)?))
}

/// The number of a node's type.
fn kind(op: &Op) -> c_uint {
    match op {
        Op::Launch(_) => 0,
        Op::Copy(_) => 1,
        Op::Fill(_) => 2,
        Op::Host(_) => 3,
        Op::Graph(_) => 4,
        Op::Nothing => 5,
        Op::Wait(_) => 6,
        Op::Record(_) => 7,
        Op::GraphAlloc(_) => 10,
        Op::GraphFree(_) | Op::Free(_) => 11,
    }
}

fn exec(handle: Handle) -> Outcome<Arc<Exec>> {
    EXECS.get(handle).ok_or_else(invalid)
}

/// Flags: memory is freed on a launch, uploaded at once, launched from the device, with priorities.
fn instantiate(out: Out<Handle>, of: Handle, flags: u64) -> Outcome {
    const AUTO_FREE: u64 = 1;
    const DEVICE_LAUNCH: u64 = 4;
    out.check()?;
    if flags & !15 != 0 || flags & DEVICE_LAUNCH != 0 && flags & AUTO_FREE != 0 {
        return Err(invalid());
    }
    if flags & DEVICE_LAUNCH != 0 {
        return Err(CUresult::ERROR_NOT_SUPPORTED.into());
    }
    out.set(EXECS.insert(Arc::new(graph(of)?.core.instantiate()?)))
}

/// Writes handles of nodes as far as there is room, and how many there are.
fn list(graph: &CudaGraph, nodes: &[usize], out: Out<Handle>, count: Out<usize>) -> Outcome {
    if out.is_null() {
        return count.set(nodes.len());
    }
    let room = count.get()?.min(nodes.len());
    out.set_all(nodes[..room].iter().map(|&index| node_handle(graph, index)))?;
    count.set(room)
}

/// Writes what depends on what, as far as there is room, and how much there is.
fn edges(of: Handle, from: Out<Handle>, to: Out<Handle>, count: Out<usize>) -> Outcome {
    let graph = graph(of)?;
    let nodes = graph.core.nodes();
    let edges = nodes.iter().flat_map(|(to, node)| node.depends.iter().map(move |&from| (from, *to)));
    let (sources, targets): (Vec<_>, Vec<_>) = edges.unzip();
    if from.is_null() || to.is_null() {
        return count.set(sources.len());
    }
    let room = count.get()?.min(sources.len());
    count.set(room)?;
    from.set_all(sources[..room].iter().map(|&index| node_handle(&graph, index)))?;
    to.set_all(targets[..room].iter().map(|&index| node_handle(&graph, index)))
}

/// The graph that a node is in, with its handles.
fn graph_of(node: &CudaNode) -> Outcome<Arc<CudaGraph>> {
    graph(adopt(Arc::clone(&node.graph)))
}

c_interface! {
    /// Makes an empty graph.
    fn cuGraphCreate(out: Out<Handle>, flags: c_uint) {
        out.check()?;
        if flags != 0 {
            return Err(invalid());
        }
        out.set(adopt(Arc::new(Graph::default())))
    }

    /// Destroys a graph. What was instantiated from it stays.
    fn cuGraphDestroy(handle: Handle) {
        let graph = GRAPHS.remove(handle).ok_or(CUresult::ERROR_INVALID_VALUE)?;
        for (_, node) in lock(&graph.nodes).drain() {
            NODES.remove(node);
        }
        Ok(())
    }

    /// A graph with the same nodes.
    fn cuGraphClone(out: Out<Handle>, of: Handle) {
        out.check()?;
        out.set(adopt(Arc::new(graph(of)?.core.copy())))
    }

    /// Adds a kernel.
    fn cuGraphAddKernelNode(out: Out<Handle>, to: Handle, depends: In<Handle>, count: usize, params: In<[u64; 7]>) {
        add(out, to, depends, count, kernel_v1(params)?)
    }

    /// Adds a kernel.
    fn cuGraphAddKernelNode_v2(
        out: Out<Handle>,
        to: Handle,
        depends: In<Handle>,
        count: usize,
        params: In<KernelNodeParams>,
    ) {
        add(out, to, depends, count, kernel_v2(params)?)
    }

    /// Adds a copy.
    fn cuGraphAddMemcpyNode(
        out: Out<Handle>,
        to: Handle,
        depends: In<Handle>,
        count: usize,
        params: In<Memcpy3D>,
        context: Handle,
    ) {
        let _ = context;
        add(out, to, depends, count, memcpy(params)?)
    }

    /// Adds a fill.
    fn cuGraphAddMemsetNode(
        out: Out<Handle>,
        to: Handle,
        depends: In<Handle>,
        count: usize,
        params: In<MemsetNodeParams>,
        context: Handle,
    ) {
        let _ = context;
        add(out, to, depends, count, memset(params)?)
    }

    /// Adds a function of the host.
    fn cuGraphAddHostNode(
        out: Out<Handle>,
        to: Handle,
        depends: In<Handle>,
        count: usize,
        params: In<HostNodeParams>,
    ) {
        add(out, to, depends, count, host(params)?)
    }

    /// Adds nothing but its dependencies.
    fn cuGraphAddEmptyNode(out: Out<Handle>, to: Handle, depends: In<Handle>, count: usize) {
        add(out, to, depends, count, Op::Nothing)
    }

    /// Adds a graph as it is now.
    fn cuGraphAddChildGraphNode(out: Out<Handle>, to: Handle, depends: In<Handle>, count: usize, child: Handle) {
        let child = Arc::new(graph(child)?.core.instantiate()?);
        add(out, to, depends, count, Op::Graph(child))
    }

    /// Adds that an event happens.
    fn cuGraphAddEventRecordNode(out: Out<Handle>, to: Handle, depends: In<Handle>, count: usize, of: Handle) {
        add(out, to, depends, count, Op::Record(event(of)?))
    }

    /// Adds that an event is waited for.
    fn cuGraphAddEventWaitNode(out: Out<Handle>, to: Handle, depends: In<Handle>, count: usize, of: Handle) {
        add(out, to, depends, count, Op::Wait(event(of)?))
    }

    /// Lets nodes depend on others.
    fn cuGraphAddDependencies(to: Handle, from: In<Handle>, onto: In<Handle>, count: usize) {
        let graph = graph(to)?;
        let pairs = indices(from, count)?.into_iter().zip(indices(onto, count)?);
        for (from, onto) in pairs {
            graph.core.add_dependency(from, onto)?;
        }
        Ok(())
    }

    /// The same; edges have no data.
    fn cuGraphAddDependencies_v2(
        to: Handle,
        from: In<Handle>,
        onto: In<Handle>,
        edges: *const c_void,
        count: usize,
    ) {
        let _ = edges;
        let graph = graph(to)?;
        let pairs = indices(from, count)?.into_iter().zip(indices(onto, count)?);
        for (from, onto) in pairs {
            graph.core.add_dependency(from, onto)?;
        }
        Ok(())
    }

    /// Takes a node out.
    fn cuGraphDestroyNode(handle: Handle) {
        let node = node(handle)?;
        node.graph.remove(node.index)?;
        NODES.remove(handle);
        Ok(())
    }

    /// The nodes of a graph.
    fn cuGraphGetNodes(of: Handle, out: Out<Handle>, count: Out<usize>) {
        let graph = graph(of)?;
        let nodes: Vec<_> = graph.core.nodes().into_iter().map(|(index, _)| index).collect();
        list(&graph, &nodes, out, count)
    }

    /// The nodes of a graph that depend on none.
    fn cuGraphGetRootNodes(of: Handle, out: Out<Handle>, count: Out<usize>) {
        let graph = graph(of)?;
        let roots = graph.core.nodes().into_iter().filter(|(_, node)| node.depends.is_empty());
        let roots: Vec<_> = roots.map(|(index, _)| index).collect();
        list(&graph, &roots, out, count)
    }

    /// What depends on what in a graph.
    fn cuGraphGetEdges(of: Handle, from: Out<Handle>, to: Out<Handle>, count: Out<usize>) {
        edges(of, from, to, count)
    }

    /// The same; edges have no data.
    fn cuGraphGetEdges_v2(of: Handle, from: Out<Handle>, to: Out<Handle>, data: Out<u64>, count: Out<usize>) {
        edges(of, from, to, count)?;
        if data.is_null() || from.is_null() || to.is_null() {
            return Ok(());
        }
        data.set_all(std::iter::repeat_n(0, count.get()?))
    }

    /// What a node depends on.
    fn cuGraphNodeGetDependencies(handle: Handle, out: Out<Handle>, count: Out<usize>) {
        let node = node(handle)?;
        let graph = graph_of(&node)?;
        let depends = graph.core.nodes().into_iter().find(|(index, _)| *index == node.index);
        list(&graph, &depends.map(|(_, node)| node.depends).unwrap_or_default(), out, count)
    }

    /// What depends on a node.
    fn cuGraphNodeGetDependentNodes(handle: Handle, out: Out<Handle>, count: Out<usize>) {
        let node = node(handle)?;
        let graph = graph_of(&node)?;
        let dependent = graph.core.nodes().into_iter().filter(|(_, other)| other.depends.contains(&node.index));
        let dependent: Vec<_> = dependent.map(|(index, _)| index).collect();
        list(&graph, &dependent, out, count)
    }

    /// What a node does.
    fn cuGraphNodeGetType(handle: Handle, out: Out<c_uint>) {
        let node = node(handle)?;
        let found = node.graph.nodes().into_iter().find(|(index, _)| *index == node.index);
        let (_, found) = found.ok_or(CUresult::ERROR_INVALID_VALUE)?;
        out.set(kind(&found.op))
    }

    /// Changes a kernel of a graph.
    fn cuGraphKernelNodeSetParams_v2(handle: Handle, params: In<KernelNodeParams>) {
        let node = node(handle)?;
        Ok(node.graph.replace(node.index, kernel_v2(params)?)?)
    }

    /// Makes a graph ready to run.
    fn cuGraphInstantiate(out: Out<Handle>, of: Handle, flags: u64) as cuGraphInstantiateWithFlags {
        instantiate(out, of, flags)
    }

    /// The same, with a log of what is wrong.
    fn cuGraphInstantiate_v2(out: Out<Handle>, of: Handle, node: Out<Handle>, log: Buffer, room: usize) {
        node.set_if_wanted(0);
        let result = instantiate(out, of, 0);
        if room > 0
            && let Err(failure) = &result
        {
            // A log that C does not want is null.
            let _ = log.write(room, &status::describe(failure));
        }
        result
    }

    /// The same, with parameters.
    fn cuGraphInstantiateWithParams(out: Out<Handle>, of: Handle, params: Out<GraphInstantiateParams>) {
        let mut asked = params.get()?;
        let result = instantiate(out, of, asked.flags);
        asked.err_node_out = 0;
        asked.result_out = u32::from(result.is_err());
        params.set(asked)?;
        result
    }

    /// Launches a graph. Its nodes run one after the other.
    fn cuGraphLaunch(handle: Handle, on: Handle) {
        let (exec, stream) = (exec(handle)?, stream(on)?);
        Ok(stream.core.submit(&stream.context.core, Op::Graph(exec)).map(drop)?)
    }

    /// Uploads a graph: there is nothing to do ahead.
    fn cuGraphUpload(handle: Handle, on: Handle) {
        exec(handle)?;
        stream(on)?.context.core.check().map_err(Into::into)
    }

    /// Destroys what was instantiated; a launch under way ends as it would have.
    fn cuGraphExecDestroy(handle: Handle) {
        EXECS.remove(handle).map(drop).ok_or_else(invalid)
    }

    /// Changes a kernel of what was instantiated.
    fn cuGraphExecKernelNodeSetParams(handle: Handle, of: Handle, params: In<[u64; 7]>) {
        Ok(exec(handle)?.replace(node(of)?.index, kernel_v1(params)?)?)
    }

    /// Changes a kernel of what was instantiated.
    fn cuGraphExecKernelNodeSetParams_v2(handle: Handle, of: Handle, params: In<KernelNodeParams>) {
        Ok(exec(handle)?.replace(node(of)?.index, kernel_v2(params)?)?)
    }

    /// Changes a copy of what was instantiated.
    fn cuGraphExecMemcpyNodeSetParams(handle: Handle, of: Handle, params: In<Memcpy3D>, context: Handle) {
        let _ = context;
        Ok(exec(handle)?.replace(node(of)?.index, memcpy(params)?)?)
    }

    /// Changes a fill of what was instantiated.
    fn cuGraphExecMemsetNodeSetParams(handle: Handle, of: Handle, params: In<MemsetNodeParams>, context: Handle) {
        let _ = context;
        Ok(exec(handle)?.replace(node(of)?.index, memset(params)?)?)
    }

    /// Changes a function of the host of what was instantiated.
    fn cuGraphExecHostNodeSetParams(handle: Handle, of: Handle, params: In<HostNodeParams>) {
        Ok(exec(handle)?.replace(node(of)?.index, host(params)?)?)
    }

    /// Takes over all parameters of a graph of the same shape.
    fn cuGraphExecUpdate_v2(handle: Handle, from: Handle, info: Out<GraphExecUpdateResultInfo>) {
        live()?;
        let updated = exec(handle)?.update(&graph(from)?.core);
        // The second result is a change of shape.
        let result = if updated.is_ok() { 0 } else { 2 };
        info.set_if_wanted(GraphExecUpdateResultInfo { result, error_node: 0, error_from_node: 0 });
        updated.map_err(|_| CUresult::ERROR_GRAPH_EXEC_UPDATE_FAILURE.into())
    }
}
