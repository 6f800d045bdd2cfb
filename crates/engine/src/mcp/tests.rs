use super::*;
use crate::mcp::offered;

/// A client whose server answers by a script: what was asked, and what is printed then.
async fn with_server<T>(
    answer: impl Fn(&Value) -> Vec<String>,
    talk: impl AsyncFnOnce(Client) -> T,
) -> (T, Vec<Value>) {
    let (client, mut words) = Client::new();
    let server = client.clone();
    let heard = Mutex::new(Vec::new());
    let serves = async {
        while let Some(line) = words.recv().await {
            let message: Value = serde_json::from_slice(&line).unwrap();
            for line in answer(&message) {
                // A line may come in pieces.
                let (one, two) = line.as_bytes().split_at(line.len() / 2);
                server.hear(one);
                server.hear(two);
            }
            heard.lock().unwrap().push(message);
        }
    };
    let told = tokio::select! {
        biased;
        () = serves => panic!("the client is still there"),
        told = talk(client.clone()) => told,
    };
    (told, heard.into_inner().unwrap())
}

fn result(message: &Value, result: &Value) -> Vec<String> {
    vec![format!("{}\n", json!({"jsonrpc": "2.0", "id": message["id"], "result": result}))]
}

fn greeting() -> Value {
    json!({"protocolVersion": VERSION, "capabilities": {"tools": {}}, "serverInfo": {"name": "s", "version": "1"}})
}

#[tokio::test]
async fn all_pages_of_the_list_are_read_and_what_a_server_asks_is_answered() {
    let (tools, heard) = with_server(
        |message| match message["method"].as_str() {
            Some("initialize") => {
                let mut lines = vec!["ready to serve\n".to_owned()];
                lines.push("{\"jsonrpc\":\"2.0\",\"id\":\"p\",\"method\":\"ping\"}\n".to_owned());
                lines.push("{\"jsonrpc\":\"2.0\",\"id\":7,\"method\":\"sampling/createMessage\"}\n".to_owned());
                lines.extend(result(message, &greeting()));
                lines
            }
            Some("tools/list") if message["params"].get("cursor").is_none() => {
                result(message, &json!({"tools": [{"name": "a"}], "nextCursor": "2"}))
            }
            Some("tools/list") => result(message, &json!({"tools": [{"name": "b"}]})),
            _ => Vec::new(),
        },
        async |client| client.open().await.unwrap(),
    )
    .await;
    assert_eq!(tools, [json!({"name": "a"}), json!({"name": "b"})]);
    let ping = heard.iter().find(|message| message["id"] == "p").unwrap();
    assert_eq!(ping["result"], json!({}));
    let asked = heard.iter().find(|message| message["id"] == 7).unwrap();
    assert_eq!(asked["error"]["code"], -32_601);
    assert!(heard.iter().any(|message| message["method"] == "notifications/initialized"));
}

#[tokio::test]
async fn an_answer_that_says_nothing_is_a_failure_and_no_empty_success() {
    let answers = |message: &Value| match message["params"]["name"].as_str() {
        Some("without") => vec![format!("{}\n", json!({"jsonrpc": "2.0", "id": message["id"]}))],
        Some("odd") => result(message, &json!({"content": "no list"})),
        Some("fails") => result(message, &json!({"content": [], "isError": "yes"})),
        Some("structured") => result(message, &json!({"structuredContent": {"a": 1}})),
        _ => result(message, &json!({"content": []})),
    };
    let call = async |client: Client| {
        let mut told = Vec::new();
        for name in ["without", "odd", "fails", "structured", "empty"] {
            told.push(client.call(name, &json!({}), Duration::from_secs(5)).await);
        }
        told
    };
    let (told, _) = with_server(answers, call).await;
    let refused = |why: &str| Err(McpError::Refused(why.to_owned()));
    let text = |text: &str, ok: bool| Ok((text.to_owned(), ok));
    let wanted = [
        refused("it answered without a result"),
        refused("its result has no content"),
        text("", false),
        text("{\"a\":1}", true),
        text("", true),
    ];
    assert_eq!(told, wanted);
}

