//! Whether the load threads of each step gather answers (see [`super::batching`]).
//!
//! Gathering saves wake-ups. It pays where the CPUs are busy, because a wake-up then takes a CPU from a server thread. Where CPUs are
//! idle, a wake-up costs nobody anything, and gathering would only delay answers. Each step decides once, by how idle the CPUs were in
//! the second half of its warm-up, and does not change the decision while it is measured: results that are compared, within a run or
//! between runs, must not differ because the driver changed its behaviour. A step without a warm-up decides by its first second.
//! Nothing is gathered before the decision, so that every step decides under the same conditions.
//!
//! A rule that is evaluated repeatedly would need hysteresis, so as not to switch back and forth near its threshold. A rule that is
//! evaluated once cannot do so: the decision does not change within a step, nor between the trials of a study, because the study
//! gives the decision of its first trial to all others (`--gather`). If the load threads of a step have fewer than [`GATHERED`]
//! connections each, gathering is off whatever `--gather` says, and the output reports it as off.

use super::clock::SECOND;
use super::cpus::Idle;
use super::dealing::Dealing;
use super::schedule::Timetable;
use crate::run::{Gather, Phase, Purpose};
use std::sync::atomic::{AtomicU8, Ordering};
use std::time::Duration;

/// The smallest number of connections per load thread with which answers are gathered. With fewer, gathering saves nothing that the
/// scheduling policy ([`super::scheduling`]) does not already save, and delays answers (benchmarks/README.md).
const GATHERED: usize = 32;
/// The CPUs count as busy if less than this share of their time is idle.
const BUSY_BELOW: f64 = 0.4;
/// How long before its span ends a decision is taken, in nanoseconds, so that it is in effect when the measured seconds begin.
const LEAD: u64 = SECOND / 20;

const UNDECIDED: u8 = 0;
const OFF: u8 = 1;
const ON: u8 = 2;

/// The decision for each phase of a run, which all load threads follow.
#[derive(Debug)]
pub struct Gathering {
    phases: Vec<Decision>,
}

#[derive(Debug)]
struct Decision {
    state: AtomicU8,
    /// The time from which the decision is in effect, in nanoseconds since the load began.
    since: u64,
}

impl Gathering {
    /// Creates the decisions of a run. A phase is decided at once if the run sets `on` or `off`, if the phase has a rate (off), or if its
    /// load threads have few connections each (off). Otherwise [`Decider`] decides once it has measured how idle the CPUs are.
    #[must_use]
    pub fn of(phases: &[Phase], timetable: &Timetable, dealing: &Dealing) -> Self {
        let decision = |(place, phase): (usize, &Phase)| {
            let has_few = phase.connections < GATHERED * dealing.load_threads(place);
            let state = match phase.gather {
                _ if has_few || phase.rate.is_some() => OFF,
                Gather::Off => OFF,
                Gather::On => ON,
                Gather::Auto => UNDECIDED,
            };
            let is_measured_at_once =
                state == UNDECIDED && timetable.step_began(timetable.begin(place)) == timetable.begin(place);
            let since = if is_measured_at_once { timetable.begin(place) + SECOND } else { timetable.begin(place) };
            Decision { state: AtomicU8::new(state), since }
        };
        Self { phases: phases.iter().enumerate().map(decision).collect() }
    }

    /// Whether answers are gathered in a phase at present.
    #[must_use]
    pub fn is_on(&self, phase: usize) -> bool {
        self.phases.get(phase).is_some_and(|decision| decision.state.load(Ordering::Relaxed) == ON)
    }

    /// Whether answers were gathered in the second of a phase that began at `began`; None if that was not decided by then.
    #[must_use]
    pub fn in_force(&self, phase: usize, began: u64) -> Option<bool> {
        let decision = &self.phases[phase];
        match decision.state.load(Ordering::Relaxed) {
            UNDECIDED => None,
            _ if began < decision.since => None,
            state => Some(state == ON),
        }
    }

    fn decide(&self, phase: usize, on: bool) {
        self.phases[phase].state.store(if on { ON } else { OFF }, Ordering::Relaxed);
    }

    fn is_decided(&self, phase: usize) -> bool {
        self.phases[phase].state.load(Ordering::Relaxed) != UNDECIDED
    }
}

