"""pycallers.py SECONDS: four ways to one function, all by frames of the same size and of one depth, so
that only the frames themselves say who has called it.  Each computes as often as its number says."""
import sys
import time


def leaf(n):
    x = 1.0
    for _ in range(n):
        x = x * 1.0000001 + 0.5
    return x


def way1(n):
    return leaf(n)


def way2(n):
    return leaf(n)


def way3(n):
    return leaf(n)


def way4(n):
    return leaf(n)


end = time.time() + float(sys.argv[1])
while time.time() < end:
    way1(300)
    way2(600)
    way3(900)
    way4(1200)
