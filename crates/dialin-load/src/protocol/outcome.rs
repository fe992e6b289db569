//! What a client asks for, and what comes of it.

/// What the server was asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Expect {
    /// The results of SQL sent as text.
    Text,
    /// The results of a prepared statement.
    Binary,
    /// A prepared statement.
    Prepare,
}

/// What client and server agreed on that decides how results look.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Dialect {
    /// Definitions end without a packet for it, and rows end with an OK packet.
    pub deprecate_eof: bool,
    /// A prepared statement's definitions are left out once they are known (MariaDB).
    pub cached_metadata: bool,
}

/// How a command ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// Without rows.
    Ok {
        /// Rows that were changed.
        affected: u64,
        /// The first value that AUTO_INCREMENT gave.
        insert_id: u64,
        /// The server's status flags.
        status: u16,
        /// How many warnings there are.
        warnings: u16,
    },
    /// Not at all. Rows may have come before.
    Error {
        /// The server's code.
        code: u16,
        /// The SQL state.
        state: [u8; 5],
        /// What the server says.
        message: String,
    },
    /// With rows, of all results together.
    Rows {
        /// How many.
        count: u64,
        /// The server's status flags.
        status: u16,
    },
    /// The statement is prepared.
    Prepared {
        /// Its number on this connection.
        id: u32,
        /// How many parameters it has.
        parameters: u16,
        /// How many columns its result has; 0 if it has none.
        columns: u16,
    },
}

/// What came of some bytes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Feed {
    /// How many of them belong to the response: all, unless it ends before.
    pub consumed: usize,
    /// How it ended, if it did.
    pub done: Option<Outcome>,
}
