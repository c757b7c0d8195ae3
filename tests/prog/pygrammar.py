"""Burns CPU time in stacks that obey a grammar: run calls a_i, a_i calls b_i, b_i calls c_i, and c_i
calls leaf_i, in 8 families i.  So each stack of a sample shows whether it is possible.

    pygrammar.py N [equal|different [count]]

N is the number of loop rounds in a leaf.  With `different`, frames of different families have
different sizes.  With `count`, it prints a character for each 64 rounds of all families.

These grammars (phpgrammar.php and rbgrammar.rb are the others) can change after 0.4 s of CPU time in run:
with GRAMMAR_FORK in the environment into two processes, with GRAMMAR_THEN into the commands that it
lists, one after the other, each ending with "|".
"""
import os
import sys
import time

SOURCE = """
def leaf_{i}(n):
    {locals}x = 0.0
    for k in range(n):
        x += k * 0.5
    return x

def c_{i}(n):
    {locals}y = leaf_{i}(n)
    return y

def b_{i}(n):
    {locals}y = c_{i}(n)
    return y

def a_{i}(n):
    {locals}y = b_{i}(n)
    return y
"""

n = int(sys.argv[1])
is_different = len(sys.argv) > 2 and sys.argv[2] == "different"
for i in range(8):
    local = "".join("v%d = " % k for k in range(i)) + "0\n    " if is_different and i else ""
    exec(compile(SOURCE.format(i=i, locals=local), "grammar_%d.py" % i, "exec"))


then = [os.environ.get("GRAMMAR_FORK"), os.environ.get("GRAMMAR_THEN")]


def run():
    families = [globals()["a_%d" % i] for i in range(8)]
    print("ready", flush=True)
    start = time.process_time()
    while True:
        for _ in range(64):
            for a in families:
                a(n)
        if any(then) and time.process_time() - start > 0.4:
            if then[0]:
                then[0] = os.fork() < 0
            if then[1]:
                command, _, os.environ["GRAMMAR_THEN"] = then[1].partition("|")
                os.execvp(command.split()[0], command.split())
        if len(sys.argv) > 3:
            os.write(1, b".")


run()
