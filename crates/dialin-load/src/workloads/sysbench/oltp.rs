//! The plans of sysbench's oltp_ scripts.

use super::options::Options;
use super::rows::{C, PAD};
use super::{Script, plan_of};
use crate::errors::Result;
use crate::plan::{Execute, FIRST_FREE, Kind, NoRow, Op, Parameter, Plan, Register, Statement, Which};
use crate::random::{Distribution, Generator, Integers, Unique};

/// The slot with the number of the table that a group of statements uses, from 1.
const TABLE: Register = FIRST_FREE;
/// The slot with an id that several parameters use.
const ID: Register = FIRST_FREE + 1;

const POINT: &str = "SELECT c FROM {table} WHERE id=?";
const SIMPLE: &str = "SELECT c FROM {table} WHERE id BETWEEN ? AND ?";
const SUM: &str = "SELECT SUM(k) FROM {table} WHERE id BETWEEN ? AND ?";
const ORDER: &str = "SELECT c FROM {table} WHERE id BETWEEN ? AND ? ORDER BY c";
const DISTINCT: &str = "SELECT DISTINCT c FROM {table} WHERE id BETWEEN ? AND ? ORDER BY c";
const UPDATE_INDEX: &str = "UPDATE {table} SET k=k+1 WHERE id=?";
const UPDATE_NON_INDEX: &str = "UPDATE {table} SET c=? WHERE id=?";
const DELETE: &str = "DELETE FROM {table} WHERE id=?";
const INSERT: &str = "INSERT INTO {table} (id, k, c, pad) VALUES (?, ?, ?, ?)";
/// With an id of 0, the server assigns the next one.
const INSERT_NEXT: &str = "INSERT INTO {table} (id, k, c, pad) VALUES (0, ?, ?, ?)";

/// The transaction of the script.
pub(super) fn plan(script: Script, options: &Options) -> Result<Plan> {
    let mut builder = Builder::new(options)?;
    match script {
        Script::PointSelect => builder.point_selects(1),
        Script::UpdateIndex => builder.index_updates(),
        Script::UpdateNonIndex => builder.non_index_updates(),
        Script::Delete => builder.delete(),
        Script::Insert => builder.insert(),
        _ => {
            builder.outside("BEGIN");
            if script != Script::WriteOnly {
                builder.reads();
            }
            if script != Script::ReadOnly {
                builder.writes();
            }
            builder.outside("COMMIT");
        }
    }
    Ok(plan_of(script, builder.statements, builder.ops, ID + 1))
}

struct Builder<'o> {
    options: &'o Options,
    ids: Integers,
    tables: Integers,
    statements: Vec<Statement>,
    ops: Vec<Op>,
}

impl<'o> Builder<'o> {
    fn new(options: &'o Options) -> Result<Self> {
        let tables = Integers::new(1, options.tables, Distribution::Uniform)?;
        Ok(Self { options, ids: options.ids()?, tables, statements: vec![], ops: vec![] })
    }

    /// BEGIN or COMMIT, unless `skip-trx` is on.
    fn outside(&mut self, sql: &str) {
        if self.options.skip_trx {
            return;
        }
        let which = Which::One(self.statements.len());
        self.statements.push(Statement { sql: sql.into(), parameters: 0, kind: Kind::Other, text: false });
        self.execute(which, vec![]);
    }

    fn reads(&mut self) {
        self.point_selects(self.options.point_selects);
        if self.options.range_selects {
            self.ranges(SIMPLE, self.options.simple_ranges);
            self.ranges(SUM, self.options.sum_ranges);
            self.ranges(ORDER, self.options.order_ranges);
            self.ranges(DISTINCT, self.options.distinct_ranges);
        }
    }

    fn writes(&mut self) {
        self.index_updates();
        self.non_index_updates();
        self.delete_inserts();
    }

    fn point_selects(&mut self, times: i64) {
        self.draw_table();
        let select = self.of_each_table(POINT, Kind::Read);
        for _ in 0..times {
            self.execute(select, vec![self.id()]);
        }
    }

    fn ranges(&mut self, sql: &str, times: i64) {
        self.draw_table();
        let select = self.of_each_table(sql, Kind::Read);
        for _ in 0..times {
            self.draw_id();
            self.execute(select, vec![Parameter::Register(ID), Parameter::Plus(ID, self.options.range_size - 1)]);
        }
    }

    fn index_updates(&mut self) {
        self.draw_table();
        let update = self.of_each_table(UPDATE_INDEX, Kind::Write);
        for _ in 0..self.options.index_updates {
            self.execute(update, vec![self.id()]);
        }
    }

