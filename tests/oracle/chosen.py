"""Jobs whose results follow from their source records and from choices that show in them: all else is recomputed."""

import json
import zlib
from collections import Counter, defaultdict

from tests.oracle.determined import auctions, bids, option, persons


def _times(recording):
    return recording.manifest["clock"]["origin_ms"]


def _once_each(written, wanted, what):
    named = Counter(name for one in written for name in one.names)
    for name in sorted(wanted - set(named)):
        yield f"{what} {name} came out nowhere"
    for name in sorted(set(named) - wanted):
        yield f"{what} {name} came out and never went in"
    for name, times in named.items():
        if times > 1:
            yield f"{what} {name} came out {times} times"


def _one_to_n(numbers, what):
    if sorted(numbers) != list(range(1, len(numbers) + 1)):
        yield f"{what}: counted {sorted(numbers)[:20]}… and not each number once from 1 on"


def _rekeyed(key, n, name):
    """What a map that gives other keys makes of one."""
    shown = json.dumps([key, n], separators=(",", ":")).encode()
    return f"k{zlib.crc32(shown, zlib.crc32(name.encode())) % 24:02d}"


def _twice(written):
    """Of one window, one result each."""
    for one, times in Counter((one.key, one.timestamp, one.names) for one in written).items():
        if times > 1:
            yield f"{one[0]} came out {times} times of the window up to {one[1] + 1}"


def pass_through(recording, reads, written):
    yield from _once_each(written, set(reads), "record")
    maps = [one["id"] for one in recording.manifest["vertices"] if one["operator"].endswith(":PassThrough")]
    last = next(one for one in recording.manifest["vertices"] if one["id"] == maps[-1]) if maps else None
    into = {edge["to"]: edge["ship"] for edge in recording.manifest["edges"]}
    by_key = defaultdict(list)
    for one in written:
        if len(one.names) != 1 or one.names[0] not in reads:
            yield f"an output names {one.names}"
            continue
        read = reads[one.names[0]]
        key = read.key
        for name in maps:
            if name == maps[-1]:
                by_key[key].append(one.value["nth"])
            key = _rekeyed(key, read.value["n"], name)
        if one.key != key:
            yield f"record {one.names[0]} came out with key {one.key}, and not {key}"
        if any(one.value.get(name) != read.value[name] for name in read.value):
            yield f"record {one.names[0]} came out as {one.value}"
        if "at_ms" in one.value and not read.t_us // 1000 <= one.value["at_ms"] - _times(recording) <= one.t_us // 1000:
            yield f"record {one.names[0]} was stamped {one.value['at_ms']}, before it was read or after it came out"
    for key, numbers in by_key.items():
        if last and into[last["id"]] == "hash":
            yield from _one_to_n(numbers, f"key {key}")


def word_count(recording, reads, written):
    wanted = Counter((word, name) for name, one in reads.items() for word in one.value["text"].split())
    got = Counter((one.value["word"], *one.names) for one in written)
    if wanted != got:
        yield f"words that are missing: {list(wanted - got)[:5]}, and that are too many: {list(got - wanted)[:5]}"
    by_word = defaultdict(list)
    for one in written:
        if one.key != one.value["word"]:
            yield f"the word {one.value['word']} came out with key {one.key}"
        by_word[one.value["word"]].append(one.value["count"])
    for word, numbers in by_word.items():
        yield from _one_to_n(numbers, f"word {word}")


def concat(recording, reads, written):
    by_key = defaultdict(set)
    for name, one in reads.items():
        by_key[one.key].add(name)
    outputs = defaultdict(list)
    for one in written:
        outputs[one.key].append(one)
    for key, names in by_key.items():
        yield from _one_chain(key, names, outputs.pop(key, []), reads)
    for key in outputs:
        yield f"key {key} came out and never went in"


