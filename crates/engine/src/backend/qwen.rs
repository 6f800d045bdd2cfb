//! Qwen Code: `qwen -o stream-json`, in the shapes of Claude Code, over chat completions.

use std::path::PathBuf;

use super::agent::{Agent, Invocation, Order, words};
use super::claude;
use crate::domain::spoken::Spoken;

pub(super) static AGENT: Agent = Agent {
    name: "qwen",
    package: "@qwen-code/qwen-code",
    default_model: "openai/gpt-6.1-terra",
    speaks: &[Spoken::Chat],
    limits: &[],
    invoke,
    read: claude::read,
};

const SETTINGS: &str = r#"{"privacy":{"usageStatisticsEnabled":false},"telemetry":{"enabled":false},"general":{"enableAutoUpdate":false}}"#;

fn invoke(order: &Order<'_>) -> Invocation {
    let mode = match (order.reads_only, order.is_confined) {
        (true, _) => "plan",
        (false, true) => "yolo",
        // Without a word of a person's, commands are refused.
        (false, false) => "auto-edit",
    };
    let arguments = words([
        "-o",
        "stream-json",
        "--approval-mode",
        mode,
        "--auth-type",
        "openai",
        "-m",
        order.model,
        "-p",
        order.prompt,
    ]);
    Invocation {
        arguments,
        variables: vec![
            ("OPENAI_API_KEY", order.token.to_owned()),
            ("OPENAI_BASE_URL", format!("{}/v1", order.url)),
            ("OPENAI_MODEL", order.model.to_owned()),
            ("QWEN_CODE_SUPPRESS_YOLO_WARNING", "1".to_owned()),
        ],
        files: vec![(PathBuf::from(".qwen/settings.json"), SETTINGS.to_owned())],
    }
}
