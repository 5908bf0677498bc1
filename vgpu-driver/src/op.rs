//! What a stream does: one operation after the other, each of which can as well be a node of a graph.

use crate::context::Context;
use crate::copy::{Copy, Fill};
use crate::error::Fault;
use crate::event::{Completion, Event, Recorded};
use crate::graph::Exec;
use crate::launch::Launch;
use std::sync::Arc;

/// A function of the program that a stream calls. It is told what lost the context, if something did.
pub type HostFunction = Arc<dyn Fn(Option<Fault>) + Send + Sync>;

/// An operation.
#[derive(Clone)]
pub enum Op {
    /// Nothing but what is waited for.
    Nothing,
    /// A copy.
    Copy(Copy),
    /// A fill.
    Fill(Fill),
    /// A kernel.
    Launch(Arc<Launch>),
    /// A function on the host.
    Host(HostFunction),
    /// Device memory is given back.
    Free(u64),
    /// Memory of a graph becomes usable.
    GraphAlloc(u64),
    /// Memory of a graph is not used any more.
    GraphFree(u64),
    /// An event happens, in a graph.
    Record(Arc<Event>),
    /// An event is waited for, in a graph.
    Wait(Arc<Event>),
    /// A graph.
    Graph(Arc<Exec>),
}

impl std::fmt::Debug for Op {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Nothing => write!(f, "Nothing"),
            Self::Copy(copy) => copy.fmt(f),
            Self::Fill(fill) => fill.fmt(f),
            Self::Launch(launch) => write!(f, "Launch({})", launch.kernel.name()),
            Self::Host(_) => write!(f, "Host"),
            Self::Free(address) => write!(f, "Free({address:#x})"),
            Self::GraphAlloc(address) => write!(f, "GraphAlloc({address:#x})"),
            Self::GraphFree(address) => write!(f, "GraphFree({address:#x})"),
            Self::Record(_) => write!(f, "Record"),
            Self::Wait(_) => write!(f, "Wait"),
            Self::Graph(_) => write!(f, "Graph"),
        }
    }
}

impl Op {
    /// Does it.
    pub(crate) fn execute(&self, context: &Context) -> Result<(), Fault> {
        match self {
            Self::Nothing | Self::GraphAlloc(_) | Self::GraphFree(_) => Ok(()),
            Self::Copy(copy) => copy.execute(&context.devices),
            Self::Fill(fill) => fill.execute(&context.devices),
            Self::Launch(launch) => launch.execute(&context.device),
            Self::Host(function) => {
                function(None);
                Ok(())
            }
            // Checked when it was asked for: what can go wrong is a second free of the same address meanwhile.
            Self::Free(address) => context.release(*address).map_err(|_| Fault::IllegalAddress),
            Self::Record(event) => {
                let completion = Arc::new(Completion::default());
                completion.finish();
                event.set(Recorded::Stream(completion));
                Ok(())
            }
            Self::Wait(event) => event.synchronize().map_err(|_| Fault::LaunchFailed),
            Self::Graph(exec) => exec.ops().iter().try_for_each(|op| op.execute(context)),
        }
    }
}
