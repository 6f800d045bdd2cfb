"""A server of tools for the tests: speaks the protocol line by line, and tells what it can reach."""
import json
import os
import subprocess
import sys
import time

TOOLS = [
    {"name": "look", "description": "Reads a file.", "annotations": {"readOnlyHint": True},
     "inputSchema": {"type": "object", "properties": {"path": {"type": "string"}}, "required": ["path"]}},
    {"name": "reach", "description": "Says what it can reach.", "annotations": {"readOnlyHint": True},
     "inputSchema": {"type": "object", "properties": {}}},
    {"name": "slow", "description": "Never answers.", "annotations": {"readOnlyHint": True},
     "inputSchema": {"type": "object", "properties": {}}},
    {"name": "die", "description": "Ends the server.", "annotations": {"readOnlyHint": True},
     "inputSchema": {"type": "object", "properties": {}}},
    {"name": "long", "description": "Says a lot.", "annotations": {"readOnlyHint": True},
     "inputSchema": {"type": "object", "properties": {}}},
    {"name": "flood", "description": "Sends a line without end.", "annotations": {"readOnlyHint": True},
     "inputSchema": {"type": "object", "properties": {}}},
    {"name": "change", "description": "Writes.", "inputSchema": {"type": "object", "properties": {}}},
]

if "--huge" in sys.argv:
    TOOLS += [{"name": f"huge{n}", "description": "Large.", "annotations": {"readOnlyHint": True},
               "inputSchema": {"type": "object", "description": "x" * 7000}} for n in range(40)]
if "--odd" in sys.argv:
    TOOLS.append({"name": "odd", "description": "Takes one or the other.", "annotations": {"readOnlyHint": True},
                  "inputSchema": {"type": "object", "oneOf": [{"required": ["a"]}, {"required": ["b"]}]}})


def say(message):
    print(json.dumps({"jsonrpc": "2.0", **message}), flush=True)


def reach():
    told = {"keys": [name for name in os.environ if "ANTHROPIC" in name], "named": os.environ.get("TEAM_WORD")}
    try:
        with open("shop/cart.py", "a") as file:
            file.write("# changed\n")
        told["tree"] = "written"
    except OSError:
        told["tree"] = "read only"
    return json.dumps(told)


def call(name, arguments):
    if name == "look":
        with open(arguments["path"]) as file:
            return file.read()
    if name == "reach":
        return reach()
    if name == "long":
        return "\n".join(f"line {n}" for n in range(5000))
    if name == "die":
        sys.stderr.write("no more\n")
        os._exit(3)
    return None


for word in sys.argv:
    if word.startswith("--root="):
        os.chdir(word.removeprefix("--root="))
if "--broken" in sys.argv:
    sys.stderr.write("no such database\n")
    sys.exit(1)
# A child that would outlive the session, if nobody ended it.
mark = next(word for word in sys.argv if word.startswith("sleep-"))
subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)", mark])
if "--daemon" in sys.argv:
    # Programs with sessions of their own, as the browsers that servers start.
    for _ in range(8):
        subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)", mark], start_new_session=True)
print("starting up")
for line in sys.stdin:
    message = json.loads(line)
    method, number = message.get("method"), message.get("id")
    if method == "initialize":
        say({"id": number, "result": {"protocolVersion": message["params"]["protocolVersion"],
                                      "capabilities": {"tools": {}}, "serverInfo": {"name": "t", "version": "1"}}})
    elif method == "tools/list":
        say({"method": "notifications/message", "params": {"level": "info", "data": "listing"}})
        first = "cursor" not in message["params"]
        page = {"tools": TOOLS[:3], "nextCursor": "more"} if first else {"tools": TOOLS[3:]}
        say({"id": number, "result": page})
    elif method == "tools/call":
        name = message["params"]["name"]
        if name == "slow":
            # Whoever waits for the call to be under way looks for this child.
            subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)", mark + "-at-work"])
            continue
        if name == "flood":
            sys.stdout.write("x" * 5_000_000)
            sys.stdout.flush()
            continue
        try:
            text = call(name, message["params"]["arguments"])
            say({"id": number, "result": {"content": [{"type": "text", "text": text}]}})
        except OSError as error:
            say({"id": number, "result": {"content": [{"type": "text", "text": str(error)}], "isError": True}})
