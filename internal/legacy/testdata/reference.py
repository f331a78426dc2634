"""The earlier rules, written from their description and apart from the Go code.

Reads lines of JSON {"kind", "text": hex of the file} and prints for each what
the rules find: null, or line number, fields and the hash of what is covered
(null when the kind demands an element that is not there)."""
import hashlib
import io
import json
import re
import sys

FIELDS = (r"(\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}Z):([a-f0-9]{64}):([A-Za-z0-9_-]+={0,2}):([a-f0-9]{16})"
          r"(?:\|([a-zA-Z0-9_-]+)@([a-zA-Z0-9_-]+))?")
MARK = r"(?:rye|kiwi-mcp):(?:validated|signed):"


def read_text(raw):
    return io.TextIOWrapper(io.BytesIO(raw), encoding="utf-8", newline=None).read()


def find(kind, text):
    if kind in ("directive", "knowledge"):
        m = re.match(r"<!-- rye:signed:" + FIELDS + " -->", text)
        return m and (1, m.groups())
    m = re.match(r"(#!/[^\n]*\n)?(?:#|//) rye:signed:" + FIELDS, text)
    return m and (2 if m.group(1) else 1, m.groups()[1:])


def covered(kind, text):
    if kind == "directive":
        m = re.search(r"<directive[^>]*>.*</directive>", text, re.DOTALL)
        return m and m.group(0).strip()
    if kind == "knowledge":
        rest = re.sub(r"\A<!-- " + MARK + r"[^>]+-->\n", "", text, count=1)
        if rest.startswith("---"):
            end = rest.find("---", 3)
            if end != -1:
                return rest[end + 3:].strip()
        return rest
    text = re.sub(r"\A#!/[^\n]*\n", "", text, count=1)
    return re.sub(r"\A(?:#|//) " + MARK + r"[^\n]+\n", "", text, count=1)


def answer(kind, raw):
    try:
        text = read_text(raw)
    except UnicodeDecodeError:
        return None
    found = find(kind, text)
    if not found:
        return None
    content = covered(kind, text)
    digest = None if content is None else hashlib.sha256(content.encode()).hexdigest()
    return {"line": found[0], "fields": [f or "" for f in found[1]], "hash": digest}


for line in sys.stdin:
    q = json.loads(line)
    print(json.dumps(answer(q["kind"], bytes.fromhex(q["text"]))))
