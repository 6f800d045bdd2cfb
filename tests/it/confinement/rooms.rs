//! One room for all children of a run: each enters it, and none after what it protects was replaced.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fs;
use std::os::unix::fs::MetadataExt as _;
use std::path::Path;
use std::time::Duration;

use upshift::config::{Network, Sandbox};
use upshift::domain::stop::Stop;
use upshift::process::confine::{Arranged, Wish, arrange};
use upshift::process::{self, Program, Spec};

const CREDENTIAL: &str = "[http \"https://example.org/\"]\n\textraheader = AUTHORIZATION: basic c2VjcmV0\n";

fn env() -> BTreeMap<OsString, OsString> {
    BTreeMap::from([("PATH".into(), "/usr/local/bin:/usr/bin:/bin".into())])
}

fn arranged(tree: &Path, state: &Path) -> Arranged {
    arranged_by(tree, state, &env())
}

fn arranged_by(tree: &Path, state: &Path, env: &BTreeMap<OsString, OsString>) -> Arranged {
    let wish = Wish {
        sandbox: Sandbox::Auto,
        network: Network::Auto,
        checkout: tree,
        env,
        kept_out: vec![state.to_owned()],
        state: state.to_owned(),
        helper: env!("CARGO_BIN_EXE_upshift").into(),
    };
    arrange(&wish).expect("children can be confined")
}

fn said(arranged: &Arranged, tree: &Path, script: &str, stdin: &str) -> String {
    said_by(arranged, tree, Program::Shell(script.to_owned()), env(), stdin)
}

fn said_by(
    arranged: &Arranged,
    tree: &Path,
    program: Program,
    env: BTreeMap<OsString, OsString>,
    stdin: &str,
) -> String {
    let spec = Spec {
        program,
        cwd: tree.to_owned(),
        env,
        stdin: stdin.as_bytes().to_vec(),
        timeout: Duration::from_secs(20),
        keep: 4096,
        merge_stderr: true,
        memory_mb: None,
        confinement: arranged.tests.confinement.clone(),
    };
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime");
    let mut said = Vec::new();
    let ended = runtime.block_on(process::run(&spec, &Stop::never(), &mut |bytes| said.extend_from_slice(bytes)));
    ended.expect("it starts");
    String::from_utf8(said).expect("text").trim().to_owned()
}

fn repository() -> tempfile::TempDir {
    let tree = tempfile::tempdir().expect("a folder");
    fs::create_dir(tree.path().join(".git")).expect("a folder");
    fs::write(tree.path().join(".git/config"), format!("[core]\n\tbare = false\n{CREDENTIAL}")).expect("written");
    tree
}

const NAMESPACES: &str = "readlink /proc/self/ns/mnt /proc/self/ns/net";

#[test]
fn children_of_a_run_share_a_room_and_their_standard_input_is_empty() {
    let (tree, state) = (repository(), tempfile::tempdir().expect("a folder"));
    let arranged = arranged(tree.path(), state.path());
    let first = said(&arranged, tree.path(), NAMESPACES, "");
    assert_eq!(first, said(&arranged, tree.path(), NAMESPACES, ""));
    assert_ne!(first, fs::read_link("/proc/self/ns/mnt").expect("a link").display().to_string());
    assert_eq!(said(&arranged, tree.path(), "cat; ls -l /proc/self/fd | grep -c 'socket:\\|mnt:\\|net:'", ""), "0");
    assert_eq!(said(&arranged, tree.path(), "pwd", ""), tree.path().display().to_string());
}

