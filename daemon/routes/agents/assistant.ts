import type { App } from '../../../src/app.ts'
import * as assistant from '../../../src/agents/assistant.ts'
import type { Contract } from '../../../src/contract/index.ts'
import { readAssistantCard } from '../../../src/store/cards/cards.ts'
import { readLatestSession } from '../../../src/store/agents/sessions.ts'
import { agentSession, noSession } from '../../../src/views/agents.ts'
import type { Handlers } from '../../http/handlers.ts'

export const assistantRoutes = ({
  db,
  supervisor,
}: Pick<App, 'db' | 'supervisor'>): Handlers<Contract['assistant']> => ({
  get: async ({ projectId }) => {
    const card = await readAssistantCard(db, projectId)
    const session = card && (await readLatestSession(db, card.id))
    return session ? agentSession(session) : noSession(card?.id ?? null)
  },
  send: async ({ projectId, ...message }, call) => {
    await supervisor.refresh()
    return call.write(
      tx => assistant.send(tx, supervisor, projectId, call.caller, message),
      message => message,
    )
  },
})
