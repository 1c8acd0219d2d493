-- The logs of all sessions, their long texts, and snapshots. Every row names its workspace, so that row-level security
-- decides by one comparison; the store sets clew.workspace at the start of each transaction.

CREATE TABLE session (
    key       BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    workspace TEXT NOT NULL,
    id        TEXT NOT NULL,
    seal      TEXT NOT NULL,      -- the hash of workspace and id
    seq       BIGINT NOT NULL,    -- the head
    hash      TEXT NOT NULL,
    changed   TIMESTAMPTZ NOT NULL DEFAULT now(), -- the last append, for retention
    UNIQUE (workspace, id)
) WITH (fillfactor = 70);         -- the head changes at every append: leave room for updates in the page

CREATE TABLE event (
    workspace TEXT NOT NULL,
    session   BIGINT NOT NULL REFERENCES session (key) ON DELETE CASCADE,
    seq       BIGINT NOT NULL,
    id        TEXT NOT NULL,
    kind      TEXT NOT NULL,
    version   INTEGER NOT NULL,
    time      TEXT NOT NULL,
    digest    TEXT NOT NULL,
    hash      TEXT NOT NULL,
    body      BYTEA NOT NULL,     -- long texts replaced by the digests of their blobs
    PRIMARY KEY (session, seq),
    CONSTRAINT event_id_once UNIQUE (session, id)
);

CREATE INDEX event_other ON event (session, seq) WHERE kind <> 'message';

CREATE TABLE blob (
    workspace TEXT NOT NULL,      -- shared within a workspace, never between two
    digest    TEXT NOT NULL,
    checksum  BIGINT NOT NULL,    -- CRC-32 of the content as it is stored
    content   BYTEA NOT NULL,
    PRIMARY KEY (workspace, digest)
);
ALTER TABLE blob ALTER COLUMN content SET STORAGE EXTERNAL; -- compressed already

-- Which sessions use a blob. The foreign key keeps a blob while a concurrent append starts to use it.
CREATE TABLE blob_use (
    workspace TEXT NOT NULL,
    digest    TEXT NOT NULL,
    session   BIGINT NOT NULL REFERENCES session (key) ON DELETE CASCADE,
    PRIMARY KEY (session, digest),
    CONSTRAINT blob_exists FOREIGN KEY (workspace, digest) REFERENCES blob (workspace, digest)
);
CREATE INDEX blob_users ON blob_use (workspace, digest);

CREATE TABLE snapshot (
    workspace TEXT NOT NULL,
    session   BIGINT PRIMARY KEY REFERENCES session (key) ON DELETE CASCADE,
    seq       BIGINT NOT NULL,
    hash      TEXT NOT NULL,
    digest    TEXT NOT NULL,
    checksum  BIGINT NOT NULL,
    content   BYTEA NOT NULL
);
ALTER TABLE snapshot ALTER COLUMN content SET STORAGE EXTERNAL;

CREATE FUNCTION refuse_change() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF TG_OP = 'DELETE' AND current_setting('clew.forget', true) = 'on' THEN
        RETURN OLD;
    END IF;
    RAISE EXCEPTION 'the log is append-only' USING ERRCODE = 'CLEW1';
END $$;

CREATE TRIGGER event_append_only BEFORE UPDATE OR DELETE ON event FOR EACH ROW EXECUTE FUNCTION refuse_change();
CREATE TRIGGER blob_append_only BEFORE UPDATE OR DELETE ON blob FOR EACH ROW EXECUTE FUNCTION refuse_change();

-- FORCE: also for the owner of the tables. Superusers and roles with BYPASSRLS are never restricted.
ALTER TABLE session ENABLE ROW LEVEL SECURITY;
ALTER TABLE session FORCE ROW LEVEL SECURITY;
CREATE POLICY one_workspace ON session USING (workspace = current_setting('clew.workspace', true));
ALTER TABLE event ENABLE ROW LEVEL SECURITY;
ALTER TABLE event FORCE ROW LEVEL SECURITY;
CREATE POLICY one_workspace ON event USING (workspace = current_setting('clew.workspace', true));
ALTER TABLE blob ENABLE ROW LEVEL SECURITY;
ALTER TABLE blob FORCE ROW LEVEL SECURITY;
CREATE POLICY one_workspace ON blob USING (workspace = current_setting('clew.workspace', true));
ALTER TABLE blob_use ENABLE ROW LEVEL SECURITY;
ALTER TABLE blob_use FORCE ROW LEVEL SECURITY;
CREATE POLICY one_workspace ON blob_use USING (workspace = current_setting('clew.workspace', true));
ALTER TABLE snapshot ENABLE ROW LEVEL SECURITY;
ALTER TABLE snapshot FORCE ROW LEVEL SECURITY;
CREATE POLICY one_workspace ON snapshot USING (workspace = current_setting('clew.workspace', true));
