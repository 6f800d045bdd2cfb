"""A client of the gateway: does the steps of a plan, and writes down what came of each."""
import gzip, http.client, json, os, signal, sys, time, urllib.parse

WIRES = {
    "messages": ("ANTHROPIC_BASE_URL", "ANTHROPIC_API_KEY", "/v1/messages", "x-api-key"),
    "responses": ("OPENAI_BASE_URL", "OPENAI_API_KEY", "/responses", "authorization"),
    "chat": ("OPENAI_BASE_URL", "OPENAI_API_KEY", "/chat/completions", "authorization"),
    "generate": ("GOOGLE_GEMINI_BASE_URL", "GEMINI_API_KEY", "", "x-goog-api-key"),
}
told = []


def tell(what):
    told.append(what)
    with open("told.tmp", "w") as out:
        json.dump(told, out)
    os.rename("told.tmp", "told.json")


def send(step):
    base, key, path, header = WIRES[step["wire"]]
    url = urllib.parse.urlsplit(os.environ[base] + step.get("path", path))
    word = step.get("key", os.environ[key])
    body = json.dumps(step["body"]).encode()
    headers = {"content-type": "application/json", "user-agent": "upshift/test", **step.get("headers", {})}
    headers[header] = "Bearer " + word if header == "authorization" else word
    if step.get("gzip"):
        body, headers["content-encoding"] = gzip.compress(body), "gzip"
    connection = http.client.HTTPConnection(url.hostname, url.port)
    target = url.path + ("?" + url.query if url.query else "")
    connection.request(step.get("method", "POST"), target, body, headers)
    return connection, connection.getresponse()


def call(step):
    connection, answer = send(step)
    said = {"status": answer.status, "headers": {k.lower(): v for k, v in answer.getheaders()}, "body": answer.read().decode()}
    connection.close()
    return said


def until_refused(step):
    answers = []
    while not answers or answers[-1]["status"] == 200:
        answers.append(call(step))
    return {"calls": len(answers) - 1, "last": answers[-1]}


def drain(step):
    """Reads an answer piece by piece, and tells how much memory upshift took at most."""
    connection, answer = send(step)
    size = 0
    while piece := answer.read(65536):
        size += len(piece)
    connection.close()
    peaks, pid = [], os.getppid()
    while pid > 1:
        with open("/proc/%d/status" % pid) as status:
            fields = dict(line.rstrip().split(":", 1) for line in status)
        if not fields["Name"].strip().startswith("upshift"):
            break
        peaks.append(int(fields["VmHWM"].split()[0]))
        pid = int(fields["PPid"])
    return {"status": answer.status, "size": size, "peak_kb": max(peaks)}


def hang_up(step):
    connection, answer = send(step)
    begun = answer.read(step["after"]).decode()
    connection.close()
    answer.close()
    return {"begun": begun}


for step in json.loads(sys.argv[1]):
    kind = step["do"]
    if kind == "call":
        tell(call(step))
    elif kind == "until_refused":
        tell(until_refused(step))
    elif kind == "drain":
        tell(drain(step))
    elif kind == "hang_up":
        tell(hang_up(step))
    elif kind == "environment":
        tell(dict(os.environ))
    elif kind == "stubborn":
        for number in (signal.SIGINT, signal.SIGTERM):
            signal.signal(number, lambda *_: None)
        tell({"pid": os.getpid()})
    elif kind == "stay":
        tell({"pid": os.getpid()})
        while True:
            time.sleep(60)
    elif kind == "exit":
        sys.exit(step["code"])
