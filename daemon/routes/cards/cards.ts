import type { App } from '../../../src/app.ts'
import { invalid } from '../../../src/contract/errors.ts'
import type { Sort } from '../../../src/contract/cards/cardPlan.ts'
import type { Contract } from '../../../src/contract/index.ts'
import { edit } from '../../../src/domain/cards/cardEdits.ts'
import * as cardRemoval from '../../../src/domain/cards/cardRemoval.ts'
import * as cards from '../../../src/domain/cards/cards.ts'
import { requireTakenOnCard } from '../../../src/domain/accounts/credentials.ts'
import * as projects from '../../../src/domain/projects/projects.ts'
import { removeUnneeded } from '../../../src/cardWork/removeWorktree.ts'
import { requireNoUnsavedWork } from '../../../src/cardWork/repositoryWorktrees.ts'
import * as worktrees from '../../../src/cardWork/worktrees.ts'
import {
  listItemsJson,
  listSortedJson,
  projectOfCard,
  readItemsJson,
  type CardFilter,
} from '../../../src/store/cards/cards.ts'
import { orderedIds } from '../../../src/store/cards/order.ts'
import { cardFor, deletedCard, hasActiveAgent } from '../../../src/views/cards.ts'
import { Json, type Call, type Handlers } from '../../http/handlers.ts'
import { cardFlowRoutes } from './cardFlow.ts'
import { removalOf } from './removal.ts'
import { startingWrite } from './startingWrite.ts'

export const cardsRoutes = (
  app: Pick<App, 'cleanup' | 'config' | 'db' | 'isAtWork' | 'merges' | 'reads' | 'supervisor' | 'worktrees'>,
): Handlers<Contract['cards']> => ({
  list: async input => {
    await app.merges.ofProject(input.projectId)
    return new Json(await list(app, input))
  },
  get: async (ref, call) => {
    const card = await cards.find(app.reads, ref)
    if (card.mergedAt !== null) await app.merges.ofCard(card)
    return cardFor(call.caller)(card.mergedAt === null ? card : await cards.find(app.reads, ref))
  },
  update: ({ projectId, cardId, ...change }, call) =>
    call.write(async tx => {
      const card = await edit(tx, app.supervisor, { projectId, cardId, ...seenBy(call) }, change)
      if (change.agent || change.profile)
        await requireTakenOnCard(tx, app.supervisor, card, change.agent ? 'agent' : 'profile')
      return card
    }, cardFor(call.caller)),
  delete: async ({ force, ...ref }, call) => {
    const [card, project] = [await cards.find(app.db, ref), await projects.find(app.db, ref.projectId)]
    await worktrees.requireNothingLost(app.worktrees, project, card, force, app.config.dataDir)
    await requireNoUnsavedWork(app.worktrees, app.db, card, project, force, app.config.dataDir)
    return call.write(tx => cardRemoval.remove(tx, app.supervisor, { ...ref, caller: call.caller }, force))
  },
  listDeleted: async input =>
    (await cardRemoval.listRestorable(app.reads, input, app.config.clock().getTime())).map(deletedCard),
  restore: ({ force, ...ref }, call) =>
    startingWrite(
      app,
      call,
      tx => cardRemoval.restore(tx, app.supervisor, { ...ref, caller: call.caller }, force),
      cardFor(call.caller),
    ),
  view: (ref, call) => call.write(tx => cards.view(tx, ref)),
  setWatching: ({ watching, ...ref }, call) =>
    call.write(tx => cards.setWatching(tx, { ...ref, caller: call.caller }, watching), cardFor(call.caller)),
  ...cardFlowRoutes(app),
  ...worktreeRoutes(app),
  create: (input, call) =>
    startingWrite(
      app,
      call,
      tx => cards.create(tx, app.supervisor, { ...input, caller: call.caller }),
      cardFor(call.caller),
    ),
  getFlat: async ({ id }, call) => cardFor(call.caller)(await findFlat(app, id)),
  status: async ({ id }) => {
    const card = await findFlat(app, id)
    return {
      id: String(card.id),
      title: card.title,
      columnName: card.columnName,
      hasActiveAgent: hasActiveAgent(card),
      status: card.status,
      statusReason: card.statusReason,
    }
  },
})

const worktreeRoutes = (
  app: Pick<App, 'cleanup' | 'config' | 'db' | 'isAtWork' | 'supervisor' | 'worktrees'>,
): Pick<Handlers<Contract['cards']>, 'attachWorktree' | 'detachWorktree'> => ({
  attachWorktree: async ({ path, ...ref }, call) => {
    const project = await projects.find(app.db, ref.projectId)
    const { topLevel, branch = null } = await worktrees.requireWorktree(path, project)
    return call.write(tx => worktrees.attach(tx, ref, topLevel, branch), cardFor(call.caller))
  },
  detachWorktree: async ({ remove, ...ref }, call) => {
    if (!remove) return call.write(tx => worktrees.detach(tx, ref))
    const [card, project] = [await cards.find(app.db, ref), await projects.find(app.db, ref.projectId)]
    await removeUnneeded(app.worktrees, call.db, card, project, removalOf(app))
  },
})

const seenBy = (call: Call) => ({ ifMatch: call.ifMatch, caller: call.caller })

/** A page as JSON text. */
async function list(app: Pick<App, 'reads'>, input: ListInput): Promise<string> {
  if ((input.sort === undefined && !input.ready) || isColumnInOrder(input))
    return input.offset === undefined && input.sort === undefined
      ? listItemsJson(app.reads, input)
      : listColumnJson(app, { ...input, sort: undefined }, input.offset ?? 0)
  if (input.cursor !== undefined) throw invalid('cursor', 'requires the order by ID. Use offset')
  return listSortedJson(app.reads, input)
}

type ListInput = CardFilter & { sort?: Sort; offset?: number }

/** Returns whether a list is one unfiltered column, whose order is known without sorting. */
const isColumnInOrder = (input: ListInput): boolean =>
  input.sort === 'position' && input.columnId !== undefined && filteredBy(input) === undefined

/** Returns the name of a filter other than the column, if there is one. */
const filteredBy = ({
  projectId: _,
  columnId: _column,
  limit: _limit,
  sort: _sort,
  offset: _offset,
  ...others
}: ListInput) => Object.entries(others).find(([, value]) => value !== undefined && value !== false)?.[0]

/** A page of one column, in order, as JSON text. */
async function listColumnJson(app: Pick<App, 'reads'>, filter: ListInput, offset: number): Promise<string> {
  const { projectId, columnId, limit } = filter
  const otherFilter = filteredBy(filter)
  if (columnId === undefined || otherFilter)
    throw invalid(
      'offset',
      `is valid with sort, or with columnId and limit only${otherFilter ? `, not with ${otherFilter}` : ''}`,
    )
  const { id } = await cards.columnOfProject(app.reads, { projectId }, columnId)
  for (let reading = 1; ; reading++) {
    const ids = await orderedIds(app.reads, id, offset, limit)
    const page = await readItemsJson(app.reads, ids)
    const isOneState = page.length === ids.length && page.every(({ position }, place) => position === offset + place)
    if (isOneState || reading === maxReads)
      return `[${page.flatMap(card => (card.columnId === id ? card.json : [])).join(',')}]`
  }
}

/** The maximum number of reads of a page if cards are moved concurrently. */
const maxReads = 5

const findFlat = async (app: Pick<App, 'db'>, cardId: number) =>
  cards.find(app.db, { projectId: (await projectOfCard(app.db, cardId)) ?? 0, cardId })