    fn non_index_updates(&mut self) {
        self.draw_table();
        let update = self.of_each_table(UPDATE_NON_INDEX, Kind::Write);
        for _ in 0..self.options.non_index_updates {
            self.execute(update, vec![text(C), self.id()]);
        }
    }

    fn delete_inserts(&mut self) {
        self.draw_table();
        let delete = self.of_each_table(DELETE, Kind::Write);
        let insert = self.of_each_table(INSERT, Kind::Write);
        for _ in 0..self.options.delete_inserts {
            self.draw_id();
            self.execute(delete, vec![Parameter::Register(ID)]);
            self.execute(insert, vec![Parameter::Register(ID), self.id(), text(C), text(PAD)]);
        }
    }

    fn delete(&mut self) {
        self.draw_table();
        let delete = self.of_each_table(DELETE, Kind::Write);
        self.execute(delete, vec![self.id()]);
    }

    /// The INSERT is sent as text, because sysbench writes the values into this statement.
    fn insert(&mut self) {
        self.draw_table();
        let mut values = vec![self.id(), text(C), text(PAD)];
        let mut sql = INSERT_NEXT;
        if !self.options.auto_inc {
            sql = INSERT;
            values.insert(0, Parameter::Draw(Generator::Unique(Unique::new(self.options.seed))));
        }
        let insert = self.of_each_table(sql, Kind::Write);
        self.statements.iter_mut().for_each(|statement| statement.text = true);
        self.execute(insert, values);
    }

    /// Draws the table for the group of statements that follows.
    fn draw_table(&mut self) {
        if self.options.tables > 1 {
            self.ops.push(Op::Set(TABLE, Parameter::Draw(Generator::Integer(self.tables.clone()))));
        }
    }

    fn of_each_table(&mut self, sql: &str, kind: Kind) -> Which {
        let first = self.statements.len();
        let parameters = sql.matches('?').count();
        for table in 1..=self.options.tables {
            let sql = sql.replace("{table}", &format!("sbtest{table}"));
            self.statements.push(Statement { sql, parameters, kind, text: false });
        }
        if self.options.tables > 1 { Which::Nth { first, slot: TABLE } } else { Which::One(first) }
    }

    fn id(&self) -> Parameter {
        Parameter::Draw(Generator::Integer(self.ids.clone()))
    }

    fn draw_id(&mut self) {
        let id = self.id();
        self.ops.push(Op::Set(ID, id));
    }

    fn execute(&mut self, which: Which, parameters: Vec<Parameter>) {
        self.ops.push(Op::Execute(Execute { which, parameters, keep: vec![], no_row: NoRow::Null }));
    }
}

