-- enter: sets the schema, the workspace and the lock timeout of a transaction; row-level policies compare the workspace
SELECT set_config('search_path', %(schema)s, true), set_config('clew.workspace', %(workspace)s, true),
  set_config('lock_timeout', %(busy)s, true)

-- begin: begins a transaction
BEGIN

-- commit: ends it
COMMIT

-- limit_silence: lets the server end a transaction of this connection whose client is silent for so many milliseconds
SELECT set_config('idle_in_transaction_session_timeout', %(silent)s, false)

-- lock_migrations: lets one process migrate at a time, until its transaction ends
SELECT pg_advisory_xact_lock(%(lock)s)

-- has_migrations: whether this schema was ever migrated
SELECT to_regclass('migration') IS NOT NULL

-- create_migrations: the table that records migrations
CREATE TABLE migration (version INTEGER PRIMARY KEY, name TEXT NOT NULL, checksum TEXT NOT NULL)

-- migrations: the migrations of this schema, oldest first
SELECT version, name, checksum FROM migration ORDER BY version

-- record_migration: records a migration
INSERT INTO migration (version, name, checksum) VALUES (%(version)s, %(name)s, %(checksum)s)

-- role: whether row-level security applies to this role, and the encoding of the database
SELECT NOT (rolsuper OR rolbypassrls), current_setting('server_encoding') FROM pg_roles WHERE rolname = current_user

-- session_of: a session's key and head
SELECT key, seq, hash FROM session WHERE workspace = %(workspace)s AND id = %(session)s

-- lock_session: the same, locked until the transaction ends
SELECT key, seq, hash FROM session WHERE workspace = %(workspace)s AND id = %(session)s FOR NO KEY UPDATE

-- add_session: a session before its first event, unless another process adds it first
INSERT INTO session (workspace, id, seal, seq, hash) VALUES (%(workspace)s, %(session)s, %(seal)s, 0, %(hash)s)
ON CONFLICT (workspace, id) DO NOTHING

-- move_head: the last event of a session; a session belongs to the person that was recorded first
UPDATE session SET seq = %(seq)s, hash = %(hash)s, changed = now(), person = coalesce(person, %(person)s) WHERE key = %(key)s

-- add_events: events of a session
INSERT INTO event (workspace, session, seq, id, kind, version, time, digest, hash, body)
SELECT %(workspace)s, %(key)s, * FROM unnest(%(seqs)s::bigint[], %(ids)s::text[], %(kinds)s::text[], %(versions)s::int[],
  %(times)s::text[], %(digests)s::text[], %(hashes)s::text[], %(bodies)s::bytea[])

-- events: events of a session after a sequence number, oldest first
SELECT seq, id, kind, version, time, digest, hash, body FROM event
WHERE session = (SELECT key FROM session WHERE workspace = %(workspace)s AND id = %(session)s)
  AND seq > %(after)s AND seq <= %(until)s
ORDER BY seq LIMIT %(page)s

-- events_of_kinds: the same, of some kinds only
SELECT seq, id, kind, version, time, digest, hash, body FROM event
WHERE session = (SELECT key FROM session WHERE workspace = %(workspace)s AND id = %(session)s)
  AND seq > %(after)s AND seq <= %(until)s AND kind = ANY(%(kinds)s)
ORDER BY seq LIMIT %(page)s

-- other_events_of_kinds: the same without messages, so that an index can skip them
SELECT seq, id, kind, version, time, digest, hash, body FROM event
WHERE session = (SELECT key FROM session WHERE workspace = %(workspace)s AND id = %(session)s)
  AND seq > %(after)s AND seq <= %(until)s AND kind <> 'message' AND kind = ANY(%(kinds)s)
ORDER BY seq LIMIT %(page)s

-- events_at: the events at some positions
SELECT seq, id, kind, version, time, digest, hash, body FROM event
WHERE session = (SELECT key FROM session WHERE workspace = %(workspace)s AND id = %(session)s) AND seq = ANY(%(seqs)s)
ORDER BY seq

-- event_by_id: one event
SELECT seq, id, kind, version, time, digest, hash, body FROM event
WHERE session = (SELECT key FROM session WHERE workspace = %(workspace)s AND id = %(session)s) AND id = %(id)s

-- sessions: the sessions of a workspace, oldest first
SELECT session.id, session.seq, session.hash, first.time, last.time FROM session
JOIN event AS first ON first.session = session.key AND first.seq = 1
JOIN event AS last ON last.session = session.key AND last.seq = session.seq
WHERE session.workspace = %(workspace)s ORDER BY session.key

-- known_blobs: which of these blobs a workspace has
SELECT digest FROM blob WHERE workspace = %(workspace)s AND digest = ANY(%(digests)s)

-- add_blobs: adds blobs unless they exist, in a fixed order so that two appends never wait for each other
INSERT INTO blob (workspace, digest, checksum, content)
SELECT %(workspace)s, * FROM unnest(%(digests)s::text[], %(checksums)s::bigint[], %(contents)s::bytea[]) AS new (digest)
ORDER BY new.digest ON CONFLICT DO NOTHING

-- use_blobs: records that a session uses blobs
INSERT INTO blob_use (workspace, session, digest)
SELECT %(workspace)s, %(key)s, digest FROM unnest(%(digests)s::text[]) AS used (digest) ORDER BY digest
ON CONFLICT DO NOTHING

