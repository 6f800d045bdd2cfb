//! Tells failures that no change of the code can mend: a full disk, no network, a service that is not there.
//!
//! Invariant: only when every failing test says so is the run called a failure of the infrastructure. One test that fails for another
//! reason makes it red.

use crate::report::{Problem, Report, RunKind, RunStatus};

/// Messages of disks about themselves.
const DISK: [&str; 4] = ["No space left on device", "ENOSPC", "Disk quota exceeded", "database or disk is full"];
/// Messages of resolvers and routes, never of the code under test.
const NETWORK: [&str; 12] = [
    "Could not resolve host",
    "Temporary failure in name resolution",
    "Name or service not known",
    "getaddrinfo ENOTFOUND",
    "EAI_AGAIN",
    ": no such host",
    "java.net.UnknownHostException",
    "Network is unreachable",
    "ENETUNREACH",
    "connect ETIMEDOUT",
    "TLS handshake timeout",
    "temporary failure in name resolution",
];
/// Messages of clients of databases, queues, containers and browsers when nobody answers them.
const SERVICES: [&str; 9] = [
    "Can't connect to MySQL server on",
    "Can't connect to local MySQL server",
    "SQLSTATE[HY000] [2002]",
    "connection to server on socket",
    "accepting connections on Unix domain socket",
    "NoBrokersAvailable",
    "Cannot connect to the Docker daemon",
    // Browsers that were not installed.
    "browserType.launch: Executable doesn't exist at",
    "Host system is missing dependencies to run browsers",
];
/// Nobody listens: the infrastructure's fault only at the usual port of a service.
const REFUSED: [&str; 4] = ["ECONNREFUSED", "Connection refused", "connection refused", "could not connect to server"];
/// Nobody listens, said without a port: the port is looked for in the rest of the message.
const REFUSED_SOMEWHERE: [&str; 2] = ["ConnectionRefusedError: [Errno 111]", "java.net.ConnectException"];
/// PostgreSQL, MySQL, Redis, MongoDB, AMQP, Kafka, Elasticsearch, memcached.
const SERVICE_PORTS: [&str; 8] = ["5432", "3306", "6379", "27017", "5672", "9092", "9200", "11211"];
/// Where a test opens ports of its own.
const OWN_MACHINE: [&str; 4] = ["127.0.0.1", "localhost", "::1", "0.0.0.0"];
/// Other words of tests and package managers, in small letters, when they may miss the network: worth a second look with it.
const NETWORK_HINTS: [&str; 9] = [
    "getaddrinfo",
    "enotfound",
    "name resolution",
    "eafnosupport",
    "address family not supported",
    "no route to host",
    "network unreachable",
    "couldn't resolve host",
    "failed to lookup address",
];
/// Messages of package managers that are told to stay offline.
const OFFLINE_HINTS: [&str; 4] = ["--offline", "offline mode", "no such host", "unknownhostexception"];

/// Every mark that blames the machine, the network or a service.
pub(super) fn marks() -> impl Iterator<Item = &'static str> {
    DISK.into_iter().chain(NETWORK).chain(SERVICES).chain(REFUSED).chain(REFUSED_SOMEWHERE)
}

/// Whether a failing run's output says that the tests miss the network: resolvers, sockets, package managers.
#[must_use]
pub fn misses_network(output: &str) -> bool {
    let output = output.to_lowercase();
    NETWORK.iter().chain(&REFUSED).any(|mark| output.contains(&mark.to_lowercase()))
        || NETWORK_HINTS.iter().chain(&OFFLINE_HINTS).any(|hint| output.contains(hint))
}

/// Names the run after the infrastructure when every failing test fails for it.
pub(super) fn name_infrastructure(report: &mut Report) {
    if report.status != RunStatus::Failed || report.kind != RunKind::Tests || report.failing().next().is_none() {
        return;
    }
    // With one test that fails for another reason the code may be at fault.
    let Some(lines) = report.failing().map(|test| blaming_line(&test.message)).collect::<Option<Vec<_>>>() else {
        return;
    };
    let Some(message) = lines.first().map(|line| line.trim_start_matches("E  ").trim().to_owned()) else { return };
    report.kind = RunKind::Infrastructure;
    report.problems.insert(0, Problem { kind: RunKind::Infrastructure, message, file: None, line: None });
}

/// Whether a failing test's message blames the machine or a service that is not there: name resolution, a refused connection to a
/// service's port, a full disk.
#[must_use]
pub fn blames_environment(message: &str) -> bool {
    blaming_line(message).is_some()
}

