//! Test files of other people, read: what share of their tests is found and can be made to fail.

use upshift::framework::source::{Language, Means, Place, Poison, Source};

/// Files of a folder are read and each test that is found is poisoned: how many files, how many were whole, how many tests, and how many a
/// search for their marks finds.
#[test]
#[expect(clippy::print_stdout, reason = "the counts are what it is run for")]
#[ignore = "reads the folder `UPSHIFT_TEST_FILES` of other people's test files"]
fn other_peoples_test_files_are_read() {
    let root = std::env::var("UPSHIFT_TEST_FILES").expect("a folder");
    let marks = [
        (Language::Java, r"(?m)^\s*@(?:Test|ParameterizedTest|RepeatedTest|TestFactory)\b"),
        (Language::Php, r"(?m)^\s*(?:final )?(?:public )?(?:static )?function test\w*\("),
        (Language::Cpp, r"(?m)^\s*(?:TEST|TEST_F|TEST_P|TYPED_TEST|TYPED_TEST_P|TEST_CASE|SCENARIO)\s*\("),
        (Language::Ruby, r#"(?m)^\s*(?:def test_|(?:it|specify|example|scenario|test)[ (]["'].*(?:do|\}))"#),
    ];
    for (language, mark) in marks {
        let mark = regex::Regex::new(mark).expect("a pattern");
        let (mut files, mut broken, mut marked, mut found, mut poisoned, mut expecting) = (0, Vec::new(), 0, 0, 0, 0);
        let mut less: Vec<String> = Vec::new();
        for entry in ignore::WalkBuilder::new(&root).standard_filters(false).build().flatten() {
            let path = entry.path().to_string_lossy().into_owned();
            if Language::of(&path) != Some(language) {
                continue;
            }
            let Ok(text) = std::fs::read_to_string(entry.path()) else { continue };
            let count = mark.find_iter(&text).count();
            if count == 0 {
                continue;
            }
            files += 1;
            marked += count;
            let Some(source) = Source::read(&path, &text) else {
                broken.push(path);
                continue;
            };
            found += source.tests().len();
            if source.tests().len() < count {
                less.push(format!("{path}: {} of {count}", source.tests().len()));
            }
            for test in source.tests() {
                let all = [(Place::First, Means::Raise), (Place::Last, Means::Assertion)];
                let edited = |(place, means)| {
                    source.edited(&source.poisoned(test, &Poison { place, means, word: "zaqwsx".to_owned() })?)
                };
                poisoned += usize::from(all.into_iter().all(|one| edited(one).is_some()));
                expecting += usize::from(!source.expectations(test).is_empty());
            }
        }
        println!(
            "{language:?}: {files} files, {} not read, {marked} marks, {found} bodies, {poisoned} poisoned in both places, {expecting} with a literal",
            broken.len()
        );
        broken.iter().take(5).for_each(|path| println!("  not read: {path}"));
        less.iter().take(12).for_each(|path| println!("  fewer: {path}"));
        assert!(broken.len() * 100 <= files, "{language:?}: {} of {files} files are not read", broken.len());
        assert!(found * 100 >= marked * 95, "{language:?}: {found} bodies for {marked} marks");
        assert_eq!(poisoned, found, "{language:?}");
    }
}
