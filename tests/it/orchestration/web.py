"""A web service for the tests: a few resources, and a server of tools over streamable HTTP. Each request is a line of its log."""
import base64
import json
import os
import sys
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

SECRET = os.environ.get("WEB_SECRET", "")
TOOLS = [
    {"name": "look", "description": "Reads.", "annotations": {"readOnlyHint": True},
     "inputSchema": {"type": "object", "properties": {"path": {"type": "string"}}}},
    {"name": "slow", "description": "Never answers.", "annotations": {"readOnlyHint": True}, "inputSchema": {"type": "object"}},
    {"name": "cut", "description": "Ends in the middle.", "annotations": {"readOnlyHint": True}, "inputSchema": {"type": "object"}},
    {"name": "forget", "description": "Forgets the session.", "annotations": {"readOnlyHint": True}, "inputSchema": {"type": "object"}},
    {"name": "change", "description": "Writes.", "inputSchema": {"type": "object"}},
]
sessions = {}
together = threading.Barrier(2, timeout=20)


class Web(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *_):
        pass

    def note(self, body=""):
        line = {"method": self.command, "path": self.path, "headers": {k.lower(): v for k, v in self.headers.items()}, "body": body}
        with open(sys.argv[1], "a") as log:
            log.write(json.dumps(line) + "\n")

    def answer(self, status, body=b"", kind="application/json", headers=()):
        body = body if isinstance(body, bytes) else body.encode()
        self.send_response(status)
        for name, value in headers:
            self.send_header(name, value)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def stream(self, messages, ends=True):
        self.send_response(200)
        self.send_header("Content-Type", "text/event-stream")
        self.send_header("Connection", "close")
        self.end_headers()
        self.wfile.write(b": hello\n\n")
        for message in messages:
            self.wfile.write(b"event: message\ndata: " + json.dumps({"jsonrpc": "2.0", **message}).encode() + b"\n\n")
            self.wfile.flush()
        if not ends:
            time.sleep(20)
        self.close_connection = True

    def do_GET(self):
        self.note()
        if self.path.startswith("/issues/"):
            return self.answer(200, json.dumps({"path": self.path, "seen": self.headers.get("Authorization"), "total": "is one short"}))
        if self.path == "/slow":
            return time.sleep(20)
        if self.path == "/big":
            return self.answer(200, "\n".join(f"line {n}" for n in range(100_000)), "text/plain")
        if self.path == "/picture":
            return self.answer(200, b"\x89PNG", "image/png")
        if self.path == "/login":
            pair = base64.b64decode(self.headers["Authorization"].split()[1]).decode()
            return self.answer(200, f"welcome {pair}, or {pair.split(':')[1]}", "text/plain")
        if self.path == "/token":
            return self.answer(200, "known: " + self.headers["Authorization"].split('"')[1], "text/plain")
        if self.path == "/kind":
            return self.answer(200, b"", "image/" + self.headers["Authorization"])
        if self.path == "/elsewhere":
            return self.answer(302, headers=[("Location", f"http://localhost:{self.server.server_port}/issues/stolen")])
        self.answer(418, f"no tea for {SECRET}", "text/plain")

    def do_HEAD(self):
        self.note()
        self.answer(404)

    def do_DELETE(self):
        self.note()
        sessions.pop(self.headers.get("Mcp-Session-Id"), None)
        self.answer(200)

    def do_POST(self):
        body = self.rfile.read(int(self.headers.get("Content-Length", 0))).decode()
        self.note(body)
        if self.path == "/issues":
            return self.answer(201, json.dumps({"made": json.loads(body)}))
        if self.headers.get("Authorization") != f"Bearer {SECRET}":
            return self.answer(401, "who are you?", "text/plain")
        message = json.loads(body)
        method, number = message.get("method"), message.get("id")
        if method == "initialize":
            if self.path == "/together":
                try:
                    together.wait()
                except threading.BrokenBarrierError:
                    return self.answer(503, "nobody else came", "text/plain")
            session = f"session-{len(sessions)}"
            sessions[session] = True
            result = {"protocolVersion": message["params"]["protocolVersion"], "capabilities": {"tools": {}},
                      "serverInfo": {"name": "web", "version": "1"}}
            reply = json.dumps({"jsonrpc": "2.0", "id": number, "result": result}, indent=1)
            return self.answer(200, reply, headers=[("Mcp-Session-Id", session)])
        if self.headers.get("Mcp-Session-Id") not in sessions:
            return self.answer(404, "no such session", "text/plain")
        if not self.headers.get("MCP-Protocol-Version"):
            return self.answer(400, "which version?", "text/plain")
        if number is None or method is None:
            return self.answer(202)
        if method == "tools/list":
            asks = {"id": "ask-1", "method": "ping"}
            told = {"method": "notifications/message", "params": {"level": "info", "data": "listing"}}
            # The stream stays open behind the answer: nobody may wait for its end.
            return self.stream([asks, told, {"id": number, "result": {"tools": TOOLS}}], ends=False)
        name = message["params"]["name"]
        if name == "slow":
            return time.sleep(20)
        if name == "cut":
            return self.stream([{"method": "notifications/message", "params": {"level": "info", "data": "so far"}}])
        if name == "forget":
            sessions.clear()
            return self.answer(404, "no such session", "text/plain")
        text = f"{message['params']['arguments'].get('path')} is at {self.headers.get('Authorization')}"
        self.answer(200, json.dumps({"jsonrpc": "2.0", "id": number, "result": {"content": [{"type": "text", "text": text}]}}))


server = ThreadingHTTPServer(("127.0.0.1", 0), Web)
server.daemon_threads = True
print(server.server_port, flush=True)
server.serve_forever()
