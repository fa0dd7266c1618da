"""The verb explore: what it reads, what it refuses, and how it is stopped."""

import json
import re
import signal
import subprocess
import sys
from http.client import HTTPConnection
from urllib.parse import urlsplit

import numpy as np
import pytest

from helpers.command_line import N_BITS, fails
from proxcode import HammingIndex, ProximityPreservingCode


@pytest.fixture(scope="module")
def inputs(folder, train):
    n = len(train[0])
    rows = "".join(f"{row},item {row}\n" for row in range(n))
    (folder / "items.csv").write_text(f"number,title\n{rows}")
    (folder / "few.csv").write_text("title\nonly\n")
    return folder


class Started:
    """A server started by the command line in this folder."""

    def __init__(self, folder, *arguments):
        command = [sys.executable, "-m", "proxcode", "explore", *arguments]
        self.process = subprocess.Popen(command, cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        self.line = self.process.stdout.readline()
        assert re.fullmatch(r"Explore at http://127\.0\.0\.1:\d+/[\w-]{32}/ \(Ctrl-C stops\)\n", self.line), (
            self.line or self.process.stderr.read()
        )
        self.address = urlsplit(self.line.split()[2])

    def post(self, name, record):
        connection = HTTPConnection(self.address.netloc, timeout=30)
        headers = {"Content-Type": "application/json"}
        connection.request("POST", self.address.path + name, json.dumps(record), headers)
        answer = json.loads(connection.getresponse().read())
        connection.close()
        return answer

    def stopped_by(self, number):
        """Send a signal; return the exit code and what is printed."""
        self.process.send_signal(number)
        output, errors = self.process.communicate(timeout=30)
        return self.process.returncode, output, errors


def test_a_server_answers_until_ctrl_c(inputs):
    named = ("--labels", "labels.npy", "--vectors", "train.npy", "--image-shape", "8x8")
    started = Started(inputs, "api.proxcode", "codes.npy", "--items", "items.csv", *named)
    codes = np.load(inputs / "codes.npy")
    expected = HammingIndex(N_BITS).add(codes).search(codes[3:4], 5, exclude=[3])
    found = started.post("search", {"row": 3, "k": 5})
    assert [one["row"] for one in found["neighbors"]] == expected.neighbor[0].tolist()
    assert found["query"]["cells"] == ["item 3", "3"]
    assert found["query"]["label"] == str(np.load(inputs / "labels.npy")[3])
    assert found["query"]["image"].startswith("data:image/png")
    assert [one["row"] for one in started.post("suggest", {"text": "ITEM 12"})["suggestions"]][:2] == [12, 120]
    code, output, errors = started.stopped_by(signal.SIGINT)
    assert (code, output) == (0, "")
    assert errors.splitlines()[-1] == "Stopped."
    assert "read items: columns 'number', 'title' of items.csv" in errors
    assert "Traceback" not in errors


def test_an_index_has_its_own_ids_and_sigterm_stops_too(inputs):
    started = Started(inputs, "api.proxcode", "saved.index", "--items", "items.csv:number")
    found = started.post("search", {"id": 1005})["query"]
    assert (found["row"], found["id"], found["cells"]) == (5, "1005", ["5", "item 5"])
    code, _, errors = started.stopped_by(signal.SIGTERM)
    assert (code, errors.splitlines()[-1]) == (0, "Stopped.")


@pytest.fixture(scope="module")
def wrong(inputs, train):
    other = ProximityPreservingCode(N_BITS, random_state=1).fit(train[0][:200], train[1][:200])
    other.index(other.codes_).save(inputs / "other.index")
    (inputs / "twice.csv").write_text("title,title\na,b\n")
    return inputs


FAIL = {
    "few items": ("codes.npy --items few.csv", r"few.csv holds 1 items for [\d,]+ codes: expected one for each"),
    "no items": ("codes.npy --items gone.csv", "there is no file"),
    "no column": ("codes.npy --items items.csv:name", "no column 'name': expected one of number, title"),
    "equal columns": ("codes.npy --items twice.csv", "2 columns 'title': rename them"),
    "unknown format": ("codes.npy --items codes.npy", "unknown suffix '.npy'"),
    "labels": ("codes.npy --labels new_labels.npy", "new_labels.npy holds .* labels for .* codes"),
    "vectors": ("codes.npy --vectors new.npy", "new.npy holds .* vectors for .* codes"),
    "ids": ("codes.npy --ids new_labels.npy", "new_labels.npy holds .* ids for .* codes"),
    "shape alone": ("codes.npy --image-shape 8x8", "pass these too"),
    "columns alone": ("codes.npy --columns 0,1", "--key and --columns apply to --vectors: pass these too"),
    "shape": ("codes.npy --vectors train.npy --image-shape 8x9", "image shape 8x9 has 72 numbers"),
    "no shape": ("codes.npy --vectors train.npy --image-shape big", "expected HEIGHTxWIDTH"),
    "another model": ("other.index", "codes of different models cannot be compared"),
    "vectors as codes": ("train.npy", "not packed codes"),
    "port": ("codes.npy --port 65536", "65536 is not in the range"),
    "bits": ("codes.npy --bits 99", "expected 1 to 20, the code length of the model"),
}


@pytest.mark.parametrize("name", FAIL)
def test_what_does_not_fit_is_refused_in_one_sentence(wrong, monkeypatch, name):
    monkeypatch.chdir(wrong)
    arguments, sentence = FAIL[name]
    said = fails("explore", "api.proxcode", *arguments.split())
    assert re.search(sentence, said), said
    assert "\n" not in said
