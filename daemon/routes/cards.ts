import type { App } from '../../src/app.ts'
import { invalid } from '../../src/contract/errors.ts'
import type { Contract } from '../../src/contract/index.ts'
import { edit } from '../../src/domain/cardEdits.ts'
import * as cardMoves from '../../src/domain/cardMoves.ts'
import * as cardRemoval from '../../src/domain/cardRemoval.ts'
import * as cards from '../../src/domain/cards.ts'
import { requireTakenOnCard } from '../../src/domain/credentials.ts'
import { readPipeline, setPipeline } from '../../src/domain/pipeline.ts'
import * as projects from '../../src/domain/projects.ts'
import * as worktrees from '../../src/domain/worktrees.ts'
import { currentBranch } from '../../src/git/repository.ts'
import { listItemsJson, listReadyJson, projectOfCard, readItemsJson, type CardFilter } from '../../src/store/cards.ts'
import type { Transaction } from '../../src/store/database.ts'
import { orderedIds } from '../../src/store/order.ts'
import { cardDetail, hasActiveAgent, pipeline } from '../../src/views/cards.ts'
import { Json, type Call, type Handlers } from '../http/handlers.ts'

export const cardsRoutes = (app: App): Handlers<Contract['cards']> => ({
  list: async input =>
    new Json(
      input.ready
        ? await listReadyJson(app.db, input)
        : input.offset === undefined
          ? await listItemsJson(app.db, input)
          : await listColumnJson(app, input, input.offset),
    ),
  get: async ref => cardDetail(await cards.find(app.db, ref)),
  update: ({ projectId, cardId, ...change }, call) =>
    call.write(async tx => {
      const card = await edit(tx, app.supervisor, { projectId, cardId, ...seen(call) }, change)
      if (change.agent || change.profile)
        await requireTakenOnCard(tx, app.supervisor, card, change.agent ? 'agent' : 'profile')
      return card
    }, cardDetail),
  delete: async ({ force, ...ref }, call) => {
    await worktrees.requireNothingLost(await cards.find(app.db, ref), force, app.config.dataDir)
    return call.write(tx => cardRemoval.remove(tx, app.supervisor, ref, force), nothing)
  },
  restore: (ref, call) => call.write(tx => cardRemoval.restore(tx, app.supervisor, ref), cardDetail),
  view: (ref, call) => call.write(tx => cards.view(tx, ref), nothing),
  move: ({ projectId, cardId, ...to }, call) =>
    write(app, call, tx => cardMoves.move(tx, app.supervisor, { projectId, cardId, ...seen(call) }, to), cardDetail),
  archive: (ref, call) => call.write(tx => cardMoves.archive(tx, app.supervisor, ref), cardDetail),
  unarchive: (ref, call) => call.write(tx => cardMoves.unarchive(tx, app.supervisor, ref), cardDetail),
  complete: (ref, call) => call.write(tx => cardMoves.complete(tx, app.supervisor, ref), nothing),
  activate: ({ force, ...ref }, call) =>
    write(app, call, tx => cardMoves.activate(tx, app.supervisor, { ...ref, caller: call.caller }, force), nothing),
  setAutoMode: ({ enabled, ...ref }, call) =>
    call.write(tx => cards.update(tx, { ...ref, caller: call.caller }, { autoMode: enabled }), cardDetail),
  getPipeline: async ref => pipeline(await readPipeline(app.db, await cards.find(app.db, ref))),
  setPipeline: ({ steps, ...ref }, call) =>
    call.write(tx => setPipeline(tx, { ...ref, caller: call.caller }, steps), pipeline),
  attachWorktree: async ({ path, ...ref }, call) => {
    const real = await worktrees.requireWorktree(path, (await projects.find(app.db, ref.projectId)).path)
    const branch = await currentBranch(real)
    return call.write(tx => worktrees.attach(tx, ref, real, branch), cardDetail)
  },
  detachWorktree: (ref, call) => call.write(tx => worktrees.detach(tx, ref), nothing),
  create: (input, call) =>
    write(app, call, tx => cards.create(tx, app.supervisor, { ...input, caller: call.caller }), cardDetail),
  getFlat: async ({ id }) => cardDetail(await findFlat(app, id)),
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

const nothing = () => undefined
const seen = (call: Call) => ({ ifMatch: call.ifMatch, caller: call.caller })

/** A page of one column, in order, as JSON text. */
async function listColumnJson(app: App, filter: CardFilter, offset: number): Promise<string> {
  const { projectId, columnId, limit, ...others } = filter
  const beside = Object.entries(others).find(
    ([name, value]) => name !== 'offset' && value !== undefined && value !== false,
  )
  if (columnId === undefined || beside)
    throw invalid('offset', `goes with columnId and limit only${beside ? `, not with ${beside[0]}` : ''}`)
  const { id } = await cards.columnOfProject(app.db, { projectId }, columnId)
  for (let reading = 1; ; reading++) {
    const ids = await orderedIds(app.db, id, offset, limit)
    const page = await readItemsJson(app.db, ids)
    const isOneState = page.length === ids.length && page.every(({ position }, place) => position === offset + place)
    if (isOneState || reading === maxReads)
      return `[${page.flatMap(card => (card.columnId === id ? card.json : [])).join(',')}]`
  }
}

/** How often a page is read again when cards were moved meanwhile. */
const maxReads = 5

const findFlat = async (app: App, cardId: number) =>
  cards.find(app.db, { projectId: (await projectOfCard(app.db, cardId)) ?? 0, cardId })

/** A write that may start an agent, for which the catalogue is refreshed first. */
async function write<T, O>(
  { supervisor }: App,
  call: Call,
  work: (tx: Transaction) => Promise<T>,
  present: (result: T) => O,
): Promise<O> {
  await supervisor.refresh()
  return call.write(work, present)
}
