import type { InferOutput } from 'valibot'
import { maxChildren, maxDependents } from '../contract/cards/cardOrder.ts'
import { replaceBlockers, setRelatives } from '../store/cards/dependencies.ts'
import { exportDependencies } from '../store/projects/exports.ts'
import { part, readByCards } from './part.ts'
import type { RecordIndex } from './recordIndex.ts'
import { Dependency } from './records.ts'

type DependencyRecord = InferOutput<typeof Dependency>

/** The blockers of cards, their parents, the cards on which they were found and the cards whose branches they start at. */
export const dependencies = part({
  name: 'dependencies',
  schema: Dependency,
  maxRecords: 500_000,
  read: readByCards(500, exportDependencies),
  check: checkDependency,
  checkEnd: known => {
    const records = known.all<DependencyRecord>('dependencies')
    requireNoCircle(known, 'blockedBy', id => records.get(id)?.blockedBy ?? [])
    requireNoCircle(known, 'parentId', id => [records.get(id)?.parentId ?? []].flat())
  },
  write: async (tx, { cardId, blockedBy, parentId, discoveredFromId, baseCardId }, made) => {
    const rowOf = (id: number | null) => (id === null ? null : (made.rows.cards.get(id)?.id ?? null))
    const id = rowOf(cardId)
    if (id === null) return
    await replaceBlockers(
      tx,
      id,
      blockedBy.map(rowOf).filter(blocker => blocker !== null),
    )
    setRelatives(tx, id, {
      parentId: rowOf(parentId),
      discoveredFromId: rowOf(discoveredFromId),
      baseCardId: rowOf(baseCardId),
    })
  },
})

interface KnownCard {
  projectId: number | undefined
  kind: string
  base: string | null
}

function checkDependency(record: DependencyRecord, known: RecordIndex): void {
  const { cardId, blockedBy, parentId, discoveredFromId, baseCardId } = record
  const card = known.find<KnownCard>('cards', cardId, 'cardId')
  known.add('dependencies', cardId, record)
  const relatives = [
    ...blockedBy.map((id, at) => [`blockedBy.${at}`, id] as const),
    ['parentId', parentId] as const,
    ['discoveredFromId', discoveredFromId] as const,
    ['baseCardId', baseCardId] as const,
  ]
  for (const [field, id] of relatives) {
    const relative = id === null ? undefined : known.find<KnownCard>('cards', id, field)
    if (!relative || !card) continue
    if (relative.projectId !== card.projectId) known.addError(field, "must be a card of the card's project")
    if (relative.kind === 'assistant') known.addError(field, "must not be the assistant's card")
  }
  if (baseCardId !== null && (baseCardId === cardId || card?.base))
    known.addError('baseCardId', 'must be another card, and cannot be combined with base')
  if (new Set(blockedBy).size < blockedBy.length) known.addError('blockedBy', 'must contain each card once')
  for (const id of blockedBy)
    if (known.count(`waiting for ${id}`) > maxDependents)
      known.addError('blockedBy', `must not make card ${id} block more than ${maxDependents} cards`)
  if (parentId !== null && known.count(`parts of ${parentId}`) > maxChildren)
    known.addError('parentId', `must not result in more than ${maxChildren} parts of card ${parentId}`)
}

/** Follows the relation from every card; each card is entered once. */
function requireNoCircle(known: RecordIndex, field: string, next: (id: number) => readonly number[]): void {
  const done = new Set<number>()
  for (const start of known.all('dependencies').keys()) {
    const path: Array<{ id: number; left: number[] }> = []
    const onPath = new Set<number>()
    const enter = (id: number) => {
      path.push({ id, left: [...next(id)] })
      onPath.add(id)
    }
    if (!done.has(start)) enter(start)
    while (path.length > 0) {
      const { id, left } = path.at(-1)!
      const following = left.pop()
      if (following === undefined) {
        path.pop()
        onPath.delete(id)
        done.add(id)
      } else if (onPath.has(following)) {
        known.addError('', `${field} must not contain a cycle: card ${following} leads back to itself`)
        return
      } else if (!done.has(following)) enter(following)
    }
  }
}
