#!/usr/bin/env python3
"""Puts the page together and writes it as two C arrays, for the bytes before and after the data.

    embed.py OUT.c page.html page.css SCRIPT.js...

The scripts become one, in their order. The page's policy names the style and the script by
their hashes: nothing else can run in it, whatever a profile holds.
"""
import base64
import hashlib
import sys


def read(path):
    with open(path, encoding="utf-8") as f:
        return f.read()


def digest(text):
    return "'sha256-%s'" % base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()


def array(name, text):
    data = text.encode()
    lines = [",".join(map(str, data[i:i + 32])) for i in range(0, len(data), 32)]
    return "const unsigned char %s[] = {\n%s\n};\nconst size_t %s_bytes = %d;\n" % (
        name, ",\n".join(lines), name, len(data))


out, html, css, *scripts = sys.argv[1:]
style = "\n" + read(css)
script = "\n'use strict';\n(() => {\n" + "\n".join(read(path) for path in scripts) + "})();\n"
for text, end in ((style, "</style"), (script, "</script"), (script, "<!--")):
    if end in text:
        sys.exit("embed.py: '%s' would end the page's element" % end)
page = read(html)
for mark, text in (("@STYLE_HASH@", digest(style)), ("@SCRIPT_HASH@", digest(script)),
                   ("@STYLE@", style), ("@SCRIPT@", script)):
    if page.count(mark) != 1:
        sys.exit("embed.py: %s must be there once" % mark)
    page = page.replace(mark, text)
head, data, tail = page.partition("@DATA@")
if not data or "@DATA@" in tail:
    sys.exit("embed.py: @DATA@ must be there once")
with open(out, "w", encoding="ascii") as f:
    f.write("#include \"view/html/html.h\"\n\n" + array("html_page_head", head) + array("html_page_tail", tail))
