/** An agreement to a version of a project's board.json lapses when the version changes. Of earlier agreements, the newest one stays. */
export default /* sql */ `
ALTER TABLE board_file_agreements ADD COLUMN lapsed INTEGER NOT NULL DEFAULT 0 CHECK (lapsed IN (0, 1));
UPDATE board_file_agreements SET lapsed = 1 WHERE EXISTS (
  SELECT 1 FROM board_file_agreements AS newer WHERE newer.project_id = board_file_agreements.project_id
    AND (newer.created_at, newer.version) > (board_file_agreements.created_at, board_file_agreements.version)
);
`
