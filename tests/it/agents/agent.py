#!/usr/bin/env python3
"""A coding agent of the tests: asks its model until that calls no tool any more, and tells of it as the real one of its name does.

A reply is words, or a JSON list of steps; the results go back with the next call.
"""
import http.client, json, os, re, signal, subprocess, sys, time, urllib.parse

NAME = os.path.basename(sys.argv[0])
if "--version" in sys.argv:
    print("9.9.9 (" + NAME + ")")
    sys.exit(0)


def option(name):
    return sys.argv[sys.argv.index(name) + 1]


def say(event):
    sys.stdout.write(json.dumps(event) + "\n")
    sys.stdout.flush()


if NAME == "claude":
    prompt, MODEL = option("-p"), option("--model")
    base, key, path = os.environ["ANTHROPIC_BASE_URL"], os.environ["ANTHROPIC_API_KEY"], "/v1/messages"
elif NAME == "gemini":
    prompt, MODEL = option("-p"), option("-m")
    base, key, path = os.environ["GOOGLE_GEMINI_BASE_URL"], os.environ["GEMINI_API_KEY"], "/v1beta/models/%s:generateContent" % MODEL
else:
    with open(os.environ["CODEX_HOME"] + "/config.toml") as settings:
        base = re.search('base_url = "(.*)"', settings.read()).group(1)
    prompt, MODEL, key, path = sys.argv[sys.argv.index("-m") + 2], option("-m"), os.environ["UPSHIFT_GATEWAY_KEY"], "/responses"


def ask(turns, model=None):
    model = model or MODEL
    if NAME == "claude":
        messages = [{"role": "assistant" if n % 2 else "user", "content": text} for n, text in enumerate(turns)]
        body = {"model": model, "max_tokens": 4000, "messages": messages}
    elif NAME == "gemini":
        body = {"contents": [{"role": "model" if n % 2 else "user", "parts": [{"text": text}]} for n, text in enumerate(turns)]}
    else:
        items = [{"type": "message", "role": "assistant" if n % 2 else "user",
                  "content": [{"type": "output_text" if n % 2 else "input_text", "text": text}]} for n, text in enumerate(turns)]
        body = {"model": model, "input": items, "store": False, "include": ["reasoning.encrypted_content"]}
    url = urllib.parse.urlsplit(base + path)
    connection = http.client.HTTPConnection(url.hostname, url.port)
    headers = {"content-type": "application/json", "x-api-key": key, "authorization": "Bearer " + key, "user-agent": "upshift/test"}
    connection.request("POST", url.path, json.dumps(body), headers)
    answer = connection.getresponse()
    text = answer.read().decode()
    if answer.status != 200:
        return None, text
    reply = json.loads(text)
    if NAME == "claude":
        return "".join(block.get("text", "") for block in reply["content"]), None
    return "".join(part.get("text", "") for item in reply["output"] for part in item.get("content", [])), None


LEAVING = [0]


