import type { App } from '../../../src/app.ts'
import type { cardFlow } from '../../../src/contract/cards/cardFlow.ts'
import { withProofs } from '../../../src/cardWork/provedTrees.ts'
import { edit } from '../../../src/domain/cards/cardEdits.ts'
import * as cardMoves from '../../../src/domain/cards/cardMoves.ts'
import { complete } from '../../../src/domain/cards/completion.ts'
import * as cards from '../../../src/domain/cards/cards.ts'
import { readPipeline, setPipeline } from '../../../src/domain/cards/pipeline.ts'
import { cardFor, pipeline } from '../../../src/views/cards.ts'
import type { Handlers } from '../../http/handlers.ts'
import { startingWrite } from './startingWrite.ts'

/** The routes that move a card through its columns and its pipeline. */
export const cardFlowRoutes = (app: Pick<App, 'db' | 'supervisor' | 'worktrees'>): Handlers<typeof cardFlow> => ({
  move: ({ projectId, cardId, ...to }, call) =>
    withProofs(app, { projectId, cardId, ifMatch: call.ifMatch, caller: call.caller }, ref =>
      startingWrite(app, call, tx => cardMoves.move(tx, app.supervisor, ref, to), cardFor(call.caller)),
    ),
  archive: (ref, call) =>
    call.write(tx => cardMoves.archive(tx, app.supervisor, { ...ref, caller: call.caller }), cardFor(call.caller)),
  unarchive: ({ force, ...ref }, call) =>
    startingWrite(
      app,
      call,
      tx => cardMoves.unarchive(tx, app.supervisor, { ...ref, caller: call.caller }, force),
      cardFor(call.caller),
    ),
  complete: ({ force, ...given }, call) =>
    withProofs(app, { ...given, caller: call.caller }, ref =>
      call.write(tx => complete(tx, app.supervisor, ref, force)),
    ),
  activate: ({ force, ...ref }, call) =>
    startingWrite(app, call, tx => cardMoves.activate(tx, app.supervisor, { ...ref, caller: call.caller }, force)),
  setAutoMode: ({ enabled, ...ref }, call) =>
    startingWrite(
      app,
      call,
      tx => edit(tx, app.supervisor, { ...ref, caller: call.caller }, { autoMode: enabled }),
      cardFor(call.caller),
    ),
  getPipeline: async ref => pipeline(await readPipeline(app.db, await cards.find(app.db, ref))),
  setPipeline: ({ steps, ...ref }, call) =>
    call.write(tx => setPipeline(tx, { ...ref, caller: call.caller }, steps), pipeline),
})
