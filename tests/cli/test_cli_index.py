"""`proxcode index`: files that are created, changed in place, searched and described."""

import json
import re

import numpy as np
import pytest
from click.testing import CliRunner

from helpers.command_line import N_BITS, call, fails, record_of
from proxcode import HammingIndex
from proxcode.cli import main
from proxcode.cli.index import index as group

VERBS = ("create", "add", "remove", "compact", "info")


@pytest.fixture
def user(folder, model, new, tmp_path):
    """The files that the examples of the help name."""
    codes = np.load(folder / "codes.npy")
    np.save(tmp_path / "codes.npy", codes[:400])
    np.save(tmp_path / "new_codes.npy", codes[400:])
    np.save(tmp_path / "changed_codes.npy", codes[[1, 450, 2]])
    np.save(tmp_path / "queries.npy", new[0][:30])
    model.save(tmp_path / "my.proxcode")
    for name, numbers in {
        "items": range(400),
        "new": range(400, 500),
        "changed": [0, 499, 10_000],
        "gone": [3, 77, 299],
    }.items():
        lines = "".join(f"{number},item {number}\n" for number in numbers)
        (tmp_path / f"{name}.csv").write_text("number,name\n" + lines)
    return tmp_path


def examples(*verbs):
    """Return the examples in a help text, as arguments."""
    text = call(*verbs, "--help").split("Example")[1].split("Options:")[0]
    lines = re.findall(r"^ +proxcode (.*)$", text, re.MULTILINE)
    assert lines
    return [line.split() for line in lines]


def test_the_examples_of_the_help_run_one_after_another(user, monkeypatch):
    monkeypatch.chdir(user)
    outputs = [call(*line) for line in examples("index")]
    assert "codes             400" in outputs[0]
    assert re.match(r"added +100\ncodes +500\n", outputs[1])
    assert re.match(r"added +1\nreplaced +2\ncodes +501\n", outputs[2])
    assert re.match(r"removed +3\ncodes +498\n", outputs[3])
    assert re.search(r"ids +strings\n", outputs[4])
    assert len(outputs[5].splitlines()) == 301
    for verb in VERBS:
        (user / "items.index").unlink(missing_ok=True)
        (user / "items.index.journal").unlink(missing_ok=True)
        if verb != "create":
            call(*examples("index", "create")[0])
        for line in examples("index", verb):
            call(*line)


@pytest.mark.parametrize("verb", VERBS)
def test_the_help_explains_every_option(verb):
    command = group.commands[verb]
    assert [one.name for one in command.params if one.param_type_name == "option" and not one.help] == []


@pytest.mark.parametrize("column", ["number", "name"])
def test_changes_are_those_of_the_api(user, model, column):
    path, codes = user / "items.index", np.vstack([np.load(user / "codes.npy"), np.load(user / "new_codes.npy")])
    with_ids = [("--ids", user / f"{name}.csv:{column}") for name in ("items", "new", "changed", "gone")]
    named = (lambda numbers: [f"item {number}" for number in numbers]) if column == "name" else list
    expected = HammingIndex(N_BITS, model=model).add(codes[:400], named(range(400)))
    call("index", "create", user / "codes.npy", "-o", path, *with_ids[0], "--model", user / "my.proxcode")
    before = path.read_bytes()
    call("index", "add", path, user / "new_codes.npy", *with_ids[1])
    expected.add(codes[400:], named(range(400, 500)))
    call("index", "add", path, user / "changed_codes.npy", *with_ids[2], "--upsert", "--model", user / "my.proxcode")
    expected.upsert(np.load(user / "changed_codes.npy"), named([0, 499, 10_000]))
    call("index", "remove", path, *with_ids[3])
    expected.remove(named([3, 77, 299]))
    # The file itself is not written again.
    assert path.read_bytes() == before
    for _ in range(2):
        loaded = HammingIndex.load(path)
        assert loaded.ids.tolist() == expected.ids.tolist()
        np.testing.assert_array_equal(loaded.codes, expected.codes)
        found = json.loads(call("search", path, user / "codes.npy", "-k", 3, "--json"))
        neighbors = expected.search(codes[:400], 3)
        assert found["neighbor"] == neighbors.neighbor.ravel().tolist()
        assert found["distance"] == neighbors.distance.ravel().tolist()
        facts = record_of("index", "info", path)
        assert facts == {name: value for name, value in record_of("info", path).items() if name != "kind"}
        assert (facts["codes"], facts["bits"]) == (498, N_BITS)
        assert facts["ids"] == {"name": "strings", "number": "integers"}[column]
        assert facts["model"] == model.fingerprint(N_BITS)[:12]
        call("index", "compact", path)
    assert facts["bytes of journal"] == 0
    assert facts["bytes"] == path.stat().st_size
    assert sorted(file.name for file in user.glob("items.index*")) == ["items.index"]


def test_ids_continue_without_a_file_of_ids(user):
    path = user / "items.index"
    call("index", "create", user / "codes.npy", "-o", path, "--bits", N_BITS)
    facts = json.loads(call("index", "add", path, user / "new_codes.npy", "--json"))
    assert (facts["added"], facts["codes"], facts["ids"], facts["model"]) == (100, 500, "0, 1, 2, ...", "not known")
    np.testing.assert_array_equal(HammingIndex.load(path).ids, np.arange(500))


