import type { CardStatus } from '../../src/contract/fields.ts'
import { getCard, type Card } from './cardApi.ts'
import type { Context } from '../context/context.ts'
import { columnsOf } from '../context/resolve.ts'
import { exitOf } from '../failures/failure.ts'
import { listCards } from './cardListing.ts'

type Column = Awaited<ReturnType<typeof columnsOf>>[number]

/** More cards than a column with a limit usually has. */
const maxCards = 1000

/** The statuses in which an agent works, is queued, or continues after a person, a budget or new activity allows it. */
export const atWork: ReadonlySet<CardStatus> = new Set<CardStatus>(['queued', 'running', 'waiting'])

/**
 * Returns whether a card's status can change without a person. Its agent is at work, or the board starts the agent at a set time,
 * after its blockers are done, or when a column has capacity.
 */
export async function isWorkExpected(context: Context, card: Card, seen = new Set<string>()): Promise<boolean> {
  if (atWork.has(card.status)) return true
  // Cards that block each other in other ways than the board checks never start.
  if (seen.has(card.id) || card.archivedAt || (card.status !== 'idle' && card.status !== 'completed')) return false
  seen.add(card.id)
  const { isActive, pulling, full } = await readSurroundings(context, card)
  const isFreed = async (columns: readonly Column[]) => {
    for (const column of columns) if (await isWorkExpectedIn(context, card, column, seen)) return true
    return false
  }
  if (card.autoMode && card.lastAgentAction?.type === 'not_started' && (await isFreed(full))) return true
  const isPulled = pulling !== undefined && (!full.includes(pulling) || (await isFreed([pulling])))
  if (card.status === 'completed') return isPulled
  // An API key does not see auto mode.
  const startsWhenReady = card.autoMode ?? true
  const startsInTime = isActive && Boolean(card.startAt)
  if (card.blocked)
    return (startsWhenReady || isPulled || startsInTime) && (await areBlockersExpected(context, card, seen))
  if (card.startAt && !card.ready) return startsInTime || isPulled || startsWhenReady
  return card.ready && isPulled
}

/** Returns whether a place in a full column is free, or one of its cards is expected to work and then to leave it. */
async function isWorkExpectedIn(
  context: Context,
  { projectId }: Card,
  { id, wipLimit }: Column,
  seen: Set<string>,
): Promise<boolean> {
  const { cards } = await listCards(context, { projectId, filter: { columnId: id }, limit: maxCards })
  if (wipLimit !== null && cards.length < Math.min(wipLimit, maxCards)) return true
  if (cards.some(({ status }) => atWork.has(status))) return true
  for (const card of cards) if (await isWorkExpected(context, card, seen)) return true
  return false
}

async function areBlockersExpected(context: Context, card: Card, seen: Set<string>): Promise<boolean> {
  const blockedBy = card.blockedBy ?? (await getCard(context, placeOf(card))).blockedBy ?? []
  for (const cardId of blockedBy) {
    const blocker = await getCard(context, { projectId: card.projectId, cardId })
    const column = (await readColumns(context, blocker)).find(({ id }) => id === blocker.columnId)
    if (column?.columnType !== 'done' && !(await isWorkExpected(context, blocker, seen))) return false
  }
  return true
}

/** Whether a card's column is active, the column that takes the card automatically, and the full columns of its board. */
async function readSurroundings(
  context: Context,
  card: Card,
): Promise<{ isActive: boolean; pulling: Column | undefined; full: Column[] }> {
  const columns = await readColumns(context, card)
  const at = columns.findIndex(({ id }) => id === card.columnId)
  const next = at < 0 ? undefined : columns[at + 1]
  return {
    isActive: columns[at]?.columnType === 'active',
    pulling: card.pullable !== false && next?.pull === true ? next : undefined,
    full: columns.filter(({ wipLimit, cardCount }) => wipLimit !== null && cardCount >= wipLimit),
  }
}

/** Returns an empty list if the token gives no access to columns. */
async function readColumns(context: Context, { projectId, boardId }: Card): ReturnType<typeof columnsOf> {
  try {
    return await columnsOf(context, projectId, boardId)
  } catch (error) {
    if (exitOf(error) !== 'denied') throw error
    return []
  }
}

const placeOf = ({ projectId, id }: Card) => ({ projectId, cardId: id })
