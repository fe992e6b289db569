use super::*;
use crate::plan::FIRST_FREE;

fn compiled(steps: &str) -> Result<Compiled> {
    compiled_with(&format!("[[transaction]]\nname = 'pay'\nsteps = [{steps}]"))
}

fn compiled_with(text: &str) -> Result<Compiled> {
    let file = Piece::parse("a.toml", text).unwrap();
    let sizes = Sizes::from([("banks".to_owned(), 4)]);
    compile(&file.list_of("transaction").unwrap(), &sizes, &Lists::new(), &file.place)
}

fn ops(steps: &str) -> Vec<Op> {
    compiled(steps).unwrap().transactions.remove(0).ops
}

fn executes(ops: &[Op]) -> usize {
    ops.iter().filter(|op| matches!(op, Op::Execute(_))).count()
}

#[test]
fn names_are_bound_to_parameters_in_the_order_of_the_sql() {
    let all = compiled("{ let = { a = 1, b = 2 } }, { sql = 'UPDATE t SET x = :b WHERE y = :a OR z = :b' }").unwrap();
    assert_eq!(all.statements[0].sql, "UPDATE t SET x = ? WHERE y = ? OR z = ?");
    assert_eq!((all.statements[0].parameters, all.statements[0].kind, all.slots), (3, Kind::Write, FIRST_FREE + 2));
    let Op::Execute(execute) = &all.transactions[0].ops[2] else { panic!("no statement") };
    assert_eq!(execute.parameters, [Parameter::Register(4), Parameter::Register(3), Parameter::Register(4)]);
}

#[test]
fn a_statement_that_comes_twice_is_prepared_once() {
    assert_eq!(compiled("{ sql = 'SELECT 1' }, { sql = 'SELECT 1;' }, { sql = 'SELECT 2' }").unwrap().statements.len(), 2);
}

#[test]
fn begin_and_commit_are_sent_as_text() {
    let all = compiled("{ sql = 'BEGIN' }, { sql = 'SELECT 1' }, { sql = 'COMMIT' }").unwrap();
    assert_eq!(all.statements.iter().map(|each| each.text).collect::<Vec<_>>(), [true, false, true]);
}

#[test]
fn columns_are_kept_by_their_place() {
    let found = ops("{ sql = 'SELECT 1, 2, 3', keep = ['x', '_', 'z'], empty = 'fail' }");
    let Op::Execute(execute) = &found[0] else { panic!("no statement") };
    assert_eq!(execute.keep, [Keep { column: 0, slot: 3 }, Keep { column: 2, slot: 4 }]);
    assert_eq!(execute.no_row, NoRow::Fail);
}

#[test]
fn columns_of_returning_are_kept() {
    assert!(compiled("{ sql = 'INSERT INTO t VALUES (1)', keep = 'x' }").is_err());
    let found = ops("{ sql = 'INSERT INTO t VALUES (1) RETURNING id', keep = 'x' }");
    let Op::Execute(execute) = &found[0] else { panic!("no statement") };
    assert_eq!(execute.keep, [Keep { column: 0, slot: 3 }]);
}

#[test]
fn a_condition_jumps_over_its_steps_or_to_the_other_ones() {
    let found = ops("{ when = { chance = 0.1 }, steps = [{ sql = 'DO 1' }], else = [{ sql = 'DO 2' }] }, { sql = 'DO 3' }");
    assert_eq!(found[0], Op::Unless(Test::Chance(0.1), 3));
    assert_eq!(found[2], Op::Jump(4));
    assert_eq!((found.len(), executes(&found)), (5, 3));
    let found = ops("{ when = { chance = 0.1 }, steps = [{ sql = 'DO 1' }] }, { end = true }");
    assert_eq!((found[0].clone(), found[2].clone()), (Op::Unless(Test::Chance(0.1), 2), Op::End));
}

#[test]
fn a_repeat_counts_from_1_to_its_number() {
    let found = ops("{ repeat = 'banks', index = 'i', steps = [{ sql = 'DO :i' }] }");
    let expected = [
        Op::Set(3, Parameter::Fixed(Sql::Int(0))),
        Op::Unless(Test::Less(3, Parameter::Fixed(Sql::Int(4))), 5),
        Op::Set(3, Parameter::Plus(3, 1)),
    ];
    assert_eq!(found[..3], expected);
    assert_eq!(found[4..], [Op::Jump(1)]);
}

#[test]
fn a_repeat_of_a_variable_is_not_changed_by_its_steps() {
    let found = ops("{ let = { n = 3 } }, { repeat = ':n', steps = [{ let = { n = 9 } }, { sql = 'DO 1' }] }");
    let Op::Unless(Test::Less(_, Parameter::Register(copy)), _) = found[3] else { panic!("{found:?}") };
    assert_ne!(copy, 3);
    assert_eq!(found[1], Op::Set(copy, Parameter::Register(3)));
}

