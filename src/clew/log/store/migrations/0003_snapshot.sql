-- What was derived from a session's log up to some event. All of it can be derived again from the log.

CREATE TABLE snapshot (
    session  INTEGER PRIMARY KEY REFERENCES session (key),
    seq      INTEGER NOT NULL,  -- the head that it was derived up to
    hash     TEXT NOT NULL,
    digest   TEXT NOT NULL,     -- of the content
    checksum INTEGER NOT NULL,  -- CRC-32 of the content as it lies here
    content  BLOB NOT NULL      -- JSON
);