def test_parquet_files_bring_their_ids_and_their_model(user, folder, model):
    pytest.importorskip("pyarrow")
    import pyarrow as pa
    import pyarrow.parquet as pq

    table = pa.table({"id": np.arange(500) * 7, "x": list(np.load(folder / "train.npy"))})
    pq.write_table(table, user / "vectors.parquet")
    coded = user / "coded" / "vectors.parquet"
    call("encode", user / "my.proxcode", user / "vectors.parquet", "--columns", "x", "-o", f"{coded.parent}/")
    facts = json.loads(call("index", "create", coded, "-o", user / "items.index", "--json"))
    assert facts["model"] == model.fingerprint(N_BITS)[:12]
    np.testing.assert_array_equal(HammingIndex.load(user / "items.index").ids, np.arange(500) * 7)
    facts = json.loads(call("index", "add", user / "items.index", coded, "--upsert", "--json"))
    assert (facts["added"], facts["replaced"]) == (0, 500)


def test_ids_of_a_text_file_are_what_is_written_there(user):
    path, three = user / "items.index", user / "three.npy"
    np.save(three, np.load(user / "codes.npy")[:3])
    for name, lines in {"padded": "007 7 1.10", "digits": "101 102 103", "one": "102", "mixed": "5 item6 8"}.items():
        (user / f"{name}.txt").write_text("\n".join(lines.split()) + "\n")
    call("index", "create", three, "-o", path, "--ids", user / "padded.txt")
    assert HammingIndex.load(path).ids.tolist() == ["007", "7", "1.10"]
    # Names of digits alone join other names.
    call("index", "add", path, three, "--ids", user / "digits.txt")
    call("index", "remove", path, "--ids", user / "one.txt")
    assert HammingIndex.load(path).ids.tolist() == ["007", "7", "1.10", "101", "103"]
    exclusion = ("--exclude-self", "--query-ids", user / "digits.txt")
    found = json.loads(call("search", path, three, *exclusion, "-k", 5, "--json"))
    pairs = set(zip(found["query"], found["neighbor"], strict=True))
    assert {(0, "103"), (1, "101")} <= pairs
    assert {(0, "101"), (2, "103")}.isdisjoint(pairs)
    # Integers are written with or without leading zeros where the index has integers.
    call("index", "create", three, "-o", path, "--ids", user / "digits.txt", "--force")
    assert HammingIndex.load(path).ids.tolist() == [101, 102, 103]
    (user / "one.txt").write_text("0102\n")
    call("index", "remove", path, "--ids", user / "one.txt")
    assert HammingIndex.load(path).ids.tolist() == [101, 103]
    message = f"{user / 'mixed.txt'} holds 'item6': expected integer ids."
    assert fails("index", "add", path, three, "--ids", user / "mixed.txt") == message


def test_errors_are_one_sentence_and_change_nothing(user, folder, train, tmp_path):
    path = user / "items.index"
    call("index", "create", user / "codes.npy", "-o", path, "--ids", user / "items.csv:name", "--bits", N_BITS)
    np.save(user / "long.npy", np.zeros((3, 9), np.uint8))
    np.save(user / "numbers.npy", np.arange(100))
    add = ("index", "add", path, user / "new_codes.npy")
    for arguments, message in (
        (add, "ids=None: the index has string ids, which cannot be continued; pass one id per code."),
        ((*add, "--ids", user / "numbers.npy"), "ids contains 0: the index has string ids; pass strings."),
        ((*add, "--ids", user / "new.csv"), "new.csv has 2 columns: name the one of the ids, "),
        ((*add, "--ids", user / "gone.csv:name"), "holds 3 ids for 100 codes: expected one each."),
        ((*add, "--ids", user / "items.csv:nobody"), "nobody"),
        ((*add, "--upsert"), "--upsert replaces codes by their ids: pass --ids too."),
        (("index", "add", path, user / "long.npy", "--ids", user / "gone.csv:name"), "has codes of 9 bytes, "),
        (("index", "remove", path, "--ids", user / "new.csv:name"), "id item 400 is not stored: pass ids of stored"),
        (("index", "create", user / "codes.npy", "-o", path), "already exists; choose another name or pass --force."),
        (("index", "create", user / "codes.npy", "-o", user / "codes.npy", "--force"), "is the input"),
        (("index", "add", user / "my.proxcode", user / "new_codes.npy"), "holds a proxcode model, not an index"),
        (("index", "info", user / "gone.csv"), "not a file of proxcode"),
    ):
        assert message in fails(*arguments)
    assert len(HammingIndex.load(path)) == 400
    with HammingIndex.open(path):
        message = "items.index is open for writing in another process or index: close it there first."
        assert fails(*add, "--ids", user / "new.csv:name").endswith(message)
    assert CliRunner().invoke(main, ["index"]).exit_code == 2
    HammingIndex(N_BITS, model="b" * 64).save(path)
    message = "the stored codes are of the model bbbbbbbbbbbb, not of"
    assert message in fails(*add, "--model", user / "my.proxcode")