fn text(template: &str) -> Parameter {
    Parameter::Draw(Generator::Template(template.into()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn plan_with(script: Script, given: &[(&str, &str)]) -> Plan {
        let given: Vec<_> = given.iter().map(|&(name, value)| (name.to_owned(), value.to_owned())).collect();
        plan(script, &Options::read(script, &given).unwrap()).unwrap()
    }

    /// The SQL that a transaction executes where each table drawn is the first.
    fn executed(plan: &Plan) -> Vec<&str> {
        let statement = |op: &Op| match op {
            Op::Execute(Execute { which: Which::One(first) | Which::Nth { first, .. }, .. }) => Some(*first),
            _ => None,
        };
        plan.transactions[0].ops.iter().filter_map(statement).map(|number| plan.statements[number].sql.as_str()).collect()
    }

    fn tables_drawn(plan: &Plan) -> usize {
        plan.transactions[0].ops.iter().filter(|op| matches!(op, Op::Set(TABLE, _))).count()
    }

    const ALL_RANGES: [&str; 4] = [
        "SELECT c FROM sbtest1 WHERE id BETWEEN ? AND ?",
        "SELECT SUM(k) FROM sbtest1 WHERE id BETWEEN ? AND ?",
        "SELECT c FROM sbtest1 WHERE id BETWEEN ? AND ? ORDER BY c",
        "SELECT DISTINCT c FROM sbtest1 WHERE id BETWEEN ? AND ? ORDER BY c",
    ];
    const ALL_WRITES: [&str; 4] = [
        "UPDATE sbtest1 SET k=k+1 WHERE id=?",
        "UPDATE sbtest1 SET c=? WHERE id=?",
        "DELETE FROM sbtest1 WHERE id=?",
        "INSERT INTO sbtest1 (id, k, c, pad) VALUES (?, ?, ?, ?)",
    ];
    const POINTS: [&str; 10] = ["SELECT c FROM sbtest1 WHERE id=?"; 10];

    #[test]
    fn read_write_is_what_sysbench_does() {
        let expected = [&["BEGIN"][..], &POINTS, &ALL_RANGES, &ALL_WRITES, &["COMMIT"]].concat();
        assert_eq!(executed(&plan_with(Script::ReadWrite, &[])), expected);
    }

    #[test]
    fn read_only_and_write_only_are_its_halves() {
        let reads = [&["BEGIN"][..], &POINTS, &ALL_RANGES, &["COMMIT"]].concat();
        assert_eq!(executed(&plan_with(Script::ReadOnly, &[])), reads);
        let writes = [&["BEGIN"][..], &ALL_WRITES, &["COMMIT"]].concat();
        assert_eq!(executed(&plan_with(Script::WriteOnly, &[])), writes);
    }

    #[test]
    fn scripts_of_one_statement_are_without_transaction() {
        let alone = [
            (Script::PointSelect, POINTS[0]),
            (Script::UpdateIndex, ALL_WRITES[0]),
            (Script::UpdateNonIndex, ALL_WRITES[1]),
            (Script::Delete, ALL_WRITES[2]),
            (Script::Insert, "INSERT INTO sbtest1 (id, k, c, pad) VALUES (0, ?, ?, ?)"),
        ];
        for (script, sql) in alone {
            assert_eq!(executed(&plan_with(script, &[])), [sql]);
        }
        assert_eq!(executed(&plan_with(Script::PointSelect, &[("point-selects", "10")])).len(), 1);
    }

    #[test]
    fn options_change_how_often_statements_come() {
        let given = [
            ("skip-trx", "on"),
            ("point-selects", "2"),
            ("simple-ranges", "0"),
            ("sum-ranges", "2"),
            ("order-ranges", "0"),
            ("distinct-ranges", "0"),
            ("index-updates", "0"),
            ("non-index-updates", "0"),
            ("delete-inserts", "2"),
        ];
        let twice = [ALL_WRITES[2], ALL_WRITES[3]].repeat(2);
        let expected = [&POINTS[..2], &[ALL_RANGES[1]; 2], &twice].concat();
        assert_eq!(executed(&plan_with(Script::ReadWrite, &given)), expected);
        let expected = [&["BEGIN"][..], &POINTS, &["COMMIT"]].concat();
        assert_eq!(executed(&plan_with(Script::ReadOnly, &[("range-selects", "off")])), expected);
    }

    #[test]
    fn a_table_is_drawn_for_each_group_of_statements() {
        let plan = plan_with(Script::ReadWrite, &[("tables", "8"), ("point-selects", "3")]);
        assert_eq!(tables_drawn(&plan), 8);
        assert_eq!(plan.statements.len(), 9 * 8 + 2);
        assert_eq!(plan.statements[8].sql, "SELECT c FROM sbtest8 WHERE id=?");
        assert_eq!(tables_drawn(&plan_with(Script::ReadWrite, &[])), 0);
    }

    #[test]
    fn a_range_ends_range_size_less_one_after_its_beginning() {
        let plan = plan_with(Script::ReadOnly, &[("range-size", "7"), ("point-selects", "0")]);
        let ranges: Vec<_> = plan.transactions[0]
            .ops
            .iter()
            .filter_map(|op| match op {
                Op::Execute(execute) if !execute.parameters.is_empty() => Some(&execute.parameters[..]),
                _ => None,
            })
            .collect();
        assert_eq!(ranges, vec![[Parameter::Register(ID), Parameter::Plus(ID, 6)]; 4]);
    }

    #[test]
    fn only_insert_is_sent_as_text() {
        for script in [Script::ReadWrite, Script::PointSelect, Script::Delete] {
            assert!(plan_with(script, &[]).statements.iter().all(|statement| !statement.text));
        }
        assert!(plan_with(Script::Insert, &[("tables", "2")]).statements.iter().all(|statement| statement.text));
    }

    #[test]
    fn insert_makes_its_own_ids_without_auto_increment() {
        let plan = plan_with(Script::Insert, &[("auto-inc", "off")]);
        assert_eq!(executed(&plan), [ALL_WRITES[3]]);
        let Op::Execute(insert) = &plan.transactions[0].ops[0] else { panic!("an insert") };
        assert_eq!(insert.parameters[0], Parameter::Draw(Generator::Unique(Unique::new(0))));
    }

    #[test]
    fn each_statement_has_its_parameters() {
        for script in Script::ALL.into_iter().filter(|script| script.name().starts_with("oltp_")) {
            let plan = plan_with(script, &[("tables", "3")]);
            for op in &plan.transactions[0].ops {
                if let Op::Execute(Execute { which: Which::One(first) | Which::Nth { first, .. }, parameters, .. }) = op {
                    assert_eq!(plan.statements[*first].parameters, parameters.len(), "{}", plan.statements[*first].sql);
                }
            }
        }
    }
}
