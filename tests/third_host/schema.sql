-- The tables of the host; JSON is in columns of type TEXT. STRICT refuses other types.

CREATE TABLE IF NOT EXISTS configuration (
    record TEXT PRIMARY KEY, name TEXT NOT NULL UNIQUE,
    version INTEGER NOT NULL, revision INTEGER NOT NULL,
    refused INTEGER NOT NULL, paused_at REAL, tested_at REAL,
    current INTEGER NOT NULL, needs_person INTEGER NOT NULL,
    base_url TEXT NOT NULL, authentication_type TEXT NOT NULL,
    environment TEXT NOT NULL, network TEXT NOT NULL, owner TEXT NOT NULL,
    settings TEXT NOT NULL, headers TEXT NOT NULL, health TEXT NOT NULL,
    -- Of a connection: that of its configuration, and its own.
    parent TEXT REFERENCES configuration ON DELETE CASCADE,
    connection_id TEXT, connection_state TEXT, connection TEXT
) STRICT;

CREATE TABLE IF NOT EXISTS line (
    name TEXT PRIMARY KEY,
    configuration TEXT NOT NULL REFERENCES configuration (name)
        ON DELETE CASCADE ON UPDATE CASCADE,
    method TEXT NOT NULL, path TEXT NOT NULL, sync TEXT,
    source TEXT NOT NULL DEFAULT '', voucher TEXT NOT NULL DEFAULT ''
) STRICT;

CREATE TABLE IF NOT EXISTS line_version (
    line TEXT NOT NULL REFERENCES line ON DELETE CASCADE ON UPDATE CASCADE,
    number INTEGER NOT NULL, at REAL NOT NULL, actor TEXT NOT NULL,
    text TEXT NOT NULL, summary TEXT NOT NULL,
    PRIMARY KEY (line, number)
) STRICT;

CREATE TABLE IF NOT EXISTS secret (
    record TEXT NOT NULL REFERENCES configuration ON DELETE CASCADE,
    field TEXT NOT NULL, version INTEGER NOT NULL, origin TEXT NOT NULL,
    label TEXT NOT NULL, sealed BLOB, key_name TEXT, reference TEXT NOT NULL,
    set_at REAL, set_by TEXT NOT NULL,
    PRIMARY KEY (record, field, version)
) STRICT;
CREATE UNIQUE INDEX IF NOT EXISTS one_current_version ON secret (record, field)
WHERE label = 'current';

CREATE TABLE IF NOT EXISTS token (
    record TEXT PRIMARY KEY REFERENCES configuration ON DELETE CASCADE,
    generation INTEGER NOT NULL, serial INTEGER NOT NULL, origin TEXT NOT NULL,
    sealed BLOB, key_name TEXT, facts TEXT NOT NULL
) STRICT;

CREATE TABLE IF NOT EXISTS known_key (
    name TEXT PRIMARY KEY, check_value BLOB NOT NULL
) STRICT;

CREATE TABLE IF NOT EXISTS state (
    kind TEXT NOT NULL, key TEXT NOT NULL,
    generation INTEGER NOT NULL, value TEXT NOT NULL,
    PRIMARY KEY (kind, key)
) STRICT;

CREATE TABLE IF NOT EXISTS audit (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    stream TEXT NOT NULL, number INTEGER NOT NULL, body BLOB NOT NULL, mac BLOB NOT NULL,
    at INTEGER NOT NULL, configuration TEXT NOT NULL, outcome TEXT NOT NULL,
    kind TEXT NOT NULL, actor TEXT NOT NULL,
    UNIQUE (stream, number)
) STRICT;

CREATE TABLE IF NOT EXISTS tombstone (
    stream TEXT PRIMARY KEY, number INTEGER NOT NULL, mac BLOB NOT NULL,
    key_id TEXT NOT NULL, signature BLOB NOT NULL
) STRICT;

