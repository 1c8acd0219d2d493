-- The logs of all sessions, what is too big to lie beside them, and which migrations made this file.

CREATE TABLE migration (
    version  INTEGER PRIMARY KEY,
    name     TEXT NOT NULL,
    checksum TEXT NOT NULL
);

CREATE TABLE session (
    key       INTEGER PRIMARY KEY,
    workspace TEXT NOT NULL,
    id        TEXT NOT NULL,
    seal      TEXT NOT NULL,    -- the hash of workspace and id
    seq       INTEGER NOT NULL, -- the head
    hash      TEXT NOT NULL,
    UNIQUE (workspace, id)
);

CREATE TABLE event (
    session INTEGER NOT NULL REFERENCES session (key),
    seq     INTEGER NOT NULL,
    id      TEXT NOT NULL,
    kind    TEXT NOT NULL,
    version INTEGER NOT NULL,
    time    TEXT NOT NULL,
    digest  TEXT NOT NULL,
    hash    TEXT NOT NULL,
    body    BLOB NOT NULL,      -- long texts replaced by the digests of their blobs
    UNIQUE (session, seq),
    UNIQUE (session, id)
);

-- Most events are messages; what happened to them is found without passing over them all.
CREATE INDEX event_other ON event (session, seq) WHERE kind <> 'message';

CREATE TABLE blob (
    workspace TEXT NOT NULL,    -- shared within a workspace, never between two
    digest    TEXT NOT NULL,
    checksum  INTEGER NOT NULL, -- CRC-32 of the content as it lies here
    content   BLOB NOT NULL,
    UNIQUE (workspace, digest)
);

CREATE TRIGGER event_is_never_changed BEFORE UPDATE ON event
BEGIN SELECT RAISE(ABORT, 'the log is append-only'); END;

CREATE TRIGGER event_is_never_deleted BEFORE DELETE ON event
BEGIN SELECT RAISE(ABORT, 'the log is append-only'); END;

CREATE TRIGGER blob_is_never_changed BEFORE UPDATE ON blob
BEGIN SELECT RAISE(ABORT, 'the log is append-only'); END;

CREATE TRIGGER blob_is_never_deleted BEFORE DELETE ON blob
BEGIN SELECT RAISE(ABORT, 'the log is append-only'); END;
