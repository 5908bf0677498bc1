//! Graphs: made node by node or by capture, instantiated, and launched.

use crate::abi::{Handle, HostNodeParams, KernelNodeParams, MemsetParams};
use crate::api::launch::prepare;
use crate::api::transfer::linear;
use crate::entry::{Buffer, In, Out, c_interface};
use crate::state::{EXECS, GRAPHS, HipNode, NODES, graph, live, stream};
use crate::status::{self, Failure, Outcome, hipError_t};
use std::ffi::c_uint;
use std::sync::Arc;
use tegula_vgpu_driver::copy::Fill;
use tegula_vgpu_driver::ffi::host_function;
use tegula_vgpu_driver::graph::{Exec, Graph};
use tegula_vgpu_driver::launch::Config;
use tegula_vgpu_driver::op::Op;

fn invalid() -> Failure {
    hipError_t::INVALID_VALUE.into()
}

fn node(handle: Handle) -> Outcome<Arc<HipNode>> {
    NODES.get(handle).ok_or_else(invalid)
}

fn node_handle(graph: &Arc<Graph>, index: usize) -> Handle {
    let found = NODES.find_by(|node| Arc::ptr_eq(&node.graph, graph) && node.index == index);
    found.unwrap_or_else(|| NODES.insert(Arc::new(HipNode { graph: Arc::clone(graph), index })))
}

fn indices(of: &Arc<Graph>, nodes: In<Handle>, count: usize) -> Outcome<Vec<usize>> {
    let index = |handle| {
        let node = node(handle)?;
        if Arc::ptr_eq(&node.graph, of) { Ok(node.index) } else { Err(invalid()) }
    };
    nodes.values(count)?.into_iter().map(index).collect()
}

fn add(out: Out<Handle>, to: Handle, depends: In<Handle>, count: usize, op: Op) -> Outcome {
    out.check()?;
    let graph = graph(to)?;
    let index = graph.add(op, &indices(&graph, depends, count)?)?;
    out.set(node_handle(&graph, index))
}

fn kernel(params: In<KernelNodeParams>) -> Outcome<Op> {
    let params = params.get()?;
    let config = Config::new(params.grid, params.block, params.shared_mem_bytes);
    prepare(params.func, config, params.kernel_params, params.extra)
}

fn exec(handle: Handle) -> Outcome<Arc<Exec>> {
    EXECS.get(handle).ok_or_else(invalid)
}

fn instantiate(out: Out<Handle>, of: Handle) -> Outcome {
    out.check()?;
    out.set(EXECS.insert(Arc::new(graph(of)?.instantiate()?)))
}