#[test]
fn after_children_were_forgotten_each_has_an_empty_shared_memory_of_its_own_in_the_same_room() {
    let (tree, state) = (repository(), tempfile::tempdir().expect("a folder"));
    let arranged = arranged(tree.path(), state.path());
    let confinement = &arranged.tests.confinement;
    let said = |script: &str| said(&arranged, tree.path(), script, "");
    confinement.remember();
    let network = said("echo mark > /dev/shm/mark; ipcmk --shmem 64 > mark; readlink /proc/self/ns/net");
    let look = "cat /dev/shm/mark; grep -c . /proc/sysvipc/shm; readlink /proc/self/ns/net";
    assert_eq!(said(look), format!("mark\n2\n{network}"));
    confinement.forget().expect("forgotten");
    for _ in 0..2 {
        let found = said(&format!("{look}; echo new > /dev/shm/mark; stat -c %a /dev/shm"));
        assert!(found.contains("No such file") && found.ends_with(&format!("1\n{network}\n1777")), "{found}");
    }
    // What is read-only in the room stays so.
    assert!(said("echo x >> .git/config && echo written").contains("Read-only"), "{}", said("mount"));
}

#[test]
fn a_child_with_input_makes_a_room_of_its_own() {
    let (tree, state) = (repository(), tempfile::tempdir().expect("a folder"));
    let arranged = arranged(tree.path(), state.path());
    assert_eq!(said(&arranged, tree.path(), "cat", "words"), "words");
    let shared = said(&arranged, tree.path(), NAMESPACES, "");
    assert_ne!(said(&arranged, tree.path(), NAMESPACES, "words"), shared);
}

#[test]
fn a_git_configuration_that_is_replaced_during_a_run_shows_no_credential_either() {
    let (tree, state) = (repository(), tempfile::tempdir().expect("a folder"));
    let arranged = arranged(tree.path(), state.path());
    let config = || said(&arranged, tree.path(), "cat .git/config; echo x > .git/config && echo written", "");
    assert!(config().contains("bare = false") && !config().contains("c2VjcmV0"), "{}", config());
    let before = said(&arranged, tree.path(), NAMESPACES, "");
    let (new, old) = (tree.path().join(".git/config.lock"), tree.path().join(".git/config"));
    fs::write(&new, format!("[core]\n\tbare = false\n{CREDENTIAL}# again\n")).expect("written");
    fs::rename(new, old).expect("replaced");
    assert!(config().contains("bare = false") && !config().contains("c2VjcmV0"), "{}", config());
    assert!(!config().contains("written"), "{}", config());
    assert_ne!(before, said(&arranged, tree.path(), NAMESPACES, ""));
}

#[test]
fn a_checkout_whose_programs_have_another_name_in_path_stays_writable() {
    let (tree, state, names) =
        (repository(), tempfile::tempdir().expect("a folder"), tempfile::tempdir().expect("a folder"));
    let link = names.path().join("link");
    std::os::unix::fs::symlink(tree.path(), &link).expect("linked");
    let above = tree.path().file_name().expect("a name").to_string_lossy().into_owned();
    let dotted = names.path().join("..").join(above);
    for name in [tree.path(), &link, &dotted] {
        let path = format!("{}:/usr/bin:/bin", name.join("bin").display());
        let env = BTreeMap::from([(OsString::from("PATH"), OsString::from(path))]);
        let arranged = arranged_by(tree.path(), state.path(), &env);
        let script = Program::Shell("echo written > made && cat made".to_owned());
        assert_eq!(said_by(&arranged, tree.path(), script, env, ""), "written", "{}", name.display());
    }
}

#[test]
fn the_systems_password_hashes_are_covered() {
    let (tree, state) = (repository(), tempfile::tempdir().expect("a folder"));
    let arranged = arranged(tree.path(), state.path());
    // An ordinary user cannot read them anyway; as root their owner is another one in the room.
    let shown = said(&arranged, tree.path(), "stat -c '%d %i %s' /etc/shadow /etc/passwd", "");
    let real = fs::metadata("/etc/shadow").expect("every system here has it");
    assert!(!shown.contains(&format!("{} {} ", real.dev(), real.ino())), "{shown}");
    let users = fs::metadata("/etc/passwd").expect("every system has it");
    assert!(shown.contains(&format!("{} {} {}", users.dev(), users.ino(), users.len())), "{shown}");
}

