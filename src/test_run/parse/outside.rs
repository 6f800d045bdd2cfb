//! Tells failures that no change of the code can mend: a full disk, no network, a service that is not there.
//!
//! Invariant: only when every failing test says so is the run called a failure of the infrastructure; one test that fails for
//! another reason makes it red.

use crate::domain::test_report::{Problem, RunKind, RunStatus, TestReport};

/// What a machine says of itself, never of the code under test.
const MACHINE: [&str; 9] = [
    "No space left on device",
    "ENOSPC",
    "Disk quota exceeded",
    "Could not resolve host",
    "Temporary failure in name resolution",
    "EAI_AGAIN",
    "Network is unreachable",
    "ENETUNREACH",
    "Cannot connect to the Docker daemon",
];
/// Nobody listens: the infrastructure's fault only at the usual port of a service.
const REFUSED: [&str; 4] = ["ECONNREFUSED", "Connection refused", "connection refused", "could not connect to server"];
/// PostgreSQL, MySQL, Redis, MongoDB, AMQP, Kafka, Elasticsearch, memcached.
const SERVICE_PORTS: [&str; 8] = ["5432", "3306", "6379", "27017", "5672", "9092", "9200", "11211"];

/// Names the run after the infrastructure when every failing test fails for it.
pub(super) fn name_infrastructure(report: &mut TestReport) {
    if report.status != RunStatus::Failed || report.kind != RunKind::Tests || report.failing().next().is_none() {
        return;
    }
    let Some(lines) = report.failing().map(|test| outside_line(&test.message)).collect::<Option<Vec<_>>>() else {
        return;
    };
    let Some(message) = lines.first().map(|line| line.trim().to_owned()) else { return };
    report.kind = RunKind::Infrastructure;
    report.problems.insert(0, Problem { kind: RunKind::Infrastructure, message, file: None, line: None });
}

/// The line of a message that blames the machine or a service.
fn outside_line(message: &str) -> Option<&str> {
    message.lines().find(|line| {
        MACHINE.iter().any(|mark| line.contains(mark))
            || (REFUSED.iter().any(|mark| line.contains(mark)) && SERVICE_PORTS.iter().any(|port| has_port(line, port)))
    })
}

/// `:5432`, `port 5432`: the number alone.
fn has_port(line: &str, port: &str) -> bool {
    line.match_indices(port).any(|(at, _)| {
        let before = line.get(..at).unwrap_or_default();
        let after = line.get(at + port.len()..).unwrap_or_default();
        (before.ends_with(':') || before.ends_with("port ") || before.ends_with("port: "))
            && !after.starts_with(|next: char| next.is_ascii_digit())
    })
}

#[cfg(test)]
mod tests {
    use super::super::read;
    use crate::domain::test_report::{RunKind, RunStatus};
    use crate::domain::verdict::Exit;

    fn kind(messages: &[&str]) -> (RunStatus, RunKind) {
        let mut log = "=================================== FAILURES ===================================\n".to_owned();
        for (at, message) in messages.iter().enumerate() {
            log.push_str(&format!("____ test_{at} ____\n\n>   go()\nE   {message}\n\ntests/a.py:{at}: Error\n"));
        }
        log.push_str("=========================== short test summary info ============================\n");
        for (at, message) in messages.iter().enumerate() {
            log.push_str(&format!("FAILED tests/a.py::test_{at} - {message}\n"));
        }
        log.push_str(&format!("=================== {} failed in 0.02s ===================\n", messages.len()));
        let report = read(&mut log.as_bytes(), Some(Exit::Code { code: 1 }), None).unwrap().report;
        (report.status, report.kind)
    }

    #[test]
    fn a_missing_service_or_a_full_disk_behind_every_failure_is_the_infrastructures() {
        let database = "connection to server at \"127.0.0.1\", port 5432 failed: Connection refused";
        let disk = "OSError: [Errno 28] No space left on device: '/w/out'";
        assert_eq!(kind(&[database, database]), (RunStatus::Failed, RunKind::Infrastructure));
        assert_eq!(kind(&[database, disk]), (RunStatus::Failed, RunKind::Infrastructure));
    }

    #[test]
    fn one_failure_of_the_code_or_a_port_of_its_own_makes_it_red() {
        let database = "connect ECONNREFUSED 127.0.0.1:5432";
        assert_eq!(kind(&[database, "assert 1 == 2"]), (RunStatus::Failed, RunKind::Tests));
        assert_eq!(kind(&["connect ECONNREFUSED 127.0.0.1:54321"]), (RunStatus::Failed, RunKind::Tests));
        assert_eq!(kind(&["connect ECONNREFUSED 127.0.0.1:8000"]), (RunStatus::Failed, RunKind::Tests));
    }
}
