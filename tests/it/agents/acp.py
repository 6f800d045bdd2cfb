#!/usr/bin/env python3
"""An agent of the tests that speaks the Agent Client Protocol: asks its model until that calls no tool any more, and has files read and written for it."""
import http.client, json, os, sys, time, urllib.parse

if "--version" in sys.argv:
    print("7.7.7 (acp)")
    sys.exit(0)
asked = 0


def send(message):
    sys.stdout.write(json.dumps({"jsonrpc": "2.0", **message}) + "\n")
    sys.stdout.flush()


def request(method, params):
    global asked
    asked += 1
    send({"id": "a%d" % asked, "method": method, "params": params})
    for line in sys.stdin:
        message = json.loads(line)
        if message.get("id") == "a%d" % asked:
            return message.get("result"), message.get("error")
    sys.exit(0)


def update(**fields):
    send({"method": "session/update", "params": {"sessionId": "s", "update": fields}})


def model(turns):
    messages = [{"role": "assistant" if n % 2 else "user", "content": text} for n, text in enumerate(turns)]
    body = {"model": "whatever", "max_tokens": 4000, "messages": messages}
    url = urllib.parse.urlsplit(os.environ["ANTHROPIC_BASE_URL"])
    connection = http.client.HTTPConnection(url.hostname, url.port)
    headers = {"content-type": "application/json", "x-api-key": os.environ["ANTHROPIC_API_KEY"], "user-agent": "upshift/test"}
    connection.request("POST", "/v1/messages", json.dumps(body), headers)
    reply = json.loads(connection.getresponse().read())
    return "".join(block.get("text", "") for block in reply["content"])


def step(what, number):
    path = os.path.abspath(what["path"])
    call = "c%d" % number
    if what["do"] == "hang":
        time.sleep(600)
    update(sessionUpdate="tool_call", toolCallId=call, title=what["do"], kind="edit", status="pending", locations=[{"path": path}])
    if what["do"] == "write":
        result, error = request("fs/write_text_file", {"sessionId": "s", "path": path, "content": what["text"]})
    elif what["do"] == "read":
        result, error = request("fs/read_text_file", {"sessionId": "s", "path": path, **what.get("more", {})})
    else:
        options = [{"optionId": "go", "name": "Go", "kind": "allow_once"}, {"optionId": "stay", "name": "Stay", "kind": "reject_once"}]
        tool = {"toolCallId": call, "kind": "edit", "locations": [{"path": path}]}
        result, error = request("session/request_permission", {"sessionId": "s", "toolCall": tool, "options": options})
    update(sessionUpdate="tool_call_update", toolCallId=call, status="failed" if error else "completed")
    return json.dumps([what["do"], what["path"], result, error])


for line in sys.stdin:
    message = json.loads(line)
    method = message.get("method")
    if method == "initialize":
        assert message["params"]["clientCapabilities"]["fs"]["writeTextFile"], message
        send({"id": message["id"], "result": {"protocolVersion": 1, "agentCapabilities": {}, "authMethods": []}})
    elif method == "session/new":
        assert message["params"]["cwd"] == os.getcwd(), message
        send({"id": message["id"], "result": {"sessionId": "s"}})
    elif method == "session/prompt" and os.path.exists("limited-elsewhere"):
        # It knows a model past the gateway, and that one is limited. It stays.
        send({"id": message["id"], "error": {"code": -32603, "message": "429 Too Many Requests: rate limit reached"}})
        time.sleep(600)
    elif method == "session/prompt":
        turns, number = [message["params"]["prompt"][0]["text"]], 0
        while True:
            said = model(turns)
            try:
                steps = json.loads(said)
            except ValueError:
                break
            results = []
            for what in steps:
                number += 1
                results.append(step(what, number))
            turns += [said, "\n".join(results)]
        for piece in (said[:3], said[3:]):
            update(sessionUpdate="agent_message_chunk", content={"type": "text", "text": piece})
        send({"id": message["id"], "result": {"stopReason": "end_turn"}})
        # As some do, it stays although its input ends.
        if os.path.exists("stays"):
            time.sleep(600)
