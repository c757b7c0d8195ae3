#!/usr/bin/python3
"""Reads requests of OpenTelemetry's profiles signal, and applies the rules of its definition.

    otlp.py FILE          prints the profiles of a request, gzipped or not
    otlp.py FILE PPROF    status 1 unless each resource of the request has the samples of this pprof file

read(data) returns a list of Profile; it raises Invalid for whatever the comments of
opentelemetry-proto 1.10 and 1.11 call a MUST: zero values at index 0, indices inside their tables,
samples with values, keys that come once. Duplicates in a table, which SHOULD not be, are refused, too.
"""
import gzip
import sys

import pprof
import wire
from wire import Invalid, need

TABLES = {1: "mapping", 2: "location", 3: "function", 4: "link", 5: "string", 6: "attribute", 7: "stack"}


class Profile:
    """One profile: sample_type and period_type as (type, unit), samples as (stack, attributes,
    value) with the stack as names of functions, leaf first."""


def any_value(data):
    for number, value in wire.fields(data):
        if number == 1:
            return wire.text(value)
        if number == 3:
            return wire.signed(value)
        raise Invalid("attribute value of kind %d" % number)
    return None


class Dictionary:
    def __init__(self, data):
        self.table = {name: [] for name in TABLES.values()}
        for number, value in wire.fields(data):
            need(number in TABLES, "dictionary field %d" % number)
            self.table[TABLES[number]].append(value)
        for name, rows in self.table.items():
            need(rows, "%s_table has no zero value" % name)
            need(not rows[0], "%s_table[0] is not the zero value" % name)
            need(len(set(rows)) == len(rows), "%s_table has duplicates" % name)
        self.string = [wire.text(s) for s in self.table["string"]]
        self.function = [self.read_function(f) for f in self.table["function"]]
        self.mapping = [self.read_mapping(m) for m in self.table["mapping"]]
        self.location = [self.read_location(l) for l in self.table["location"]]
        self.stack = [self.read_stack(s) for s in self.table["stack"]]
        self.attribute = [self.read_attribute(a) for a in self.table["attribute"]]

    def get_string(self, index):
        need(0 <= index < len(self.string), "string %d does not exist" % index)
        return self.string[index]

    def read_function(self, data):
        f = wire.message(data, {1: 0, 2: 0, 3: 0, 4: 0})
        need(not data or f[1] or f[2] or f[3], "a function without any name")
        for i in (1, 2, 3):
            self.get_string(f[i])
        return self.get_string(f[1])

    def read_mapping(self, data):
        m = wire.message(data, {1: 0, 2: 0, 3: 0, 4: 0, 5: ()})
        for i in m[5]:
            need(0 < i < len(self.table["attribute"]), "attribute %d does not exist" % i)
        return self.get_string(m[4])

    def read_location(self, data):
        l = wire.message(data, {1: 0, 2: 0, 3: [], 4: ()})
        need(l[1] < len(self.table["mapping"]), "mapping %d does not exist" % l[1])
        for i in l[4]:
            need(0 < i < len(self.table["attribute"]), "attribute %d does not exist" % i)
        names = []
        for line in l[3]:
            line = wire.message(line, {1: 0, 2: 0, 3: 0})
            need(0 < line[1] < len(self.function), "function %d does not exist" % line[1])
            names.append(self.function[line[1]])
        return names or ["0x%x" % l[2]]

    def read_stack(self, data):
        stack = []
        for i in wire.message(data, {1: ()})[1]:
            need(0 < i < len(self.location), "location %d does not exist" % i)
            stack += self.location[i]
        return stack

    def read_attribute(self, data):
        a = wire.message(data, {1: 0, 2: b"", 3: 0})
        self.get_string(a[3])
        need(not data or a[1], "an attribute without a key")
        return self.get_string(a[1]), any_value(a[2])


def read_value_type(d, data):
    t = wire.message(data, {1: 0, 2: 0})
    return d.get_string(t[1]), d.get_string(t[2])


