# SPDX-License-Identifier: Apache-2.0
"""Which profile should be the default? Profiles of 512 bits, compared by what readers find, by what
filters seem to contain, by the weight of a topic against the place, and by what the tree reads.

Filters are made by filters.py; each part that stores messages in the daemon first compares all
stored filters with them, bit for bit."""

import collections
import functools
import json
import math
import random
import statistics
import subprocess
import tempfile

import bootstrap
import checkins
import daemon
import defaults
import filters
import labels
import matrix
import metric
import nearness
import search

SEED = 20261122
KS = (1, 3, 5)
# The first one is what the others are compared with; wifi=320/2,any=192/3 was the default of 0.1.0.
CANDIDATES = ["512/4", "512/2", "wifi=320/2,any=192/3", "wifi=352/1,any=160/3", defaults.profile()]
METRIC = "phi"
ROUNDS = 3  # of the index, all profiles in turn
MESSAGES, LABELS = 500, 100  # of `contains`: messages looked at, absent labels of each attribute
BOARD_EACH = 10  # readers who ask for their topic
NEAR = 10  # metres of the data's map; of topics
DRAWS = 1  # of topics, for each reader
CHECKIN_EACH = 3  # check-ins that ask
CHECKIN_KIND = "venue, position, category, hour, hour of week"


# --- floors and check-ins -------------------------------------------------------------------------


def intervals(right, groups, only=None):
    """`right`: by profile, then by k, "1" for each question that was answered rightly. Shares with
    intervals, and by how much they differ from those of the first profile."""
    chosen = range(len(groups)) if only is None else only
    drawn = bootstrap.Bootstrap([groups[at] for at in chosen], SEED)
    first = next(iter(right))
    found = {}
    for profile, by_k in right.items():
        found[profile] = {}
        for k, text in by_k.items():
            values = [int(text[at]) for at in chosen]
            base = [int(right[first][k][at]) for at in chosen]
            found[profile][k] = {**drawn.interval(values), "change": drawn.interval(
                [a - b for a, b in zip(values, base)])}
    return found


def place(row):
    return (row.building, row.floor, row.east, row.north)


def ask_floors(programs, directory, kind, rows, candidates, say):
    """Right answers by profile and k, how far the nearest message is, and the fill."""
    training, validation = rows
    hosts = [daemon.Host(profile) for profile in candidates]
    by_id = {daemon.id_of(row.number): row for row in training}
    questions = [json.dumps(matrix.sensed(row, kind)) for row in validation]
    right, nearest = {}, {}
    with tempfile.TemporaryDirectory(prefix="hearsay-eval-", dir=directory) as data, \
            daemon.Daemon(*programs, data, hosts) as server:
        for host in hosts:
            matrix.import_rows(server, host, kind, training)
            stored, masks = matrix.read_stored(server, host, kind, by_id)
            answers = server.query(host.name, questions, matrix.K, METRIC)
            matrix.check_answers(host, kind, validation, answers, stored, masks, METRIC)
            figures = matrix.score(validation, answers, by_id)
            right[host.profile] = {str(k): figures[str(k)]["right"] for k in KS}
            nearest[host.profile] = {**matrix.nearest_distances(answers, defaults.max_distance()),
                                     "fill": matrix.mean_fill(host, masks)}
            say(f"{kind} {host.profile}: floors right, k = 1: {figures['1']['floor']:.2f} %")
    exact = matrix.run_exact(kind, training, validation)["bits"]
    right["exact sets"] = {str(k): exact[str(k)]["right"] for k in KS}
    return right, nearest


def floors(programs, directory, rows, candidates, say):
    training, validation = rows
    groups = [place(row) for row in validation]
    held_out = [at for at, row in enumerate(validation) if row.building == 2]
    others = [at for at, row in enumerate(validation) if row.building != 2]
    found, nearest = {}, {}
    for kind in ("graded", "mixed"):
        right, nearest[kind] = ask_floors(programs, directory, kind, rows, candidates, say)
        found[f"{kind}, all buildings"] = intervals(right, groups)
        if held_out and others:
            found[f"{kind}, buildings 0 and 1"] = intervals(right, groups, others)
            found[f"{kind}, building 2"] = intervals(right, groups, held_out)
    return found, nearest