def step(what, number):
    kind, about = what["do"], what.get("path", what.get("command", ""))
    call = "call_%d" % number
    if NAME == "claude":
        say({"type": "assistant", "message": {"content": [{"type": "tool_use", "id": call, "name": kind, "input": {"file_path": os.path.abspath(about)}}]},
             "parent_tool_use_id": None})
    else:
        say({"type": "item.started", "item": {"id": call, "type": "command_execution", "command": about, "status": "in_progress"}})
    result = ""
    try:
        if kind == "write":
            os.makedirs(os.path.dirname(os.path.abspath(about)), exist_ok=True)
            with open(about, "w") as out:
                out.write(what["text"])
        elif kind == "replace":
            with open(about) as source:
                text = source.read()
            with open(about, "w") as out:
                out.write(text.replace(what["old"], what["new"]))
        elif kind == "delete":
            os.remove(about)
        elif kind == "rename":
            os.rename(about, what["to"])
        elif kind == "mode":
            os.chmod(about, what["mode"])
        elif kind == "run":
            done = subprocess.run(what["command"], shell=True, capture_output=True, text=True, errors="replace")
            result = done.stdout + done.stderr
        elif kind == "arguments":
            result = json.dumps([argument for argument in sys.argv if argument != prompt])
        elif kind == "environment":
            result = "\n".join(name + "=" + value for name, value in os.environ.items())
        elif kind == "helpers":
            # A helper that starts another one; both report.
            for depth, started, by in ((1, "h1", None), (2, "h2", "call_h1")):
                starts = {"type": "tool_use", "id": "call_" + started, "name": "Agent", "input": {"subagent_type": "helper " + started}}
                launched = {"type": "tool_result", "tool_use_id": "call_" + started, "content": "launched", "is_error": False}
                say({"type": "assistant", "message": {"content": [starts]}, "parent_tool_use_id": by})
                say({"type": "system", "subtype": "task_started", "task_id": started, "tool_use_id": "call_" + started, "spawn_depth": depth,
                     "subagent_type": "helper " + started})
                say({"type": "user", "message": {"content": [launched]}, "parent_tool_use_id": by})
            for ended, tokens, status in (("h2", 100, "failed"), ("h1", 430, "completed")):
                say({"type": "system", "subtype": "task_notification", "task_id": ended, "status": status, "usage": {"total_tokens": tokens}})
        elif kind == "die":
            os.kill(os.getpid(), signal.SIGKILL)
        elif kind == "exit":
            sys.exit(what["code"])
        elif kind == "leave":
            # With this code, once it is done.
            LEAVING[0] = what["code"]
        elif kind == "side":
            # A title, by the small model that it was told of.
            said, refused = ask(["Title this."], os.environ["ANTHROPIC_DEFAULT_HAIKU_MODEL"])
            result = said or refused
        elif kind == "stubborn":
            for number in (signal.SIGINT, signal.SIGTERM):
                signal.signal(number, lambda *_: None)
            child = subprocess.Popen(["sh", "-c", "trap '' TERM INT; while :; do sleep 1; done"], start_new_session=True)
            result = "%d" % child.pid
            if what.get("stay"):
                while True:
                    time.sleep(60)
        ok = True
    except OSError as error:
        ok, result = False, str(error)
    if NAME == "claude":
        say({"type": "user", "message": {"content": [{"type": "tool_result", "tool_use_id": call, "content": result, "is_error": not ok}]}})
    else:
        status = "completed" if ok else "failed"
        say({"type": "item.completed", "item": {"id": call, "type": "command_execution", "aggregated_output": result, "status": status}})
    return ("ok " if ok else "failed ") + kind + " " + result


say({"type": "system", "subtype": "init", "session_id": "s"} if NAME == "claude" else {"type": "thread.started", "thread_id": "t"})
say({"type": "something.new", "prompt": prompt})
if os.path.exists("limited-elsewhere") and NAME == "claude":
    # It knows a model past the gateway, and that one is limited.
    with open("limited-elsewhere") as words:
        sys.stderr.write(words.read())
    sys.exit(1)
turns, number = [prompt], 0
while True:
    said, refused = ask(turns)
    if refused is not None:
        if NAME == "claude":
            say({"type": "result", "subtype": "success", "is_error": True, "result": refused})
        elif NAME == "gemini":
            say({"type": "result", "status": "error", "error": {"message": refused}})
        else:
            say({"type": "turn.failed", "error": {"message": refused}})
        if os.path.exists("never-gives-up"):
            time.sleep(0.2)
            continue
        sys.exit(1)
    try:
        steps = json.loads(said)
    except ValueError:
        steps = None
    if not isinstance(steps, list):
        if NAME == "claude":
            say({"type": "assistant", "message": {"content": [{"type": "text", "text": said}]}, "parent_tool_use_id": None})
            say({"type": "result", "subtype": "success", "is_error": False, "result": said, "usage": {"input_tokens": 999999, "output_tokens": 9}})
        else:
            say({"type": "item.completed", "item": {"id": "m", "type": "agent_message", "text": said}})
            say({"type": "turn.completed", "usage": {"input_tokens": 999999, "output_tokens": 9}})
        if os.path.exists("titles-last"):
            ask(["Title this."], os.environ["ANTHROPIC_DEFAULT_HAIKU_MODEL"])
        sys.exit(LEAVING[0])
    results = []
    for what in steps:
        number += 1
        results.append(step(what, number))
    turns += [said, "\n".join(results)]
