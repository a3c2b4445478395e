import type { ApiFailure, Client } from '../../src/client/index.ts'
import type { AgentChoice } from '../../src/contract/agentChoice.ts'
import type { Contract } from '../../src/contract/index.ts'
import type { CardStatus } from '../../src/contract/fields.ts'
import type { Output } from '../../src/contract/route.ts'
import { retryOnRateLimit } from '../requests/retryOnRateLimit.ts'
import type { Context } from '../context/context.ts'
import { elsewhere } from '../context/otherProjects.ts'
import { columnsOf } from '../context/resolve.ts'
import { cardIdOf } from './cardIds.ts'

type Item = Output<Contract['cards']['list']>[number]
type Detail = Output<Contract['cards']['get']>
type Stats = Output<Contract['projects']['stats']>
type ExternalItem = Awaited<ReturnType<Client['external']['list']>>['items'][number]
type ExternalDetail = Output<Contract['external']['get']>
type ExternalCard = Omit<ExternalItem, 'position'> &
  Pick<ExternalDetail, 'position'> &
  Partial<Pick<ExternalDetail, 'sessions'>>

/** A card as every command shows it, whichever routes it came by. What external routes leave out is missing. */
export type Card = Pick<Item, keyof Item & keyof ExternalItem> & Partial<Detail>

export interface CardFilter {
  boardId?: string
  columnId?: string
  status?: CardStatus
  label?: string
  search?: string
  archived?: boolean
  /** Only what could start now, which comes in the order in which it should. */
  ready?: boolean
  /** Only what waits for other cards. */
  blocked?: boolean
}
/** Which cards are listed: `withColumns` adds the names and types of their columns where the route leaves them out. */
export interface CardQuery {
  projectId: string
  filter?: CardFilter
  limit: number
  withColumns?: boolean
}
export interface CardPage {
  cards: Card[]
  more: boolean
}
/** Where a card is, as the routes name it. */
export interface CardPlace {
  projectId: string
  cardId: string
}

/**
 * Lists at most `limit` cards in the order of the board: boards, their columns, places. The archived ones have none and come by
 * id. Where more than the column is asked for, or by an API key, a column's cards come by id, and those that came are put in order.
 */
export async function listCards(
  context: Context,
  { withColumns = false, ...query }: CardQuery,
  onPage?: (count: number) => void,
): Promise<CardPage> {
  const listing = readCards(context, query, onPage)
  if (!withColumns) return listing
  const cards = await withColumnNames(
    context,
    query.projectId,
    listing.then(page => page.cards),
  )
  return { ...(await listing), cards }
}

async function readCards(
  context: Context,
  { projectId, filter = {}, limit }: CardQuery,
  onPage?: (count: number) => void,
): Promise<CardPage> {
  const cards: Card[] = []
  for (const part of await partsOf(context, projectId, filter)) {
    if (cards.length > limit) break
    const inColumn: Card[] = []
    const wanted = limit + 1 - cards.length
    const source = isExternalFilter(context, part) ? externalPages : internalPages
    for await (const page of source(context, projectId, part, wanted)) {
      inColumn.push(...page)
      onPage?.(Math.min(limit, cards.length + inColumn.length))
      if (inColumn.length >= wanted) break
    }
    if (part.columnId !== undefined && !part.ready) inColumn.sort((a, b) => (a.position ?? 0) - (b.position ?? 0))
    cards.push(...inColumn)
  }
  return { cards: cards.slice(0, limit), more: cards.length > limit }
}

/** The filter once for each column that it may find cards in. */
async function partsOf(context: Context, projectId: string, filter: CardFilter): Promise<CardFilter[]> {
  if (filter.archived || filter.ready || filter.columnId !== undefined) return [filter]
  const { boardId, ...others } = filter
  return (await columnsOf(context, projectId, boardId)).map(({ id }) => ({ ...others, columnId: id }))
}

export async function getCard({ client, external }: Context, { projectId, cardId }: CardPlace): Promise<Card> {
  return external
    ? fromExternal(await client.external.get({ projectId, cardId }))
    : client.cards.get({ projectId, cardId })
}

export interface NewCard extends Partial<AgentChoice> {
  title: string
  prompt?: string
  column?: { id: string }
  labels: string[]
  useWorktree: boolean
  command?: string
  blockedBy?: string[]
  parentId?: string
  /** Start it in its column, which is an active one, or make nothing. */
  start?: boolean
}

/** Creates a card whose agent waits, unless it is to start; with a command, a terminal card. The external route knows no labels, agents, parts, terminal cards and starts. */
export async function createCard(
  { client, external }: Context,
  projectId: string,
  { title, prompt, column, labels, useWorktree, command, blockedBy, parentId, start = false, ...choice }: NewCard,
  idempotencyKey?: string,
): Promise<Card> {
  const isChosen = Object.values(choice).some(value => value !== undefined)
  if (external && labels.length === 0 && !isChosen && command === undefined && parentId === undefined && !start)
    return fromExternal(
      await client.external.create(
        {
          projectId,
          title,
          prompt,
          columnId: column && Number(column.id),
          useWorktree,
          blockedBy: blockedBy?.map(Number),
        },
        { idempotencyKey },
      ),
    )
  return client.cards.create(
    {
      projectId,
      title,
      prompt,
      columnId: column?.id,
      labels,
      useWorktree,
      deferred: !start,
      mustStart: start,
      blockedBy,
      parentId,
      ...choice,
      command,
      ...(command !== undefined && { kind: 'terminal' }),
    },
    { idempotencyKey },
  )
}

