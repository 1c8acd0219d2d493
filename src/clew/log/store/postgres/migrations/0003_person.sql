-- The person a session belongs to, so that everything of a person can be forgotten; and an index for retention by age.

ALTER TABLE session ADD COLUMN person TEXT;
CREATE INDEX session_person ON session (workspace, person) WHERE person IS NOT NULL;
CREATE INDEX session_changed ON session (workspace, changed);