def read_sample(d, data):
    s = wire.message(data, {1: 0, 2: (), 3: 0, 4: (), 5: []})
    need(s[1] < len(d.stack), "stack %d does not exist" % s[1])
    need(s[4] or s[5], "a sample without values and times")
    keys = []
    attributes = {}
    for i in s[2]:
        need(0 < i < len(d.attribute), "attribute %d does not exist" % i)
        key, value = d.attribute[i]
        keys.append(key)
        attributes[key] = value
    need(len(keys) == len(set(keys)), "a sample has a key twice")
    return d.stack[s[1]], attributes, sum(wire.signed(v) for v in s[4])


def read_profile(d, data, resource):
    f = wire.message(data, {1: b"", 2: [], 3: 0, 4: 0, 5: b"", 6: 0, 7: b"", 8: 0, 9: b"", 10: b"", 11: ()})
    p = Profile()
    p.resource = resource
    p.sample_type = read_value_type(d, f[1])
    p.period_type = read_value_type(d, f[5])
    need(len(f[7]) in (0, 16), "profile_id of %d bytes" % len(f[7]))
    need(not f[7] or any(f[7]), "profile_id of zeros")
    p.id, p.time, p.duration, p.period = f[7], f[3], f[4], f[6]
    p.samples = [read_sample(d, s) for s in f[2]]
    return p


def read_resource(data):
    attributes = {}
    for pair in wire.message(data, {1: []})[1]:
        pair = wire.message(pair, {1: b"", 2: b""})
        key = wire.text(pair[1])
        need(key and key not in attributes, "resource attribute '%s' twice or empty" % key)
        attributes[key] = any_value(pair[2])
    return attributes


def read(data):
    request = wire.message(data, {1: [], 2: b""})
    d = Dictionary(request[2])
    profiles = []
    for resource_profiles in request[1]:
        r = wire.message(resource_profiles, {1: b"", 2: [], 3: b""})
        resource = read_resource(r[1])
        need(resource.get("service.name"), "a resource without service.name")
        for scope_profiles in r[2]:
            s = wire.message(scope_profiles, {1: b"", 2: [], 3: b""})
            profiles += [read_profile(d, p, resource) for p in s[2]]
    return profiles


def stacks(p, kind):
    """How much of a sample type each (stack, thread) has; of one request."""
    sums = {}
    for stack, attributes, value in p.samples:
        key = tuple(stack), str(attributes.get("thread.name", "")), kind
        sums[key] = sums.get(key, 0) + value
    return sums


def pprof_stacks(path):
    profile = pprof.Profile(path)
    sums = {}
    for locations, values, labels in profile.samples:
        stack = []
        for l in locations:
            stack += [f.name for f, _ in l.lines] or ["0x%x" % l.address]
        for (kind, _), value in zip(profile.sample_types, values):
            key = tuple(stack), labels.get("thread_name", ""), kind
            if value:
                sums[key] = sums.get(key, 0) + value
    return sums


def compare(profiles, path):
    want = pprof_stacks(path)
    by_resource = {}
    for p in profiles:
        by_resource.setdefault((p.id[:15], str(p.resource)), {}).update(stacks(p, p.sample_type[0]))
    for name, got in by_resource.items():
        if got != want:
            print("%s: %d stacks, not %d" % (name, len(got), len(want)))
            print(sorted(set(got.items()) ^ set(want.items()))[:4])
            return 1
    return 0 if by_resource else 1


def main():
    with open(sys.argv[1], "rb") as f:
        data = f.read()
    if data[:2] == b"\x1f\x8b":
        data = gzip.decompress(data)
    profiles = read(data)
    if len(sys.argv) > 2:
        sys.exit(compare(profiles, sys.argv[2]))
    for p in profiles:
        print(p.resource, p.sample_type, p.period_type, p.period, p.time, p.duration)
        for stack, attributes, value in p.samples:
            print("  %d %s %s" % (value, ";".join(reversed(stack)), attributes))


if __name__ == "__main__":
    main()