c_interface! {
    /// Makes an empty graph.
    fn hipGraphCreate(out: Out<Handle>, flags: c_uint) {
        out.check()?;
        if flags != 0 {
            return Err(invalid());
        }
        out.set(GRAPHS.insert(Arc::new(Graph::default())))
    }

    /// Destroys a graph. What was instantiated from it stays.
    fn hipGraphDestroy(handle: Handle) {
        let graph = GRAPHS.remove(handle).ok_or_else(invalid)?;
        NODES.retain(|node| !Arc::ptr_eq(&node.graph, &graph));
        Ok(())
    }

    /// A graph with the same nodes.
    fn hipGraphClone(out: Out<Handle>, of: Handle) {
        out.check()?;
        out.set(GRAPHS.insert(Arc::new(graph(of)?.copy())))
    }

    /// Adds a kernel.
    fn hipGraphAddKernelNode(
        out: Out<Handle>,
        to: Handle,
        depends: In<Handle>,
        count: usize,
        params: In<KernelNodeParams>,
    ) {
        add(out, to, depends, count, kernel(params)?)
    }

    /// Adds a copy.
    fn hipGraphAddMemcpyNode1D(
        out: Out<Handle>,
        to: Handle,
        depends: In<Handle>,
        count: usize,
        target: u64,
        source: u64,
        bytes: usize,
        kind: c_uint,
    ) {
        let copy = linear(target, source, bytes, kind)?;
        copy.check(&live()?.devices)?;
        add(out, to, depends, count, Op::Copy(copy))
    }

    /// Adds a fill.
    fn hipGraphAddMemsetNode(
        out: Out<Handle>,
        to: Handle,
        depends: In<Handle>,
        count: usize,
        params: In<MemsetParams>,
    ) {
        let params = params.get()?;
        let fill = Fill {
            address: params.dst,
            pitch: params.pitch,
            value: params.value,
            element: params.element_size as usize,
            width: params.width,
            height: params.height,
        };
        fill.check(&live()?.devices)?;
        add(out, to, depends, count, Op::Fill(fill))
    }

    /// Adds a function of the host.
    fn hipGraphAddHostNode(
        out: Out<Handle>,
        to: Handle,
        depends: In<Handle>,
        count: usize,
        params: In<HostNodeParams>,
    ) {
        let params = params.get()?;
        add(out, to, depends, count, Op::Host(host_function(params.func, params.user_data)?))
    }

    /// Adds nothing but its dependencies.
    fn hipGraphAddEmptyNode(out: Out<Handle>, to: Handle, depends: In<Handle>, count: usize) {
        add(out, to, depends, count, Op::Nothing)
    }

    /// Lets nodes depend on others.
    fn hipGraphAddDependencies(to: Handle, from: In<Handle>, onto: In<Handle>, count: usize) {
        let graph = graph(to)?;
        for (from, onto) in indices(&graph, from, count)?.into_iter().zip(indices(&graph, onto, count)?) {
            graph.add_dependency(from, onto)?;
        }
        Ok(())
    }

    /// The nodes of a graph.
    fn hipGraphGetNodes(of: Handle, out: Out<Handle>, count: Out<usize>) {
        let graph = graph(of)?;
        let nodes = graph.nodes();
        if out.is_null() {
            return count.set(nodes.len());
        }
        let room = count.get()?.min(nodes.len());
        out.set_all(nodes[..room].iter().map(|&(index, _)| node_handle(&graph, index)))?;
        count.set(room)
    }

    /// Makes a graph ready to run.
    fn hipGraphInstantiate(out: Out<Handle>, of: Handle, node: Out<Handle>, log: Buffer, room: usize) {
        node.set_if_wanted(0);
        let result = instantiate(out, of);
        if room > 0
            && let Err(failure) = &result
        {
            // A log that C does not want is null.
            let _ = log.write(room, &status::describe(failure));
        }
        result
    }

    /// Makes a graph ready to run. The flags are hints.
    fn hipGraphInstantiateWithFlags(out: Out<Handle>, of: Handle, flags: u64) {
        let _ = flags;
        instantiate(out, of)
    }

    /// Launches a graph. Its nodes run one after the other.
    fn hipGraphLaunch(handle: Handle, on: Handle) {
        let (exec, stream) = (exec(handle)?, stream(on)?);
        Ok(stream.core.submit(&stream.context, Op::Graph(exec)).map(drop)?)
    }

    /// Uploads a graph: there is nothing to do ahead.
    fn hipGraphUpload(handle: Handle, on: Handle) {
        exec(handle)?;
        Ok(stream(on)?.context.check()?)
    }

    /// Destroys what was instantiated; a launch under way ends as it would have.
    fn hipGraphExecDestroy(handle: Handle) {
        EXECS.remove(handle).map(drop).ok_or_else(invalid)
    }

    /// Changes a kernel of what was instantiated.
    fn hipGraphExecKernelNodeSetParams(handle: Handle, of: Handle, params: In<KernelNodeParams>) {
        Ok(exec(handle)?.replace(node(of)?.index, kernel(params)?)?)
    }

    /// Takes over all parameters of a graph of the same shape.
    fn hipGraphExecUpdate(handle: Handle, from: Handle, node: Out<Handle>, result: Out<c_uint>) {
        const TOPOLOGY_CHANGED: c_uint = 2;
        node.set_if_wanted(0);
        let updated = exec(handle)?.update(&*graph(from)?);
        result.set_if_wanted(if updated.is_ok() { 0 } else { TOPOLOGY_CHANGED });
        updated.map_err(|_| hipError_t::GRAPH_EXEC_UPDATE_FAILURE.into())
    }

}
