"""Latency of `proxcode explore` over HTTP: search by item, by vector and by text, at 1,000,000 codes.

    python benchmarks/explore.py [--sizes 100000 1000000] [--bits 64] [--requests 200]

Codes are those of CIFAR-10 GIST (from PROXCODE_DATA, otherwise of Gaussian clusters), repeated until there are enough,
with each bit flipped with probability 0.1, as in benchmarks/search.py. Items have a text of six words of 20,000 and a
number. The server is a process of its own, started by the command line; requests come one after another on one
connection, and in a second run from four threads at a time. Processor time is that of the server, per request. Texts to
search for are the beginnings of words, words that no item has, and parts of words, of 1 to 12 characters. Writes
docs/results/explore.csv.
"""

import argparse
import csv
import http.client
import json
import os
import re
import signal
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from time import perf_counter
from urllib.parse import urlsplit

import numpy as np

from _common import gist
from proxcode import KernelHash, ProximityPreservingCode

ROOT = Path(__file__).parents[1]
NOISE, N_WORDS, K = 0.1, 20_000, 10
ROWS_AT_ONCE = 100_000


def write_inputs(folder, n_bits, sizes, rng):
    """Write a model, codes and items; return vectors to search for, and the words of the items."""
    X, y = gist()
    model = ProximityPreservingCode(n_bits, hash_function=KernelHash(n_landmarks=1000), random_state=0)
    model.fit(X[:20_000], y[:20_000])
    model.save(folder / "model.proxcode")
    known = model.encode(X)
    letters = np.array(list("etaoinshrdlucmfwypvbgkjqxz"))
    words = ["".join(letters[np.minimum(rng.geometric(0.1, rng.integers(3, 10)) - 1, 25)]) for _ in range(N_WORDS)]
    for n in sizes:
        codes = np.resize(known, (n, n_bits // 8))
        for byte in range(n_bits // 8):
            for bit in range(8):
                codes[:, byte] ^= (rng.random(n, dtype=np.float32) < NOISE).astype(np.uint8) << np.uint8(bit)
        np.save(folder / f"codes_{n}.npy", codes)
        with (folder / f"items_{n}.csv").open("w", newline="") as file:
            writer = csv.writer(file)
            writer.writerow(["number", "text"])
            chosen = rng.integers(N_WORDS, size=(n, 6))
            writer.writerows([row, " ".join(words[word] for word in six)] for row, six in enumerate(chosen.tolist()))
    return X[-1000:], words


def texts(words, n, rng):
    """Return what people type: beginnings and parts of words, two words, and words that no item has."""
    typed = []
    for number in range(n):
        word = words[rng.integers(len(words))]
        start = int(rng.integers(0, 2))
        kinds = (
            word[:1],
            word[:2],
            word[start : start + 3],
            word,
            f"{word} {words[rng.integers(len(words))][:3]}",
            f"{word}qzx",
        )
        typed.append(kinds[number % len(kinds)])
    return typed


class Client:
    """One connection to the server."""

    def __init__(self, address):
        parts = urlsplit(address)
        self.path, self.connection = parts.path, http.client.HTTPConnection(parts.netloc, timeout=60)

    def milliseconds(self, name, request):
        """Send a request and return the time until its answer is read."""
        start = perf_counter()
        self.connection.request("POST", self.path + name, json.dumps(request), {"Content-Type": "application/json"})
        response = self.connection.getresponse()
        content = response.read()
        taken = 1000 * (perf_counter() - start)
        if response.status != 200:
            raise RuntimeError(content.decode())
        return taken


def requests_of(n, vectors, words, n_requests, rng):
    rows, typed = rng.integers(n, size=n_requests), texts(words, n_requests, rng)
    queries = vectors[rng.integers(len(vectors), size=n_requests)]
    return {
        "item": [("search", {"row": int(row), "k": K}) for row in rows],
        "vector": [("search", {"vector": query.tolist(), "k": K}) for query in queries],
        "text": [("suggest", {"text": text}) for text in typed],
    }


def measure(address, requests, n_threads):
    """Return the milliseconds of all requests, sent by threads with a connection each."""

    def run(part):
        client = Client(address)
        return [client.milliseconds(*request) for request in part]

    with ThreadPoolExecutor(n_threads) as pool:
        return np.concatenate(list(pool.map(run, [requests[start::n_threads] for start in range(n_threads)])))


def memory_mib(process):
    status = Path(f"/proc/{process.pid}/status").read_text()
    return int(re.search(r"VmRSS:\s+(\d+)", status)[1]) / 1024


def processor_seconds(process):
    fields = Path(f"/proc/{process.pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def rows_of(folder, n, n_bits, vectors, words, n_requests):
    rng = np.random.default_rng(1)
    arguments = ["explore", "model.proxcode", f"codes_{n}.npy", "--items", f"items_{n}.csv:text"]
    start = perf_counter()
    with subprocess.Popen(
        [sys.executable, "-m", "proxcode", *arguments], cwd=folder, stdout=subprocess.PIPE, text=True
    ) as process:
        address = re.search(r"http://\S+", process.stdout.readline())[0]
        started = perf_counter() - start
        for kind, requests in requests_of(n, vectors, words, n_requests, rng).items():
            for n_threads in (1, 4):
                before = processor_seconds(process)
                taken = measure(address, requests, n_threads)
                busy = processor_seconds(process) - before
                yield {
                    "codes": n,
                    "bits": n_bits,
                    "search by": kind,
                    "at a time": n_threads,
                    "requests": len(taken),
                    "p50 ms": round(float(np.percentile(taken, 50)), 2),
                    "p95 ms": round(float(np.percentile(taken, 95)), 2),
                    "largest ms": round(float(taken.max()), 2),
                    "processor ms": round(1000 * busy / len(taken), 2),
                    "server MiB": round(memory_mib(process)),
                    "start s": round(started, 1),
                }
        process.send_signal(signal.SIGINT)
        process.wait(20)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--sizes", type=int, nargs="+", default=[100_000, 1_000_000])
    parser.add_argument("--bits", type=int, default=64)
    parser.add_argument("--requests", type=int, default=200)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        vectors, words = write_inputs(Path(name), options.bits, options.sizes, np.random.default_rng(0))
        rows = []
        for n in options.sizes:
            for row in rows_of(Path(name), n, options.bits, vectors, words, options.requests):
                print("  ".join(f"{key} {value}" for key, value in row.items()), flush=True)
                rows.append(row)
    with (ROOT / "docs" / "results" / "explore.csv").open("w", newline="") as file:
        writer = csv.DictWriter(file, rows[0], lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)


if __name__ == "__main__":
    main()
