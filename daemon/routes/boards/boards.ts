import type { App } from '../../../src/app.ts'
import { createKeyedQueue } from '../../../src/async/serialQueue.ts'
import type { Contract } from '../../../src/contract/index.ts'
import * as boards from '../../../src/domain/boards/boards.ts'
import { listBoards } from '../../../src/store/boards/boards.ts'
import { purgeTranscripts } from '../../../src/store/agents/transcripts.ts'
import { board } from '../../../src/views/boards.ts'
import type { Handlers } from '../../http/handlers.ts'

export function boardsRoutes(app: Pick<App, 'config' | 'db' | 'reads' | 'supervisor'>): Handlers<Contract['boards']> {
  // Serializes deletions of a project's boards, so that its last board and its transcripts are kept.
  const queue = createKeyedQueue()
  return {
    list: async ({ projectId }) => (await listBoards(app.reads, projectId)).map(board),
    create: ({ projectId, ...input }, call) =>
      call.write(tx => boards.create(tx, call.caller, projectId, input), board),
    reorder: ({ projectId, ids }, call) =>
      call.write(
        tx => boards.reorder(tx, projectId, ids),
        rows => rows.map(board),
      ),
    update: ({ projectId, boardId, ...change }, call) =>
      call.write(tx => boards.update(tx, projectId, boardId, change), board),
    delete: (ref, call) =>
      queue(String(ref.projectId), async () => {
        await boards.findRemovable(app.db, ref)
        await purgeTranscripts(app.db, { boardId: ref.boardId })
        return call.write(tx => boards.remove(tx, app.supervisor, { ...ref, caller: call.caller }))
      }),
  }
}
