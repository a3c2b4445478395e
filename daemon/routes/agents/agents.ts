import type { App } from '../../../src/app.ts'
import { InvalidConfig } from '../../../src/agents/providers/configuredProviders.ts'
import { queryMessages } from '../../../src/agents/transcript/messageQuery.ts'
import { merge } from '../../../src/agents/slashCommands.ts'
import { listSlashCommands } from '../../../src/worktrees/projectFiles.ts'
import { Problem } from '../../../src/contract/errors.ts'
import type { Contract } from '../../../src/contract/index.ts'
import { isAdmin } from '../../../src/domain/accounts/caller.ts'
import * as cards from '../../../src/domain/cards/cards.ts'
import { compareWork } from '../../../src/cardWork/changes.ts'
import { checkFiles } from '../../../src/cardWork/mergeChecks.ts'
import * as projects from '../../../src/domain/projects/projects.ts'
import { workIn } from '../../../src/cardWork/repositoryWork.ts'
import { startOf } from '../../../src/cardWork/reviews.ts'
import { mintForPerson } from '../../../src/identity/agentTokens.ts'
import { listOffers, type OffersRow } from '../../../src/store/agents/agentOffers.ts'
import { listAskedMonitors } from '../../../src/store/automation/monitors.ts'
import {
  listActiveAgents,
  listAnnouncedCommands,
  listSessions,
  readLatestSession,
  readSession,
} from '../../../src/store/agents/sessions.ts'
import {
  activeAgent,
  agentSession,
  agentState,
  announcedCommands,
  noSession,
  question,
  sessionSummary,
} from '../../../src/views/agents.ts'
import { monitorRequest } from '../../../src/views/monitors.ts'
import { provider } from '../../../src/views/agentCatalogue.ts'
import type { Reader } from '../../../src/store/engine/database.ts'
import { noDiff } from '../../../src/worktrees/comparison.ts'
import type { Handlers } from '../../http/handlers.ts'

type Reads =
  | 'providers'
  | 'sandbox'
  | 'check'
  | 'get'
  | 'wait'
  | 'sessions'
  | 'history'
  | 'messages'
  | 'active'
  | 'slashCommands'
  | 'token'
  | 'diff'

/** The read routes of agents, and minting of tokens, which bypasses `call.write` like every response with a token. */
export const agentReads = ({
  db,
  catalogue,
  sandbox,
  worktrees,
  agentChecks,
  cardWaits,
}: Pick<App, 'db' | 'catalogue' | 'sandbox' | 'worktrees' | 'agentChecks' | 'cardWaits'>): Handlers<
  Pick<Contract['agents'], Reads>
> => ({
  providers: async (_, { caller }) => {
    const [entries, offers] = [await catalogue.list().catch(throwUnavailable), await listOffers(db, db.host ?? '')]
    return entries.map(entry => provider(entry, offersOf(offers, entry), agentChecks.isRunning, isAdmin(caller)))
  },
  sandbox: () => sandbox.status(),
  check: async ({ agent, ...request }, { caller }) =>
    agentChecks.start(caller, { agent, ...request }).catch(throwUnavailable),
  get: async ref => stateOf(db, (await cards.find(db, ref)).id),
  wait: async ({ timeoutSecs, ...ref }, { caller, signal }) => {
    const outcome = await cardWaits.until(caller, ref, timeoutSecs * 1000, signal)
    return { outcome, ...(await stateOf(db, (await cards.find(db, ref)).id)) }
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
    return merge([...announced.flatMap(announcedCommands), ...(await listSlashCommands(worktrees, project))])
  },
  token: ({ ttlSecs, ...ref }, { caller, db }) => db.transaction(tx => mintForPerson(tx, caller, ref, ttlSecs)),
  diff: async ({ since, repository, ...ref }) => {
    const [found, inProject] = [await cards.find(db, ref), await projects.find(db, ref.projectId)]
    const { card, project } = await workIn(db, found, inProject, repository)
    const start = since === undefined ? undefined : await startOf(db, ref, since, repository)
    const comparison = await compareWork(worktrees, card, project, { since: start })
    if (comparison) await checkFiles(db, found, repository, comparison)
    return { ...(comparison?.work ?? noDiff), snapshot: comparison?.snapshot ?? null }
  },
})

/** Returns a card's latest session, and the questions of its agent and monitors. */
async function stateOf(db: Reader, cardId: number) {
  const [session, monitors] = [await readLatestSession(db, cardId), await listAskedMonitors(db, cardId)]
  const state = session ? agentState(session) : { ...noSession(cardId), questions: [] }
  const questions = [...state.questions, ...monitors.map(monitorRequest).map(question)]
  return { ...state, waitingFor: state.waitingFor ?? questions[0]?.title ?? null, questions }
}

const offersOf = (offers: readonly OffersRow[], { provider: { id } }: { provider: { id: string } }) =>
  offers.find(({ agent, profile }) => agent === id && profile === '')

function throwUnavailable(error: unknown): never {
  throw error instanceof InvalidConfig
    ? new Problem('AGENT_UNAVAILABLE', error.message, { cause: error, retryAfterSecs: 60 })
    : error
}