#[tokio::test(start_paused = true)]
async fn the_greeting_and_all_pages_of_the_list_share_one_limit() {
    let (client, mut words) = Client::new();
    let server = client.clone();
    let serves = async {
        while let Some(line) = words.recv().await {
            let message: Value = serde_json::from_slice(&line).unwrap();
            tokio::time::sleep(Duration::from_secs(8)).await;
            let said = match message["method"].as_str() {
                Some("initialize") => greeting(),
                _ => json!({"tools": [{"name": "a"}], "nextCursor": "more"}),
            };
            result(&message, &said).iter().for_each(|line| server.hear(line.as_bytes()));
        }
    };
    let began = Instant::now();
    let opened = tokio::select! {
        () = serves => panic!("the client is still there"),
        opened = client.open() => opened,
    };
    assert_eq!(opened, Err(McpError::TimedOut(OPENING)));
    assert_eq!(began.elapsed(), OPENING);
}

#[tokio::test]
async fn a_server_of_another_protocol_is_refused() {
    let (opened, _) = with_server(
        |message| result(message, &json!({"protocolVersion": "1999-01-01", "capabilities": {"tools": {}}})),
        async |client| client.open().await,
    )
    .await;
    assert_eq!(opened, Err(McpError::Refused("it speaks version `1999-01-01` of the protocol".to_owned())));
}

#[tokio::test(start_paused = true)]
async fn a_call_without_an_answer_is_cancelled_when_its_time_is_up() {
    let (called, heard) = with_server(
        |_| Vec::new(),
        async |client| {
            let called = client.call("slow", &json!({}), Duration::from_secs(5)).await;
            // The server is to read of it.
            tokio::task::yield_now().await;
            called
        },
    )
    .await;
    assert_eq!(called, Err(McpError::TimedOut(Duration::from_secs(5))));
    let told: Vec<&Value> = heard.iter().map(|message| &message["method"]).collect();
    assert_eq!(told, ["tools/call", "notifications/cancelled"]);
    assert_eq!(heard[1]["params"]["requestId"], heard[0]["id"]);
}

#[tokio::test]
async fn a_result_is_text_and_a_failure_is_told_as_one() {
    let answer = |message: &Value| {
        let content = json!([{"type": "text", "text": "one"}, {"type": "image", "data": "AAAA"}, {"type": "resource", "resource": {"uri": "file:///x", "text": "two"}}]);
        result(message, &json!({"content": content, "isError": message["params"]["name"] == "fails"}))
    };
    let talk = async |client: Client| {
        let limit = Duration::from_secs(5);
        let (one, two) =
            (client.call("works", &json!("x"), limit).await, client.call("fails", &json!({}), limit).await);
        (one.unwrap(), two.unwrap())
    };
    let ((works, fails), heard) = with_server(answer, talk).await;
    assert_eq!(works, ("one\n[image: not shown]\ntwo".to_owned(), true));
    assert!(!fails.1);
    assert_eq!(heard[0]["params"]["arguments"], json!({}), "arguments are an object");
}

#[tokio::test]
async fn a_server_that_is_gone_answers_nothing_any_more() {
    let (client, _words) = Client::new();
    let limit = Duration::from_secs(60);
    let arguments = json!({});
    let waiting = client.call("x", &arguments, limit);
    let (called, ()) = tokio::join!(waiting, async { client.inbox().lose("exit code 1") });
    assert_eq!(called, Err(McpError::Lost("exit code 1".to_owned())));
    assert_eq!(client.call("x", &arguments, limit).await, Err(McpError::Lost("exit code 1".to_owned())));
}

