//! The types of requests, and their outcomes.

/// The kind of response that a command has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Expect {
    /// The results of SQL sent as text.
    Text,
    /// The results of a prepared statement.
    Binary,
    /// A prepared statement.
    Prepare,
}

/// The agreed capabilities that determine the format of results.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Dialect {
    /// No packet marks the end of definitions, and an OK packet marks the end of rows.
    pub deprecate_eof: bool,
    /// Column definitions of a prepared statement are left out if they have not changed (MariaDB).
    pub cached_metadata: bool,
}

/// How a command ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// Successfully, without rows.
    Ok {
        /// The number of rows that were changed.
        affected: u64,
        /// The first number in the server's message: for an UPDATE, the rows that matched; for an INSERT of several rows, the rows
        /// that it has. None without a message.
        matched: Option<u64>,
        /// The first AUTO_INCREMENT value that was generated.
        insert_id: u64,
        /// The server's status flags.
        status: u16,
        /// The number of warnings.
        warnings: u16,
    },
    /// With an error. Rows may have been received before.
    Error {
        /// The error code.
        code: u16,
        /// The SQL state.
        state: [u8; 5],
        /// The error message.
        message: String,
    },
    /// Successfully, with rows.
    Rows {
        /// The number of rows of all results together.
        count: u64,
        /// The server's status flags.
        status: u16,
    },
    /// The statement is prepared.
    Prepared {
        /// The server's number for the statement on this connection.
        id: u32,
        /// The number of parameters.
        parameters: u16,
        /// The number of columns of its result; 0 if it returns no rows.
        columns: u16,
    },
}

/// The result of feeding bytes to a response.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Feed {
    /// How many of the bytes belong to the response: all, unless it ends before them.
    pub consumed: usize,
    /// The outcome, if the response is complete.
    pub done: Option<Outcome>,
}
