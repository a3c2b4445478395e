import type { App } from '../../src/app.ts'
import { InvalidConfig } from '../../src/agents/providers/configuredProviders.ts'
import { queryMessages } from '../../src/agents/transcript/messageQuery.ts'
import { commandFiles, merge } from '../../src/agents/slashCommands.ts'
import { Problem } from '../../src/contract/errors.ts'
import type { Contract } from '../../src/contract/index.ts'
import { isAdmin } from '../../src/domain/caller.ts'
import * as cards from '../../src/domain/cards.ts'
import { diffOf } from '../../src/domain/changes.ts'
import * as projects from '../../src/domain/projects.ts'
import { mintForPerson } from '../../src/identity/agentTokens.ts'
import {
  listActiveAgents,
  listAnnouncedCommands,
  listSessions,
  readLatestSession,
  readSession,
} from '../../src/store/sessions.ts'
import {
  activeAgent,
  agentSession,
  agentState,
  announcedCommands,
  noSession,
  provider,
  sessionSummary,
} from '../../src/views/agents.ts'
import type { Handlers } from '../http/handlers.ts'

type Reads = 'providers' | 'get' | 'sessions' | 'history' | 'messages' | 'active' | 'slashCommands' | 'token' | 'diff'

/** What is read of agents, and the tokens that people mint for them: like every answer with a token, they go past `call.write`. */
export const agentReads = ({ db, catalogue }: App): Handlers<Pick<Contract['agents'], Reads>> => ({
  providers: async (_, { caller }) =>
    (await catalogue.list().catch(unavailable)).map(entry => provider(entry, isAdmin(caller))),
  get: async ref => {
    const { id } = await cards.find(db, ref)
    const session = await readLatestSession(db, id)
    return session ? agentState(session) : { ...noSession(id), questions: [] }
  },
  sessions: async ref => (await listSessions(db, (await cards.find(db, ref)).id)).map(agentSession),
  history: async ref => (await listSessions(db, (await cards.find(db, ref)).id)).map(sessionSummary),
  messages: async ({ projectId, ...query }) => {
    await cards.find(db, { projectId, cardId: query.cardId })
    if (query.sessionId !== undefined && (await readSession(db, query.sessionId))?.cardId !== query.cardId)
      throw new Problem('SESSION_NOT_FOUND')
    return queryMessages(db, query)
  },
  active: async ({ projectId }) => (await listActiveAgents(db, projectId)).map(activeAgent),
  slashCommands: async ({ projectId }) => {
    const [project, announced] = await Promise.all([projects.find(db, projectId), listAnnouncedCommands(db, projectId)])
    return merge([...announced.flatMap(announcedCommands), ...(await commandFiles(project.path))])
  },
  token: ({ ttlSecs, ...ref }, { caller, db }) => db.transaction(tx => mintForPerson(tx, caller, ref, ttlSecs)),
  diff: async ref => diffOf(await cards.find(db, ref), await projects.find(db, ref.projectId)),
})

function unavailable(error: unknown): never {
  throw error instanceof InvalidConfig
    ? new Problem('AGENT_UNAVAILABLE', error.message, { cause: error, retryAfterSecs: 60 })
    : error
}