def ask_checkins(programs, directory, split, candidates, say):
    earlier, later = split
    right = {}
    for profile in candidates:
        host = daemon.Host(profile)
        with tempfile.TemporaryDirectory(prefix="hearsay-eval-", dir=directory) as data, \
                daemon.Daemon(*programs, data, [host]) as server:
            right[profile] = checkins.run_kind(server, host, CHECKIN_KIND, earlier, later, METRIC)
        say(f"check-ins {profile}")
    return intervals({profile: {k: by_k[k] for k in ("1", "5", "13")}
                      for profile, by_k in right.items()}, [asked.person for asked in later])


# --- contains -------------------------------------------------------------------------------------


def position_labels(checkin):
    """A position, a topic and the hour of the week."""
    return [*labels.topic(checkin.category), *labels.position(*checkin.at),
            f"time:w{checkins.DAYS.index(checkin.day) + 1}T{checkin.hour:02d}"]


def checkin_labels(checkin):
    return [*position_labels(checkin), f"venue:{checkin.venue}", f"hour:{checkin.hour:02d}"]


def page_labels(row):
    """What a message of the page for phones has: the name of the place, topics and the time."""
    return [f"place:building {row.building}", *labels.moment(row.unix_s * 1000),
            *(label for text in matrix.topics(row) for label in labels.topic(text))]


def absent_labels(rng):
    """Labels that no context has, as many of each attribute as are tried."""
    wanted = {"wifi": lambda: "wifi:06:" + ":".join(f"{rng.randrange(256):02x}" for _ in range(5)),
              "topic": lambda: f"topic:absent {rng.getrandbits(64):x}",
              "geo": lambda: "geo:" + "".join(rng.choice(labels.DIGITS) for _ in range(8)),
              "time": lambda: f"time:{rng.randint(2100, 9999)}-01-01T{rng.randrange(24):02d}"}
    return {name: list(dict.fromkeys(make() for _ in range(LABELS)))
            for name, make in wanted.items()}


def contains(contexts, candidates):
    """For each attribute, per cent of the messages that seem to contain an absent label; and the
    share of set bits. `contexts`: lists of labels by kind."""
    rng = random.Random(SEED)
    absent = absent_labels(rng)
    found = {}
    for kind, every in contexts.items():
        some = rng.sample(every, min(MESSAGES, len(every)))
        for profile in candidates:
            encoder = filters.Profile(profile)
            masks = [encoder.mask(context) for context in some]
            row = {"fill": 100 * sum(mask.bit_count() for mask in masks) / len(masks) / encoder.bits}
            for name, tried in absent.items():
                wanted = [encoder.mask([label]) for label in tried]
                hits = sum(mask & want == want for mask in masks for want in wanted)
                row[name] = 100 * hits / len(masks) / len(wanted)
            found.setdefault(kind, {})[profile] = row
    return found


def board(profile, training, validation):
    """Readers ask for the 10 nearest messages that contain one of their topics; per cent of those
    found that have this topic. Only readers whose topic somebody has."""
    encoder = filters.Profile(profile)
    contexts = [set(matrix.labels_of(row, "mixed")) for row in training]
    masks = [encoder.mask(context) for context in contexts]
    searcher = search.searcher(METRIC, encoder, masks)
    shares = []
    for asked in validation[::BOARD_EACH]:
        (wanted,) = labels.topic(matrix.topics(asked)[0])
        if not any(wanted in context for context in contexts):
            continue
        want = encoder.mask([wanted])
        seeming = [at for at, mask in enumerate(masks) if mask & want == want]
        found = searcher.nearest(encoder.mask(matrix.labels_of(asked, "mixed")), range(len(masks)),
                                 min(10, len(seeming)), seeming)
        shares.append(sum(wanted in contexts[at] for at, _, _ in found) / len(found))
    return 100 * sum(shares) / len(shares)


# --- positions ------------------------------------------------------------------------------------


