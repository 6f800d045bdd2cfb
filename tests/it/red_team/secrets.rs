//! Reads what upshift and the user keep: environments, memory, credential files, git's sign-in.

use super::attack;
use super::cell::{Cell, SECRET, steals, with_capabilities};

/// The guards between a child and another process of the same user.
const OTHER_PROCESSES: &str = "hardening,domain,calls,room";
/// The guards between a child and the user's files.
const FILES: &str = "files,room";

#[test]
fn the_environment_of_upshift_is_not_read() {
    steals(&with_capabilities(OTHER_PROCESSES), "cat /proc/$PPID/environ > loot");
}

#[test]
fn no_environment_of_any_process_holds_the_key() {
    steals(&with_capabilities(OTHER_PROCESSES), "cat /proc/[0-9]*/environ > loot 2>/dev/null");
}

#[test]
fn the_memory_of_upshift_is_not_read() {
    let script = r#"cat > read.pl <<'E'
my $pid = shift; open(my $maps, "<", "/proc/$pid/maps") or exit; open(my $mem, "<:raw", "/proc/$pid/mem") or exit;
open(my $loot, ">", "loot");
while (<$maps>) {
  next unless /^([0-9a-f]+)-([0-9a-f]+) rw/; my ($from, $to) = (hex $1, hex $2); next if $to - $from > 64 << 20;
  sysseek($mem, $from, 0) or next; my $bytes; next unless sysread($mem, $bytes, $to - $from);
  print $loot $1 while $bytes =~ /(canary-[0-9a-f]{16})/g;
}
E
perl read.pl $PPID"#;
    steals(&with_capabilities(OTHER_PROCESSES), script);
}

#[test]
fn the_childs_own_environment_holds_no_key_and_no_way_to_steer_the_runner() {
    super::attack("environment", |off| {
        let cell = super::cell::Cell::new();
        cell.run("env > loot", off, &["--no-audit"]);
        let loot = cell.read("checkout/loot");
        assert!(!off.is_empty() || loot.contains("CI=true"), "{loot}");
        loot.contains(super::cell::SECRET) || loot.contains("GITHUB_") || loot.contains("RUNNER_TEMP")
    });
}

macro_rules! credential_files {
    ($($name:ident $file:literal)+) => {
        $(#[test]
        fn $name() {
            steals(FILES, concat!("cat $CELL/home/", $file, " > loot"));
        })+
    };
}

credential_files! {
    an_ssh_key_is_not_read ".ssh/id_ed25519"
    cloud_credentials_are_not_read ".aws/credentials"
    a_netrc_is_not_read ".netrc"
    git_credentials_are_not_read ".git-credentials"
    a_docker_login_is_not_read ".docker/config.json"
    an_npm_token_is_not_read ".npmrc"
    a_github_login_is_not_read ".config/gh/hosts.yml"
    a_cargo_token_is_not_read ".cargo/credentials.toml"
    a_gradle_password_is_not_read ".gradle/gradle.properties"
}

#[test]
fn a_file_elsewhere_is_not_read() {
    steals(FILES, "cat $CELL/outside/file > loot");
}

#[test]
fn a_link_in_the_tree_leads_nowhere() {
    steals(FILES, "ln -s $CELL/outside/file link; cat link > loot");
}

#[test]
fn a_hard_link_brings_no_file_in() {
    steals("files,room,domain", "ln $CELL/outside/file link && cat link > loot");
}

#[test]
fn what_checkout_left_in_gits_configuration_is_not_read() {
    steals("git", "cat .git/config > loot");
}

#[test]
fn nor_is_what_checkout_leaves_for_submodules() {
    attack("git", |off| {
        let cell = Cell::new();
        for place in ["modules/lib", "modules/deep/er"] {
            cell.write(
                &format!("checkout/.git/{place}/config"),
                &format!("[http]\n\textraheader = AUTHORIZATION: basic {SECRET}\n"),
            );
        }
        cell.run("cat .git/modules/lib/config .git/modules/deep/er/config > loot", off, &["--no-audit"]);
        cell.read("checkout/loot").contains(SECRET)
    });
}

#[test]
fn what_checkout_left_in_gits_configuration_is_not_read_where_no_mounts_can_be_made() {
    super::attack("git", |off| {
        let cell = super::cell::Cell::new();
        let config = cell.read("checkout/.git/config");
        cell.run("cat .git/config > loot", &format!("room,{off}"), &["--no-audit"]);
        assert_eq!(cell.read("checkout/.git/config"), config, "the user's configuration is put back");
        cell.read("checkout/loot").contains(super::cell::SECRET)
    });
}

#[test]
fn shared_memory_of_others_is_not_read() {
    super::attack("room", |off| {
        let cell = super::cell::Cell::new();
        let name = format!("/dev/shm/red-team-{}-{}", std::process::id(), off.len());
        std::fs::write(&name, super::cell::SECRET).expect("written");
        cell.run(&format!("cat {name} > loot"), off, &["--no-audit"]);
        std::fs::remove_file(&name).expect("removed");
        cell.read("checkout/loot").contains(super::cell::SECRET)
    });
}
