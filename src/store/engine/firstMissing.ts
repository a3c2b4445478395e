import type { Reader } from './database.ts'

/** The records that a request can name by ID, containers first: if a container is missing, its contents are as well. */
const sources = {
  organization: 'organizations WHERE id = ?',
  project: 'projects WHERE id = ?',
  board: 'boards WHERE id = ?',
  column: 'columns WHERE id = ?',
  card: 'cards WHERE deleted_at IS NULL AND id = ?',
  session: 'agent_sessions WHERE id = ?',
  attachment: 'attachments WHERE id = ?',
  comment: 'comments WHERE id = ?',
  review: 'reviews WHERE id = ?',
  monitor: 'monitors WHERE id = ?',
  script: 'scripts WHERE id = ?',
  gate: 'gates WHERE id = ?',
  proof: 'proofs WHERE id = ?',
  landing: 'landings WHERE id = ?',
  schedule: 'schedules WHERE id = ?',
  webhook: 'webhooks WHERE id = ?',
  template: 'board_templates WHERE id = ?',
  credential: 'credentials WHERE id = ?',
  user: 'users WHERE id = ?',
} as const
export type Named = keyof typeof sources

/** The outermost of the named records that does not exist. */
export async function firstMissing(
  db: Reader,
  named: Partial<Record<Named, readonly number[]>>,
): Promise<Named | undefined> {
  for (const kind of Object.keys(sources) as Named[])
    for (const id of named[kind] ?? []) if (!(await db.get(`SELECT 1 FROM ${sources[kind]}`, [id]))) return kind
  return undefined
}
