-- workspace: a workspace of the index
SELECT home, entries, words, epoch, last FROM index_workspace WHERE workspace = %(workspace)s

-- lock_index: the same, locked until the transaction ends, so that keys are committed in order
SELECT home, entries, words, epoch, last FROM index_workspace WHERE workspace = %(workspace)s FOR NO KEY UPDATE

-- add_workspace: one more workspace, unless another process adds it first
INSERT INTO index_workspace (workspace) VALUES (%(workspace)s) ON CONFLICT DO NOTHING

-- grow_workspace: updates the totals and the last key of a workspace
UPDATE index_workspace SET entries = entries + %(entries)s, words = words + %(words)s, last = %(last)s
WHERE workspace = %(workspace)s

-- sessions: the keys of sessions by their names
SELECT id, key, upto, messages FROM index_session WHERE workspace = %(workspace)s AND id = ANY(%(names)s)

-- marks: how far the logs of all sessions have been indexed
SELECT id, upto, messages FROM index_session WHERE workspace = %(workspace)s

-- folders: the names of indexed folders of documents
SELECT id FROM index_session WHERE workspace = %(workspace)s AND starts_with(id, %(prefix)s) ORDER BY id

-- add_sessions: sessions, unless they exist
INSERT INTO index_session (workspace, id) SELECT %(workspace)s, unnest(%(names)s::text[]) ON CONFLICT DO NOTHING

-- read_upto: how far a session's log has been indexed
UPDATE index_session SET upto = greatest(upto, %(upto)s), messages = greatest(messages, %(messages)s)
WHERE key = %(key)s

-- existing: entries of the same session, reference and start
SELECT entry.key, entry.place, entry.kind, entry.length, entry.session, entry.ref, entry.start FROM entry
JOIN unnest(%(sessions)s::bigint[], %(refs)s::text[], %(starts)s::bigint[]) AS new (session, ref, start)
  USING (session, ref, start)

-- entries_of: every entry of some references, the lines of a digest with it
SELECT entry.key, entry.length FROM entry JOIN unnest(%(refs)s::text[]) AS gone (ref) ON entry.session = %(session)s
  AND (entry.ref = gone.ref COLLATE "C"
    OR (entry.kind = 'digest' AND entry.ref > (gone.ref || '.') COLLATE "C" AND entry.ref < (gone.ref || '/') COLLATE "C"))

-- drop_entries: removes entries and their vectors
DELETE FROM entry WHERE key = ANY(%(keys)s)

-- next_places: the next free place of each kind in sessions
SELECT session, kind, max(place) + 1 FROM entry WHERE session = ANY(%(sessions)s) GROUP BY session, kind

-- add_entries: entries
INSERT INTO entry (workspace, key, session, kind, place, ref, start, time, role, speaker, trust, files, seq, sources,
                   length, traits, days, terms, text, lexemes)
SELECT %(workspace)s, key, session, kind, place, ref, start, time, role, speaker, trust, files, seq, sources,
       length, traits, days, terms, text, lexemes::tsvector
FROM unnest(%(key)s::bigint[], %(session)s::bigint[], %(kind)s::text[], %(place)s::bigint[], %(ref)s::text[],
  %(start)s::bigint[], %(time)s::text[], %(role)s::text[], %(speaker)s::text[], %(trust)s::int[], %(files)s::text[],
  %(seq)s::bigint[], %(sources)s::text[], %(length)s::bigint[], %(traits)s::bigint[], %(days)s::text[],
  %(terms)s::text[], %(text)s::text[], %(lexemes)s::text[])
  AS new (key, session, kind, place, ref, start, time, role, speaker, trust, files, seq, sources, length, traits, days,
          terms, text, lexemes)

-- add_words: words of the index, in a fixed order so that two processes never wait for each other
INSERT INTO index_word (workspace, term) SELECT %(workspace)s, term FROM unnest(%(terms)s::text[]) AS new (term)
ORDER BY term COLLATE "C" ON CONFLICT DO NOTHING

-- words_like: words of the index with this prefix and about this length
SELECT term FROM index_word WHERE workspace = %(workspace)s AND term >= %(first)s AND term < %(beyond)s
  AND length(term) BETWEEN %(shortest)s AND %(longest)s LIMIT %(limit)s

