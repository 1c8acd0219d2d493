-- The search index: what can be found, by words and by meaning. All of it can be derived again from the log.

CREATE TABLE index_workspace (
    workspace TEXT PRIMARY KEY,
    home      BIGINT GENERATED ALWAYS AS IDENTITY UNIQUE, -- begins every lexeme of the workspace
    entries   BIGINT NOT NULL DEFAULT 0,
    words     BIGINT NOT NULL DEFAULT 0, -- content words, in all entries together
    last      BIGINT NOT NULL DEFAULT 0, -- the last key that was given
    epoch     BIGINT NOT NULL DEFAULT 0  -- raised when a session is forgotten: what was read before is not indexed
) WITH (fillfactor = 70);

CREATE TABLE index_session (
    key       BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    workspace TEXT NOT NULL,
    id        TEXT NOT NULL,
    upto      BIGINT NOT NULL DEFAULT 0, -- the last event of its log that is indexed
    messages  BIGINT NOT NULL DEFAULT 0, -- how many messages there were up to it
    UNIQUE (workspace, id)
);

CREATE TABLE entry_rows (
    workspace TEXT NOT NULL,
    key       BIGINT NOT NULL,
    session   BIGINT NOT NULL REFERENCES index_session (key) ON DELETE CASCADE,
    kind      TEXT NOT NULL,
    place     BIGINT NOT NULL,
    ref       TEXT COLLATE "C" NOT NULL,
    start     BIGINT NOT NULL,
    time      TEXT COLLATE "C" NOT NULL,
    role      TEXT NOT NULL,
    speaker   TEXT NOT NULL,
    trust     INTEGER NOT NULL,
    files     TEXT NOT NULL,             -- a JSON list
    seq       BIGINT NOT NULL,           -- its event in the session's log; 0 if it is from no log
    sources   TEXT NOT NULL,             -- a JSON list: what it was derived from
    length    BIGINT NOT NULL,
    traits    BIGINT NOT NULL,
    days      TEXT NOT NULL,
    terms     TEXT NOT NULL,
    text      TEXT NOT NULL,
    lexemes   TSVECTOR NOT NULL,         -- terms with their positions; days and files without
    PRIMARY KEY (workspace, key),
    UNIQUE (session, kind, place),
    UNIQUE (session, ref, start)
);
CREATE INDEX entry_lexemes ON entry_rows USING gin (lexemes) WITH (gin_pending_list_limit = 1024);

CREATE TABLE entry_vector_rows (
    workspace TEXT NOT NULL,
    key       BIGINT NOT NULL,
    session   BIGINT NOT NULL,           -- this and the next four as in the entry, so that a search reads one table
    kind      TEXT NOT NULL,
    role      TEXT NOT NULL,
    trust     INTEGER NOT NULL,
    time      TEXT COLLATE "C" NOT NULL,
    model     TEXT NOT NULL,
    vector    BYTEA NOT NULL,            -- unit length, each number times 127, one signed byte each
    signs     BIT VARYING NOT NULL,      -- which of the numbers are positive
    PRIMARY KEY (workspace, key),
    FOREIGN KEY (workspace, key) REFERENCES entry_rows (workspace, key) ON DELETE CASCADE
);

-- The words of the index, to find what a misspelled one means.
CREATE TABLE index_word (
    workspace TEXT NOT NULL,
    term      TEXT COLLATE "C" NOT NULL,
    PRIMARY KEY (workspace, term)
);

ALTER TABLE index_workspace ENABLE ROW LEVEL SECURITY;
ALTER TABLE index_workspace FORCE ROW LEVEL SECURITY;
CREATE POLICY one_workspace ON index_workspace USING (workspace = current_setting('clew.workspace', true));
ALTER TABLE index_session ENABLE ROW LEVEL SECURITY;
ALTER TABLE index_session FORCE ROW LEVEL SECURITY;
CREATE POLICY one_workspace ON index_session USING (workspace = current_setting('clew.workspace', true));
ALTER TABLE index_word ENABLE ROW LEVEL SECURITY;
ALTER TABLE index_word FORCE ROW LEVEL SECURITY;
CREATE POLICY one_workspace ON index_word USING (workspace = current_setting('clew.workspace', true));

-- Row-level security keeps the server from using an index for @@ (the operator is not leakproof). So these two tables
-- do not force it on their owner; clew's statements use the views, which show and accept one workspace only.
ALTER TABLE entry_rows ENABLE ROW LEVEL SECURITY;
CREATE POLICY one_workspace ON entry_rows USING (workspace = current_setting('clew.workspace', true));
ALTER TABLE entry_vector_rows ENABLE ROW LEVEL SECURITY;
CREATE POLICY one_workspace ON entry_vector_rows USING (workspace = current_setting('clew.workspace', true));

CREATE VIEW entry WITH (check_option = cascaded) AS
    SELECT * FROM entry_rows WHERE workspace = current_setting('clew.workspace', true);
CREATE VIEW entry_vector WITH (check_option = cascaded) AS
    SELECT * FROM entry_vector_rows WHERE workspace = current_setting('clew.workspace', true);
