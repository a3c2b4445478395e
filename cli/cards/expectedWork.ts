import type { CardStatus } from '../../src/contract/fields.ts'
import { getCard, type Card } from './cardApi.ts'
import type { Context } from '../context/context.ts'
import { listColumns } from '../context/resolve.ts'
import { exitOf } from '../failures/failure.ts'
import { listCards } from './cardListing.ts'

type Column = Awaited<ReturnType<typeof listColumns>>[number]

/** More cards than a column with a limit usually has. */
const maxCards = 1000

/** The statuses in which an agent works, is queued, or continues after a person, a budget or new activity allows it. */
export const atWork: ReadonlySet<CardStatus> = new Set<CardStatus>(['queued', 'running', 'waiting'])

/**
 * Returns whether a card's status can change without a person. Its agent is at work, or the board starts the agent at a set time,
 * after its blockers are done, or when a column has capacity.
 * @param visited the IDs of the cards that are being checked, because cards can wait for each other
 */
export async function isWorkExpected(context: Context, card: Card, visited = new Set<string>()): Promise<boolean> {
  if (atWork.has(card.status)) return true
  const canStart = !card.archivedAt && (card.status === 'idle' || card.status === 'completed')
  if (!canStart || visited.has(card.id)) return false
  visited.add(card.id)

  const { column, pullingColumn, fullColumns } = await readColumnsAround(context, card)
  const isCapacityExpected = async (columns: readonly Column[]) => {
    for (const each of columns) if (await isPlaceExpected(context, card, each, visited)) return true
    return false
  }
  // The board did not start the agent because a column was full.
  if (card.autoMode && card.lastAgentAction?.type === 'not_started' && (await isCapacityExpected(fullColumns)))
    return true
  const isPulled =
    pullingColumn !== undefined && (!fullColumns.includes(pullingColumn) || (await isCapacityExpected([pullingColumn])))
  if (card.status === 'completed') return isPulled

  // An API key cannot read auto mode.
  const startsWhenReady = card.autoMode ?? true
  const startsAtTime = column?.columnType === 'active' && Boolean(card.startAt)
  const isStartPlanned = isPulled || startsWhenReady || startsAtTime
  if (card.blocked) return isStartPlanned && areBlockersExpected(context, card, visited)
  if (card.startAt && !card.ready) return isStartPlanned
  return card.ready && isPulled
}

/** Returns whether a full column has a free place now, or one of its cards is expected to work, and can then leave it. */
async function isPlaceExpected(
  context: Context,
  { projectId }: Card,
  { id, wipLimit }: Column,
  visited: Set<string>,
): Promise<boolean> {
  const { cards } = await listCards(context, { projectId, filter: { columnId: id }, limit: maxCards })
  if (wipLimit !== null && cards.length < Math.min(wipLimit, maxCards)) return true
  // Checks all statuses first, because isWorkExpected sends requests for other cards.
  if (cards.some(({ status }) => atWork.has(status))) return true
  for (const card of cards) if (await isWorkExpected(context, card, visited)) return true
  return false
}

async function areBlockersExpected(context: Context, card: Card, visited: Set<string>): Promise<boolean> {
  const { projectId } = card
  const blockedBy = card.blockedBy ?? (await getCard(context, { projectId, cardId: card.id })).blockedBy ?? []
  for (const cardId of blockedBy) {
    const blocker = await getCard(context, { projectId, cardId })
    const { column } = await readColumnsAround(context, blocker)
    if (column?.columnType !== 'done' && !(await isWorkExpected(context, blocker, visited))) return false
  }
  return true
}

interface ColumnsAround {
  /** The card's column. Undefined if the token does not allow reading columns. */
  column: Column | undefined
  /** The next column, if it pulls the card when it has capacity. */
  pullingColumn: Column | undefined
  /** The full columns of the card's board. */
  fullColumns: Column[]
}

async function readColumnsAround(
  context: Context,
  { projectId, boardId, columnId, pullable }: Card,
): Promise<ColumnsAround> {
  const columns = await listColumns(context, projectId, boardId).catch((error: unknown) => {
    if (exitOf(error) === 'denied') return []
    throw error
  })
  const at = columns.findIndex(({ id }) => id === columnId)
  const next = at < 0 ? undefined : columns[at + 1]
  return {
    column: columns[at],
    pullingColumn: next?.pull === true && pullable !== false ? next : undefined,
    fullColumns: columns.filter(({ wipLimit, cardCount }) => wipLimit !== null && cardCount >= wipLimit),
  }
}
