#!/usr/bin/env python3
"""What many workers would gain: scaling.py FLC NAME=MS...

Runs the programs of workers.py with two workers, whose log says what is moved in a call, and computes from that how long a call
would take with more of them, each with a core and a network card (LogGP, without gaps between messages): work by the rows of the
largest block, an agreement before each exchange, gathers by doubling, borders from two neighbours.  NAME is a row of
workers.py, MS the milliseconds of one process (docs/machines.md)."""
import math
import os
import re
import subprocess
import sys
import tempfile

import workers

LATENCY = 2e-6  # seconds for a message, with what both sides do for it (L + 2 o)
PER_BYTE = 1 / 12e9  # 100 Gbit/s (G)
PER_COPY = 1 / 10e9  # to and from the device's memory
WORKERS = [2, 8, 32, 128, 512, 1024]
ROWS_OF = {"saxpy, rows": 20000000, "dot product": 20000000, "sum of functions": 5000000, "matrix product": 1024,
           "matrix product, rows": 1024, "bodies": 10000, "Jacobi": 2000, "Jacobi, rows": 2000, "power iteration": 3000, "k-means": 400000, "LocVolCalib": 256,
           "option pricing": 500000}
# For what programs decide by: nothing is measured here.
NETWORK = ["--param", f"exchange_ns={int(LATENCY * 1e9)}", "--param", f"megabyte_ns={int(PER_BYTE * 2**20 * 1e9)}"]


def traffic(flc, folder, source, entry, data):
    """[(kind, rows, bytes per row)] of a call."""
    executable = os.path.join(folder, source + ".out")
    subprocess.run([flc, "build", "--workers", os.path.join(workers.HERE, source), "-o", executable], check=True)
    done = subprocess.run([executable, "-e", entry, "-n", "-L", "-d", "#0,#0", *NETWORK], input=data, stderr=subprocess.PIPE,
                          stdout=subprocess.DEVNULL, check=True)
    said = done.stderr.decode()
    found = re.findall(r"^\[0\] (gathered|border:|fetched) (\d+) rows of (\d+) bytes", said, re.M)
    return [(kind, int(rows), int(row)) for kind, rows, row in found]


def exchange_seconds(kind, rows, row, count):
    """An agreement, then what is moved; values of each worker are as many as there are workers.  Before a fetch, which is taken to
    be of all rows, each says what it wants."""
    agreed = LATENCY * math.ceil(math.log2(count))
    if kind == "border:":
        return agreed + 2 * LATENCY + rows * row * (PER_BYTE + 2 * PER_COPY)
    if kind == "fetched":
        agreed *= 2
    total = (count if rows == 2 else rows) * row
    return agreed + LATENCY * math.ceil(math.log2(count)) + total * (count - 1) / count * PER_BYTE + total * PER_COPY


def main():
    flc, times = os.path.realpath(sys.argv[1]), dict(word.split("=") for word in sys.argv[2:])
    print("| program | exchanges | " + " | ".join(str(count) for count in WORKERS) + " |")
    print("|---|--:|" + "--:|" * len(WORKERS))
    with tempfile.TemporaryDirectory() as folder:
        for name, source, entry, given in workers.ROWS:
            if name not in times:
                continue
            alone, cells = float(times[name]) / 1000, []
            moved = traffic(flc, folder, source, entry, workers.inputs_of(flc, given))
            for count in WORKERS:
                work = alone * math.ceil(ROWS_OF[name] / count) / ROWS_OF[name]
                cells.append(f"{alone / (work + sum(exchange_seconds(*each, count) for each in moved)):.1f}")
            print(f"| {name} | {len(moved)} | " + " | ".join(cells) + " |", flush=True)


if __name__ == "__main__":
    main()
