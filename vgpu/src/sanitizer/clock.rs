//! Vector clocks.

/// For each agent, the time up to which its actions are known to have happened. Times start at 1, so that 0 is "nothing".
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct VectorClock(Vec<u32>);

impl VectorClock {
    /// A clock that knows nothing of `agents` agents.
    pub fn new(agents: usize) -> Self {
        Self(vec![0; agents])
    }

    /// The initial clock of one of `agents` agents: it knows of its own first instant.
    pub fn of_agent(agents: usize, agent: u16) -> Self {
        let mut clock = Self::new(agents);
        clock.0[agent as usize] = 1;
        clock
    }

    /// The time known of an agent.
    #[inline]
    pub fn get(&self, agent: u16) -> u32 {
        self.0.get(agent as usize).copied().unwrap_or(0)
    }

    /// Goes on to the agent's next instant: what it does from now on is not covered by copies made before.
    pub fn tick(&mut self, agent: u16) {
        self.0[agent as usize] += 1;
    }

    /// Learns what an agent did up to a time.
    pub fn advance(&mut self, agent: u16, time: u32) {
        let known = &mut self.0[agent as usize];
        *known = (*known).max(time);
    }

    /// Learns all that another clock knows.
    pub fn join(&mut self, other: &Self) {
        if self.0.len() < other.0.len() {
            self.0.resize(other.0.len(), 0);
        }
        for (mine, theirs) in self.0.iter_mut().zip(&other.0) {
            *mine = (*mine).max(*theirs);
        }
    }

    /// Whether it knows all that another clock knows.
    pub fn covers(&self, other: &Self) -> bool {
        other.0.iter().enumerate().all(|(agent, &time)| time <= self.get(agent as u16))
    }

    /// Agents in the clock.
    pub fn agents(&self) -> usize {
        self.0.len()
    }
}
