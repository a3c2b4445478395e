/** The board's work on a pull request and on an issue is one phase each, and the end of a rate limit is a time. */
export default /* sql */ `
DROP INDEX pull_requests_asked;
DROP INDEX pull_requests_ended;
ALTER TABLE pull_requests ADD COLUMN phase TEXT NOT NULL DEFAULT 'watching';
ALTER TABLE pull_requests ADD COLUMN held_until TEXT;
ALTER TABLE pull_requests ADD COLUMN had_checks INTEGER NOT NULL DEFAULT 0;
ALTER TABLE pull_requests RENAME COLUMN told TO reported;
UPDATE pull_requests SET had_checks = checks <> '[]', phase = CASE
  WHEN state IN ('merged', 'closed') THEN CASE settled WHEN 0 THEN 'movingCard' WHEN 1 THEN 'removingWorktree' ELSE 'finished' END
  WHEN stopped IS NOT NULL THEN 'handedOver' WHEN step = 'asked' THEN 'working' WHEN step = 'pushing' THEN 'pushing' ELSE 'watching' END;
UPDATE pull_requests SET held_until = next_read_at, failures = 0 WHERE failures < 0;
ALTER TABLE pull_requests DROP COLUMN step;
ALTER TABLE pull_requests DROP COLUMN settled;
ALTER TABLE card_issues ADD COLUMN phase TEXT NOT NULL DEFAULT 'open';
UPDATE card_issues SET phase = CASE WHEN state = 'missing' THEN 'missing' WHEN state = 'open' THEN iif(wants = 'closed', 'closing', 'open')
  WHEN wants = 'open' THEN 'reopening' WHEN closed_by_board = 1 THEN 'closedByBoard' ELSE 'closedElsewhere' END;
ALTER TABLE card_issues DROP COLUMN state;
ALTER TABLE card_issues DROP COLUMN wants;
ALTER TABLE card_issues DROP COLUMN closed_by_board;
CREATE INDEX pull_requests_working ON pull_requests(card_id) WHERE phase = 'working';
CREATE INDEX pull_requests_ending ON pull_requests(card_id) WHERE phase IN ('movingCard', 'removingWorktree');
`
