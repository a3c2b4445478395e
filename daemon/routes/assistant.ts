import type { App } from '../../src/app.ts'
import * as assistant from '../../src/agents/assistant.ts'
import type { Contract } from '../../src/contract/index.ts'
import { readAssistantCard } from '../../src/store/cards.ts'
import { readLatestSession } from '../../src/store/sessions.ts'
import { agentSession, noSession } from '../../src/views/agents.ts'
import type { Handlers } from '../handlers.ts'

export const assistantRoutes = ({ db, supervisor }: App): Handlers<Contract['assistant']> => ({
  get: async ({ projectId }) => {
    const { id } =
      (await readAssistantCard(db, projectId)) ?? (await db.transaction(tx => assistant.findAssistant(tx, projectId)))
    const session = await readLatestSession(db, id)
    return session ? agentSession(session) : noSession(id)
  },
  send: async ({ projectId, content }, call) => {
    await supervisor.refresh()
    return call.write(
      tx => assistant.send(tx, supervisor, projectId, call.caller, content),
      message => message,
    )
  },
})
