//! A request as it arrived, and what a script may ask of it.

use serde_json::Value;

/// Which wire a request spoke, by its path.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Vendor {
    Anthropic,
    OpenAi,
    /// OpenAI's Responses API.
    Responses,
    Gemini,
    Ollama,
}

/// One request as it arrived.
#[derive(Debug, Clone)]
pub(crate) struct Request {
    /// Zero-based over the server's life.
    pub(crate) number: usize,
    pub(crate) vendor: Vendor,
    /// Path with query.
    pub(crate) path: String,
    /// Names in lower case.
    pub(crate) headers: Vec<(String, String)>,
    pub(crate) raw: Vec<u8>,
    pub(crate) body: Value,
    /// From the body, or for Gemini and Azure from the path.
    pub(crate) model: String,
    /// Whether the client asked for a stream.
    pub(crate) stream: bool,
}

/// A tool result as the model would see it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct SeenResult {
    /// The call's id; for Gemini and Ollama the tool's name.
    pub(crate) call: String,
    pub(crate) content: String,
}

impl Request {
    /// The value of a header, by lower-case name.
    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(key, _)| key == name).map(|(_, value)| value.as_str())
    }

    fn entries(&self) -> &[Value] {
        let key = match self.vendor {
            Vendor::Gemini => "contents",
            Vendor::Responses => "input",
            Vendor::Anthropic | Vendor::OpenAi | Vendor::Ollama => "messages",
        };
        self.body[key].as_array().map_or(&[], Vec::as_slice)
    }

    /// How many replies of the model this conversation already holds: 0 for a session's first request.
    pub(crate) fn turn(&self) -> usize {
        let theirs: Vec<bool> = self.entries().iter().map(is_theirs).collect();
        // A reply is one message, or several items behind each other.
        let goes_on = |at: usize| self.vendor == Vendor::Responses && at > 0 && theirs[at - 1];
        theirs.iter().enumerate().filter(|(at, theirs)| **theirs && !goes_on(*at)).count()
    }

    /// The system prompt's text.
    pub(crate) fn system(&self) -> String {
        match self.vendor {
            Vendor::Anthropic => texts(&self.body["system"]),
            Vendor::OpenAi | Vendor::Ollama => self
                .entries()
                .iter()
                .filter(|entry| entry["role"] == "system" || entry["role"] == "developer")
                .map(|entry| texts(&entry["content"]))
                .collect(),
            Vendor::Responses => string(&self.body["instructions"]),
            Vendor::Gemini => texts(&self.body["systemInstruction"]["parts"]),
        }
    }

    /// The names of the tools on offer.
    pub(crate) fn tools(&self) -> Vec<String> {
        let (list, name): (&Value, fn(&Value) -> &Value) = match self.vendor {
            Vendor::Anthropic | Vendor::Responses => (&self.body["tools"], |tool| &tool["name"]),
            Vendor::OpenAi | Vendor::Ollama => (&self.body["tools"], |tool| &tool["function"]["name"]),
            Vendor::Gemini => (&self.body["tools"][0]["functionDeclarations"], |tool| &tool["name"]),
        };
        list.as_array().into_iter().flatten().filter_map(|tool| name(tool).as_str().map(str::to_owned)).collect()
    }

    /// The user's words before the model's first reply.
    pub(crate) fn first_user_text(&self) -> String {
        let entries = self.entries();
        let own = entries.iter().take_while(|entry| !is_theirs(entry)).filter(|entry| entry["role"] == "user");
        own.map(|entry| texts(entry.get("content").unwrap_or(&entry["parts"]))).collect::<Vec<_>>().join("\n")
    }

    /// The text of everything we said since the model's last reply, tool results excluded.
    pub(crate) fn last_user_text(&self) -> String {
        let entries = self.entries();
        let start = entries.iter().rposition(is_theirs);
        entries[start.map_or(0, |at| at + 1)..]
            .iter()
            .filter(|entry| entry["role"] == "user")
            .map(|entry| texts(entry.get("content").unwrap_or(&entry["parts"])))
            .collect::<Vec<_>>()
            .join("\n")
    }

    /// The whole conversation's text (system, users, results) in one string: for "does it say …" assertions.
    pub(crate) fn all_text(&self) -> String {
        String::from_utf8_lossy(&self.raw).into_owned()
    }

    /// The tool results given since the model's last reply, in order.
    pub(crate) fn tool_results(&self) -> Vec<SeenResult> {
        let entries = self.entries();
        let start = entries.iter().rposition(is_theirs);
        let recent = &entries[start.map_or(0, |at| at + 1)..];
        let parts = |entry: &Value, key: &str| entry[key].as_array().cloned().unwrap_or_default();
        match self.vendor {
            Vendor::Anthropic => recent
                .iter()
                .flat_map(|entry| parts(entry, "content"))
                .filter(|block| block["type"] == "tool_result")
                .map(|block| SeenResult { call: string(&block["tool_use_id"]), content: texts(&block["content"]) })
                .collect(),
            Vendor::OpenAi => recent
                .iter()
                .filter(|entry| entry["role"] == "tool")
                .map(|entry| SeenResult { call: string(&entry["tool_call_id"]), content: texts(&entry["content"]) })
                .collect(),
            Vendor::Ollama => recent
                .iter()
                .filter(|entry| entry["role"] == "tool")
                .map(|entry| SeenResult { call: string(&entry["tool_name"]), content: texts(&entry["content"]) })
                .collect(),
            Vendor::Responses => recent
                .iter()
                .filter(|item| item["type"] == "function_call_output")
                .map(|item| SeenResult { call: string(&item["call_id"]), content: texts(&item["output"]) })
                .collect(),
            Vendor::Gemini => recent
                .iter()
                .flat_map(|entry| parts(entry, "parts"))
                .filter(|part| part.get("functionResponse").is_some())
                .map(|part| {
                    let response = &part["functionResponse"];
                    let said = response["response"].as_object().and_then(|map| map.values().next());
                    SeenResult { call: string(&response["name"]), content: said.map(string).unwrap_or_default() }
                })
                .collect(),
        }
    }
}

/// Whether an entry of a conversation is the model's.
pub(super) fn is_theirs(entry: &Value) -> bool {
    entry["role"] == "assistant"
        || entry["role"] == "model"
        || entry["type"] == "reasoning"
        || entry["type"] == "function_call"
}

fn string(value: &Value) -> String {
    value.as_str().unwrap_or_default().to_owned()
}

fn texts(value: &Value) -> String {
    let blocks = value.as_array().into_iter().flatten().filter_map(|block| block["text"].as_str());
    value.as_str().map_or_else(|| blocks.collect(), str::to_owned)
}
