#!/usr/bin/python3
"""A stand-in for the servers that take profiles: it applies the rules that they have published.

    pushserver.py FORMAT PORT FOLDER [--tls CERT KEY] [--token TOKEN]

FORMAT is pyroscope, parca or otlp. Real ones are in no package of Debian's. The rules are those of
 - Pyroscope: pkg/validation/validate.go and the limits of its documentation,
 - Parca: pkg/normalizer and pkg/profile of its source, with a real gRPC server (python3-grpcio),
 - OpenTelemetry: the comments of opentelemetry-proto (otlp.py).

What was taken is in FOLDER/log, one JSON object a line: {"n": the label n, "service": ..., "labels":
..., "types": ..., "sums": [of each sample type], "start": time, "bytes": ...}; refused requests are in
FOLDER/refused, each request is in FOLDER/requests, and the last one is FOLDER/body. The file
FOLDER/behave says what to do instead; its lines are used once each, from the first on, unless they begin
with "always ":
    STATUS [TEXT]       answer so; for Parca the status of gRPC
    after SECONDS       with 429 and Retry-After
    many STATUS         answer so if the request has more than one profile
    service NAME STATUS answer so if a profile of this service is in it
    partial             take it, and say that one of them was rejected (OTLP)
    silent              take it, and close the connection without an answer
    slow SECONDS        take it, and answer later
"""
import gzip
import http.server
import json
import os
import re
import ssl
import sys
import threading
import time

import otlp
import wire
from wire import Invalid, need

LABEL_NAME = re.compile(r"[a-zA-Z_][a-zA-Z0-9_]*")
METRIC_NAME = re.compile(r"[a-zA-Z_:][a-zA-Z0-9_:]*")
BODY_MAX = 32 << 20


class Answer(Exception):
    """An answer other than success."""

    def __init__(self, status, text="", retry_after=None):
        super().__init__(text)
        self.status, self.text, self.retry_after = status, text, retry_after


# ---- profiles ---------------------------------------------------------------------------


def read_pprof(data):
    if data[:2] == b"\x1f\x8b":
        try:
            data = gzip.decompress(data)
        except (OSError, EOFError):
            raise Invalid("gzip") from None
    p = wire.message(data, {1: [], 2: [], 3: [], 4: [], 5: [], 6: [], 7: 0, 8: 0, 9: 0, 10: 0, 11: b"",
                            12: 0, 13: (), 14: 0, 15: 0})
    p["string"] = [wire.text(s) for s in p[6]]
    need(p["string"] and p["string"][0] == "", "string_table[0] is not empty")
    p["type"] = [wire.message(t, {1: 0, 2: 0}) for t in p[1]]
    p["sample"] = [wire.message(s, {1: (), 2: (), 3: []}) for s in p[2]]
    p["location"] = [wire.message(l, {1: 0, 2: 0, 3: 0, 4: [], 5: 0}) for l in p[4]]
    p["function"] = [wire.message(f, {1: 0, 2: 0, 3: 0, 4: 0, 5: 0}) for f in p[5]]
    p["mapping"] = [wire.message(m, {1: 0, 2: 0, 3: 0, 4: 0, 5: 0, 6: 0, 7: 0, 8: 0, 9: 0, 10: 0}) for m in p[3]]
    need(p["type"], "no sample type")
    need(p[11], "no period type")
    for s in p["sample"]:
        need(len(s[2]) == len(p["type"]), "a sample with %d values" % len(s[2]))
    return p, len(data)


def summary(p):
    types = [p["string"][t[1]] for t in p["type"]]
    sums = [sum(wire.signed(s[2][i]) for s in p["sample"]) for i in range(len(types))]
    return types, sums, wire.signed(p[9])


# ---- Pyroscope --------------------------------------------------------------------------


def pyroscope_labels(labels):
    names = [name for name, _ in labels]
    values = dict(labels)
    need(labels and len(labels) <= 30, "%d labels" % len(labels))
    need(METRIC_NAME.fullmatch(values.get("__name__", "")), "invalid metric name")
    need(values.get("service_name"), "service name is not provided")
    need(len(set(names)) == len(names), "duplicate label name")
    for name, value in labels:
        need(len(name) <= 1024 and LABEL_NAME.fullmatch(name), "invalid label name '%s'" % name)
        need(len(value.encode()) <= 2048, "label value too long")


def pyroscope_profile(p, size):
    need(size <= 4 << 20, "profile size")
    need(len(p["sample"]) <= 16000, "too many samples")
    for s in p["sample"]:
        need(len(s[3]) <= 100, "too many labels")
    for l in p["location"]:
        need(l[1], "location id is 0")
    for f in p["function"]:
        need(f[1], "function id is 0")
    for t in p["type"]:
        need("-" not in p["string"][t[1]], "sample type contains -")
    age = time.time() - p[9] / 1e9
    need(-600 <= age <= 3600, "%.0f s old" % age)


