#!/usr/bin/python3
"""Records itself by ctypes: recording.py LIBCPROF.so FILE.pb.gz"""
import ctypes
import sys
import time

lib = ctypes.CDLL(sys.argv[1])


class Error(ctypes.Structure):
    _fields_ = [("code", ctypes.c_int), ("is_usage", ctypes.c_bool),
                ("what", ctypes.c_char * 1024), ("hint", ctypes.c_char * 1024)]


class Config(ctypes.Structure):
    """The first fields of struct cprof_config; the others are zero."""
    _fields_ = [("kind", ctypes.c_void_p), ("self", ctypes.c_int), ("scope", ctypes.c_int),
                ("event", ctypes.POINTER(ctypes.c_char_p)), ("n_events", ctypes.c_size_t),
                ("freq", ctypes.c_char_p)]


def call(function, *args):
    e = Error()
    code = function(*args, ctypes.byref(e))
    if code < 0:
        sys.exit("%s\n%s" % (e.what.decode(), e.hint.decode()))
    return code


class Profile:
    """with Profile("x.pb.gz"): records this thread, in the block."""

    def __init__(self, path, freq):
        self.path = path.encode()
        self.recorder = ctypes.c_void_p()
        self.config = Config(self=2, freq=freq.encode())  # CPROF_SELF_THREAD

    def __enter__(self):
        call(lib.cprof_record_begin_sized, ctypes.byref(self.config),
             ctypes.c_size_t(ctypes.sizeof(self.config)), ctypes.byref(self.recorder))

    def __exit__(self, *_):
        call(lib.cprof_record_end, self.recorder, self.path)


def busy(seconds):
    n = 0
    end = time.thread_time() + seconds
    while time.thread_time() < end:
        n += sum(range(1000))
    return n


with Profile(sys.argv[2], "499"):
    busy(0.5)
