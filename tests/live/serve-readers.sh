#!/bin/sh
# cprof serve and clients that do not read what it sends: others are served, and recordings end.
. "$CPROF_SOURCE_ROOT/tests/lib.sh"
[ -x "$(dirname "$CPROF")/cprof-serve" ] || skip_all 'cprof was built without libmicrohttpd'

port=$(free_port)
socket=$T/serve.keep
background "$PROG/spin" 1 600000
target=$pid
background env --default-signal=INT,TERM,HUP "$CPROF" serve -l "$socket" -l "127.0.0.1:$port" -p "$target" \
	2>serve.log.keep
server=$pid
wait_for 30 grep -q "$port" serve.log.keep

cat >clients.py <<'END'
import socket, sys, time

PATH, PORT, SERVER = sys.argv[1], int(sys.argv[2]), sys.argv[3]

def request(path):
    return b"GET %s HTTP/1.1\r\nHost: localhost\r\n\r\n" % path.encode()

def ask(path):
    """The body of an answer, on a connection of its own; waits for less than a slow reader may take."""
    with socket.socket(socket.AF_UNIX) as s:
        s.settimeout(60)
        s.connect(PATH)
        s.sendall(request(path).replace(b"\r\n\r\n", b"\r\nConnection: close\r\n\r\n"))
        answer = b""
        while some := s.recv(65536):
            answer += some
    head, _, body = answer.partition(b"\r\n\r\n")
    assert head.startswith(b"HTTP/1.1 200"), head
    return body

def metric(name):
    return [float(line.split()[1]) for line in ask("/metrics").decode().splitlines() if line.split()[0] == name][0]

def wait_for(what):
    end = time.monotonic() + 100
    while not what():
        assert time.monotonic() < end, "it did not happen in time"
        time.sleep(0.02)

def unsent_bytes():
    """Of the connection over TCP that has most."""
    with open("/proc/net/tcp") as f:
        rows = [line.split() for line in f][1:]
    return max(int(row[4].split(":")[0], 16) for row in rows if row[1].endswith(":%04X" % PORT))

def memory_kb():
    with open("/proc/%s/status" % SERVER) as f:
        return [int(line.split()[1]) for line in f if line.startswith("VmRSS")][0]
END

# The answers to 200 requests do not fit into the buffers of a connection.
cat >many.py <<'END'
from clients import *
before, slow = memory_kb(), []
for i in range(600):
    s = socket.socket(socket.AF_INET)
    s.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 2048)
    s.settimeout(60)
    s.connect(("127.0.0.1", PORT))
    try:
        s.sendall(request("/debug/pprof/") * 200)
        s.recv(1)
    except (BrokenPipeError, ConnectionResetError):
        pass
    slow.append(s)
assert ask("/-/healthy") == b"ok\n"
print("# %d bytes wait in the kernel for one of them" % unsent_bytes())
assert 0 < unsent_bytes() < 300000
assert ask("/debug/pprof/profile?seconds=0.3").startswith(b"\x1f\x8b")
print("# memory: %d KB, then %d KB" % (before, memory_kb()))
assert memory_kb() < before + 32768
END
check '600 clients do not read: others are served, and memory is bounded' \
	env PYTHONPATH=. "$PYTHON" many.py "$socket" "$port" "$server"

# Reads until the server has come to the request for a profile; the answers before it fill the connection.
cat >one.py <<'END'
from clients import *
n_before = metric("cprof_recordings_total")
slow = socket.socket(socket.AF_UNIX)
slow.settimeout(60)
slow.connect(PATH)
slow.sendall(request("/debug/pprof/") * 300 + request("/debug/pprof/profile?seconds=0.5"))
n_read = 0
while metric("cprof_recordings_total") == n_before:
    n_read += len(slow.recv(4096))
wait_for(lambda: metric("cprof_recordings") == 0)
assert metric("cprof_recordings_total") == n_before + 1
assert ask("/debug/pprof/profile?seconds=0.3").startswith(b"\x1f\x8b")
# What waited for it is whole.
answer = b""
while b"X-Cprof-Samples" not in answer:
    some = slow.recv(65536)
    assert some, "the connection ended"
    answer += some
print("# %d bytes were read before the recording, %d after it" % (n_read, len(answer)))
END
check 'a client that does not read: its recording ends, and it gets the profile when it reads' \
	env PYTHONPATH=. "$PYTHON" one.py "$socket" "$port" "$server"
kill -TERM "$server"
wait "$server"
is "$?" 0 'SIGTERM ends the server'
finish
