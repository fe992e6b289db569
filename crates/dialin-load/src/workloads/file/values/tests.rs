use super::*;

fn with_scope<T>(work: impl FnOnce(&mut Scope) -> T) -> T {
    let sizes = Sizes::from([("banks".to_owned(), 4), ("none".to_owned(), 0)]);
    let lists = Lists::from([("ten".to_owned(), (0..10).map(|digit| format!("w{digit}")).collect())]);
    let mut scope = Scope::transaction(&sizes, &lists);
    scope.define("a", &piece("").place).unwrap();
    work(&mut scope)
}

fn piece(text: &str) -> Piece {
    Piece::parse("a.toml", text).unwrap()
}

fn read(text: &str) -> Result<Source> {
    let value = piece(&format!("x = {text}")).get("x").unwrap();
    with_scope(|scope| source(&value, scope))
}

fn fixed(value: Sql) -> Source {
    Source::Parameter(Parameter::Fixed(value))
}

fn generator(text: &str) -> Generator {
    match read(text).unwrap() {
        Source::Parameter(Parameter::Draw(generator)) => generator,
        other => panic!("{other:?}"),
    }
}

#[test]
fn constants_and_variables_stand_for_themselves() {
    assert_eq!(read("5").unwrap(), fixed(Sql::Int(5)));
    assert_eq!(read("1.5").unwrap(), fixed(Sql::Double(1.5)));
    assert_eq!(read("true").unwrap(), fixed(Sql::Int(1)));
    assert_eq!(read("'a'").unwrap(), fixed(Sql::Bytes(b"a".to_vec())));
    assert_eq!(read("': a'").unwrap(), fixed(Sql::Bytes(b": a".to_vec())));
    assert_eq!(read("{ size = 'banks * 10' }").unwrap(), fixed(Sql::Int(40)));
    assert_eq!(read("{ null = true }").unwrap(), fixed(Sql::Null));
    assert_eq!(read("':a'").unwrap(), Source::Parameter(Parameter::Register(3)));
    assert_eq!(read("{ value = ':a', plus = -1 }").unwrap(), Source::Parameter(Parameter::Plus(3, -1)));
}

#[test]
fn numbers_of_sizes_are_scaled() {
    let found = read("{ value = ':turn', times = 7, modulo = 'banks * 2', plus = 1 }").unwrap();
    assert_eq!(found, Source::Scaled { slot: TURN, times: 7, modulo: Some(8), plus: 1 });
}

#[test]
fn draws_have_their_parameters() {
    let zipfian = Integers::new(1, 4, Distribution::Zipfian { exponent: 0.9 }).unwrap();
    assert_eq!(generator("{ integer = [1, 'banks'], distribution = 'zipfian', exponent = 0.9 }"), Generator::Integer(zipfian));
    let nurand = Integers::new(0, 999, Distribution::NuRand { a: 255, c: 7 }).unwrap();
    assert_eq!(generator("{ integer = [0, 999], distribution = 'nurand', a = 255, c = 7 }"), Generator::Integer(nurand));
    assert_eq!(generator("{ decimal = ['-0.5', '10.25'] }"), Generator::Decimal { low: -50, high: 1025, digits: 2 });
    assert_eq!(generator("{ text = [2, 4] }"), Generator::Text { least: 2, most: 4 });
    assert!(matches!(generator("{ words = ':a', list = 'ten' }"), Generator::Words { slot: 3, list } if list.len() == 10));
    let choice = Generator::Choice { values: vec![Sql::Int(1), Sql::Bytes(b"x".to_vec())], weights: vec![1.0, 1.0] };
    assert_eq!(generator("{ choice = [1, 'x'] }"), choice);
}

