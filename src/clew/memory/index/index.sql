-- workspace: a workspace of the index
SELECT key, entries, words FROM index_workspace WHERE name = :name

-- add_workspace: one more workspace
INSERT INTO index_workspace (name) VALUES (:name)

-- grow_workspace: update the totals of a workspace
UPDATE index_workspace SET entries = entries + :entries, words = words + :words WHERE key = :key

-- index_session: a session of the index
SELECT key, upto, messages FROM index_session WHERE workspace = :workspace AND id = :id

-- index_marks: how far the logs of all sessions have been indexed
SELECT id, upto, messages FROM index_session JOIN index_workspace
ON index_workspace.key = index_session.workspace WHERE index_workspace.name = :name

-- index_folders: the names of indexed folders of documents
SELECT id FROM index_session JOIN index_workspace ON index_workspace.key = index_session.workspace
WHERE index_workspace.name = :name AND id >= :first AND id < :last ORDER BY id

-- add_index_session: one more session
INSERT INTO index_session (workspace, id) VALUES (:workspace, :id)

-- read_upto: how far a session's log has been indexed
UPDATE index_session SET upto = max(upto, :upto), messages = max(messages, :messages) WHERE key = :key

-- last_key: the last key of a range
SELECT coalesce(max(key), :first) FROM entry WHERE key BETWEEN :first AND :last

-- last_key_of_all: the last key there is
SELECT coalesce(max(key), -1) FROM entry

-- next_place: the next free place in a session
SELECT coalesce(max(place) + 1, 0) FROM entry WHERE session = :session AND kind = :kind

-- entry_at: the key, place and kind of an existing entry
SELECT key, place, kind FROM entry WHERE session = :session AND ref = :ref AND start = :start

-- entries_of: every entry of a reference, the lines of a digest with it
SELECT key FROM entry WHERE session = :session AND ref = :ref
UNION
SELECT key FROM entry WHERE session = :session AND kind = 'digest' AND ref > :ref || '.' AND ref < :ref || '/'

-- called: the keys of entries with these references
SELECT entry.key FROM json_each(:refs) AS wanted
JOIN entry ON entry.ref = wanted.value AND entry.session = :session
ORDER BY entry.key LIMIT :limit

-- add_entry: one more entry
INSERT INTO entry (key, session, kind, place, ref, start, time, role, speaker, trust, files, length, traits, days,
                   terms, scope, text, seq, sources)
VALUES (:key, :session, :kind, :place, :ref, :start, :time, :role, :speaker, :trust, :files, :length, :traits, :days,
        :terms, :scope, :text, :seq, :sources)

-- add_entry_text: adds its terms
INSERT INTO entry_text (rowid, terms, scope) VALUES (:key, :terms, :scope)

-- drop_entry_text: removes its terms
INSERT INTO entry_text (entry_text, rowid, terms, scope)
SELECT 'delete', key, terms, scope FROM entry WHERE key = :key

-- drop_vector: removes its vector
DELETE FROM entry_vector WHERE key = :key

-- drop_entry: removes an entry
DELETE FROM entry WHERE key = :key RETURNING length

-- matching: the latest keys that match
SELECT rowid FROM entry_text
WHERE entry_text MATCH :match AND rowid BETWEEN :first AND :last
  AND (:timeless OR EXISTS (
    SELECT 1 FROM entry WHERE entry.key = entry_text.rowid
      AND entry.time >= :after AND (:before = '' OR entry.time < :before)))
ORDER BY rowid DESC LIMIT :limit

-- count_matching: how many match, counted up to a bound, and where the counting ended
SELECT count(*), max(key) FROM (
  SELECT rowid AS key FROM entry_text WHERE entry_text MATCH :match AND rowid BETWEEN :first AND :last
  ORDER BY rowid LIMIT :bound)

-- rows: entries by their keys
SELECT entry.key, entry.place, entry.ref, entry.kind, index_session.id, entry.time, entry.role, entry.trust,
       entry.text, entry.files, entry.speaker, entry.start, entry.seq, entry.sources, entry.terms, entry.length, entry.traits, entry.days,
       entry_vector.model, entry_vector.vector
FROM json_each(:keys) AS wanted
JOIN entry ON entry.key = wanted.value
JOIN index_session ON index_session.key = entry.session
LEFT JOIN entry_vector ON entry_vector.key = entry.key

-- around: the keys of neighbours of entries, themselves included
SELECT DISTINCT beside.key FROM json_each(:keys) AS wanted
JOIN entry AS hit ON hit.key = wanted.value
JOIN entry AS beside ON beside.session = hit.session AND beside.kind = hit.kind
  AND beside.place BETWEEN hit.place - :around AND hit.place + :around

-- lacking: entries without a vector of a model
SELECT entry.key, entry.text FROM entry LEFT JOIN entry_vector ON entry_vector.key = entry.key
WHERE entry.key > :after AND entry_vector.model IS NOT :model ORDER BY entry.key LIMIT :limit

-- put_vector: adds or replaces a vector
INSERT OR REPLACE INTO entry_vector (key, model, vector) VALUES (:key, :model, :vector)

-- vectors_after: vectors past a key, for the matrix in memory
SELECT key, vector FROM entry_vector WHERE model = :model AND key > :after ORDER BY key

-- count_vectors: how many entries have a vector of a model, and how many there are
SELECT (SELECT count(*) FROM entry_vector WHERE model = :model), (SELECT count(*) FROM entry)

-- words_like: terms of the index with this prefix and about this length
SELECT term FROM entry_word
WHERE term >= :first AND term < :beyond AND length(term) BETWEEN :shortest AND :longest AND col = 'terms' LIMIT :limit
