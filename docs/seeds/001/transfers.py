"""Ten files of 1 MB from a server on this host that waits before each answer: one after the other, or six at a time.

python3 transfers.py sequential|parallel [WAIT_MS]
"""

import sys
import threading
import time
import urllib.request
from concurrent.futures import ThreadPoolExecutor
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

WAIT_S = float(sys.argv[2]) / 1e3 if len(sys.argv) > 2 else 0.02
FILE = bytes(1_000_000)


class Answer(BaseHTTPRequestHandler):
    def do_GET(self):
        time.sleep(WAIT_S)
        self.send_response(200)
        self.send_header("Content-Length", str(len(FILE)))
        self.end_headers()
        self.wfile.write(FILE)

    def log_message(self, *_):
        pass


server = ThreadingHTTPServer(("127.0.0.1", 0), Answer)
threading.Thread(target=server.serve_forever, daemon=True).start()


def fetch(number):
    with urllib.request.urlopen(f"http://127.0.0.1:{server.server_port}/{number}") as answer:
        return len(answer.read())


start = time.perf_counter()
with ThreadPoolExecutor(6 if sys.argv[1] == "parallel" else 1) as pool:
    total = sum(pool.map(fetch, range(10)))
print(f"{total} bytes in {time.perf_counter() - start:.6f} s")
server.shutdown()