-- blobs: blobs by their digests, the smallest first, up to so many bytes together
SELECT digest, checksum, content FROM (
  SELECT digest, checksum, content, sum(octet_length(content)) OVER (ORDER BY octet_length(content), digest) AS together
  FROM blob WHERE workspace = %(workspace)s AND digest = ANY(%(digests)s)
) AS sized WHERE together <= %(limit)s

-- keep_snapshot: stores a snapshot of a session, replacing an earlier one
INSERT INTO snapshot (workspace, session, seq, hash, digest, checksum, content)
SELECT workspace, key, %(seq)s, %(hash)s, %(digest)s, %(checksum)s, %(content)s FROM session
WHERE workspace = %(workspace)s AND id = %(session)s
ON CONFLICT (session) DO UPDATE SET seq = excluded.seq, hash = excluded.hash, digest = excluded.digest,
  checksum = excluded.checksum, content = excluded.content WHERE snapshot.seq <= excluded.seq

-- snapshot: the last snapshot of a session
SELECT snapshot.seq, snapshot.hash, snapshot.digest, checksum, content FROM snapshot
JOIN session ON session.key = snapshot.session WHERE session.workspace = %(workspace)s AND session.id = %(session)s

-- unchanged: the sessions of a workspace without an append since a time
SELECT id FROM session WHERE workspace = %(workspace)s AND changed < %(before)s ORDER BY key

-- allow_forget: lets this transaction delete events and blobs
SELECT set_config('clew.forget', 'on', true)

-- lock_workspace: the sessions of a workspace, or one of them, or those of a person or not changed since, locked
SELECT key, id FROM session WHERE workspace = %(workspace)s AND (%(session)s::text IS NULL OR id = %(session)s)
  AND (%(person)s::text IS NULL OR person = %(person)s)
  AND (%(before)s::timestamptz IS NULL OR changed < %(before)s) ORDER BY key FOR UPDATE

-- blobs_used_by: the blobs that these sessions use
SELECT DISTINCT digest FROM blob_use WHERE session = ANY(%(keys)s)

-- count_events: how many events these sessions have
SELECT count(*) FROM event WHERE session = ANY(%(keys)s)

-- drop_sessions: deletes sessions; their events, snapshots and uses of blobs go with them
DELETE FROM session WHERE key = ANY(%(keys)s)

-- drop_blobs: deletes those of these blobs that no session uses any more
DELETE FROM blob WHERE workspace = %(workspace)s AND digest = ANY(%(digests)s)
  AND NOT EXISTS (SELECT 1 FROM blob_use WHERE blob_use.workspace = blob.workspace AND blob_use.digest = blob.digest)

-- lock_index: the search index of a workspace, locked
SELECT home FROM index_workspace WHERE workspace = %(workspace)s FOR UPDATE

-- indexed: the sessions of the search index with these names; of a whole workspace all
SELECT key FROM index_session WHERE workspace = %(workspace)s AND (%(all)s OR id = ANY(%(names)s))

-- indexed_words: the words of their entries
SELECT DISTINCT unnest(string_to_array(terms, ' ')) FROM entry WHERE session = ANY(%(indexed)s)

-- shrink_index: their entries leave the totals; whatever was read from the log before now is not indexed
UPDATE index_workspace SET epoch = epoch + 1, entries = index_workspace.entries - gone.entries,
  words = index_workspace.words - gone.words
FROM (SELECT count(*) AS entries, coalesce(sum(length), 0) AS words FROM entry WHERE session = ANY(%(indexed)s)) AS gone
WHERE workspace = %(workspace)s RETURNING gone.entries

-- drop_indexed: deletes sessions of the index; their entries and vectors go with them
DELETE FROM index_session WHERE key = ANY(%(indexed)s)

-- drop_words: deletes those of these words that no entry contains any more
DELETE FROM index_word WHERE workspace = %(workspace)s AND term = ANY(%(words)s) AND NOT EXISTS (
  SELECT 1 FROM index_workspace JOIN entry ON entry.lexemes @@ ('''' || home || ':' || index_word.term || '''')::tsquery
  WHERE index_workspace.workspace = index_word.workspace)

-- drop_index: deletes what is left of a workspace's index
DELETE FROM index_workspace WHERE workspace = %(workspace)s

-- remaining: rows that still belong to these sessions; 0 after they were forgotten
SELECT (SELECT count(*) FROM session WHERE key = ANY(%(keys)s))
  + (SELECT count(*) FROM event WHERE session = ANY(%(keys)s))
  + (SELECT count(*) FROM snapshot WHERE session = ANY(%(keys)s))
  + (SELECT count(*) FROM blob_use WHERE session = ANY(%(keys)s))
  + (SELECT count(*) FROM blob WHERE workspace = %(workspace)s AND digest = ANY(%(digests)s)
     AND NOT EXISTS (SELECT 1 FROM blob_use WHERE blob_use.workspace = blob.workspace AND blob_use.digest = blob.digest))
  + (SELECT count(*) FROM index_session WHERE workspace = %(workspace)s AND (%(all)s OR id = ANY(%(names)s)))
  + (SELECT count(*) FROM entry WHERE session = ANY(%(indexed)s))
  + (SELECT count(*) FROM index_workspace WHERE %(all)s) + (SELECT count(*) FROM index_word WHERE %(all)s)