/// The time span whose idle time decides about a phase, in nanoseconds since the load began.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Span {
    from: u64,
    to: u64,
    phase: usize,
}

/// Decides for each step in order whether its load threads gather answers.
#[derive(Debug)]
pub struct Decider {
    /// The spans that have not ended, in reverse order: the next one is last.
    spans: Vec<Span>,
    has_begun: bool,
    idle: Idle,
}

impl Decider {
    /// Creates the decider for the measured phases that are not decided yet.
    #[must_use]
    pub fn of(phases: &[Phase], timetable: &Timetable, gathering: &Gathering) -> Self {
        let measured = phases.iter().enumerate().filter(|(_, phase)| phase.purpose == Purpose::Measure);
        let left = measured.filter(|(place, _)| !gathering.is_decided(*place));
        let mut spans: Vec<Span> = left.map(|(place, _)| span(place, timetable)).collect();
        spans.reverse();
        Self { spans, has_begun: false, idle: Idle::default() }
    }

    /// Does what is due at `now`. Returns the time until the next call is due; None if all is decided.
    pub fn advance(&mut self, now: u64, gathering: &Gathering) -> Option<Duration> {
        self.advance_by(now, gathering, Idle::share)
    }

    fn advance_by(
        &mut self,
        now: u64,
        gathering: &Gathering,
        mut share: impl FnMut(&mut Idle) -> Option<f64>,
    ) -> Option<Duration> {
        while let Some(span) = self.spans.last().copied() {
            if !self.has_begun && now > span.from {
                self.has_begun = true;
                share(&mut self.idle);
            }
            if now < span.to {
                let next = if self.has_begun { span.to } else { span.from + 1 };
                return Some(Duration::from_nanos(next.saturating_sub(now)));
            }
            // If the idle share cannot be read, nothing is gathered.
            gathering.decide(span.phase, share(&mut self.idle).is_some_and(|idle| idle < BUSY_BELOW));
            self.spans.pop();
            self.has_begun = false;
        }
        None
    }
}