-- called: the keys of entries with these references in these sessions, in order
SELECT entry.key FROM entry WHERE session = ANY(%(sessions)s) AND ref = ANY(%(refs)s)
ORDER BY array_position(%(sessions)s, session), key LIMIT %(limit)s

-- count_matching: how many match each query, counted up to a bound, and the highest key that was counted
SELECT wanted.nth, counted.count, counted.last
FROM unnest(%(queries)s::text[]) WITH ORDINALITY AS wanted (query, nth)
CROSS JOIN LATERAL (
  SELECT count(*) AS count, max(key) AS last FROM (
    SELECT key FROM entry WHERE lexemes @@ wanted.query::tsquery LIMIT %(bound)s) AS matched) AS counted

-- filters: a condition of the statements below
(%(sessions)s::bigint[] IS NULL OR entry.session = ANY(%(sessions)s)) AND entry.trust >= %(trust)s
  AND (%(kinds)s::text[] IS NULL OR entry.kind = ANY(%(kinds)s))
  AND (%(roles)s::text[] IS NULL OR entry.role = ANY(%(roles)s))
  AND (%(after)s = '' OR entry.time >= %(after)s) AND (%(before)s = '' OR entry.time < %(before)s)

-- matching: for each query the latest keys that match within the filters, up to its limit
SELECT wanted.nth, found.key
FROM unnest(%(queries)s::text[], %(limits)s::int[]) WITH ORDINALITY AS wanted (query, most, nth)
CROSS JOIN LATERAL (
  SELECT key FROM entry WHERE lexemes @@ wanted.query::tsquery AND {filters}
  ORDER BY key DESC LIMIT wanted.most) AS found
ORDER BY wanted.nth, found.key DESC

-- nearest: the keys of the vectors whose signs differ least
SELECT key FROM entry_vector AS entry
WHERE model = %(model)s AND octet_length(vector) = %(bits)s AND {filters}
  AND (%(files)s = '' OR key IN (SELECT with_file.key FROM entry AS with_file WHERE lexemes @@ %(files)s::tsquery))
ORDER BY {distance}, key LIMIT %(limit)s

-- pgvector: the schema of the extension, if it is installed
SELECT quote_ident(nspname) FROM pg_extension JOIN pg_namespace ON pg_namespace.oid = extnamespace WHERE extname = 'vector'

-- rows: entries by their keys
SELECT entry.key, entry.place, entry.ref, entry.kind, index_session.id, entry.time, entry.role, entry.trust,
       entry.text, entry.files, entry.speaker, entry.start, entry.seq, entry.sources, entry.terms, entry.length,
       entry.traits, entry.days, entry_vector.model, entry_vector.vector
FROM entry JOIN index_session ON index_session.key = entry.session LEFT JOIN entry_vector ON entry_vector.key = entry.key
WHERE entry.key = ANY(%(keys)s)

-- around: the keys of neighbours of entries, themselves included
SELECT DISTINCT near.key FROM entry AS hit JOIN entry AS near ON near.session = hit.session AND near.kind = hit.kind
  AND near.place BETWEEN hit.place - %(around)s AND hit.place + %(around)s
WHERE hit.key = ANY(%(keys)s)

-- lacking: entries without a vector of a model
SELECT entry.key, entry.text FROM entry LEFT JOIN entry_vector ON entry_vector.key = entry.key
WHERE entry.key > %(after)s AND entry_vector.model IS DISTINCT FROM %(model)s ORDER BY entry.key LIMIT %(limit)s

-- put_vectors: adds or replaces vectors of entries that still exist
INSERT INTO entry_vector (workspace, key, session, kind, role, trust, time, model, vector, signs)
SELECT %(workspace)s, key, session, kind, role, trust, time, %(model)s, vector, signs::varbit
FROM unnest(%(keys)s::bigint[], %(vectors)s::bytea[], %(signs)s::text[]) AS new (key, vector, signs)
JOIN entry USING (key) ORDER BY key
ON CONFLICT (workspace, key) DO UPDATE SET model = excluded.model, vector = excluded.vector, signs = excluded.signs

-- count_vectors: how many entries have a vector of a model, and how many there are
SELECT (SELECT count(*) FROM entry_vector WHERE model = %(model)s), (SELECT count(*) FROM entry)
