/** Boards, their columns with the order of the cards, and the templates of boards. */
export default /* sql */ `
CREATE TABLE boards (
  id INTEGER PRIMARY KEY AUTOINCREMENT,
  project_id INTEGER NOT NULL REFERENCES projects(id) ON DELETE CASCADE,
  name TEXT NOT NULL,
  position INTEGER NOT NULL,
  created_at TEXT NOT NULL
);
CREATE INDEX boards_by_project ON boards(project_id, position);

CREATE TABLE columns (
  id INTEGER PRIMARY KEY AUTOINCREMENT,
  board_id INTEGER NOT NULL REFERENCES boards(id) ON DELETE CASCADE,
  project_id INTEGER NOT NULL REFERENCES projects(id) ON DELETE CASCADE,
  name TEXT NOT NULL,
  column_type TEXT NOT NULL CHECK (column_type IN ('backlog', 'active', 'done', 'archive')),
  position INTEGER NOT NULL,
  prompt TEXT NOT NULL DEFAULT '',

  agent TEXT,
  profile TEXT,
  model TEXT,
  mode TEXT,
  effort TEXT,

  wip_limit INTEGER,
  pull INTEGER NOT NULL DEFAULT 0,
  merged_column_id INTEGER REFERENCES columns(id) ON DELETE SET NULL,
  closed_column_id INTEGER REFERENCES columns(id) ON DELETE SET NULL
);
CREATE INDEX columns_by_board ON columns(board_id, position);
CREATE INDEX columns_by_project ON columns(project_id, board_id, position);
CREATE INDEX columns_by_merged ON columns(merged_column_id) WHERE merged_column_id IS NOT NULL;
CREATE INDEX columns_by_closed ON columns(closed_column_id) WHERE closed_column_id IS NOT NULL;
CREATE INDEX columns_pulling ON columns(project_id) WHERE pull = 1;

-- A card must pass the gates of a column before it moves forward from there, and those without a column before it is merged.
CREATE TABLE gates (
  id INTEGER PRIMARY KEY AUTOINCREMENT,
  project_id INTEGER NOT NULL REFERENCES projects(id) ON DELETE CASCADE,
  column_id INTEGER REFERENCES columns(id) ON DELETE CASCADE,
  name TEXT NOT NULL,
  kind TEXT NOT NULL CHECK (kind IN ('command', 'approval', 'review')),
  position INTEGER NOT NULL,

  -- Of commands
  command TEXT,
  -- Of commands and reviews
  minutes INTEGER,

  -- Of approvals
  approvals INTEGER,
  approver_role TEXT CHECK (approver_role IN ('member', 'admin')),
  approver_ids TEXT,

  -- Of reviews
  agent TEXT,
  profile TEXT,
  prompt TEXT,

  created_at TEXT NOT NULL,
  updated_at TEXT NOT NULL
);
CREATE INDEX gates_by_project ON gates(project_id, position);
CREATE INDEX gates_by_column ON gates(column_id) WHERE column_id IS NOT NULL;

-- The order of a column's cards, in leaves of up to 128 cards: ids contains ',' and eight hexadecimal digits per card.
CREATE TABLE column_leaves (
  id INTEGER PRIMARY KEY AUTOINCREMENT,
  column_id INTEGER NOT NULL REFERENCES columns(id) ON DELETE CASCADE,
  ids TEXT NOT NULL
);
CREATE INDEX column_leaves_by_column ON column_leaves(column_id);

-- Nodes of up to 32 leaves. start is the number of cards before the node in its column, length the number of its cards.
CREATE TABLE column_nodes (
  id INTEGER PRIMARY KEY AUTOINCREMENT,
  column_id INTEGER NOT NULL REFERENCES columns(id) ON DELETE CASCADE,
  start INTEGER NOT NULL,
  length INTEGER NOT NULL
);
CREATE INDEX column_nodes_by_column ON column_nodes(column_id);

-- The node of each leaf. start is the number of cards before the leaf in its node.
CREATE TABLE node_leaves (
  leaf_id INTEGER PRIMARY KEY REFERENCES column_leaves(id) ON DELETE CASCADE,
  node_id INTEGER NOT NULL REFERENCES column_nodes(id) ON DELETE CASCADE,
  start INTEGER NOT NULL,
  length INTEGER NOT NULL
);
CREATE INDEX node_leaves_by_node ON node_leaves(node_id);

CREATE TABLE board_templates (
  id INTEGER PRIMARY KEY AUTOINCREMENT,
  user_id INTEGER,
  name TEXT NOT NULL,
  columns TEXT NOT NULL,
  builtin INTEGER NOT NULL DEFAULT 0,
  shared INTEGER NOT NULL DEFAULT 0,
  created_at TEXT NOT NULL
);
INSERT INTO board_templates (name, builtin, created_at, columns) VALUES
  ('Kanban', 1, '2026-01-01T00:00:00.000Z', json('[
    {"name":"Backlog","columnType":"backlog","prompt":"","wipLimit":null,"pull":false},
    {"name":"In Progress","columnType":"active","prompt":"","wipLimit":null,"pull":false},
    {"name":"Done","columnType":"done","prompt":"","wipLimit":null,"pull":false}]')),
  ('Plan, build, review', 1, '2026-01-01T00:00:00.000Z', json('[
    {"name":"Backlog","columnType":"backlog","prompt":"","wipLimit":null,"pull":false},
    {"name":"Plan","columnType":"active","prompt":"Read the code that this task touches and write a plan: the files to change, the steps, the risks and how to test it. Change nothing yet.","wipLimit":null,"pull":false},
    {"name":"Build","columnType":"active","prompt":"Carry out the plan. Keep the change small, run the tests, and commit your work with clear messages.","wipLimit":null,"pull":false},
    {"name":"Review","columnType":"active","prompt":"Review the change on this branch as a strict colleague would: correctness, tests, names, leftovers. Fix what you find and state what you changed.","wipLimit":null,"pull":false},
    {"name":"Done","columnType":"done","prompt":"","wipLimit":null,"pull":false},
    {"name":"Archive","columnType":"archive","prompt":"","wipLimit":null,"pull":false}]')),
  ('Empty', 1, '2026-01-01T00:00:00.000Z', '[]');

CREATE TABLE panel_states (
  user_id INTEGER NOT NULL,
  card_id INTEGER NOT NULL REFERENCES cards(id) ON DELETE CASCADE,
  project_id INTEGER NOT NULL REFERENCES projects(id) ON DELETE CASCADE,
  state TEXT NOT NULL,
  PRIMARY KEY (user_id, project_id, card_id)
) WITHOUT ROWID;
CREATE INDEX panel_states_by_card ON panel_states(card_id);
CREATE INDEX panel_states_by_project ON panel_states(project_id);
`
