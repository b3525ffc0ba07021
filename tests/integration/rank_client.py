"""One trainer rank as a process of its own: rank_client.py ENDPOINT DP CP_RANK MICROBATCHES STEPS

Fetches its micro-batches of steps 0 .. STEPS-1 in order, or up to the end of data, and prints one
line: the hash over all it received, and the number of steps.
"""
import hashlib
import sys

from wire import END, Client, in_order


def main(endpoint, dp, cp_rank, microbatches, steps):
    mine = range(dp * microbatches, (dp + 1) * microbatches)
    wanted = ((step, m, cp_rank) for step in range(steps) for m in mine)
    data, done = hashlib.sha256(), 0
    with Client(endpoint) as client:
        for reply in in_order(client, wanted):
            if reply.status == END:
                break
            data.update(reply.digest)
            for frame in reply.frames:
                data.update(frame)
            done = reply.step + 1
    print(data.hexdigest(), done)


if __name__ == "__main__":
    main(sys.argv[1], *map(int, sys.argv[2:6]))