/// A socket needs no rule of Landlock's to be called: where services keep theirs, only what is granted is there.
#[test]
fn the_folders_of_services_are_not_shown() {
    const GRANTED: [&str; 4] = ["gems", "ghc", "alternatives", "ca-certificates"];
    let (tree, state) = (repository(), tempfile::tempdir().expect("a folder"));
    let arranged = arranged(tree.path(), state.path());
    let shown = said(&arranged, tree.path(), "ls -a /var/lib /run /var/cache 2>/dev/null", "");
    let real: Vec<String> = ["/var/lib", "/run"]
        .iter()
        .flat_map(|folder| fs::read_dir(folder).into_iter().flatten().flatten())
        .map(|entry| entry.file_name().to_string_lossy().into_owned())
        .filter(|name| !GRANTED.contains(&name.as_str()))
        .collect();
    assert!(!real.is_empty(), "every machine has services");
    let seen: Vec<&String> = real.iter().filter(|name| shown.lines().any(|line| line == name.as_str())).collect();
    assert!(seen.is_empty(), "{seen:?}");
}

/// What a child is and may, as it finds it itself. The limit on locks is the family's mark, that on processes grows with the machine's, and `SigQ` counts the user's.
const RIGHTS: &str = "grep -E '^(NoNewPrivs|Seccomp|Cap|Sig[A-Z][a-z]|Groups|Umask)' /proc/self/status; grep -v 'locks\\|processes' /proc/self/limits; \
     ls /proc/self/fd; readlink /proc/self/fd/0; id; umask; pwd; cat /etc/shadow 2>&1; cat \"$1/state\" 2>&1; \
     echo x > /etc/mark; kill -0 $PPID 2>&1; cat /proc/$PPID/environ 2>&1; unshare --user true 2>&1; cat";

#[test]
fn without_a_room_a_child_of_a_thread_has_the_rights_and_limits_of_one_of_the_helper() {
    // No room can be made over a checkout in there.
    let (tree, state) = (tempfile::tempdir_in("/dev/shm").expect("a folder"), tempfile::tempdir().expect("a folder"));
    fs::write(state.path().join("state"), "secret").expect("written");
    let arranged = arranged(tree.path(), state.path());
    assert!(!arranged.notes.is_empty(), "there is a room");
    let script = format!("set -- {}; {RIGHTS}", state.path().display());
    let by = |program: Program, env: BTreeMap<OsString, OsString>| said_by(&arranged, tree.path(), program, env, "");
    let shell = |line: &str| Program::Shell(line.to_owned());
    let helped = |line: &str| Program::Argv(vec!["sh".into(), "-c".into(), line.into()]);
    let asks = "tr '\\0' ' ' < /proc/$$/cmdline";
    assert!(by(shell(asks), env()).contains("read -r _"), "a shell goes the short way");
    assert!(!by(helped(asks), env()).contains("read -r _"));
    let (short, long) = (by(shell(&script), env()), by(helped(&script), env()));
    assert!(short.contains("Seccomp:\t2") && short.contains("17179869184") && !short.contains("secret"), "{short}");
    let parts = |said: &str| said.lines().filter(|line| !line.contains("$PPID")).map(str::to_owned).collect::<Vec<_>>();
    assert_eq!(parts(&short), parts(&long));
    let mut loaded = env();
    loaded.insert("LD_LIBRARY_PATH".into(), tree.path().into());
    assert!(
        !by(shell(asks), loaded).contains("read -r _"),
        "what is loaded into the shell comes before its first command"
    );
    assert_eq!(by(shell("exit 3; "), env()), "");
}

#[test]
fn rules_for_files_follow_a_folder_that_was_replaced() {
    let (tree, state) = (tempfile::tempdir_in("/dev/shm").expect("a folder"), tempfile::tempdir().expect("a folder"));
    let arranged = arranged(tree.path(), state.path());
    let write = || said(&arranged, tree.path(), "echo x > x && cat x", "");
    assert_eq!(write(), "x");
    fs::remove_dir_all(tree.path()).expect("removed");
    fs::create_dir(tree.path()).expect("made");
    assert_eq!(write(), "x");
}