def _one_chain(key, names, outputs, reads):
    """The outputs put each letter behind the one before it: together they are one row of all letters."""
    pairs = {one.names: one.value["text"] for one in outputs}
    firsts = [one for one in pairs if len(one) == 1]
    if len(pairs) != len(outputs) or len(outputs) != len(names) or len(firsts) != 1:
        yield f"key {key}: {len(outputs)} outputs ({len(pairs)}, {len(firsts)} first ones) of {len(names)} letters"
        return
    current, seen, rest = firsts[0][0], [firsts[0][0]], dict(pairs)
    if rest.pop(firsts[0]) != reads[current].value["letter"]:
        yield f"key {key} begins with another letter than {current} has"
    by_member = defaultdict(list)
    for one in rest:
        for name in one:
            by_member[name].append(one)
    while rest:
        found = [one for one in by_member[current] if one in rest]
        if len(found) != 1:
            yield f"key {key}: {len(found)} outputs follow {current}"
            return
        (after,) = set(found[0]) - {current}
        if rest.pop(found[0]) != reads[current].value["letter"] + reads[after].value["letter"]:
            yield f"key {key}: {after} behind {current} came out as {pairs[found[0]]}"
        current = after
        seen.append(current)
    for task in {task for task, _ in names}:
        offsets = [offset for source, offset in seen if source == task]
        if offsets != sorted(offsets):
            yield f"key {key}: letters of {task} came out of order"


def load_balance(recording, reads, written):
    wrong = list(_once_each(written, set(reads), "request"))
    if wrong:
        yield from wrong
        return
    by_server = defaultdict(list)
    for one in written:
        read = reads[one.names[0]]
        if one.key != read.key or any(one.value[name] != value for name, value in read.value.items()):
            yield f"request {one.names[0]} came out as {one.value}"
        if not 0 <= one.value["server"] < 8:
            yield f"request {one.names[0]} went to server {one.value['server']}"
        by_server[one.value["dispatcher"], one.value["server"]].append(one.value["nth"])
    for who, numbers in by_server.items():
        yield from _one_to_n(numbers, f"server {who[1]} of {who[0]}")


def enrich(recording, reads, written):
    wrong = list(_once_each(written, set(reads), "order"))
    if wrong:
        yield from wrong
        return
    for one in written:
        read = reads[one.names[0]]
        if one.key != read.key or any(one.value[name] != value for name, value in read.value.items()):
            yield f"order {one.names[0]} came out as {one.value}"
        for call in ("profile", "receipt"):
            if set(one.value[call]) not in ({"nth", "value"}, {"raised", "message"}):
                yield f"order {one.names[0]} has the {call} {one.value[call]}"


def bids_per_window(recording, reads, written):
    """Windows of the wall clock, or sessions of it: which bid fell into which shows in the lineage."""
    wanted = dict(bids(reads))
    wrong = list(_once_each(written, set(wanted), "bid"))
    if wrong:
        yield from wrong
        return
    size_ms, gap_ms = option(recording, "size_ms"), option(recording, "gap_ms")
    for one in written:
        value = one.value
        if one.key != value["bidder"] or any(wanted[name].value["bidder"] != value["bidder"] for name in one.names):
            yield f"bids of others were counted for {value['bidder']}"
        if value["bid_count"] != len(one.names):
            yield f"{value['bid_count']} bids of {value['bidder']} were counted, and {len(one.names)} are named"
        yield from _bounds(recording, one, wanted, size_ms, size_ms)
        if gap_ms is not None and value["endtime"] - value["starttime"] < gap_ms:
            yield f"a session of {value['bidder']} is shorter than its gap"


def _bounds(recording, one, reads, size_ms, slide_ms):
    start, end = one.value["starttime"], one.value["endtime"]
    if one.timestamp != end - 1:
        yield f"a window that ends at {end} has the timestamp {one.timestamp}"
    if size_ms is not None and (end - start != size_ms or start % slide_ms):
        yield f"a window goes from {start} to {end}"
    if start > _times(recording) + one.t_us // 1000:
        yield f"a window from {start} on came out before it began"
    if size_ms is None:
        yield from _session_begins(recording, one, reads)
    yield from _when(recording, one, reads)