-- The id of a run is never used again.
CREATE TABLE IF NOT EXISTS run (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    line TEXT NOT NULL REFERENCES line ON DELETE CASCADE ON UPDATE CASCADE,
    actor TEXT NOT NULL, started_at REAL NOT NULL, ended_at REAL,
    state TEXT NOT NULL, cause TEXT NOT NULL, dry_run INTEGER NOT NULL,
    position TEXT NOT NULL, cursor TEXT NOT NULL, since TEXT NOT NULL,
    full_at REAL NOT NULL, retry_of TEXT NOT NULL, removed TEXT NOT NULL,
    allows_removal INTEGER NOT NULL, expected INTEGER NOT NULL,
    counted INTEGER NOT NULL, notes TEXT NOT NULL, drift TEXT NOT NULL,
    counts TEXT NOT NULL, pages INTEGER NOT NULL, worked REAL NOT NULL,
    generation INTEGER NOT NULL, attempt INTEGER NOT NULL,
    digest TEXT NOT NULL, until REAL NOT NULL, lease REAL NOT NULL, is_received INTEGER NOT NULL,
    repaired_by TEXT NOT NULL
) STRICT;
CREATE UNIQUE INDEX IF NOT EXISTS one_running ON run (line) WHERE state = 'running';
CREATE UNIQUE INDEX IF NOT EXISTS one_waiting ON run (line, dry_run)
WHERE state = 'waiting';

CREATE TABLE IF NOT EXISTS rejected (
    run INTEGER NOT NULL REFERENCES run ON DELETE CASCADE,
    number INTEGER NOT NULL, key TEXT NOT NULL, field TEXT NOT NULL, reason TEXT NOT NULL,
    kind TEXT NOT NULL, excerpt TEXT NOT NULL
) STRICT;
CREATE INDEX IF NOT EXISTS rejected_by_run ON rejected (run, number);

CREATE TABLE IF NOT EXISTS ledger (
    line TEXT NOT NULL REFERENCES line ON DELETE CASCADE ON UPDATE CASCADE,
    record TEXT NOT NULL, digest TEXT NOT NULL, remote_id TEXT NOT NULL,
    is_deleted INTEGER NOT NULL, creations INTEGER NOT NULL,
    key TEXT NOT NULL, sent TEXT NOT NULL,
    PRIMARY KEY (line, record)
) STRICT;

CREATE TABLE IF NOT EXISTS parent (
    line TEXT NOT NULL REFERENCES line ON DELETE CASCADE ON UPDATE CASCADE,
    key TEXT NOT NULL, turn TEXT NOT NULL, since TEXT NOT NULL, full_at REAL NOT NULL,
    mark TEXT NOT NULL, checkpoint TEXT NOT NULL,
    PRIMARY KEY (line, key)
) STRICT;

-- Only a push line of a pair has agreements. JSON null: there is no conflict.
CREATE TABLE IF NOT EXISTS agreement (
    line TEXT NOT NULL REFERENCES line ON DELETE CASCADE ON UPDATE CASCADE,
    record TEXT NOT NULL, key TEXT NOT NULL, api TEXT NOT NULL, host TEXT NOT NULL,
    is_pushed INTEGER NOT NULL, conflict TEXT NOT NULL,
    PRIMARY KEY (line, record)
) STRICT;
CREATE INDEX IF NOT EXISTS agreement_by_key ON agreement (line, key);

-- The host's own records, and the run of each line that has seen a record last.
CREATE TABLE IF NOT EXISTS contact (
    id INTEGER PRIMARY KEY AUTOINCREMENT, external_id TEXT NOT NULL UNIQUE, name TEXT NOT NULL,
    credit TEXT, archived INTEGER NOT NULL DEFAULT 0
) STRICT;
CREATE TABLE IF NOT EXISTS sighting (
    line TEXT NOT NULL REFERENCES line ON DELETE CASCADE ON UPDATE CASCADE,
    contact INTEGER NOT NULL REFERENCES contact ON DELETE CASCADE,
    run INTEGER NOT NULL,
    PRIMARY KEY (line, contact)
) STRICT;
