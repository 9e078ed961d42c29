"""Random programs that turn arrays around: passes over rows and columns, in loops, of two and three dimensions (divided.py --turns)."""

PRELUDE = """def slowly (x: i32) : i32 = loop y = x for i < 9 do (y * 5 + i) % 10007
"""


def rows_of(r, array, width):
    """What a pass makes of each row, which has as many elements."""
    return r.choice([
        f"map (\\xs -> map slowly xs) {array}",
        f"map (\\xs -> scan (+) 0 (map slowly xs)) {array}",
        f"map (\\xs -> loop ys = copy xs for i < {width} - 1 do ys with [i + 1] = slowly (ys[i] - ys[i + 1])) {array}",
        f"map (\\xs -> map2 (\\x y -> slowly (x - y)) xs (rotate ({r.randint(-2, 2)}) xs)) {array}",
        f"map (\\xs -> let s = i32.sum xs in map (\\x -> slowly (x + s)) xs) {array}",
    ])


def turned(r, array, n, m):
    """A pass that makes rows of columns."""
    return r.choice([
        f"transpose {array}",
        f"{rows_of(r, f'(transpose {array})', n)}",
        f"tabulate_2d {m} {n} (\\i j -> slowly ({array}[j, i] - {array}[(j + {r.randint(0, 2)}) % {n}, i]))",
        f"map (\\i -> map (\\j -> slowly ({array}[{n} - 1 - j, i] + i32.i64 i)) (iota {n})) (iota {m})",
    ])


def there_and_back(r, array, n, m):
    inner = rows_of(r, f"(transpose ({rows_of(r, array, m)}))", n)
    return r.choice([f"transpose ({inner})", rows_of(r, f"(transpose ({inner}))", m)])


def ends(r, array, n, m):
    """A result with what was made."""
    return r.choice([
        array,
        f"map (\\xs -> loop s = 0 for x in xs do slowly (s * 3 + x)) (transpose {array})",
        f"map (\\i -> i32.sum (map (\\j -> slowly {array}[j % {n}, i]) [0, 5, {r.randint(0, 9)}])) (iota {m})",
        f"map (\\xs -> slowly (i32.sum xs)) {array}",
        f"{array}[{n} / 2]",
        f"i32.sum (map i32.sum {array})",
        f"map (\\i -> slowly ({array}[i % {n}, i] + {array}[0, i])) (iota {m})",
    ])


def flat_program(r):
    """Passes over one array; its sizes change places."""
    n, m = "n", "m"
    lets, last = [], "xss"
    for k in range(r.randint(1, 4)):
        name = f"a{k}"
        kind = r.random()
        if kind < 0.35:
            text = rows_of(r, last, m)
        elif kind < 0.75:
            text = turned(r, last, n, m)
            n, m = m, n
        else:
            text = f"loop zs = {last} for _i < k do {there_and_back(r, 'zs', n, m)}"
        lets.append(f"  let {name} = {text}\n")
        last = name
    results = [ends(r, last, n, m) for _ in range(r.randint(1, 3))]
    return "entry main [n] [m] (xss: [n][m]i32) (k: i64) =\n" + "".join(lets) + f"  in ({', '.join(results)})\n"


def deep_program(r):
    """Of three dimensions, divided by each of them in turn."""
    makes = "map (map (map slowly)) xsss"
    by = r.choice([
        "tabulate b (\\j -> loop zs = replicate c 0 for i < a do map2 (\\y z -> slowly (z - y)) as[i, j] zs)",
        "tabulate c (\\k -> loop s = 0 for i < a do slowly (s + i32.sum (map (\\j -> as[i, j, k]) (iota b))))",
        "map (\\ys -> map (\\zs -> loop s = 0 for z in zs do slowly (s - z)) (transpose ys)) (transpose as)",
        "map (map (\\zs -> loop s = 0 for z in zs do slowly (s - z))) (map transpose as)",
        "map (\\ys -> map (map slowly) ys) (transpose (map transpose as))",
    ])
    results = f"bs, {r.choice(['as', 'i32.sum (flatten_3d as)', 'as[a / 2]', 'length as'])}"
    return f"entry deep [a] [b] [c] (xsss: [a][b][c]i32) =\n  let as = {makes}\n  let bs = {by}\n  in ({results})\n"


def program(r):
    """The text, and entry points with the shapes of their first parameters and what else they take."""
    return PRELUDE + flat_program(r) + deep_program(r), (("main", 2, "3i64"), ("deep", 3, ""))