/** Moves a card to a place in a column, by default to its end. An API key does not start the column's agent. `force` starts a card that waits for others. */
export async function moveCard(
  { client, external }: Context,
  { projectId, cardId }: CardPlace,
  columnId: string,
  { position, force }: { position?: number; force?: boolean } = {},
): Promise<Card> {
  if (!external) return client.cards.move({ projectId, cardId, columnId, position, force })
  return fromExternal(
    await client.external.move({
      projectId,
      cardId,
      targetColumnId: Number(columnId),
      position: position ?? Number.MAX_SAFE_INTEGER,
    }),
  )
}

export async function archiveCard({ client, external }: Context, { projectId, cardId }: CardPlace): Promise<void> {
  await (external ? client.external.archive({ projectId, cardId }) : client.cards.archive({ projectId, cardId }))
}

/** Counts a project's cards. */
export async function countCards({ client, external }: Context, projectId: string): Promise<Stats> {
  if (!external) return client.projects.stats({ id: projectId })
  const stats = await client.external.stats({ projectId })
  return { ...stats, byColumn: stats.byColumn.map(column => ({ ...column, columnId: String(column.columnId) })) }
}

/** Cancels a card's agent. */
export async function cancelAgent({ client, external }: Context, place: CardPlace): Promise<void> {
  await (external ? client.external.cancelAgent(place) : client.agents.cancel(place))
}

/**
 * Does something to a card of the current project, wherever that comes from; without one, in the project that the card is in.
 * @throws Failure (not found) for what is no id, and for a card of another project
 */
export async function inItsProject<T>(
  context: Context,
  wanted: string,
  action: (place: CardPlace) => Promise<T>,
): Promise<T> {
  const cardId = cardIdOf(wanted)
  const projects = await context.projects()
  if (projects.length !== 1) {
    const { projectId } = await context.client.cards.getFlat({ id: cardId })
    if (projects.length > 0 && !projects.some(({ id }) => id === projectId))
      throw await elsewhere(context, `card ${cardId}`, projectId)
    return action({ projectId, cardId })
  }
  try {
    return await action({ projectId: projects[0]!.id, cardId })
  } catch (error) {
    if ((error as ApiFailure).code !== 'CARD_NOT_FOUND' || context.external) throw error
    const card = await context.client.cards.getFlat({ id: cardId }).catch(() => undefined)
    throw card && card.projectId !== projects[0]!.id
      ? await elsewhere(context, `card ${cardId}`, card.projectId)
      : error
  }
}

/** Where a card is, once it is sure that it is there. */
export const placeOf = (context: Context, cardId: string): Promise<CardPlace> =>
  inItsProject(context, cardId, async place => {
    await getCard(context, place)
    return place
  })

/** Adds the names of the columns to cards that came without. */
async function withColumnNames(context: Context, projectId: string, coming: Card[] | Promise<Card[]>): Promise<Card[]> {
  const [cards, columns] = await Promise.all([coming, columnsOf(context, projectId)])
  const byId = new Map(columns.map(column => [column.id, column]))
  return cards.map(card => ({
    ...card,
    columnName: byId.get(card.columnId)?.name,
    columnType: byId.get(card.columnId)?.columnType as Card['columnType'],
  }))
}

/** The card with the name of its column, which only internal routes tell by themselves. */
export const withColumnName = async (context: Context, card: Card): Promise<Card> =>
  card.columnName === undefined ? (await withColumnNames(context, card.projectId, [card]))[0]! : card

/** External lists know neither boards nor search; a key that may read cards may use the internal list for those. */
const isExternalFilter = ({ external }: Context, { boardId, search, archived, ready, blocked }: CardFilter): boolean =>
  external && boardId === undefined && search === undefined && !archived && !ready && !blocked

/** The route pages what is ready, and one column when nothing else is asked for, by places (`offset`), and all else by ids (`cursor`). */
async function* internalPages(
  { client }: Context,
  projectId: string,
  filter: CardFilter,
  wanted: number,
): AsyncGenerator<Card[]> {
  const limit = Math.min(1000, wanted)
  const { columnId, ...others } = filter
  const inPlaces = filter.ready || (columnId !== undefined && Object.values(others).every(value => value === undefined))
  for (let offset = 0, cursor = '0'; ;) {
    const page = await retryOnRateLimit(() =>
      client.cards.list({ projectId, ...filter, ...(inPlaces ? { offset } : { cursor }), limit }),
    )
    yield page
    if (page.length < limit) return
    offset += page.length
    cursor = page.at(-1)!.id
  }
}

async function* externalPages(
  { client }: Context,
  projectId: string,
  { columnId, status, label }: CardFilter,
  wanted: number,
): AsyncGenerator<Card[]> {
  const limit = Math.min(100, wanted)
  let cursor: number | undefined
  do {
    const { items, nextCursor } = await retryOnRateLimit(() =>
      client.external.list({ projectId, columnId, status, label, limit, cursor }),
    )
    yield items.map(fromExternal)
    cursor = nextCursor ?? undefined
  } while (cursor !== undefined)
}

/** An external card in the internal view: ids are text. */
function fromExternal({ id, projectId, boardId, columnId, ...rest }: ExternalCard): Card {
  const { sessions, ...fields } = rest
  return {
    id: String(id),
    projectId: String(projectId),
    boardId: String(boardId),
    columnId: String(columnId),
    ...fields,
    hasActiveAgent: fields.status === 'queued' || fields.status === 'running' || fields.status === 'waiting',
    ...(sessions && { sessions: sessions.map(session => ({ ...session, id: String(session.id) })) }),
  }
}
