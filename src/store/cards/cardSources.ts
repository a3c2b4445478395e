import type { CardSource } from '../../contract/cards/cardRecords.ts'
import type { Reader } from '../engine/database.ts'

/**
 * The IDs of the sources from which a project has cards, including cards in the trash. A card's linked issue counts as its source.
 * All sources must have the same kind.
 */
export async function findKnownSources(
  db: Reader,
  projectId: number,
  sources: readonly CardSource[],
): Promise<Set<string>> {
  if (sources.length === 0) return new Set()
  // CROSS JOIN fixes the order of the join. Without it, the engine would compare each card with each source.
  const rows = await db.all<{ id: string }>(
    `SELECT json_extract(j.value, '$.id') AS id FROM json_each(?1) j CROSS JOIN cards c
       ON c.project_id = ?2 AND json_extract(c.source, '$.kind') = ?3 AND json_extract(c.source, '$.id') = json_extract(j.value, '$.id')
       WHERE c.source IS NOT NULL
     UNION SELECT json_extract(j.value, '$.id') FROM json_each(?1) j
       WHERE json_extract(j.value, '$.url') IN (SELECT url FROM card_issues WHERE project_id = ?2)`,
    [JSON.stringify(sources.map(({ id, url }) => ({ id, url }))), projectId, sources[0]!.kind],
  )
  return new Set(rows.map(({ id }) => id))
}
