//! The plans of sysbench's select_random_ scripts. Each connection selects from its own part of the values of k.

use super::options::Options;
use super::{Script, plan_of};
use crate::errors::Result;
use crate::plan::{CONNECTION, Execute, FIRST_FREE, Kind, NoRow, Op, Parameter, Plan, Register, Statement, Which};
use crate::random::{Generator, Integers};

/// The transaction of the script. The white space in the SQL is that of the script, because the server counts it in the bytes
/// received.
pub(super) fn plan(script: Script, options: &Options) -> Result<Plan> {
    let drawn = Parameter::Draw(Generator::Nth { slot: CONNECTION, of: parts(options)?.into() });
    if script == Script::RandomPoints {
        let points = options.random_points as usize;
        let list = vec!["?"; points].join(", ");
        let sql = format!("        SELECT id, k, c, pad\n          FROM sbtest1\n          WHERE k IN ({list})\n        ");
        let one = execute(vec![drawn; points]);
        return Ok(plan_of(script, vec![read(sql, points)], vec![one], FIRST_FREE));
    }
    let ranges = options.number_of_ranges as usize;
    let list = vec!["k BETWEEN ? AND ?"; ranges].join(" OR ");
    let sql = format!("        SELECT count(k)\n          FROM sbtest1\n          WHERE {list}");
    let slots: Vec<Register> = (FIRST_FREE..FIRST_FREE + ranges).collect();
    let mut ops: Vec<Op> = slots.iter().map(|&slot| Op::Set(slot, drawn.clone())).collect();
    let ends = |slot: &Register| [Parameter::Register(*slot), Parameter::Plus(*slot, options.delta)];
    ops.push(execute(slots.iter().flat_map(ends).collect()));
    Ok(plan_of(script, vec![read(sql, 2 * ranges)], ops, FIRST_FREE + ranges))
}

/// The part of the values of k that each connection draws from. Adjacent parts share the value at their border.
fn parts(options: &Options) -> Result<Vec<Integers>> {
    let distribution = options.distribution()?;
    let border = |part: i64| options.table_size * part / options.threads;
    (0..options.threads).map(|part| Integers::new(border(part), border(part + 1), distribution)).collect()
}

fn read(sql: String, parameters: usize) -> Statement {
    Statement { sql, parameters, kind: Kind::Read, text: false }
}

fn execute(parameters: Vec<Parameter>) -> Op {
    Op::Execute(Execute { which: Which::One(0), parameters, keep: vec![], no_row: NoRow::Null })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plan::Value;
    use crate::random::of_transaction;

    fn plan_with(script: Script, given: &[(&str, &str)]) -> Plan {
        let given: Vec<_> = given.iter().map(|&(name, value)| (name.to_owned(), value.to_owned())).collect();
        plan(script, &Options::read(script, &given).unwrap()).unwrap()
    }

    fn words(plan: &Plan) -> String {
        plan.statements[0].sql.split_whitespace().collect::<Vec<_>>().join(" ")
    }

    #[test]
    fn points_are_a_list() {
        let plan = plan_with(Script::RandomPoints, &[("random-points", "3")]);
        assert_eq!(words(&plan), "SELECT id, k, c, pad FROM sbtest1 WHERE k IN (?, ?, ?)");
        assert_eq!(plan.statements[0].parameters, 3);
        assert!(matches!(&plan.transactions[0].ops[..], [Op::Execute(points)] if points.parameters.len() == 3));
    }

    #[test]
    fn ranges_are_alternatives_of_delta_and_one_values() {
        let plan = plan_with(Script::RandomRanges, &[("number-of-ranges", "2"), ("delta", "9")]);
        assert_eq!(words(&plan), "SELECT count(k) FROM sbtest1 WHERE k BETWEEN ? AND ? OR k BETWEEN ? AND ?");
        let Some(Op::Execute(ranges)) = plan.transactions[0].ops.last() else { panic!("a statement at the end") };
        let (one, other) = (FIRST_FREE, FIRST_FREE + 1);
        let ends = [Parameter::Register(one), Parameter::Plus(one, 9), Parameter::Register(other), Parameter::Plus(other, 9)];
        assert_eq!(ranges.parameters, ends);
        assert_eq!(plan.slots, FIRST_FREE + 2);
    }

    #[test]
    fn each_connection_draws_from_its_own_part() {
        let given = [("table-size", "1000"), ("threads", "3"), ("rand-type", "uniform")];
        let plan = plan_with(Script::RandomPoints, &given);
        let Op::Execute(points) = &plan.transactions[0].ops[0] else { panic!("a statement") };
        let Parameter::Draw(generator) = &points.parameters[0] else { panic!("a draw") };
        let mut rng = of_transaction(1, 1);
        for (connection, low, high) in [(0, 0, 333), (1, 333, 666), (2, 666, 1000), (3, 0, 333)] {
            let slots = [Value::Int(connection)];
            let drawn: Vec<i64> = (0..5_000).map(|_| generator.draw_integer(&mut rng, &slots)).collect();
            assert_eq!((drawn.iter().min(), drawn.iter().max()), (Some(&low), Some(&high)), "connection {connection}");
        }
    }
}