def metres(profile, earlier, later):
    """Contexts of a position, a topic and the hour: the median distance to the nearest message, and the mean of those
    to the 10 nearest."""
    encoder = filters.Profile(profile)
    searcher = search.searcher(METRIC, encoder, [encoder.mask(position_labels(one)) for one in earlier])
    firsts, tens = [], []
    for asked in later:
        near = searcher.nearest(encoder.mask(position_labels(asked)), range(len(earlier)), 10)
        ways = [nearness.metres_between(asked.at, earlier[at].at) for at, _, _ in near]
        firsts.append(ways[0])
        tens.append(statistics.mean(ways))
    return {"nearest": statistics.median(firsts), "ten": statistics.median(tens)}


# --- topics against the place ---------------------------------------------------------------------


def strongest(row, count):
    heard = sorted(row.heard, key=lambda one: one[1], reverse=True)[:count]
    return row._replace(heard=tuple(heard))


def trials(training, validation):
    """For each reader some draws of: two messages left near the reader, one of another floor of the
    building, one of another building."""
    rng = random.Random(SEED)
    by_floor = collections.defaultdict(list)
    for at, row in enumerate(training):
        by_floor[row.building, row.floor].append(at)
    found = []
    for asked in validation:
        here = [at for at in by_floor[asked.building, asked.floor]
                if math.hypot(training[at].east - asked.east, training[at].north - asked.north)
                <= NEAR]
        above = [floor for floor in by_floor
                 if floor[0] == asked.building and floor != (asked.building, asked.floor)]
        away = [floor for floor in by_floor if floor[0] != asked.building]
        if len(here) >= 2 and above and away:
            found += [(asked, *rng.sample(here, 2), rng.choice(by_floor[rng.choice(above)]),
                       rng.choice(by_floor[rng.choice(away)])) for _ in range(DRAWS)]
    return found


def first(sections, query, a, b):
    """1 if a is nearer than b, a half if they are equally near."""
    difference = metric.phi(sections, query, a) - metric.phi(sections, query, b)
    return 0.5 if difference == 0 else float(difference > 0)


def weigh(encoder, training, drawn, scan, topics):
    """How often a message of the reader's topics comes before a message of other topics that was
    left near the reader. The message of the reader's topics was left near the reader, too; or on
    another floor; or in another building. Beside it: how often, if neither has the reader's."""
    names = ("near", "floor", "building")
    sections = metric.sections_of(encoder)
    shared, plain = dict.fromkeys(names, 0.0), dict.fromkeys(names, 0.0)
    for number, (asked, near, other, *far) in enumerate(drawn):
        sets = [encoder.mask([label for i in range(topics)
                              for label in labels.topic(f"{who} {number} {i}")])
                for who in ("reader", "near", "far")]
        query = scan(asked) | sets[0]
        rival = scan(training[other]) | sets[1]
        for name, at in zip(names, (near, *far)):
            message = scan(training[at])
            shared[name] += first(sections, query, message | sets[0], rival)
            plain[name] += first(sections, query, message | sets[2], rival)
    return {name: {"shared": 100 * shared[name] / len(drawn), "plain": 100 * plain[name] / len(drawn)}
            for name in names}


def weigh_all(job):
    profile, training, drawn = job
    encoder = filters.Profile(profile)
    found = {}
    for heard in (None, 5):
        @functools.lru_cache(maxsize=None)
        def scan(row, heard=heard):
            kept = row if heard is None else strongest(row, heard)
            return encoder.mask(matrix.labels_of(kept, "graded"))

        for topics in (1, 3):
            shape = f"{heard or 'all'} access points, {topics} topic{'s' * (topics > 1)}"
            found[shape] = weigh(encoder, training, drawn, scan, topics)
    return profile, found


def weights(rows, candidates, pool):
    training, validation = rows
    drawn = trials(training, validation)
    jobs = [(profile, training, drawn) for profile in candidates]
    return {"trials": len(drawn), "profiles": dict(pool.map(weigh_all, jobs, chunksize=1))}


# --- the index ------------------------------------------------------------------------------------