#[test]
fn invalid_draws_are_refused() {
    for text in [
        "{}",
        "[]",
        "{ integer = 5 }",
        "{ integer = [2, 1] }",
        "{ integer = [1, 'none'] }",
        "{ integer = [1, 'bank'] }",
        "{ integer = [1, ':a'] }",
        "{ integer = [1, 2], distribution = 'normal' }",
        "{ integer = [1, 2], h = 0.2 }",
        "{ integer = [1, 2], distribution = 'pareto', h = 2 }",
        "{ integer = [1, 2], distribution = 'nurand' }",
        "{ integer = [1, 2], distribution = 'gaussian', iterations = 0 }",
        "{ integer = [1, 2], text = [1, 2] }",
        "{ integer = [1, 2], distribution = 'gaussian', iterations = -1 }",
        "{ decimal = [1, 2] }",
        "{ decimal = ['1', 'x'] }",
        "{ decimal = ['2', '1'] }",
        "{ decimal = ['0.0000000000000000001', '1'] }",
        "{ decimal = ['.', '1'] }",
        "{ text = [-1, 2] }",
        "{ text = [1, 9999999999] }",
        "{ choice = [] }",
        "{ choice = ['a'], weights = [0] }",
        "{ choice = ['a'], weights = [1, 2] }",
        "{ choice = 'eleven' }",
        "{ choice = ['a'], weights = [-1] }",
        "{ words = ':a' }",
        "{ words = 'a', list = 'ten' }",
        "{ words = ':a', list = ['a'] }",
        "{ value = ':b' }",
        "':b'",
        "{ value = 5, plus = 1 }",
        "{ value = ':a', modulo = 0 }",
        "{ null = false }",
        "{ size = 'bank' }",
        "{ template = '' }",
        "{ value = [1] }",
        "1979-05-27",
        "inf",
        "{ intger = [1, 2] }",
    ] {
        assert!(read(text).is_err(), "{text}");
    }
}

#[test]
fn the_error_for_a_misspelt_name_suggests_the_nearest_one() {
    assert_eq!(read("':conection'").unwrap_err().remedy, "Did you mean \"connection\"?");
    assert_eq!(read("{ integer = [1, 2], distribution = 'zipfain' }").unwrap_err().remedy, "Did you mean \"zipfian\"?");
    assert_eq!(read("{ intger = [1, 2] }").unwrap_err().remedy, "Did you mean \"integer\"?");
}

fn condition(text: &str) -> Result<Test> {
    let value = piece(&format!("x = {text}")).get("x").unwrap();
    with_scope(|scope| test(&value, scope))
}

#[test]
fn conditions_compare_variables() {
    assert_eq!(condition("{ null = ':a' }").unwrap(), Test::IsNull(3));
    assert_eq!(condition("{ less = [':a', 'banks - 1'] }").unwrap(), Test::Less(3, Parameter::Fixed(Sql::Int(3))));
    assert_eq!(condition("{ less = [':a', ':turn'] }").unwrap(), Test::Less(3, Parameter::Register(TURN)));
    assert_eq!(condition("{ equal = [':a', 'BC'] }").unwrap(), Test::Equal(3, Parameter::Fixed(Sql::Bytes(b"BC".to_vec()))));
    assert_eq!(condition("{ chance = 0.5 }").unwrap(), Test::Chance(0.5));
}

#[test]
fn invalid_conditions_are_refused() {
    for text in [
        "{}",
        "5",
        "{ null = 'a' }",
        "{ less = [':a'] }",
        "{ less = [1, 2] }",
        "{ equal = 5 }",
        "{ chance = 2 }",
        "{ chance = 0.1, null = ':a' }",
        "{ les = [':a', 1] }",
    ] {
        assert!(condition(text).is_err(), "{text}");
    }
}

#[test]
fn reserved_names_cannot_be_set() {
    with_scope(|scope| {
        let place = piece("").place;
        assert!(scope.define("sequence", &place).is_err());
        assert!(scope.define("1a", &place).is_err());
        assert_eq!(scope.define("a", &place).unwrap(), 3);
        assert_eq!(scope.define("b", &place).unwrap(), 4);
    });
}