def pyroscope(body):
    for series in wire.message(body, {1: []})[1]:
        series = wire.message(series, {1: [], 2: []})
        labels = [wire.message(l, {1: b"", 2: b""}) for l in series[1]]
        labels = [(wire.text(l[1]), wire.text(l[2])) for l in labels]
        pyroscope_labels(labels)
        need(series[2], "a series without profiles")
        for raw in series[2]:
            raw = wire.message(raw, {1: b"", 2: b""})
            need(re.fullmatch(rb"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}", raw[2]), "the ID is not a UUID")
            p, size = read_pprof(raw[1])
            pyroscope_profile(p, size)
            yield dict(labels), len(raw[1]), summary(p)


# ---- Parca ------------------------------------------------------------------------------


def parca_profile(p):
    """Parca uses ids as indices, and a comment of this form as its own."""
    for name in ("mapping", "location", "function"):
        for i, row in enumerate(p[name], 1):
            need(row[1] == i, "%s id %d at %d" % (name, row[1], i))
    for l in p["location"]:
        need(l[2] <= len(p["mapping"]), "mapping %d" % l[2])
        for line in l[4]:
            line = wire.message(line, {1: 0, 2: 0, 3: 0})
            need(0 < line[1] <= len(p["function"]), "function %d" % line[1])
    for s in p["sample"]:
        need(all(0 < i <= len(p["location"]) for i in s[1]), "a location that does not exist")
    for i in p[13]:
        need(not p["string"][i].startswith("executableInfo="), "comment executableInfo")


def parca(body):
    request = wire.message(body, {1: b"", 2: [], 3: 0})
    for series in request[2]:
        series = wire.message(series, {1: b"", 2: []})
        labels = {}
        for l in wire.message(series[1], {1: []})[1]:
            l = wire.message(l, {1: b"", 2: b""})
            name = wire.text(l[1])
            need(LABEL_NAME.fullmatch(name), "invalid label name: %s" % name)
            need(name not in labels, "duplicate label name: %s" % name)
            labels[name] = wire.text(l[2])
        need(labels.get("__name__"), "missing __name__ label")
        for raw in series[2]:
            raw = wire.message(raw, {1: b"", 2: []})
            p, _ = read_pprof(raw[1])
            parca_profile(p)
            yield labels, len(raw[1]), summary(p)


# ---- OTLP -------------------------------------------------------------------------------


def otlp_request(body):
    """One entry for each pprof, whose sample types are neighbours."""
    by_pprof = {}
    for p in otlp.read(body):
        key = (p.id[:15], json.dumps(p.resource, sort_keys=True))
        by_pprof.setdefault(key, []).append(p)
    for profiles in by_pprof.values():
        labels = {name.replace("service.name", "service_name"): value for name, value in profiles[0].resource.items()}
        types = [p.sample_type[0] for p in profiles]
        sums = [sum(value for _, _, value in p.samples) for p in profiles]
        yield labels, 0, (types, sums, profiles[0].time)


# ---- requests ---------------------------------------------------------------------------

FORMATS = {"pyroscope": pyroscope, "parca": parca, "otlp": otlp_request}


