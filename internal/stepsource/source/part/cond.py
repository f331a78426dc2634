class Undecided(Exception):
    """A condition or a template that compares or converts a value of the wrong type."""


class Names(list):
    """A value with several names: a comparison is true if it is for one of them."""


PATH = r"[A-Za-z_][A-Za-z0-9_-]*(?:\.(?:[A-Za-z_][A-Za-z0-9_-]*|[0-9]+(?![A-Za-z0-9_-])))*"
CALL = r"(?:int|float|json)\( *" + PATH + r" *\)(?:\.(?:[A-Za-z_][A-Za-z0-9_-]*|[0-9]+(?![A-Za-z0-9_-])))*"
RESERVED = {"and", "or", "not", "in", "contains", "matches", "exists", "true", "false", "null"}
TOKEN = re.compile(r"\s*(?:(?P<path>" + CALL + "|" + PATH + r")|(?P<number>-?[0-9][0-9.eE+-]*)|(?P<op>==|!=|>=|<=|\|\||&&|[><!()\[\],])|(?P<quote>['\"]))")
ESCAPES = {"\\": "\\", "'": "'", '"': '"', "n": "\n", "t": "\t"}


def tokens_of(s):
    out, at = [], 0
    while s[at:].strip():
        m = TOKEN.match(s, at)
        if not m:
            raise Refused("reading the condition %r: at column %d" % (s, at + 1))
        at = m.end()
        if m["quote"]:
            value = ""
            while s[at : at + 1] != m["quote"]:
                if at >= len(s):
                    raise Refused("reading the condition %r: the text does not end" % s)
                if s[at] != "\\":
                    value, at = value + s[at], at + 1
                elif s[at + 1 : at + 2] == "u":
                    value, at = value + chr(int(s[at + 2 : at + 6], 16)), at + 6
                else:
                    value, at = value + ESCAPES[s[at + 1]], at + 2
            out.append(("value", value))
            at += 1
        elif m["number"]:
            out.append(("value", json.loads(m["number"])))
        else:
            out.append(("path", m["path"]) if m["path"] else ("op", m["op"]))
    return out


class Parser:
    def __init__(self, s):
        self.text, self.rest = s, tokens_of(s)

    def take(self, *words):
        if self.rest and self.rest[0][0] != "value" and self.rest[0][1] in words:
            return self.rest.pop(0)[1]

    def need(self, word):
        if not self.take(word):
            raise Refused("reading the condition %r: %s is missing" % (self.text, word))

    def series(self, kind, part, *words):
        parts = [part()]
        while self.take(*words):
            parts.append(part())
        return parts[0] if len(parts) == 1 else {kind: parts}

    def cond(self):
        return self.series("any", lambda: self.series("all", self.unary, "and", "&&"), "or", "||")

    def unary(self):
        if self.take("not", "!"):
            return {"not": self.unary()}
        if self.take("("):
            c = self.cond()
            self.need(")")
            return c
        if self.take("exists"):
            self.need("(")
            c = {"path": self.path(), "op": "exists"}
            self.need(")")
            return c
        path = self.path()
        word = self.take("==", "!=", ">=", "<=", ">", "<", "in", "contains", "matches")
        if not word:
            return {"path": path, "op": "eq", "value": True}
        op = {"==": "eq", "!=": "ne", ">=": "gte", "<=": "lte", ">": "gt", "<": "lt", "matches": "regex"}.get(word, word)
        return {"path": path, "op": op, "value": self.value()}

    def path(self):
        if not self.rest or self.rest[0][0] != "path" or self.rest[0][1] in RESERVED:
            raise Refused("reading the condition %r: a path is missing" % self.text)
        return self.rest.pop(0)[1]

    def value(self):
        if self.take("["):
            out = []
            while not self.take("]"):
                out.append(self.value())
                if not self.take(","):
                    self.need("]")
                    break
            return out
        word = self.take("true", "false", "null")
        if word:
            return {"true": True, "false": False, "null": None}[word]
        if not self.rest or self.rest[0][0] != "value":
            raise Refused("reading the condition %r: a value is missing" % self.text)
        return self.rest.pop(0)[1]


def parsed(s):
    p = Parser(s)
    c = p.cond()
    if p.rest:
        raise Refused("reading the condition %r: %r is not expected" % (s, p.rest[0][1]))
    return c


