-- migrations: the migrations of this file, oldest first
SELECT version, name, checksum FROM migration ORDER BY version

-- record_migration: records a migration
INSERT INTO migration (version, name, checksum) VALUES (:version, :name, :checksum)

-- schema: every object of the schema as it was created
SELECT type, name, tbl_name, sql FROM sqlite_master ORDER BY type, name

-- session_of: a session's key and head
SELECT key, seq, hash FROM session WHERE workspace = :workspace AND id = :session

-- add_session: a session with its first events
INSERT INTO session (workspace, id, seal, seq, hash) VALUES (:workspace, :session, :seal, :seq, :hash)

-- move_head: the last event of a session
UPDATE session SET seq = :seq, hash = :hash WHERE key = :key

-- add_event: one more event
INSERT INTO event (session, seq, id, kind, version, time, digest, hash, body)
VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)

-- events: events of a session after a sequence number, oldest first
SELECT seq, id, kind, version, time, digest, hash, body FROM event
WHERE session = :key AND seq > :after AND seq <= :until
ORDER BY seq LIMIT :page

-- events_of_kinds: the same, of some kinds only
SELECT seq, id, kind, version, time, digest, hash, body FROM event
WHERE session = :key AND seq > :after AND seq <= :until
  AND kind IN (SELECT value FROM json_each(:kinds))
ORDER BY seq LIMIT :page

-- other_events_of_kinds: the same without messages, so that an index can skip them
SELECT seq, id, kind, version, time, digest, hash, body FROM event INDEXED BY event_other
WHERE session = :key AND seq > :after AND seq <= :until
  AND kind <> 'message' AND kind IN (SELECT value FROM json_each(:kinds))
ORDER BY seq LIMIT :page

-- event_by_id: one event
SELECT seq, id, kind, version, time, digest, hash, body FROM event WHERE session = :key AND id = :id

-- sessions: the sessions of a workspace, oldest first
SELECT session.id, session.seq, session.hash, first.time, last.time FROM session
JOIN event AS first ON first.session = session.key AND first.seq = 1
JOIN event AS last ON last.session = session.key AND last.seq = session.seq
WHERE session.workspace = :workspace ORDER BY session.key

-- has_blob: whether a workspace has a blob
SELECT 1 FROM blob WHERE workspace = :workspace AND digest = :digest

-- add_blob: adds a blob unless it exists
INSERT OR IGNORE INTO blob (workspace, digest, checksum, content) VALUES (?, ?, ?, ?)

-- blob: a blob's content
SELECT checksum, content FROM blob WHERE workspace = :workspace AND digest = :digest

-- all_sessions: every session, for an audit
SELECT key, workspace, id, seal, seq, hash FROM session ORDER BY key

-- sessions_with: the sessions that hold events of two kinds, for an audit
SELECT DISTINCT session FROM event WHERE kind IN (:first, :second)

-- last_event: the row number of the last event, for an audit
SELECT max(rowid) FROM event

-- last_blob: the row number of the last blob, for an audit
SELECT max(rowid) FROM blob

-- all_events: every event in the order it was written, for an audit
SELECT rowid, session, seq, id, kind, version, time, digest, hash, body FROM event
WHERE rowid >= :from ORDER BY rowid

-- all_blobs: every blob, for an audit
SELECT rowid, workspace, digest, checksum, content FROM blob WHERE rowid >= :from ORDER BY rowid

-- keep_snapshot: stores a snapshot of a session, replacing an earlier one
INSERT OR REPLACE INTO snapshot (session, seq, hash, digest, checksum, content)
VALUES (:session, :seq, :hash, :digest, :checksum, :content)

-- snapshot: the last snapshot of a session
SELECT seq, hash, digest, checksum, content FROM snapshot WHERE session = :session