class Server:
    def __init__(self, form, folder, token):
        self.read, self.folder, self.token = FORMATS[form], folder, token
        self.lock = threading.Lock()

    def write(self, name, line):
        with open(os.path.join(self.folder, name), "a") as f:
            f.write(line + "\n")

    def behaviour(self):
        try:
            with open(os.path.join(self.folder, "behave")) as f:
                lines = f.read().splitlines()
        except FileNotFoundError:
            return []
        if not lines:
            return []
        if lines[0].startswith("always "):
            return lines[0].split()[1:]
        with open(os.path.join(self.folder, "behave.new"), "w") as f:
            f.write("".join(line + "\n" for line in lines[1:]))
        os.rename(os.path.join(self.folder, "behave.new"), os.path.join(self.folder, "behave"))
        return lines[0].split()

    def before(self, words, profiles):
        """Answers before anything is taken."""
        if words[:1] == ["after"]:
            raise Answer(429, "too many requests", words[1])
        if words[:1] == ["many"] and len(profiles) > 1:
            raise Answer(int(words[1]), "many")
        if words[:1] == ["service"] and any(p[0].get("service_name") == words[1] for p in profiles):
            raise Answer(int(words[2]), "this service")
        if words and words[0].isdigit():
            raise Answer(int(words[0]), " ".join(words[1:]))

    def take(self, body, authorization):
        """Takes a request; the words say what to do after that."""
        with self.lock:
            words = self.behaviour()
            with open(os.path.join(self.folder, "body"), "wb") as f:
                f.write(body)
            self.write("requests", "%.3f %d %s" % (time.time(), len(body), " ".join(words)))
            if self.token and authorization != "Bearer " + self.token:
                raise Answer(401, "no credentials")
            try:
                profiles = list(self.read(body))
            except Invalid as e:
                self.write("refused", str(e))
                raise Answer(400, str(e)) from None
            self.before(words, profiles)
            for labels, size, (types, sums, start) in profiles:
                self.write("log", json.dumps({
                    "n": labels.get("n"), "service": labels.get("service_name"), "labels": labels, "types": types,
                    "sums": sums, "start": start, "bytes": size}))
        if words[:1] == ["slow"]:
            time.sleep(float(words[1]))
        return words


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    paths = {"/push.v1.PusherService/Push": ("pyroscope", "application/proto"),
             "/v1development/profiles": ("otlp", "application/x-protobuf")}

    def log_message(self, *args):
        pass

    def answer(self, status, text="", retry_after=None):
        body = text.encode()
        self.send_response(status)
        self.send_header("Content-Length", str(len(body)))
        if retry_after is not None:
            self.send_header("Retry-After", retry_after)
        self.end_headers()
        self.wfile.write(body)

    def do_POST(self):
        server = self.server.standin
        form, kind = self.paths.get(self.path, (None, None))
        size = int(self.headers.get("Content-Length", -1))
        if not 0 <= size <= BODY_MAX:
            return self.answer(413, "too large")
        body = self.rfile.read(size)
        if len(body) < size:
            self.close_connection = True
            return None
        if form != self.server.form:
            return self.answer(404, "nothing here")
        if self.headers.get("Content-Type") != kind:
            return self.answer(415, "content type")
        if self.headers.get("Content-Encoding") == "gzip":
            body = gzip.decompress(body)
        try:
            words = server.take(body, self.headers.get("Authorization"))
        except Answer as a:
            return self.answer(a.status, a.text, a.retry_after)
        if words[:1] == ["silent"]:
            self.close_connection = True
            return None
        if words[:1] == ["partial"]:
            self.answer(200, "\n\x02\x08\x01")
            return None
        return self.answer(200)


class HttpServer(http.server.ThreadingHTTPServer):
    """Clients that were killed are no news."""
    daemon_threads = True

    def handle_error(self, request, client_address):
        if not isinstance(sys.exc_info()[1], OSError):
            super().handle_error(request, client_address)

    request_queue_size = 128


def serve_http(standin, form, port, tls):
    server = HttpServer(("127.0.0.1", port), Handler)
    server.standin, server.form = standin, form
    if tls:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(tls[0], tls[1])
        server.socket = context.wrap_socket(server.socket, server_side=True, do_handshake_on_connect=False)
    ready(standin)
    server.serve_forever()


def serve_grpc(standin, port, tls):
    from concurrent import futures

    import grpc

    code_of = {code.value[0]: code for code in grpc.StatusCode}

    class Service(grpc.GenericRpcHandler):
        def service(self, details):
            if details.method != "/parca.profilestore.v1alpha1.ProfileStoreService/WriteRaw":
                return None
            return grpc.unary_unary_rpc_method_handler(self.write_raw)

        def write_raw(self, body, context):
            metadata = dict(context.invocation_metadata())
            try:
                standin.take(body, metadata.get("authorization"))
            except Answer as a:
                context.abort(code_of[{400: 3, 401: 16}.get(a.status, a.status)], a.text)
            return b""

    server = grpc.server(futures.ThreadPoolExecutor(4), handlers=[Service()],
                         options=[("grpc.max_receive_message_length", BODY_MAX), ("grpc.so_reuseport", 0)])
    address = "127.0.0.1:%d" % port
    if tls:
        pair = [open(name, "rb").read() for name in tls]
        server.add_secure_port(address, grpc.ssl_server_credentials([(pair[1], pair[0])]))
    else:
        server.add_insecure_port(address)
    server.start()
    ready(standin)
    server.wait_for_termination()


def ready(standin):
    standin.write("ready", "ready")


def main():
    form, port, folder = sys.argv[1], int(sys.argv[2]), sys.argv[3]
    rest = sys.argv[4:]
    tls = token = None
    while rest:
        option = rest.pop(0)
        if option == "--tls":
            tls = rest.pop(0), rest.pop(0)
        elif option == "--token":
            token = rest.pop(0)
    os.makedirs(folder, exist_ok=True)
    standin = Server(form, folder, token)
    if form == "parca":
        serve_grpc(standin, port, tls)
    else:
        serve_http(standin, form, port, tls)


if __name__ == "__main__":
    main()
