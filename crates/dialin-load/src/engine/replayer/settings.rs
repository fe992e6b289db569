//! What the session of a replay has set. After its connection was lost, the new one is set likewise before its next statement.

use crate::replay::Step;

/// The statements that set variables of a session, and how many of them its connection has executed.
#[derive(Debug, Default)]
pub(super) struct Settings {
    /// The last statement of each digest, by the number of the digest.
    statements: Vec<(Option<usize>, Box<[u8]>)>,
    executed: usize,
}

impl Settings {
    /// Records a statement if it sets variables. It replaces the one before of the same digest, which set the same ones.
    pub(super) fn note(&mut self, step: &Step) {
        if step.sets {
            self.statements.retain(|(digest, _)| digest.is_none() || *digest != step.digest);
            self.statements.push((step.digest, step.sql.clone()));
        }
    }

    /// The next statement that the connection has to execute to have all settings.
    pub(super) fn missing(&self) -> Option<&[u8]> {
        self.statements.get(self.executed).map(|(_, sql)| &**sql)
    }

    /// The connection has executed [`missing`](Self::missing).
    pub(super) fn proceed(&mut self) {
        self.executed += 1;
    }

    /// The connection has all settings.
    pub(super) fn complete(&mut self) {
        self.executed = self.statements.len();
    }

    /// The connection has none of them, or it is unknown which.
    pub(super) fn restart(&mut self) {
        self.executed = 0;
    }
}