#[test]
fn thinking_takes_a_time_a_range_or_a_draw() {
    let micros = |low, high| Op::Think(Generator::Integer(Integers::new(low, high, Distribution::Uniform).unwrap()));
    let found = ops("{ think = '10ms' }, { think = ['250us', '2s'] }, { think = { integer = [5, 9] } }, { sql = 'DO 0' }");
    assert_eq!(found[..3], [micros(10_000, 10_000), micros(250, 2_000_000), micros(5, 9)]);
}

#[test]
fn invalid_steps_are_refused() {
    for steps in [
        "",
        "{ let = { a = 1 } }",
        "{ sql = '' }",
        "{ sql = 'DO :a' }",
        "{ sql = 'DO ?' }",
        "{ sql = 'DO 1; DO 2' }",
        "5",
        "{ sql = 'DO 0', think = '1ms' }",
        "{ sql = 'DO 0', index = 'i' }",
        "{ sql = 'DO 0', keep = [5] }",
        "{ sql = 'DO 0', keep = ['sequence'] }",
        "{ sql = 'UPDATE t SET a = 1', keep = ['a'] }",
        "{ sql = 'DO 0', empty = 'fail' }",
        "{ sql = 'SELECT 1', keep = ['a'], empty = 'x' }",
        "{ sql = 'DO 0' }, { end = false }",
        "{ sql = 'DO 0' }, { when = { chance = 0.1 } }",
        "{ sql = 'DO 0' }, { when = { null = ':x' }, steps = [{ end = true }] }",
        "{ sql = 'DO 0' }, { think = '5' }",
        "{ sql = 'DO 0' }, { think = '2h' }",
        "{ sql = 'DO 0' }, { think = ['2s', '1s'] }",
        "{ sql = 'DO 0' }, { think = 5 }",
        "{ sql = 'DO 0' }, { think = { text = [1, 2] } }",
        "{ sql = 'DO 0' }, { think = '99999s' }",
        "{ let = { a = { value = ':turn', times = 2 } } }, { sql = 'DO 0' }",
    ] {
        assert!(compiled(steps).is_err(), "{steps}");
    }
}

#[test]
fn a_repeat_that_never_ends_is_refused() {
    for steps in [
        "{ repeat = 100000000, steps = [{ sql = 'DO 0' }] }",
        "{ repeat = -1, steps = [{ sql = 'DO 0' }] }",
        "{ repeat = 2, steps = [] }",
        "{ repeat = 5, index = 'i', steps = [{ sql = 'DO 0' }, { let = { i = 1 } }] }",
        "{ repeat = 5, index = 'i', steps = [{ sql = 'SELECT 1', keep = 'i' }] }",
        "{ repeat = 5, index = 'i', steps = [{ repeat = 5, index = 'i', steps = [{ sql = 'DO 0' }] }] }",
    ] {
        assert!(compiled(steps).is_err(), "{steps}");
    }
    let error = compiled("{ repeat = 5, index = 'i', steps = [{ sql = 'DO 0' }, { let = { i = 1 } }] }").unwrap_err();
    assert_eq!(
        error.what,
        "a.toml:3:74, transaction pay, step 1, step 2, let i: :i counts the rounds of a repeat, which might then never end"
    );
}

#[test]
fn an_unknown_key_names_the_step_and_the_nearest_key() {
    let error = compiled("{ sql = 'DO 0' }, { slq = 'DO 0' }").unwrap_err();
    assert_eq!(
        (error.what.as_str(), error.remedy.as_str()),
        ("a.toml:3:30, transaction pay, step 2: unknown key \"slq\"", "Did you mean \"sql\"?")
    );
}

#[test]
fn weights_retries_and_expected_errors_are_read() {
    let text = "[[transaction]]\nname = 'a'\nweight = 2.5\nretry = { 1213 = 10, 1205 = 'always' }\npause = '5ms'\nexpected = [1644]\nsteps = [{ sql = 'DO 0' }]";
    let found = compiled_with(text).unwrap().transactions.remove(0);
    assert_eq!((found.weight, found.expected), (2.5, vec![1644]));
    assert_eq!(found.retry, Retry { errors: [(1205, u32::MAX), (1213, 10)].into(), pause: Duration::from_millis(5) });
}

#[test]
fn invalid_transactions_are_refused() {
    let good = "[[transaction]]\nname = 'a'\nsteps = [{ sql = 'DO 0' }]\n";
    assert!(compiled_with(good).is_ok());
    assert!(compiled_with(&format!("{good}{good}")).unwrap_err().what.ends_with("there is another of this name"));
    for extra in [
        "weight = 0",
        "weight = -1",
        "weight = 'a'",
        "retry = { deadlock = 1 }",
        "retry = { 1213 = -1 }",
        "retry = { 1213 = 'never' }",
        "retry = { 0 = 1 }",
        "expected = [0]",
        "expected = ['a']",
        "pause = 'long'",
        "wait = 1",
    ] {
        assert!(compiled_with(&format!("{good}{extra}")).is_err(), "{extra}");
    }
}