/// When the CPUs are observed for a measured phase: in the second half of its warm-up, or in its first second if it has none.
fn span(phase: usize, timetable: &Timetable) -> Span {
    let begin = timetable.begin(phase);
    let warm_up = begin - timetable.step_began(begin);
    let (from, to) = if warm_up > 0 { (begin - warm_up.div_ceil(2), begin) } else { (begin, begin + SECOND) };
    Span { from, to: to - LEAD, phase }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::run::{Arrivals, Rate};

    fn phase(purpose: Purpose, step: usize, seconds: u64, gather: Gather) -> Phase {
        Phase { purpose, step, seconds: Some(seconds), connections: 40, rate: None, load_threads: None, gather }
    }

    fn step(step: usize, warm_up: u64, gather: Gather) -> Vec<Phase> {
        let mut phases = vec![phase(Purpose::Measure, step, 20, gather)];
        if warm_up > 0 {
            phases.insert(0, phase(Purpose::WarmUp, step, warm_up, gather));
        }
        phases
    }

    fn undecided(phases: &[Phase]) -> (Gathering, Decider) {
        let timetable = Timetable::of(phases);
        let gathering = Gathering::of(phases, &timetable, &Dealing::of(vec![1; phases.len()]));
        let decider = Decider::of(phases, &timetable, &gathering);
        (gathering, decider)
    }

    #[test]
    fn a_step_decides_once_at_the_end_of_its_warm_up_and_keeps_to_it() {
        for (idle, on) in [(0.0, true), (0.39, true), (0.41, false), (1.0, false)] {
            let (gathering, mut decider) = undecided(&step(1, 10, Gather::Auto));
            for now in 0..10 {
                decider.advance_by(now * SECOND, &gathering, |_| Some(idle));
                assert!(!gathering.is_on(0) && !gathering.is_on(1), "{now}");
                assert_eq!(gathering.in_force(0, now * SECOND), None);
            }
            for (now, later) in (10..30).zip([idle, 1.0 - idle, 0.0, 1.0].into_iter().cycle()) {
                decider.advance_by(now * SECOND, &gathering, |_| Some(later));
                assert_eq!((gathering.is_on(1), gathering.in_force(1, now * SECOND)), (on, Some(on)), "{now} {idle}");
            }
        }
    }

    #[test]
    fn the_second_half_of_the_warm_up_counts_and_else_the_first_second() {
        let spans = |warm_up| undecided(&step(1, warm_up, Gather::Auto)).1.spans;
        let expected = |from, to, phase| [Span { from, to: to - LEAD, phase }];
        assert_eq!(spans(0), expected(0, SECOND, 0));
        assert_eq!(spans(1), expected(SECOND / 2, SECOND, 1));
        assert_eq!(spans(10), expected(5 * SECOND, 10 * SECOND, 1));
    }

    #[test]
    fn a_decision_counts_the_idle_time_of_its_own_span_alone() {
        let (gathering, mut decider) = undecided(&step(1, 10, Gather::Auto));
        let mut asked_at = Vec::new();
        for now in 0..200 {
            decider.advance_by(now * SECOND / 10, &gathering, |_| {
                asked_at.push(now);
                Some(0.0)
            });
        }
        assert_eq!(asked_at, [51, 100]);
    }

    #[test]
    fn each_step_decides_for_itself() {
        let phases = [step(1, 0, Gather::Auto), step(2, 2, Gather::Auto), step(3, 2, Gather::On)].concat();
        let (gathering, mut decider) = undecided(&phases);
        for now in 0..60 {
            let idle = if now < 20 { 0.9 } else { 0.1 };
            decider.advance_by(now * SECOND, &gathering, |_| Some(idle));
        }
        assert_eq!([0, 1, 2, 3, 4].map(|phase| gathering.is_on(phase)), [false, false, true, true, true]);
        let in_force = [0, 1, 19, 20, 22, 42, 44].map(|now| {
            let place = Timetable::of(&phases).at(now * SECOND).unwrap();
            gathering.in_force(place, now * SECOND)
        });
        assert_eq!(in_force, [None, Some(false), Some(false), None, Some(true), Some(true), Some(true)]);
    }

    #[test]
    fn what_is_asked_for_and_a_rate_need_no_decision() {
        let rated = |mut phases: Vec<Phase>, gather| {
            for phase in &mut phases {
                phase.rate = Some(Rate { per_second: 1.0, arrivals: Arrivals::Constant });
                phase.gather = gather;
            }
            phases
        };
        for (phases, on) in [
            (step(1, 0, Gather::On), true),
            (step(1, 0, Gather::Off), false),
            (rated(step(1, 0, Gather::Auto), Gather::Auto), false),
            (rated(step(1, 0, Gather::Auto), Gather::On), false),
        ] {
            let (gathering, mut decider) = undecided(&phases);
            assert_eq!((gathering.in_force(0, 0), gathering.is_on(0)), (Some(on), on));
            assert_eq!(decider.advance_by(0, &gathering, |_| panic!("nothing is to be decided")), None);
        }
    }

    #[test]
    fn load_threads_that_have_few_connections_gather_nothing_and_say_so() {
        let in_force = |connections, load_threads, gather| {
            let phases = [Phase { connections, ..step(1, 0, gather).remove(0) }];
            Gathering::of(&phases, &Timetable::of(&phases), &Dealing::of(vec![load_threads])).in_force(0, SECOND)
        };
        assert_eq!([511, 512].map(|connections| in_force(connections, 16, Gather::On)), [Some(false), Some(true)]);
        assert_eq!([511, 512].map(|connections| in_force(connections, 16, Gather::Auto)), [Some(false), None]);
        assert_eq!(in_force(4, 1, Gather::On), Some(false));
    }

    #[test]
    fn nothing_is_gathered_where_idle_time_is_not_known() {
        let (gathering, mut decider) = undecided(&step(1, 0, Gather::Auto));
        decider.advance_by(SECOND, &gathering, |_| None);
        assert_eq!(gathering.in_force(0, SECOND), Some(false));
    }

    #[test]
    fn advance_returns_the_time_until_it_is_due_again() {
        let (gathering, mut decider) = undecided(&step(1, 10, Gather::Auto));
        let mut advance = |now| decider.advance_by(now, &gathering, |_| Some(0.0));
        assert_eq!(advance(0), Some(Duration::from_nanos(5 * SECOND + 1)));
        assert_eq!(advance(6 * SECOND), Some(Duration::from_nanos(4 * SECOND - LEAD)));
        assert_eq!(advance(10 * SECOND), None);
    }
}