/// The line of a message that blames the machine or a service.
fn blaming_line(message: &str) -> Option<&str> {
    let blames = |line: &&str| {
        DISK.iter().chain(&NETWORK).chain(&SERVICES).any(|mark| says(line, mark))
            || (REFUSED.iter().any(|mark| line.contains(mark)) && SERVICE_PORTS.iter().any(|port| has_port(line, port)))
            || (line.contains("dial tcp ") && says(line, ": i/o timeout") && is_elsewhere(line))
            || (REFUSED_SOMEWHERE.iter().any(|mark| line.contains(mark)) && is_elsewhere(message))
    };
    // pytest marks the lines of the error, and the others are source.
    let marked = message.lines().any(|line| line.starts_with("E  "));
    message.lines().filter(|line| !marked || line.starts_with("E  ")).filter(|line| !compares(line)).find(blames)
}

/// Whether a line holds these words and not the beginning of a longer one.
fn says(line: &str, words: &str) -> bool {
    // Not the beginning of a longer word, such as a name that a test gave.
    line.match_indices(words).any(|(at, _)| {
        let after = line.get(at + words.len()..).unwrap_or_default();
        !after.starts_with(|next: char| next.is_alphanumeric())
    })
}

/// Whether a line compares values or quotes the source: what it mentions is no error of its own.
fn compares(line: &str) -> bool {
    let text = line.trim_start_matches("E  ").trim_start();
    let lower = text.to_lowercase();
    let expects =
        // `unexpected` expects nothing.
        lower.match_indices("expected").any(|(at, _)| !lower.get(..at).is_some_and(|head| head.ends_with("un")));
    expects
        || lower.contains("assert")
        || ["+", "-", ">", "received:", "actual:", "left:", "right:", "got:", "want:", "at "]
            .iter()
            .any(|start| lower.starts_with(start))
        // `12 | connect(url)` is a quoted line of source.
        || text.split_once('|').is_some_and(|(number, _)| !number.is_empty() && number.trim().parse::<u32>().is_ok())
}

/// Whether a refused connection went to a service or another machine, not to a port that the test itself opens.
fn is_elsewhere(message: &str) -> bool {
    SERVICE_PORTS.iter().any(|port| has_port(message, port)) || !OWN_MACHINE.iter().any(|own| message.contains(own))
}

/// `:5432`, `port 5432`, `port=5432`, `("db", 5432)`: the number alone.
fn has_port(line: &str, port: &str) -> bool {
    line.match_indices(port).any(|(at, _)| {
        let before = line.get(..at).unwrap_or_default();
        let after = line.get(at + port.len()..).unwrap_or_default();
        [":", "port ", "port: ", "port=", "\",", "\", ", "',", "', "].iter().any(|end| before.ends_with(end))
            && !after.starts_with(|next: char| next.is_ascii_digit())
    })
}

#[cfg(test)]
mod tests {
    use crate::exit::Exit;
    use crate::parser::read;
    use crate::report::{Report, RunKind, RunStatus};

    fn kind(messages: &[&str]) -> (RunStatus, RunKind) {
        let report = report(messages);
        (report.status, report.kind)
    }

    fn report(messages: &[&str]) -> Report {
        let mut log = "=================================== FAILURES ===================================\n".to_owned();
        for (at, message) in messages.iter().enumerate() {
            log.push_str(&format!("____ test_{at} ____\n\n>   go()\nE   {message}\n\ntests/a.py:{at}: Error\n"));
        }
        log.push_str("=========================== short test summary info ============================\n");
        for (at, message) in messages.iter().enumerate() {
            log.push_str(&format!("FAILED tests/a.py::test_{at} - {message}\n"));
        }
        log.push_str(&format!("=================== {} failed in 0.02s ===================\n", messages.len()));
        read(&mut log.as_bytes(), Some(Exit::Code { code: 1 }), None).unwrap().report
    }

    #[test]
    fn a_missing_service_or_a_full_disk_behind_every_failure_is_the_infrastructures() {
        let database = "connection to server at \"127.0.0.1\", port 5432 failed: Connection refused";
        let disk = "OSError: [Errno 28] No space left on device: '/w/out'";
        assert_eq!(kind(&[database, database]), (RunStatus::Failed, RunKind::Infrastructure));
        assert_eq!(kind(&[database, disk]), (RunStatus::Failed, RunKind::Infrastructure));
    }

    #[test]
    fn the_error_is_named_without_the_runners_mark() {
        let report = report(&["OSError: [Errno 28] No space left on device"]);
        assert_eq!(report.problems[0].message, "OSError: [Errno 28] No space left on device");
    }

