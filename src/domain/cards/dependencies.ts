import { maxChildren, maxDependents } from '../../contract/cards/cardOrder.ts'
import { invalid, Problem } from '../../contract/errors.ts'
import type { CardRow } from '../../store/cards/cards.ts'
import type { Reader, Transaction } from '../../store/engine/database.ts'
import * as dependencies from '../../store/cards/dependencies.ts'
import { shownTime } from './shownTime.ts'

/** The blockers of a card, its parent, and the card on which it was found. */
export interface CardOrder {
  blockedBy?: readonly number[]
  parentId?: number | null
  discoveredFromId?: number | null
  startAt?: string | null
}
/** A card, which has no ID yet while it is being created. */
interface Card {
  id?: number
  projectId: number
}

/**
 * @throws Problem CARD_NOT_FOUND, DEPENDENCY_CYCLE with the path, VALIDATION_FAILED if a card would have too many dependents or
 * parts
 */
export async function requireOrder(
  db: Reader,
  card: Card,
  { blockedBy, parentId, discoveredFromId }: CardOrder,
): Promise<void> {
  if (blockedBy?.length) await requireBlockers(db, card, blockedBy)
  if (parentId) await requireParent(db, card, parentId)
  if (discoveredFromId) await requireCards(db, card, [discoveredFromId])
}

async function requireBlockers(db: Reader, card: Card, blockedBy: readonly number[]): Promise<void> {
  const present = card.id === undefined ? [] : await dependencies.listBlockers(db, [card.id])
  // A blocker that has been moved to the trash can stay.
  const added = blockedBy.filter(id => !present.some(({ blockerId }) => blockerId === id))
  for (const { id, dependents } of await requireCards(db, card, added))
    if (dependents >= maxDependents)
      throw invalid('blockedBy', `must not name card ${id}, which already blocks ${maxDependents} cards`)
  const path = await findPath(added, card.id, async ids =>
    (await dependencies.listBlockers(db, ids)).map(({ cardId, blockerId }) => [cardId, blockerId]),
  )
  if (path) throw cycleProblem('blockedBy', 'waits for', [card.id!, ...path])
}

async function requireParent(db: Reader, card: Card, parentId: number): Promise<void> {
  const [parent] = await requireCards(db, card, [parentId])
  const path = await findPath([parentId], card.id, async ids =>
    Promise.all(ids.map(async id => [id, await dependencies.readParent(db, id)] as const)),
  )
  if (path) throw cycleProblem('parentId', 'is a part of', [card.id!, ...path])
  const isPart = card.id !== undefined && (await dependencies.readParent(db, card.id)) === parentId
  if (parent!.childrenTotal >= maxChildren && !isPart)
    throw invalid('parentId', `must not be card ${parentId}, which already has ${maxChildren} parts`)
}

/** @throws Problem CARD_NOT_FOUND for an ID that is not a card of the project */
export async function requireCards(db: Reader, { projectId }: Card, ids: readonly number[]) {
  const found = await dependencies.listCardsOfProject(db, projectId, ids)
  const missing = ids.find(id => !found.some(each => each.id === id))
  if (missing !== undefined) throw new Problem('CARD_NOT_FOUND', `Card ${missing} is not in this project.`)
  return found
}

/** The shortest path from one of the cards to `target`. Undefined if there is none, as for a card that is being created. */
async function findPath(
  from: readonly number[],
  target: number | undefined,
  next: (ids: readonly number[]) => Promise<ReadonlyArray<readonly [from: number, to: number | null]>>,
): Promise<number[] | undefined> {
  if (target === undefined) return undefined
  const cameFrom = new Map<number, number | undefined>(from.map(id => [id, undefined]))
  for (let ids = [...from]; ids.length > 0 && !cameFrom.has(target);) {
    const reached: number[] = []
    for (const [at, to] of await next(ids)) {
      if (to === null || cameFrom.has(to)) continue
      cameFrom.set(to, at)
      reached.push(to)
    }
    ids = reached
  }
  if (!cameFrom.has(target)) return undefined
  const path: number[] = []
  for (let at: number | undefined = target; at !== undefined; at = cameFrom.get(at)) path.unshift(at)
  return path
}

const cycleProblem = (path: string, relation: string, cards: readonly number[]) => {
  const way = cards.join(` ${relation} `)
  return new Problem('DEPENDENCY_CYCLE', `The cards would block each other: ${way}.`, {
    details: [{ path, message: `must not lead back to the card: ${way}` }],
  })
}

/** Why a card's work must not start: the cards, or the time, that it waits for. Undefined if nothing holds it. */
export async function findBlockade(
  db: Reader,
  card: Pick<CardRow, 'id' | 'openBlockers' | 'startAt' | 'startHeld'>,
  now: string,
): Promise<Problem | undefined> {
  if (card.openBlockers === 0)
    return card.startHeld === 1 && card.startAt! > now
      ? new Problem('CARD_BLOCKED', `The card starts at ${shownTime(card.startAt!)}.`)
      : undefined
  return new Problem(
    'CARD_BLOCKED',
    `The card is blocked by ${cardsText(await dependencies.listOpenBlockers(db, card.id))}.`,
  )
}

const maxNamed = 10
/** `card 3`, `cards 3, 7 and 2 more` */
const cardsText = (ids: readonly number[]): string =>
  `${ids.length === 1 ? 'card' : 'cards'} ${ids.slice(0, maxNamed).join(', ')}${ids.length > maxNamed ? ` and ${ids.length - maxNamed} more` : ''}`

/** @throws Problem CARD_BLOCKS_OTHERS */
export async function requireBlocksNone(db: Reader, { id, doneAt }: Pick<CardRow, 'id' | 'doneAt'>): Promise<void> {
  const waiting = doneAt === null ? await dependencies.listDependents(db, [id]) : []
  if (waiting.length > 0)
    throw new Problem('CARD_BLOCKS_OTHERS', `The card blocks ${cardsText(waiting)}, which would stay blocked.`)
}

/** @throws Problem CARD_BLOCKED */
export async function requireUnblocked(tx: Transaction, card: Parameters<typeof findBlockade>[1]): Promise<void> {
  const problem = await findBlockade(tx, card, tx.now)
  if (problem) throw problem
}
