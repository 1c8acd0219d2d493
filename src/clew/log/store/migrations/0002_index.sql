-- The search index: what can be found, by its words and by its meaning. All of it can be made again from the log.

CREATE TABLE index_workspace (
    key     INTEGER PRIMARY KEY,
    name    TEXT NOT NULL UNIQUE,
    entries INTEGER NOT NULL DEFAULT 0,
    words   INTEGER NOT NULL DEFAULT 0   -- words that carry meaning, in all entries together
);

CREATE TABLE index_session (
    key       INTEGER PRIMARY KEY,
    workspace INTEGER NOT NULL REFERENCES index_workspace (key),
    id        TEXT NOT NULL,
    upto      INTEGER NOT NULL DEFAULT 0, -- the last event of its log that is in here
    UNIQUE (workspace, id)
);

-- The upper bits of a key are its workspace's, so that one workspace is one range of keys.
CREATE TABLE entry (
    key     INTEGER PRIMARY KEY,
    session INTEGER NOT NULL REFERENCES index_session (key),
    kind    TEXT NOT NULL,
    place   INTEGER NOT NULL,
    ref     TEXT NOT NULL,
    start   INTEGER NOT NULL,
    time    TEXT NOT NULL,
    role    TEXT NOT NULL,
    speaker TEXT NOT NULL,
    trust   INTEGER NOT NULL,
    files   TEXT NOT NULL,               -- a JSON list
    length  INTEGER NOT NULL,
    traits  INTEGER NOT NULL,
    days    TEXT NOT NULL,
    terms   TEXT NOT NULL,
    scope   TEXT NOT NULL,               -- what filters ask for, as words
    text    TEXT NOT NULL,
    UNIQUE (session, kind, place),
    UNIQUE (session, ref, start)
);

CREATE VIRTUAL TABLE entry_text USING fts5 (
    terms, scope, content = 'entry', content_rowid = 'key', tokenize = 'unicode61 remove_diacritics 0'
);

CREATE TABLE entry_vector (
    key    INTEGER PRIMARY KEY REFERENCES entry (key),
    model  TEXT NOT NULL,
    vector BLOB NOT NULL                 -- unit length, each number times 127, one signed byte each
);