#[test]
fn only_what_says_that_it_reads_or_is_allowed_is_offered() {
    let tool = |name: &str, reads: Option<bool>| json!({"name": name, "annotations": {"readOnlyHint": reads}, "description": "d"});
    let described = [
        tool("read.file", Some(true)),
        tool("write", Some(false)),
        tool("unsaid", None),
        json!({"name": "bare"}),
        tool(&"x".repeat(100), Some(true)),
        tool("read.file", Some(true)),
    ];
    let offer = offered("fs", &described, &["unsaid".to_owned()]);
    let names: Vec<&str> = offer.tools.iter().map(|one| one.spec.name.as_str()).collect();
    assert_eq!(names[..2], ["mcp__fs__read_file", "mcp__fs__unsaid"]);
    assert_eq!((names.len(), names[2].len()), (3, 64));
    assert_eq!(offer.refused, ["`read.file` (there is one of this name)"]);
    assert_eq!(offer.unsaid, ["write", "bare"]);
}

#[test]
fn a_tool_that_vendors_would_refuse_is_not_offered() {
    let object = json!({"type": "object", "properties": {"a": {"oneOf": [{"type": "string"}, {"type": "integer"}]}}});
    let cases = [
        ("fits", object, None),
        ("bare", json!({"type": "object"}), None),
        ("one", json!({"type": "object", "oneOf": [{"required": ["a"]}]}), Some("`oneOf` at the top")),
        ("any", json!({"type": "object", "anyOf": []}), Some("`anyOf` at the top")),
        ("all", json!({"type": "object", "allOf": []}), Some("`allOf` at the top")),
        ("list", json!({"type": "array"}), Some("not of `type: object`")),
        ("kinds", json!({"type": ["object", "null"]}), Some("not of `type: object`")),
        ("untyped", json!({"properties": {}}), Some("not of `type: object`")),
        ("truth", json!(true), Some("not of `type: object`")),
        (
            "sign",
            json!({"type": "object", "properties": {"a b": {}}}),
            Some("an argument of a name that vendors refuse, \"a b\","),
        ),
        (
            "empty",
            json!({"type": "object", "properties": {"": {}}}),
            Some("an argument of a name that vendors refuse, \"\","),
        ),
        ("names", json!({"type": "object", "properties": []}), Some("`properties` that are no object")),
        ("large", json!({"type": "object", "description": "x".repeat(9_000)}), Some("8192 at most")),
    ];
    for (name, schema, refused) in cases {
        let described = json!({"name": name, "annotations": {"readOnlyHint": true}, "inputSchema": schema});
        let offer = offered("s", &[described], &[]);
        assert_eq!(offer.tools.len(), usize::from(refused.is_none()), "{name}");
        let told = offer.refused.first().map(String::as_str).unwrap_or_default();
        assert!(told.contains(refused.unwrap_or_default()), "{name}: {told}");
    }
}

#[test]
fn a_server_that_asks_without_end_is_given_up_and_hears_no_more() {
    let (client, mut words) = Client::new();
    let ping = "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\"}\n".repeat(5_000);
    client.hear(ping.as_bytes());
    client.hear(ping.as_bytes());
    let mut answers = 0;
    while words.try_recv().is_ok() {
        answers += 1;
    }
    assert_eq!(answers, 1_000);
    assert!(client.inbox().expect_answer().is_err(), "it is lost");
}

#[tokio::test]
async fn no_more_tools_are_looked_at_than_anybody_could_be_offered() {
    let many: Vec<Value> = (0..600).map(|number| json!({ "name": number.to_string() })).collect();
    let (tools, heard) = with_server(
        |message| match message["method"].as_str() {
            Some("initialize") => result(message, &greeting()),
            Some("tools/list") => result(message, &json!({ "tools": many, "nextCursor": "more" })),
            _ => Vec::new(),
        },
        async |client| client.open().await.unwrap(),
    )
    .await;
    assert_eq!(tools.len(), MOST_TOOLS);
    assert_eq!(heard.iter().filter(|message| message["method"] == "tools/list").count(), 2);
}