def lookup(doc, path):
    """The value at a dotted path, and whether there is one. int, float and json convert it."""
    call = re.fullmatch(r"(int|float|json)\( *(.*?) *\)(?:\.(.*))?", path)
    if call:
        v, found = lookup(doc, call[2])
        if not found or v is None:
            return v, found
        v = converted(call[1], call[2], v)
        return lookup(v, call[3]) if call[3] else (v, True)
    for part in path.split("."):
        if isinstance(doc, dict) and part in doc:
            doc = doc[part]
        elif isinstance(doc, list) and not isinstance(doc, Names) and re.fullmatch(r"0|[1-9][0-9]*", part) and int(part) < len(doc):
            doc = doc[int(part)]
        else:
            return None, False
    return doc, True


def converted(name, path, v):
    """The number or the data in a text."""
    text = v.strip() if isinstance(v, str) else None
    if name == "json":
        try:
            return json.loads(v) if text is not None else v
        except ValueError:
            raise Undecided("json(%s): %s is not JSON" % (path, json.dumps(v[:40])))
    if sort_of(v) == "number" and (name == "float" or v == int(v)):
        return v if name == "float" else int(v)
    if text is not None and name == "int" and re.fullmatch(r"[+-]?[0-9]+", text) and -(2**63) <= int(text) < 2**63:
        return int(text)
    if text is not None and name == "float" and re.fullmatch(r"[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?", text):
        return float(text)
    raise Undecided("%s(%s): %s is not a %s" % (name, path, json.dumps(v) if text is not None else sort_of(v), "whole number" if name == "int" else "number"))


def sort_of(v):
    return "number" if isinstance(v, (int, float)) and not isinstance(v, bool) else type(v).__name__


def equal(a, b):
    if sort_of(a) != sort_of(b):
        return False
    if isinstance(a, list):
        return len(a) == len(b) and all(equal(x, y) for x, y in zip(a, b))
    if isinstance(a, dict):
        return a.keys() == b.keys() and all(equal(a[k], b[k]) for k in a)
    return a == b


def expression(s):
    """A regular expression of RE2 for Python: $ is the end, and \\d are ASCII digits."""
    if s.endswith("$") and not s.endswith("\\$"):
        s = s[:-1] + r"\Z"
    return re.compile(s, re.ASCII)


def compared(v, op, want):
    if op == "eq":
        return equal(v, want)
    if op == "ne":
        return sort_of(v) == sort_of(want) and not equal(v, want)
    if op == "in":
        return any(equal(v, x) for x in want)
    if op == "contains":
        if isinstance(v, list):
            return any(equal(x, want) for x in v)
        return isinstance(want, str) and isinstance(v, (str, dict)) and want in v
    if op == "regex":
        return isinstance(v, str) and expression(want).search(v) is not None
    if sort_of(v) != sort_of(want) or sort_of(v) not in ("number", "str"):
        return False
    return {"gt": v > want, "gte": v >= want, "lt": v < want, "lte": v <= want}[op]


def matches(c, doc, strict=False):
    """Whether a condition, a mapping or a text, is true. None is. With strict, comparing a
    text with a number is an error."""
    if c is None:
        return True
    if isinstance(c, str):
        c = parsed(c)
    if "any" in c:
        return any(matches(x, doc, strict) for x in c["any"])
    if "all" in c:
        return all(matches(x, doc, strict) for x in c["all"])
    if "not" in c:
        return not matches(c["not"], doc, strict)
    op, want = c.get("op", "eq"), c.get("value")
    try:
        v, found = lookup(doc, c["path"])
    except Undecided:
        if strict:
            raise
        return False
    if op == "exists":
        return found == (want is not False)
    if not found:
        return False
    if isinstance(v, Names):
        if op == "ne":
            return bool(v) and all(compared(name, op, want) for name in v)
        return any(compared(name, op, want) for name in v)
    if strict and op in ("eq", "ne", "gt", "gte", "lt", "lte"):
        if (sort_of(v), sort_of(want)) == ("str", "number"):
            raise Undecided("the condition compares the text %s with a number: write int(%s) or float(%s)" % ((c["path"],) * 3))
        if (sort_of(v), sort_of(want)) == ("number", "str"):
            raise Undecided("the condition compares the number %s with a text: write the number without quotes" % c["path"])
    return compared(v, op, want)
