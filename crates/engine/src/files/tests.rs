use std::ffi::OsStr;
use std::io::{Read as _, Write as _};
use std::path::Path;

use super::*;

fn name(text: &str) -> &OsStr {
    OsStr::new(text)
}

#[test]
fn what_is_made_in_a_folder_is_found_read_renamed_and_removed() {
    let place = tempfile::tempdir().unwrap();
    let folder = Folder::open(place.path()).unwrap();
    folder.create(name("new"), 0o644).unwrap().write_all(b"text").unwrap();
    folder.create(name("new"), 0o644).unwrap_err();
    folder.rename(name("new"), name("old")).unwrap();
    assert_eq!(folder.look(name("new")).unwrap(), None);
    let (mut file, found) = folder.read(name("old")).unwrap();
    let mut text = String::new();
    file.read_to_string(&mut text).unwrap();
    assert_eq!((text.as_str(), found.kind, found.size), ("text", Kind::File, 4));
    drop(file);
    folder.make_folder(name("below"), 0o755).unwrap();
    assert_eq!(folder.look(name("below")).unwrap().unwrap().kind, Kind::Folder);
    assert!(matches!(folder.folder(name("nothing")), Err(Refusal::Missing)));
    assert!(matches!(folder.folder(name("old")), Err(Refusal::Astray)));
    folder.folder(name("below")).unwrap().create(name("file"), 0o644).unwrap();
    folder.remove_folder(name("below")).unwrap_err();
    folder.remove_whole_folder(name("below")).unwrap();
    folder.remove_file(name("old")).unwrap();
    assert_eq!(place.path().read_dir().unwrap().count(), 0);
}

#[test]
fn a_file_that_may_not_be_written_is_replaced_and_removed() {
    let place = tempfile::tempdir().unwrap();
    let folder = Folder::open(place.path()).unwrap();
    for (file, text) in [("kept", "old"), ("new", "new")] {
        folder.create(name(file), 0o644).unwrap().write_all(text.as_bytes()).unwrap();
    }
    folder.set_permissions(name("kept"), 0o444).unwrap();
    assert_eq!(folder.look(name("kept")).unwrap().unwrap().permissions & 0o200, 0);
    folder.rename(name("new"), name("kept")).unwrap();
    assert_eq!(std::fs::read_to_string(place.path().join("kept")).unwrap(), "new");
    folder.set_permissions(name("kept"), 0o444).unwrap();
    folder.remove_file(name("kept")).unwrap();
}

#[test]
fn an_open_file_is_known_until_another_is_put_in_its_place() {
    let place = tempfile::tempdir().unwrap();
    let path = place.path().join("file");
    let file = std::fs::File::create_new(&path).unwrap();
    assert!(is_at(&file, &path));
    std::fs::write(place.path().join("other"), "").unwrap();
    assert!(!is_at(&file, &place.path().join("other")));
    assert!(!is_at(&file, Path::new("nowhere")));
}

#[cfg(unix)]
#[test]
fn links_and_what_only_looks_like_a_file_are_not_opened() {
    let place = tempfile::tempdir().unwrap();
    let outside = tempfile::tempdir().unwrap();
    std::fs::write(outside.path().join("file"), "1").unwrap();
    let folder = Folder::open(place.path()).unwrap();
    folder.make_link(name("folder"), outside.path().as_os_str().as_encoded_bytes()).unwrap();
    folder.make_link(name("file"), outside.path().join("file").as_os_str().as_encoded_bytes()).unwrap();
    assert!(matches!(folder.folder(name("folder")), Err(Refusal::Astray)));
    assert!(matches!(folder.read(name("file")), Err(Refusal::Astray)));
    assert_eq!(folder.look(name("file")).unwrap().unwrap().kind, Kind::Link);
    assert_eq!(folder.read_link(name("folder")).unwrap(), outside.path().as_os_str().as_encoded_bytes());
    folder.remove_file(name("folder")).unwrap();
    assert!(outside.path().join("file").exists());
}

#[cfg(windows)]
#[test]
fn a_held_folder_stays_where_it_is_and_no_name_means_something_else() {
    let place = tempfile::tempdir().unwrap();
    std::fs::create_dir(place.path().join("held")).unwrap();
    let folder = Folder::open(place.path()).unwrap();
    let held = folder.folder(name("held")).unwrap();
    std::fs::rename(place.path().join("held"), place.path().join("elsewhere")).unwrap_err();
    for refused in ["..", "a/b", "a\\b", "C:", "a:stream", "NUL", "tail."] {
        held.create(name(refused), 0o644).unwrap_err();
    }
    drop(held);
    std::fs::rename(place.path().join("held"), place.path().join("elsewhere")).unwrap();
}