def write_masks(path, encoder, contexts):
    with open(path, "wb") as file:
        file.writelines(encoder.mask(context).to_bytes(encoder.bits // 8, "little")
                        for context in contexts)


def bench_index(bench, arguments):
    """Figures of the tree and the list, which take turns in this one run."""
    done = subprocess.run([str(bench), "index", "--json", *arguments], capture_output=True,
                          text=True, check=True, timeout=600)
    engines = {line["engine"]: line for line in map(json.loads, done.stdout.splitlines())}
    if engines["tree"]["recall"] != 1:
        raise matrix.Problem(f"{arguments}: the tree's answers are not those of the list")
    tree = engines["tree"]
    return {"us": tree["query_ns_median"] / 1000, "bytes": 100 * tree["bytes_share"],
            "ratio": tree["query_ns_median"] / engines["list"]["query_ns_median"]}


def index(bench, directory, workloads, candidates, say):
    """`workloads`: what is stored and asked, by name. Medians of rounds in which the profiles take
    turns, and the time as a share of the first profile's of the same round."""
    found = {}
    with tempfile.TemporaryDirectory(prefix="hearsay-eval-", dir=directory) as made:
        for name, source in workloads.items():
            arguments = {}
            for at, profile in enumerate(candidates):
                arguments[profile] = ["--profile", f"v2:{profile}", "--metric", "phi", "--levels", "off",
                                      "-k", "13"]
                if isinstance(source, list):
                    arguments[profile] += source
                    continue
                stored, asked = f"{made}/stored{at}", f"{made}/asked{at}"
                write_masks(stored, filters.Profile(profile), source[0])
                write_masks(asked, filters.Profile(profile), source[1])
                arguments[profile] += ["--workload", f"filters:{stored}", "--queries", asked]
            rounds = [{profile: bench_index(bench, arguments[profile]) for profile in candidates}
                      for _ in range(ROUNDS)]
            say(f"index: {name}")
            found[name] = {}
            for profile in candidates:
                runs = [one[profile] for one in rounds]
                found[name][profile] = {key: statistics.median(run[key] for run in runs)
                                        for key in ("us", "bytes", "ratio")}
                found[name][profile]["to_first"] = statistics.median(
                    one[profile]["us"] / one[candidates[0]]["us"] for one in rounds)
    return found


# --- all ------------------------------------------------------------------------------------------


def run(programs, tools, rows, checkin_path, candidates, say, most=None):
    """`tools`: hearsay-bench or None, the directory of results, that of the WiFi data, and a pool of
    processes. `checkin_path`: None without that data."""
    bench, directory, wifi, pool = tools
    training, validation = rows
    found = {"seed": SEED, "resamples": bootstrap.RESAMPLES, "first": candidates[0],
             "bound": defaults.max_distance()}
    found["floors"], found["nearest"] = floors(programs, directory, rows, candidates, say)
    say("floors")
    found["topics"] = weights(rows, candidates, pool)
    say("topics")
    contexts = {kind: [matrix.labels_of(row, kind) for row in training]
                for kind in ("graded", "mixed")}
    workloads = {kind: (every, [matrix.labels_of(row, kind) for row in validation])
                 for kind, every in contexts.items()}
    if checkin_path is not None:
        earlier, later = (part[:most] for part in checkins.split(checkins.read(checkin_path)))
        later = later[::CHECKIN_EACH]
        found["checkins"] = ask_checkins(programs, directory, (earlier, later), candidates, say)
        contexts["check-ins"] = [checkin_labels(one) for one in earlier]
        contexts["positions"] = [position_labels(one) for one in earlier[::10]]
        workloads["check-ins"] = (contexts["check-ins"], [checkin_labels(one)
                                                          for one in later[::7]])
        parts = (earlier[::10], later[::20])
        found["metres"] = dict(zip(candidates, pool.starmap(metres, [
            (profile, *parts) for profile in candidates], chunksize=1)))
    contexts["page for phones"] = [page_labels(row) for row in training]
    found["contains"] = contains(contexts, candidates)
    found["board"] = dict(zip(candidates, pool.starmap(board, [
        (profile, *rows) for profile in candidates], chunksize=1)))
    if bench is not None:
        if most is None:
            workloads["wifi x10 with noise"] = ["--workload", f"wifi:{wifi}", "--copies", "10",
                                                "--noise"]
        found["index"] = index(bench, directory, workloads, candidates, say)
    return found
