"""Jobs whose results follow from their source records alone: NEXMark in event time, recomputed in plain batches."""

from collections import defaultdict

from tests.oracle.outside import identity


def _of(reads, field):
    return [(at, one) for at, one in sorted(reads.items()) if field in one.value]


def persons(reads):
    return _of(reads, "emailAddress")


def auctions(reads):
    return _of(reads, "itemName")


def bids(reads):
    return _of(reads, "bidder")


def option(recording, name, default=None):
    """An option that some vertex of the job has."""
    found = [vertex["options"][name] for vertex in recording.manifest["vertices"] if name in vertex.get("options", {})]
    return found[0] if found else default


def currency_conversion(recording, reads):
    for at, one in bids(reads):
        value = dict(one.value)
        value["price"] = value["price"] * 908 // 1000
        yield identity(one.key, one.timestamp, value, [at])


def selection(recording, reads):
    for at, one in bids(reads):
        if one.value["auction"] % 123 == 0:
            value = {"auction": one.value["auction"], "price": one.value["price"]}
            yield identity(one.key, one.timestamp, value, [at])


def local_items(recording, reads):
    sellers = {one.value["id"]: (at, one) for at, one in persons(reads) if one.value["state"] in ("OR", "ID", "CA")}
    for at, one in auctions(reads):
        if one.value["category"] == 10 and one.value["seller"] in sellers:
            who, person = sellers[one.value["seller"]]
            value = {name: person.value[name] for name in ("name", "city", "state")} | {"id": one.value["id"]}
            timestamp = max(person.timestamp, one.timestamp)
            yield identity(one.value["seller"], timestamp, value, [who, at])


def _windows(timestamp, size_ms, slide_ms):
    start = timestamp // slide_ms * slide_ms
    while start + size_ms > timestamp:
        yield start + size_ms
        start -= slide_ms


def hot_items(recording, reads):
    count = next(one for one in recording.manifest["vertices"] if one["id"] == "count")["options"]
    by_window = defaultdict(lambda: defaultdict(list))
    for at, one in bids(reads):
        for end in _windows(one.timestamp, count["size_ms"], count["slide_ms"]):
            by_window[end][one.value["auction"]].append(at)
    for end, by_auction in by_window.items():
        most = max(len(names) for names in by_auction.values())
        for auction, names in by_auction.items():
            if len(names) == most:
                yield identity(auction, end - 1, {"auction": auction, "num": most}, names)


def highest_bids(recording, reads):
    size_ms = option(recording, "size_ms")
    by_window = defaultdict(list)
    for at, one in bids(reads):
        for end in _windows(one.timestamp, size_ms, size_ms):
            by_window[end].append((at, one))
    for end, found in by_window.items():
        highest = max(one.value["price"] for _, one in found)
        for at, one in found:
            if one.value["price"] == highest:
                yield identity(one.value["auction"], end - 1, one.value, [at])


def new_users(recording, reads):
    size_ms = option(recording, "size_ms")
    users = {one.value["id"]: (at, one) for at, one in persons(reads)}
    for at, one in auctions(reads):
        who, person = users.get(one.value["seller"], (None, None))
        if person is not None and person.timestamp // size_ms == one.timestamp // size_ms:
            value = {"id": person.value["id"], "name": person.value["name"], "reserve": one.value["reserve"]}
            end = (one.timestamp // size_ms + 1) * size_ms
            yield identity(person.value["id"], end - 1, value, [who, at])


def user_sessions(recording, reads):
    gap_ms = option(recording, "gap_ms")
    by_bidder = defaultdict(list)
    for at, one in bids(reads):
        by_bidder[one.value["bidder"]].append((one.timestamp, at))
    for bidder, found in by_bidder.items():
        session = []
        for time, at in [*sorted(found), (None, None)]:
            if session and (time is None or time > session[-1][0] + gap_ms):
                start, end = session[0][0], session[-1][0] + gap_ms
                value = {"bidder": bidder, "bid_count": len(session), "starttime": start, "endtime": end}
                yield identity(bidder, end - 1, value, [name for _, name in session])
                session = []
            session.append((time, at))


EXPECTED = {
    "nexmark-q1": currency_conversion,
    "nexmark-q2": selection,
    "nexmark-q3": local_items,
    "nexmark-q5": hot_items,
    "nexmark-q7": highest_bids,
    "nexmark-q8": new_users,
    "nexmark-q11": user_sessions,
}