    #[test]
    fn one_failure_of_the_code_or_a_port_of_its_own_makes_it_red() {
        let database = "connect ECONNREFUSED 127.0.0.1:5432";
        assert_eq!(kind(&[database, "assert 1 == 2"]), (RunStatus::Failed, RunKind::Tests));
        assert_eq!(kind(&["connect ECONNREFUSED 127.0.0.1:54321"]), (RunStatus::Failed, RunKind::Tests));
        assert_eq!(kind(&["connect ECONNREFUSED 127.0.0.1:8000"]), (RunStatus::Failed, RunKind::Tests));
    }

    #[test]
    fn what_clients_and_resolvers_say_behind_every_failure_is_the_infrastructures() {
        for message in [
            "requests.exceptions.ConnectionError: [Errno -2] Name or service not known",
            "socket.gaierror: [Errno -3] Temporary failure in name resolution",
            "ConnectionRefusedError: [Errno 111] Connection refused",
            "pymysql.err.OperationalError: (2003, \"Can't connect to MySQL server on '127.0.0.1' ([Errno 111])\")",
            "Error: getaddrinfo ENOTFOUND db",
            "Error: getaddrinfo EAI_AGAIN registry.example.org",
            "dial tcp: lookup db on 127.0.0.53:53: no such host",
            "java.net.UnknownHostException: db",
            "java.net.ConnectException: Connection refused",
            "PDOException: SQLSTATE[HY000] [2002] Connection refused",
            "ActiveRecord::ConnectionNotEstablished: connection to server on socket \"/run/postgresql/.s.PGSQL.5432\" failed",
            "Is the server running locally and accepting connections on Unix domain socket \"/run/.s.PGSQL.5432\"?",
            "Error: connect ETIMEDOUT 10.0.0.1:5432",
            "kafka.errors.NoBrokersAvailable: NoBrokersAvailable",
            "sqlite3.OperationalError: database or disk is full",
            "dial tcp 10.1.2.3:443: i/o timeout",
            "net/http: TLS handshake timeout",
        ] {
            assert_eq!(kind(&[message, message]), (RunStatus::Failed, RunKind::Infrastructure), "{message}");
            assert_eq!(kind(&[message, "KeyError: 'a'"]), (RunStatus::Failed, RunKind::Tests), "{message}");
        }
    }

    #[test]
    fn a_test_that_only_mentions_such_words_is_a_failing_test() {
        for message in [
            "AssertionError: expected 'ENOSPC' to equal 'ok'",
            "assert 'getaddrinfo ENOTFOUND db' == 'offline'",
            "AssertionError: Expected java.net.UnknownHostException to be thrown",
            "ValueError: no such hosting plan",
            "Error: spawnSync node ETIMEDOUT",
            "KeyError: 'NetworkIsUnreachable'",
            "read tcp 127.0.0.1:4000->127.0.0.1:4001: i/o timeout",
            "dial tcp 127.0.0.1:34567: i/o timeout",
            "OSError: [Errno 30] Read-only file system: '/out.txt'",
        ] {
            assert_eq!(kind(&[message]), (RunStatus::Failed, RunKind::Tests), "{message}");
        }
        assert!(
            super::blaming_line("expect(received).toBe(expected)\n\nExpected: \"ok\"\nReceived: \"ENOSPC\"").is_none()
        );
        assert!(
            super::blaming_line("thrown: 3\n\n  11 |   if (error.code === \"ENOSPC\") {\n> 12 |     throw 3").is_none()
        );
        assert!(super::blaming_line("    if code == 'ENOSPC':\n>       retry()\nE       TypeError: retry").is_none());
        assert!(super::blaming_line("Received unexpected error:\n  unexpected ENOSPC").is_some());
    }

    #[test]
    fn a_port_that_the_test_itself_opens_is_told_by_the_rest_of_its_message() {
        let refused = "E       ConnectionRefusedError: [Errno 111] Connection refused";
        let at = |call: &str| super::blaming_line(&format!(">       connect({call})\n{refused}")).is_some();
        assert!(at("('127.0.0.1', 6379)"));
        assert!(at("host=\"localhost\", port=5432"));
        assert!(at("'db', 8080"));
        assert!(!at("('127.0.0.1', 8000)"));
        assert!(!at("('localhost', port)"));
    }

    #[test]
    fn an_output_that_misses_the_network_is_known_by_the_words_of_all_its_tools() {
        for output in [
            "npm ERR! getaddrinfo ENOTFOUND registry",
            "dial tcp: lookup x: no such host",
            "error: failed to download: attempting to make an HTTP request, but --offline was specified",
            "java.net.UnknownHostException: repo",
            "socket: Address family not supported by protocol",
            "CONNECT ECONNREFUSED 127.0.0.1:1",
        ] {
            assert!(super::misses_network(output), "{output}");
        }
        assert!(!super::misses_network("FAILED test_a.py::test_host - AssertionError"));
    }
}
