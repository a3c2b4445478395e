import type { App } from '../../../src/app.ts'
import { queryMessages } from '../../../src/agents/transcript/messageQuery.ts'
import * as preSessions from '../../../src/agents/preSessions.ts'
import type { Contract } from '../../../src/contract/index.ts'
import { listPreSessions } from '../../../src/store/agents/sessions.ts'
import { cardFor } from '../../../src/views/cards.ts'
import type { Handlers } from '../../http/handlers.ts'

const maxMessages = 1000

export const preSessionsRoutes = ({
  db,
  supervisor,
}: Pick<App, 'db' | 'supervisor'>): Handlers<Contract['preSessions']> => ({
  list: async ({ projectId, limit, cursor }) =>
    preSessions.preSessionPage(await listPreSessions(db, projectId, { before: cursor, limit })),
  start: async (ref, call) => {
    await supervisor.refresh()
    return call.write(
      tx => preSessions.start(tx, supervisor, { ...ref, caller: call.caller }),
      preSessions.preSessionView,
    )
  },
  get: async ref => preSessions.preSessionView(await preSessions.find(db, ref)),
  send: ({ content, attachmentIds, ...ref }, call) =>
    call.write(
      tx => preSessions.send(tx, supervisor, { ...ref, caller: call.caller }, { content, attachmentIds }),
      message => message,
    ),
  accept: (ref, call) =>
    call.write(tx => preSessions.accept(tx, supervisor, { ...ref, caller: call.caller }), cardFor(call.caller)),
  cancel: (ref, call) => call.write(tx => preSessions.cancel(tx, supervisor, ref)),
  messages: async ref => {
    const { id, cardId } = await preSessions.find(db, ref)
    return queryMessages(db, { cardId, sessionId: id, limit: maxMessages })
  },
})
