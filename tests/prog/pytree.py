"""Burns CPU time in the stacks of a large program: a function's name says which one calls it, there are
many of them, and each call is made at another depth of the stack.

    pytree.py

f_1_2_0 is only called by f_1_2, directly, by a generator of that name with a g, or by C: max() calls
its key.  Functions have different numbers of variables, so that their frames have different sizes.
Half of them end in `shared`, which burns on another line for each way that leads to it.
"""
import random

WAYS = 4
LEVELS = 4

SOURCE = """
def f_{name}(depth):
    {variables}
    {body}
"""
CALLS = ["{0}(depth)", "max((depth,), key={0})", "[{0}(x) for x in (depth,)]", "next({0}_g(depth))"]
GENERATOR = """
def f_{name}_g(depth):
    yield f_{name}(depth)
"""
SHARED = "def shared(way):\n    x = 0.0\n" + "".join(
    "    if way == %d:\n        for k in range(40): x += k * 0.5\n" % way for way in range(WAYS))


def make(name, level):
    body = ["    x = 0.0", "    for k in range(60): x += k * 0.5"]
    if level == LEVELS:
        if int(name[-1]) % 2:
            body = ["    shared(%s)" % name[-1]]
    else:
        for way in range(WAYS):
            body.append("    " + CALLS[way].format("f_%s_%d" % (name, way)))
    variables = " = ".join("v%d" % k for k in range(1 + int(name[-1]) * 3)) + " = 0"
    source = SOURCE.format(name=name, variables=variables, body="\n".join(body).strip())
    exec(compile(source + GENERATOR.format(name=name), "tree.py", "exec"), globals())
    for way in range(WAYS if level < LEVELS else 0):
        make("%s_%d" % (name, way), level + 1)


def descend(depth):
    if depth > 0:
        return max((depth - 1,), key=descend)
    return random.choice(roots)(depth)


exec(compile(SHARED, "shared.py", "exec"), globals())
for i in range(WAYS):
    make(str(i), 1)
roots = [globals()["f_%d" % i] for i in range(WAYS)]
print("ready", flush=True)
while True:
    descend(random.randrange(20))
