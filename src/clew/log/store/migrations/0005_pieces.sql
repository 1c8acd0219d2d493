-- Long messages are indexed in overlapping pieces, and names by their parts. What came from the log is indexed again,
-- session by session, as it is next searched; documents stay, as the log does not hold them.

CREATE TABLE entry_kept AS SELECT * FROM entry WHERE kind = 'document';
CREATE TABLE vector_kept AS SELECT * FROM entry_vector WHERE key IN (SELECT key FROM entry_kept);

DROP TABLE entry_vector;
DROP TABLE entry_text;
DROP TABLE entry;

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
    seq     INTEGER NOT NULL,            -- its event in the session's log; 0 for what is in no log
    sources TEXT NOT NULL,               -- a JSON list: what it was derived from
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

-- The words of the index, to find what a misspelled one means.
CREATE VIRTUAL TABLE entry_word USING fts5vocab (entry_text, 'col');

CREATE TABLE entry_vector (
    key    INTEGER PRIMARY KEY REFERENCES entry (key),
    model  TEXT NOT NULL,
    vector BLOB NOT NULL                 -- unit length, each number times 127, one signed byte each
);

INSERT INTO entry SELECT * FROM entry_kept;
INSERT INTO entry_vector SELECT * FROM vector_kept;
DROP TABLE entry_kept;
DROP TABLE vector_kept;
INSERT INTO entry_text (entry_text) VALUES ('rebuild');

UPDATE index_session SET upto = 0, messages = 0
WHERE key NOT IN (SELECT session FROM entry);

UPDATE index_workspace SET
    entries = (SELECT count(*) FROM entry JOIN index_session ON index_session.key = entry.session
               WHERE index_session.workspace = index_workspace.key),
    words = (SELECT coalesce(sum(length), 0) FROM entry JOIN index_session ON index_session.key = entry.session
             WHERE index_session.workspace = index_workspace.key);
