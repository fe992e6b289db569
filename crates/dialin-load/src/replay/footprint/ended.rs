//! The footprints of the transactions that ended last, with which a new one is compared.

use super::Footprint;
use crate::replay::accesses::{Access, Does};
use foldhash::{HashMap, HashSet};
use std::collections::VecDeque;
use std::ops::Range;

/// How many transactions are remembered. A transaction is compared with them when all of its statements are known.
pub const MAX_TRANSACTIONS: u64 = 512;

/// The footprints of the transactions that ended last, by table.
#[derive(Debug, Default)]
pub struct EndedFootprints {
    /// The numbers of these transactions, in the order of their ends.
    transactions: VecDeque<u64>,
    /// How many transactions ended before them.
    before: u64,
    /// Which of them may have touched anything. They, and the accesses below, are identified by how many transactions ended before.
    unknown: VecDeque<u64>,
    tables: HashMap<u64, Accesses>,
}

/// The accesses to one table.
#[derive(Debug, Default)]
struct Accesses {
    reads: VecDeque<(u64, Access)>,
    updates: VecDeque<(u64, Access)>,
    other_writes: VecDeque<(u64, Access)>,
    /// The columns on which the number of rows of a read has depended so far, and whether some read may have depended on any column.
    counted: HashSet<u64>,
    is_any_counted: bool,
    /// The columns that an UPDATE has changed so far.
    updated: HashSet<u64>,
}

impl Accesses {
    fn add(&mut self, place: u64, access: Access, oldest: u64) {
        let accesses = match &access.does {
            Does::Read(counted) => {
                self.is_any_counted |= counted.is_none();
                self.counted.extend(counted.iter().flat_map(|columns| columns.iter()));
                &mut self.reads
            }
            Does::Update(columns) => {
                self.updated.extend(columns.iter());
                &mut self.updates
            }
            Does::Use | Does::Insert(_) | Does::Delete => &mut self.other_writes,
        };
        while accesses.front().is_some_and(|(place, _)| *place < oldest) {
            accesses.pop_front();
        }
        accesses.push_back((place, access));
    }

    /// The accesses that another one may meet. Most reads and updates do not meet, which their columns show.
    fn that_may_meet(&self, does: &Does) -> impl Iterator<Item = &VecDeque<(u64, Access)>> {
        let (meets_reads, meets_updates) = match does {
            Does::Read(None) => (false, true),
            Does::Read(Some(counted)) => (false, counted.iter().any(|column| self.updated.contains(column))),
            Does::Update(changed) => (self.is_any_counted || changed.iter().any(|column| self.counted.contains(column)), true),
            Does::Use => (false, true),
            Does::Insert(_) | Does::Delete => (true, true),
        };
        [Some(&self.other_writes), meets_updates.then_some(&self.updates), meets_reads.then_some(&self.reads)]
            .into_iter()
            .flatten()
    }
}

impl EndedFootprints {
    /// Add the transaction that ended next.
    pub fn add(&mut self, transaction: u64, footprint: Footprint) {
        if self.transactions.len() as u64 == MAX_TRANSACTIONS {
            self.transactions.pop_front();
            self.before += 1;
        }
        let (oldest, place) = (self.before, self.before + self.transactions.len() as u64);
        self.transactions.push_back(transaction);
        for access in footprint.reads.into_iter().chain(footprint.writes) {
            self.tables.entry(access.table).or_default().add(place, access, oldest);
        }
        if footprint.is_unknown {
            self.unknown.push_back(place);
        }
        while self.unknown.front().is_some_and(|place| *place < oldest) {
            self.unknown.pop_front();
        }
    }

    /// How many transactions ended before the oldest one that is remembered.
    #[must_use]
    pub fn oldest(&self) -> u64 {
        self.before
    }

    /// Which transactions must run before another one, because one may write what the other reads or writes. `part` is the part of
    /// the order of ends that is searched; it does not begin before [`Self::oldest`].
    #[must_use]
    pub fn meeting(&self, footprint: &Footprint, part: Range<u64>) -> Box<[u64]> {
        let mut places: Vec<u64> = self.unknown.iter().copied().filter(|place| part.contains(place)).collect();
        for access in footprint.reads.iter().chain(&footprint.writes) {
            let of_table = self.tables.get(&access.table);
            for others in of_table.iter().flat_map(|accesses| accesses.that_may_meet(&access.does)) {
                let begin = others.partition_point(|(place, _)| *place < part.start);
                let others = others.range(begin..).take_while(|(place, _)| *place < part.end);
                places.extend(others.filter(|(_, other)| access.meets(other)).map(|(place, _)| *place));
            }
        }
        places.sort_unstable();
        places.dedup();
        let number = |place: u64| self.transactions.get(usize::try_from(place - self.before).ok()?).copied();
        places.into_iter().filter_map(number).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::capture::digest::Digester;
    use crate::replay::accesses::TouchedTables;

    fn accesses(sql: &str) -> Option<Vec<Access>> {
        TouchedTables::of(Digester::default().digest(sql.as_bytes()).0).accesses(sql.as_bytes(), None)
    }

    fn footprint(sql: &str) -> Footprint {
        let mut footprint = Footprint::default();
        footprint.add(accesses(sql), None);
        footprint
    }

    fn ended(statements: &[&str]) -> EndedFootprints {
        let mut ended = EndedFootprints::default();
        (100..).zip(statements).for_each(|(number, sql)| ended.add(number, footprint(sql)));
        ended
    }

    #[test]
    fn those_that_meet_are_found_in_their_order_each_once_and_in_the_part_only() {
        let ended = ended(&[
            "delete from t",
            "select a from t, u",
            "delete from u",
            "call anything()",
            "select b from u",
            "delete from t",
        ]);
        let mut both = footprint("delete from t");
        assert_eq!(ended.meeting(&both, 0..6)[..], [100, 101, 103, 105]);
        assert_eq!(ended.meeting(&both, 1..5)[..], [101, 103]);
        both.add(accesses("delete from u"), None);
        assert_eq!(ended.meeting(&both, 0..6)[..], [100, 101, 102, 103, 104, 105]);
        assert_eq!(ended.meeting(&footprint("select a from u"), 0..6)[..], [102, 103]);
        assert!(ended.meeting(&footprint("delete from v"), 4..6).is_empty());
    }

    #[test]
    fn what_is_old_is_forgotten() {
        let mut ended = ended(&["call anything()", "delete from u"]);
        (0..MAX_TRANSACTIONS).for_each(|number| ended.add(number, footprint("delete from t")));
        assert_eq!((ended.oldest(), ended.tables.len()), (2, 2));
        ended.add(9_000, footprint("delete from u"));
        let memory = |name: &str| ended.tables[&footprint(name).writes[0].table].other_writes.len();
        assert_eq!((memory("delete from t"), memory("delete from u"), ended.unknown.len()), (512, 1, 0));
        assert_eq!(ended.meeting(&footprint("delete from u"), 3..1_000)[..], [9_000]);
    }
}
