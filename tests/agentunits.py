"""The examples of cprof agent: units of systemd, and a DaemonSet of Kubernetes. Arguments:

    agentunits.py capabilities UNIT       its capabilities, as setpriv names them
    agentunits.py command YAML CONTAINER  the command and arguments of a container, one per line
    agentunits.py agree UNIT YAML MAN     the recorder has the same capabilities everywhere
    agentunits.py yaml YAML               the fields exist, and each privilege is explained
"""
import re
import sys

TEXT, FLAG, NUMBER, MAP = "text", "flag", "number", "map"
PROFILE = {"type": TEXT, "localhostProfile": TEXT}
RESOURCES = {"cpu": TEXT, "memory": TEXT}
CONTAINER = {
    "name": TEXT, "image": TEXT, "command": [TEXT], "args": [TEXT],
    "env": [{"name": TEXT, "value": TEXT, "valueFrom": {"fieldRef": {"fieldPath": TEXT}}}],
    "securityContext": {
        "runAsUser": NUMBER, "runAsGroup": NUMBER, "runAsNonRoot": FLAG, "privileged": FLAG, "readOnlyRootFilesystem": FLAG,
        "allowPrivilegeEscalation": FLAG, "seccompProfile": PROFILE, "appArmorProfile": PROFILE,
        "capabilities": {"drop": [TEXT], "add": [TEXT]}},
    "resources": {"requests": RESOURCES, "limits": RESOURCES},
    "volumeMounts": [{"name": TEXT, "mountPath": TEXT, "subPath": TEXT, "readOnly": FLAG}],
}
POD = {
    "hostPID": FLAG, "hostNetwork": FLAG, "automountServiceAccountToken": FLAG, "nodeSelector": MAP,
    "tolerations": [{"key": TEXT, "operator": TEXT, "value": TEXT, "effect": TEXT}], "containers": [CONTAINER],
    "volumes": [{"name": TEXT, "emptyDir": {"medium": TEXT, "sizeLimit": TEXT}, "hostPath": {"path": TEXT, "type": TEXT},
                 "secret": {"secretName": TEXT, "defaultMode": NUMBER}}],
}
METADATA = {"name": TEXT, "namespace": TEXT, "labels": MAP, "annotations": MAP}
# What the examples may use of Kubernetes 1.30.
KINDS = {
    ("v1", "Namespace"): {"metadata": METADATA},
    ("apps/v1", "DaemonSet"): {"metadata": METADATA, "spec": {
        "selector": {"matchLabels": MAP}, "template": {"metadata": METADATA, "spec": POD}}},
}


def text_of(path):
    with open(path, encoding="utf-8") as f:
        return f.read()


def documents(path):
    import yaml
    return list(yaml.safe_load_all(text_of(path)))


def containers(path):
    spec = [d for d in documents(path) if d["kind"] == "DaemonSet"][0]["spec"]["template"]["spec"]
    return {c["name"]: c for c in spec["containers"]}, spec


def unit_capabilities(path):
    return set(re.search(r"^CapabilityBoundingSet=(.*)$", text_of(path), re.M).group(1).split())


def wrong_fields(value, schema, where):
    if isinstance(schema, list):
        if not isinstance(value, list) or not value:
            return [where + ": not a list"]
        return [x for i, v in enumerate(value) for x in wrong_fields(v, schema[0], "%s[%d]" % (where, i))]
    if isinstance(schema, dict):
        if not isinstance(value, dict):
            return [where + ": not a map"]
        return ([where + "." + k + ": no such field" for k in value if k not in schema] +
                [x for k in value if k in schema for x in wrong_fields(value[k], schema[k], where + "." + k)])
    is_right = {TEXT: isinstance(value, str), FLAG: isinstance(value, bool),
                NUMBER: isinstance(value, int) and not isinstance(value, bool),
                MAP: isinstance(value, dict) and all(isinstance(v, str) for v in value.values())}[schema]
    return [] if is_right else ["%s: not a %s" % (where, schema)]


def check_fields(path):
    wrong = []
    for d in documents(path):
        schema = dict(KINDS[d["apiVersion"], d["kind"]], apiVersion=TEXT, kind=TEXT)
        wrong += wrong_fields(d, schema, d["kind"])
    return wrong


def check_pod(path):
    """What the API server checks beyond the names of fields."""
    found, spec = containers(path)
    daemon = [d for d in documents(path) if d["kind"] == "DaemonSet"][0]["spec"]
    labels = daemon["template"]["metadata"]["labels"]
    wrong = ["the selector does not select the pods"] if daemon["selector"]["matchLabels"].items() - labels.items() else []
    volumes = [v["name"] for v in spec["volumes"]]
    used = [m["name"] for c in found.values() for m in c["volumeMounts"]]
    wrong += ["volumes %s, mounts %s" % (volumes, used)] if set(volumes) != set(used) else []
    wrong += ["%s writes to a folder of the node" % c["name"] for c in found.values() for m in c["volumeMounts"]
              for v in spec["volumes"] if v["name"] == m["name"] and "hostPath" in v and not m.get("readOnly")]
    return wrong


def check_explained(path):
    """The comments at the top name each privilege; only the recorder has any."""
    found, spec = containers(path)
    words = "".join(line for line in text_of(path).splitlines() if line.startswith("#"))
    recorder, others = found["recorder"], [c for n, c in found.items() if n != "recorder"]
    privileges = ["hostPID"] if spec.get("hostPID") else []
    privileges += recorder["securityContext"]["capabilities"]["add"]
    privileges += [n for n, k in (("seccomp", "seccompProfile"), ("AppArmor", "appArmorProfile"))
                   if recorder["securityContext"].get(k, {}).get("type") == "Unconfined"]
    wrong = ["not explained: " + p for p in privileges if not re.search(r"\b%s\b" % p, words)]
    for c in [recorder] + others:
        context = c["securityContext"]
        if context["capabilities"]["drop"] != ["ALL"] or context["allowPrivilegeEscalation"] or context.get("privileged"):
            wrong.append("%s has more than it needs" % c["name"])
    for c in others:
        context = c["securityContext"]
        if "add" in context["capabilities"] or not context.get("runAsNonRoot") or \
                context["seccompProfile"]["type"] != "RuntimeDefault":
            wrong.append("%s has privileges" % c["name"])
    return wrong


def check_agree(unit, yaml_path, man):
    of_unit = unit_capabilities(unit)
    of_pod = {"CAP_" + c for c in containers(yaml_path)[0]["recorder"]["securityContext"]["capabilities"]["add"]}
    of_man = set(re.findall(r"^\.It (CAP_\w+)$", text_of(man), re.M))
    return [] if of_unit == of_pod == of_man else ["%s: %s" % (path, sorted(c)) for path, c in (
        (unit, of_unit), (yaml_path, of_pod), (man, of_man))]


def main():
    what, *rest = sys.argv[1:]
    wrong = []
    if what == "capabilities":
        print(",".join("+" + c[4:].lower() for c in sorted(unit_capabilities(*rest))))
    elif what == "command":
        c = containers(rest[0])[0][rest[1]]
        print("\n".join(c["command"] + c.get("args", [])))
    elif what == "agree":
        wrong = check_agree(*rest)
    else:
        wrong = check_fields(*rest) + check_pod(*rest) + check_explained(*rest)
    print("\n".join(wrong), end="")
    sys.exit(bool(wrong))


if __name__ == "__main__":
    main()
