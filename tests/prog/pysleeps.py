"""Threads that sleep in known functions, each for another time: the labels of waits must agree with their stacks."""
import threading
import time


def sleep_300():
    time.sleep(0.3)


def sleep_60():
    time.sleep(0.06)


def outer():
    while True:
        sleep_300()


def callback():
    while True:
        sorted([1], key=lambda x: sleep_60())


def one_of_two():
    while True:
        sleep_60()
        sleep_300()


def worker(target, name):
    threading.Thread(target=target, name=name, daemon=True).start()


worker(outer, "outer")
worker(callback, "callback")
worker(one_of_two, "one_of_two")
print("ready", flush=True)
time.sleep(1000)
