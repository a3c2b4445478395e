import type { App } from '../../../src/app.ts'
import { cancel } from '../../../src/agents/sessions/sessionCommands.ts'
import type { Contract } from '../../../src/contract/index.ts'
import { withProofs } from '../../../src/cardWork/provedTrees.ts'
import * as cardMoves from '../../../src/domain/cards/cardMoves.ts'
import * as cards from '../../../src/domain/cards/cards.ts'
import { listBoards } from '../../../src/store/boards/boards.ts'
import { countCards } from '../../../src/store/cards/cardCounts.ts'
import { listExternalJson } from '../../../src/store/cards/cards.ts'
import { listProjectColumns } from '../../../src/store/boards/columns.ts'
import { readProjectTokens } from '../../../src/store/agents/sessions.ts'
import { externalBoards } from '../../../src/views/boards.ts'
import { externalCard } from '../../../src/views/cards.ts'
import { externalStats } from '../../../src/views/projects.ts'
import { Json, type Handlers } from '../../http/handlers.ts'

export const externalRoutes = (
  app: Pick<App, 'db' | 'merges' | 'reads' | 'supervisor' | 'worktrees'>,
): Handlers<Contract['external']> => ({
  boards: async ({ projectId }) =>
    externalBoards(await listBoards(app.reads, projectId), await listProjectColumns(app.reads, projectId)),
  // Not cached: caching a page of 45 kB costs an eighth of the board's time, and repeated requests for the same page are rare.
  list: async filter => {
    await app.merges.ofProject(filter.projectId)
    return new Json(await listExternalJson(app.db, filter))
  },
  create: (input, call) =>
    call.write(tx => cards.create(tx, app.supervisor, { ...input, caller: call.caller }, true), externalCard),
  get: async ref => {
    await app.merges.ofProject(ref.projectId)
    const { json, version } = await cards.findExternalJson(app.reads, ref)
    return new Json(json, version)
  },
  stats: async ({ projectId }) =>
    externalStats(await countCards(app.reads, projectId), await readProjectTokens(app.reads, projectId)),
  move: ({ projectId, cardId, targetColumnId, position, force }, call) => {
    const given = { projectId, cardId, kind: 'kanban' as const, ifMatch: call.ifMatch, caller: call.caller }
    const to = { columnId: targetColumnId, position, force }
    return withProofs(app, given, ref =>
      call.write(tx => cardMoves.move(tx, app.supervisor, ref, to, true), externalCard),
    )
  },
  archive: (ref, call) =>
    call.write(
      tx => cardMoves.archive(tx, app.supervisor, { ...ref, kind: 'kanban', caller: call.caller }),
      () => ({ ok: true as const }),
    ),
  cancelAgent: (ref, call) =>
    call.write(
      tx => cancel(tx, app.supervisor, { ...ref, kind: 'kanban' }),
      () => ({ ok: true as const }),
    ),
})
