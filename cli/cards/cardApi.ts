import type { ApiFailure, Client } from '../../src/client/index.ts'
import type { AgentChoice } from '../../src/contract/agents/agentChoice.ts'
import type { Contract } from '../../src/contract/index.ts'
import type { Output } from '../../src/contract/route.ts'
import type { Context } from '../context/context.ts'
import { belongsElsewhere } from '../context/otherProjects.ts'
import { listColumns } from '../context/resolve.ts'
import { cardIdOf } from './cardIds.ts'
import type { PlanRequest } from './planInputs.ts'

type Item = Output<Contract['cards']['list']>[number]
type Detail = Output<Contract['cards']['get']>
type Stats = Output<Contract['projects']['stats']>
type ExternalItem = Awaited<ReturnType<Client['external']['list']>>['items'][number]
type ExternalDetail = Output<Contract['external']['get']>
type ExternalCard = Omit<ExternalItem, 'position'> &
  Pick<ExternalDetail, 'position'> &
  Partial<Pick<ExternalDetail, 'sessions'>>

/** A card as all commands show it, from internal or external routes. Fields that external routes omit are missing. */
export type Card = Pick<Item, keyof Item & keyof ExternalItem> & Partial<Detail>

/** The location of a card, as the routes name it. */
export interface CardPlace {
  projectId: string
  cardId: string
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
  base?: string
  baseCardId?: string
  autoMode?: boolean
  assigneeIds?: string[]
  plan?: PlanRequest
  /** Whether to start the agent, which requires an active column. If the agent cannot start, no card is created. */
  start?: boolean
  /** Whether to add the card even if the column is full. */
  force?: boolean
}

/**
 * Creates a card whose agent does not start yet, unless `start` is set. With a command, creates a terminal card. The external
 * route does not support labels, agents, parts, bases, terminal cards and starts.
 */
export async function createCard(
  { client, external }: Context,
  projectId: string,
  card: NewCard,
  idempotencyKey?: string,
): Promise<Card> {
  const { title, prompt, column, labels, useWorktree, blockedBy, command, start = false, ...others } = card
  const { force, assigneeIds, plan, ...rest } = others
  const isPlain = [command, ...Object.values(rest)].every(value => value === undefined)
  if (external && labels.length === 0 && isPlain && !start)
    return fromExternal(
      await client.external.create(
        {
          projectId,
          title,
          prompt,
          columnId: column && Number(column.id),
          useWorktree,
          blockedBy: blockedBy?.map(Number),
          assigneeIds: assigneeIds?.map(Number),
          ...plan,
          force,
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
      force,
      blockedBy,
      assigneeIds,
      ...plan,
      ...rest,
      command,
      ...(command !== undefined && { kind: 'terminal' }),
    },
    { idempotencyKey },
  )
}

/**
 * Moves a card to a place in a column, by default to its end. An API key does not start the column's agent. `force`
 * starts a card that waits for other cards, and allows a move into a full column.
 */
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
      force,
    }),
  )
}

export async function archiveCard({ client, external }: Context, { projectId, cardId }: CardPlace): Promise<void> {
  await (external ? client.external.archive({ projectId, cardId }) : client.cards.archive({ projectId, cardId }))
}

/** Counts a project's cards. An API key cannot read the questions of monitors. */
export async function countCards({ client, external }: Context, projectId: string): Promise<Stats> {
  if (!external) return client.projects.stats({ id: projectId })
  const stats = await client.external.stats({ projectId })
  const byColumn = stats.byColumn.map(column => ({ ...column, columnId: String(column.columnId) }))
  return { ...stats, byColumn, monitorQuestions: 0 }
}

/** Cancels a card's agent. */
export async function cancelAgent({ client, external }: Context, place: CardPlace): Promise<void> {
  await (external ? client.external.cancelAgent(place) : client.agents.cancel(place))
}

/**
 * Runs an action on a card of the current project. Without a current project, finds the card's project first.
 * @throws Failure (not found) if the ID is invalid or the card is in another project
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
      throw await belongsElsewhere(context, `card ${cardId}`, projectId)
    return action({ projectId, cardId })
  }
  try {
    return await action({ projectId: projects[0]!.id, cardId })
  } catch (error) {
    if ((error as ApiFailure).code !== 'CARD_NOT_FOUND' || context.external) throw error
    const card = await context.client.cards.getFlat({ id: cardId }).catch(() => undefined)
    throw card && card.projectId !== projects[0]!.id
      ? await belongsElsewhere(context, `card ${cardId}`, card.projectId)
      : error
  }
}

/** Returns the location of a card after a check that the card exists. */
export const placeOf = (context: Context, cardId: string): Promise<CardPlace> =>
  inItsProject(context, cardId, async place => {
    await getCard(context, place)
    return place
  })

/** Adds the column names to cards that lack them. */
export async function withColumnNames(
  context: Context,
  projectId: string,
  coming: Card[] | Promise<Card[]>,
): Promise<Card[]> {
  const [cards, columns] = await Promise.all([coming, listColumns(context, projectId)])
  const byId = new Map(columns.map(column => [column.id, column]))
  return cards.map(card => ({
    ...card,
    columnName: byId.get(card.columnId)?.name,
    columnType: byId.get(card.columnId)?.columnType as Card['columnType'],
  }))
}

/** Returns the card with its column name, which only internal routes include. */
export const withColumnName = async (context: Context, card: Card): Promise<Card> =>
  card.columnName === undefined ? (await withColumnNames(context, card.projectId, [card]))[0]! : card

/** An external card in the internal view: IDs are text. */
export function fromExternal({ id, projectId, boardId, columnId, ...rest }: ExternalCard): Card {
  const { sessions, assignees, blockedBy, ...fields } = rest
  return {
    id: String(id),
    projectId: String(projectId),
    boardId: String(boardId),
    columnId: String(columnId),
    ...fields,
    blockedBy: blockedBy.map(String),
    assignees: assignees.map(each => ('userId' in each ? { ...each, userId: String(each.userId) } : each)),
    hasActiveAgent: fields.status === 'queued' || fields.status === 'running' || fields.status === 'waiting',
    ...(sessions && { sessions: sessions.map(session => ({ ...session, id: String(session.id) })) }),
  }
}
