"""Steps of the heat equation on a grid of 512 x 512: with a new grid for each step, or with two that are used in turn.

python3 allocation.py new|re-used [STEPS]
"""

import sys
import time

N = 512
STEPS = int(sys.argv[2]) if len(sys.argv) > 2 else 3


def grid():
    return [[0.0] * N for _ in range(N)]


def new_grid():
    return [
        [0.0 for _ in range(N)] * N for _ in range(N)
    ]  # as in the lesson, which makes N times the columns that it uses


def step(now, out):
    for i in range(N):
        for j in range(N):
            xx = now[i - 1][j] - 2 * now[i][j] + now[(i + 1) % N][j]
            yy = now[i][j - 1] - 2 * now[i][j] + now[i][(j + 1) % N]
            out[i][j] = now[i][j] + (xx + yy) * 0.1
    return out


now, other = grid(), grid()
now[N // 2][N // 2] = 1.0
start = time.perf_counter()
for _ in range(STEPS):
    out = step(now, new_grid() if sys.argv[1] == "new" else other)
    now, other = out, now
print(f"{STEPS} steps in {time.perf_counter() - start:.6f} s")
