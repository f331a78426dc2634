# Reads documents and queries from standard input and prints the ids that SQLite
# FTS5 finds for each query, best first.
import json
import sqlite3
import sys

given = json.load(sys.stdin)
db = sqlite3.connect(":memory:")
db.execute("CREATE VIRTUAL TABLE page USING fts5(id UNINDEXED, text, tokenize = '%s')" % given["tokenizer"])
db.executemany("INSERT INTO page VALUES (?, ?)", given["pages"])
found = []
for words in given["queries"]:
    query = " OR ".join('"%s"' % w for w in words)
    rows = db.execute("SELECT id FROM page WHERE page MATCH ? ORDER BY bm25(page), id LIMIT ?", (query, given["depth"]))
    found.append([row[0] for row in rows])
print(json.dumps(found))
