use super::*;
use crate::session::end::FinalReport;

#[test]
fn a_reply_of_a_small_model_is_read_in_order() {
    let text = "Okay, let me think about this.\n\nThe test fails because of the sign.\n\nsrc/a.py\n```js\n<<<<<<< SEARCH\n    \
                return a - b\n=======\n    return a + b\n>>>>>>> REPLACE\n```\n\nRUN TESTS\n\nDONE Fixed the sign.\n";
    let items = read(text, Role::Artisan, Heed::Everything);
    assert_eq!(
        items,
        [
            Item::Act(Action::EditFile {
                path: "src/a.py".to_owned(),
                old: "    return a - b".to_owned(),
                new: "    return a + b".to_owned(),
                matching: Matching::Lines
            }),
            Item::Act(Action::RunTests { filter: None }),
            Item::Act(Action::Report(FinalReport::Done { summary: "Fixed the sign.".to_owned() })),
        ]
    );
}

#[test]
fn a_model_with_tools_is_only_taken_at_its_edits() {
    let text = "DONE\nREAD a.py\na.py\n<<<<<<< SEARCH\nx\n=======\ny\n>>>>>>> REPLACE\n";
    let items = read(text, Role::Artisan, Heed::EditsAndCalls);
    assert!(matches!(items.as_slice(), [Item::Act(Action::EditFile { .. })]), "{items:?}");
}

#[test]
fn commands_in_a_fence_of_their_own_are_heeded() {
    let items = read("```\nREAD a.py\nLIST src\n```", Role::Artisan, Heed::Everything);
    assert_eq!(items.len(), 2, "{items:?}");
    let items = read("```sh\nREAD x\necho hi\n```", Role::Artisan, Heed::Everything);
    assert_eq!(items, [], "a script is no list of commands");
}

#[test]
fn json_inside_a_file_is_no_call() {
    let text = "calls.json\n```json\n{\"name\": \"delete_file\", \"arguments\": {\"path\": \"a\"}}\n```";
    let items = read(text, Role::Artisan, Heed::Everything);
    assert!(matches!(items.as_slice(), [Item::Act(Action::WriteFile { .. })]), "{items:?}");
}

#[test]
fn an_empty_search_makes_a_new_file_only() {
    let items = read("new.py\n<<<<<<< SEARCH\n=======\nx = 1\n>>>>>>> REPLACE", Role::Artisan, Heed::Everything);
    let source = Source::Block { existing: Existing::Forbidden, header: None };
    let wanted = Action::WriteFile { path: "new.py".to_owned(), content: "x = 1\n".to_owned(), source };
    assert_eq!(items, [Item::Act(wanted)]);
}

#[test]
fn the_prompts_are_small_and_name_every_command() {
    let artisan = prompt(Role::Artisan);
    assert!(artisan.len() <= 1_100, "{} bytes", artisan.len());
    for word in ["SEARCH", "READ", "LIST", "RUN TESTS", "DELETE", "DONE", "BLOCKED"] {
        assert!(artisan.contains(word), "{word}");
    }
    assert!(prompt(Role::Critic).contains("APPROVE") && prompt(Role::Critic).contains("REJECT"));
    assert!(!prompt(Role::Librarian).contains("<<<<"));
}