def _session_begins(recording, one, reads):
    """With its first record; by the time that the source stamped, which is that of reading, no later either."""
    start, first = one.value["starttime"], min(_times(recording) + reads[name].t_us // 1000 for name in one.names)
    if start < first:
        yield f"a session begins at {start}, before its first record was read"
    failed = any(event["type"] == "task-failed" for event in recording.events)
    if option(recording, "time") == "ingestion" and not failed and start > first + 2:
        yield f"a session begins at {start}, and its first record was read at {first}"


def _when(recording, one, reads):
    """By the wall clock, no record is in a window that was over before it was read, and none comes out before its end.

    But for those that are open when the sources are at theirs.
    """
    end = one.timestamp + 1
    earliest = max(_times(recording) + reads[name].t_us // 1000 for name in one.names)
    if earliest >= end:
        yield f"a record read at {earliest} is in a window that ended at {end}"
    if _times(recording) + one.t_us // 1000 < end and one.t_us < recording.last_read_us:
        yield f"the window up to {end} came out at {_times(recording) + one.t_us // 1000}"


def _slides(recording, one, slide_ms):
    if (one.timestamp + 1) % slide_ms:
        yield f"a window ends at {one.timestamp + 1}"


def windowed(recording, reads, written):
    """Every record in size / slide windows that follow one another, its content in each."""
    ids = [
        one["id"] for one in recording.manifest["vertices"] if one["operator"].endswith((":PassThrough", ":Contents"))
    ]
    window = next(one for one in recording.manifest["vertices"] if one["id"] == "window")["options"]
    before, after = ids[: ids.index("window")], ids[ids.index("window") + 1 :]
    ends = defaultdict(list)
    for one in written:
        if Counter(reads[name].value["amount"] for name in one.names) != Counter(one.value["contents"]):
            yield f"a window holds other contents than those of the records that it names: {one.names[:5]}"
        yield from _key_of_window(one, reads, before, after, window["keyed"])
        for name in one.names:
            ends[name].append(one.value["endtime"])
        start, end = one.value["starttime"], one.value["endtime"]
        if one.timestamp != end - 1 or end - start != window["size_ms"] or start % window["slide_ms"]:
            yield f"a window goes from {start} to {end}, of a result of {one.timestamp}"
    count = window["size_ms"] // window["slide_ms"]
    for name in reads:
        found = sorted(ends[name])
        if not found or found != [found[0] + i * window["slide_ms"] for i in range(count)]:
            yield f"record {name} is in the windows that end at {found}"
        elif window["time"] == "event" and found[0] != _first_end(reads[name].timestamp, window["slide_ms"]):
            yield f"record {name} of {reads[name].timestamp} is in windows from the one that ends at {found[0]} on"


def _key_of_window(one, reads, before, after, keyed):
    """All of one key, as the maps before the window gave it; those behind it give the result another."""
    if not keyed:
        return
    keys = set()
    for name in one.names:
        key = reads[name].key
        for vertex in before:
            key = _rekeyed(key, reads[name].value["n"], vertex)
        for vertex in after:
            key = _rekeyed(key, None, vertex)
        keys.add(key)
    if keys != {one.key}:
        yield f"a window of {one.key} holds records of {sorted(keys)}"


def _first_end(timestamp, slide_ms):
    return (timestamp // slide_ms + 1) * slide_ms


def hot_items(recording, reads, written):
    """What fell into which window shows only of the hottest: that it was counted right."""
    on = dict(bids(reads))
    strange = {name for one in written for name in one.names} - set(on)
    if strange:
        yield f"what is named is no bid: {sorted(strange)[:5]}"
        return
    yield from _one_result_a_window(written, "num")
    yield from _twice(written)
    yield from _windows_without_result(recording, written, on)
    for one in written:
        if any(on[name].value["auction"] != one.value["auction"] for name in one.names):
            yield f"bids on others were counted for {one.value['auction']}"
        if one.value["num"] != len(one.names) or one.key != one.value["auction"]:
            yield f"{one.value} names {len(one.names)} bids"
        yield from _when(recording, one, on)
        yield from _slides(recording, one, option(recording, "slide_ms"))


def highest_bids(recording, reads, written):
    """What fell into which window shows only of the highest: that it was made so."""
    on = dict(bids(reads))
    strange = {name for one in written for name in one.names} - set(on)
    if strange:
        yield f"what is named is no bid: {sorted(strange)[:5]}"
        return
    yield from _one_result_a_window(written, "price")
    yield from _twice(written)
    yield from _windows_without_result(recording, written, on)
    for one in written:
        if len(one.names) != 1 or on[one.names[0]].value != one.value or one.key != one.value["auction"]:
            yield f"the bid {one.value} names {one.names}"
            continue
        yield from _when(recording, one, on)
        yield from _slides(recording, one, option(recording, "size_ms"))
    if on and max(one.value["price"] for one in on.values()) not in {one.value["price"] for one in written}:
        yield "the highest bid of all is in no window's result"


def _one_result_a_window(written, field):
    by_window = defaultdict(set)
    for one in written:
        by_window[one.timestamp].add(one.value[field])
    for timestamp, found in by_window.items():
        if len(found) != 1:
            yield f"the window up to {timestamp} has several best: {found}"


def _windows_without_result(recording, written, bids):
    """Where nothing failed, a bid that was read in a window's first half is in it: so the window has a result."""
    if any(event["type"] == "task-failed" for event in recording.events):
        return
    size_ms = option(recording, "size_ms")
    slide_ms = option(recording, "slide_ms", size_ms) or size_ms
    found = {one.timestamp + 1 for one in written}
    for name, bid in bids.items():
        first = _times(recording) + bid.t_us // 1000
        end = first // slide_ms * slide_ms + size_ms
        if (first - end) % size_ms < slide_ms / 2 and end not in found:
            yield f"the bid {name} is in no window up to {end}, which has no result"
            return


def new_users(recording, reads, written):
    """In windows of a clock that doesn't show: each pair at most once, of one person and one of his auctions."""
    users, sold = dict(persons(reads)), dict(auctions(reads))
    for one in written:
        who = [name for name in one.names if name in users]
        what = [name for name in one.names if name in sold]
        if len(who) != 1 or len(what) != 1 or len(one.names) != 2:
            yield f"a pair names {one.names}"
            continue
        person, auction = users[who[0]].value, sold[what[0]].value
        if person["id"] != auction["seller"] or one.key != person["id"]:
            yield f"{person['id']} was joined with an auction of {auction['seller']}"
        if one.value != {"id": person["id"], "name": person["name"], "reserve": auction["reserve"]}:
            yield f"the pair {one.names} came out as {one.value}"
        yield from _when(recording, one, reads)
        yield from _slides(recording, one, option(recording, "size_ms"))
    if len({one.names for one in written}) != len(written):
        yield "a pair came out twice"
    yield from _pairs_that_are_due(recording, written, users, sold)


def _pairs_that_are_due(recording, written, users, sold):
    """Where nothing failed, two that were read in the first half of a window are joined in it."""
    if any(event["type"] == "task-failed" for event in recording.events):
        return
    size_ms, out = option(recording, "size_ms"), {one.names for one in written}
    by_id = {one.value["id"]: (name, one) for name, one in users.items()}
    for name, auction in sold.items():
        who, person = by_id.get(auction.value["seller"], (None, None))
        if person is None:
            continue
        at = [divmod(_times(recording) + one.t_us // 1000, size_ms) for one in (person, auction)]
        if at[0][0] == at[1][0] and max(at[0][1], at[1][1]) < size_ms / 2 and tuple(sorted((who, name))) not in out:
            yield f"{who} and {name} were read in one window, and came out in none"


CHECKS = {
    "pass-through": pass_through,
    "windowed": windowed,
    "nexmark-q5": hot_items,
    "nexmark-q7": highest_bids,
    "nexmark-q8": new_users,
    "nexmark-q11": bids_per_window,
    "nexmark-q12": bids_per_window,
    "word-count": word_count,
    "concat": concat,
    "random-load-balance": load_balance,
    "enrich": enrich,
}
