"""A mutator for AFL++ that knows Fl's tokens and brackets.

    AFL_PYTHON_MODULE=afl_mutator PYTHONPATH=tests/fuzz AFL_CRASH_EXITCODE=70 \\
      afl-fuzz -i CORPUS -o FOUND -- BUILD/flc check @@

Whole tokens and bracketed groups are moved, dropped, doubled and taken from another input, so that
many mutants still parse and reach the type checker and elaboration.
"""
import random
import re

TOKEN = re.compile(rb"--[^\n]*|[\w']+|\s+|[-+*/%<>=!&|^.:@`#~]+|.", re.S)
OPEN, CLOSE = {b"(": b")", b"[": b"]", b"{": b"}"}, (b")", b"]", b"}")
WORDS = [w.encode() for w in """
    let in if then else loop for while do def entry type match case with true false assert : :> =
    -> * [] () [n] [0] i64 f32 (+) (.0) \\x map reduce scan filter iota zip unzip scatter |> .. ...
    ..< ..> 'a 'b [n] n m xs main 0 -1 9223372036854775807 1e400 _ ... #[sequential] ++ transpose
    flatten unflatten replicate copy length f64.sqrt i8.max reduce_by_index partition concat
""".split()]


def init(seed):
    random.seed(seed)


def group(tokens, start):
    """The end of the bracketed group that starts at start (one past it), or of the token."""
    if tokens[start] not in OPEN:
        return start + 1
    depth = 0
    for i in range(start, len(tokens)):
        depth += (tokens[i] in OPEN) - (tokens[i] in CLOSE)
        if depth == 0:
            return i + 1
    return start + 1


def some_group(tokens):
    start = random.randrange(len(tokens))
    return start, group(tokens, start)


def mutate_once(tokens, others):
    start, end = some_group(tokens)
    kind = random.randrange(6)
    if kind == 0:
        return tokens[:start] + tokens[end:]
    if kind == 1:
        return tokens[:end] + [b" "] + tokens[start:]
    if kind == 2 and others:
        a, b = some_group(others)
        return tokens[:start] + others[a:b] + tokens[end:]
    if kind == 3:
        return tokens[:start] + [b" ", random.choice(WORDS), b" "] + tokens[end:]
    if kind == 4:
        return tokens[:start] + [b"("] + tokens[start:end] + [b")"] + tokens[end:]
    a, b = some_group(tokens)
    return tokens[:start] + tokens[a:b] + tokens[end:]


def fuzz(buf, add_buf, max_size):
    tokens = TOKEN.findall(bytes(buf)) or [b" "]
    others = TOKEN.findall(bytes(add_buf)) if add_buf else []
    for _ in range(random.choice((1, 1, 2, 3, 6))):
        tokens = mutate_once(tokens, others) or [b" "]
    return bytearray(b"".join(tokens)[:max_size])


def deinit():
    """AFL++ demands it; there is nothing to undo."""
