import { Problem } from '../contract/errors.ts'
import { credentialFor } from '../domain/credentials.ts'
import { end, type Agents, type Ending } from '../domain/sessions.ts'
import { revokeAgentTokens } from '../identity/agentTokens.ts'
import type { Revocations } from '../identity/revocations.ts'
import { endLeftovers } from '../process/leftovers.ts'
import type { CardRow } from '../store/cards.ts'
import { readColumn } from '../store/columns.ts'
import type { Database, Reader, Transaction } from '../store/database.ts'
import { readProject } from '../store/projects.ts'
import { listOpenSessions, readSession, type SessionRow } from '../store/sessions.ts'
import { type Catalogue, type Chosen } from './catalogue.ts'
import { ConfigBroken } from './configured.ts'
import type { Log, SessionParts } from './preparation.ts'
import { createQueue } from './queue.ts'
import { startSession, type LiveSession } from './session.ts'

const retryMs = 1000
const interrupted: Ending = { status: 'interrupted', statusReason: 'server_restart', detail: 'The server stopped while the agent was at work.' }
const lost: Ending = { status: 'failed', statusReason: 'crashed', detail: 'The server lost the agent; its log tells more.' }

/** Runs the agents: what the rows of sessions say is what it starts and ends. */
export interface Supervisor extends Agents {
  catalogue: Catalogue
  /** Looks which agents there are, before a transaction that may choose one. */
  refresh(): Promise<void>
  /** The session of this id, if its agent runs here. */
  live(sessionId: number): LiveSession | undefined
  /** Takes up work: agents reach the server at this address. */
  start(url: string, log: Log): void
  /** Ends every agent; what was open becomes interrupted. Takes at most 8 s. */
  stop(): Promise<void>
}

type Parts = Pick<SessionParts, 'config' | 'db' | 'catalogue' | 'deviceGrants'> & { revocations: Revocations }

export function createSupervisor(parts: Parts): Supervisor {
  const { db, config, catalogue, revocations } = parts
  const running = new Map<number, LiveSession>()
  const queue = createQueue(config.agentSlots)
  let at: { url: string; log: Log } | undefined
  let isStopping = false
  let looking: Promise<void> | undefined
  let isNews = false

  const agents: Agents = {
    choose: (reader, card) => choose(catalogue, reader, card),
    revokeTokens: (tx, of) => revokeAgentTokens(revocations, tx, of),
    look: tx => tx.afterCommit(wake),
    ended: (tx, id) => tx.afterCommit(() => {
      void running.get(id)?.stop()
      wake()
    }),
  }
  const wake = () => {
    isNews = true
    if (at && !isStopping) looking ??= lookAll().finally(() => { looking = undefined })
  }
  const lookAll = async () => {
    while (isNews) {
      isNews = false
      await lookOnce().catch(error => {
        at!.log('error', 'Sessions could not be looked at.', { cause: error instanceof Error ? error.stack : String(error) })
        setTimeout(wake, retryMs).unref()
      })
    }
  }
  const lookOnce = async () => {
    const open = await listOpenSessions(db)
    const ids = new Set(open.map(({ id }) => id))
    for (const session of running.values()) if (!ids.has(session.id)) void session.stop()
    for (const { id, status } of open) if (status !== 'queued' && !running.has(id)) await db.transaction(tx => endLost(tx, id))
    queue.keep(open.filter(({ status }) => status === 'queued'))
    if (isStopping) return
    for (const { id } of queue.next([...running.values()])) launch(open.find(row => row.id === id)!)
  }
  /** Nothing runs for a session that says so: it must not say so any longer. */
  const endLost = async (tx: Transaction, id: number) => {
    const row = await readSession(tx, id)
    if (row && row.status !== 'queued' && !running.has(id) && !isStopping) await end(tx, agents, id, lost, true)
  }
  const launch = (row: SessionRow) => {
    const session = startSession({ ...parts, agents, ...at! }, row)
    running.set(row.id, session)
    void session.over.then(() => {
      running.delete(row.id)
      wake()
    })
  }

  return {
    ...agents, catalogue,
    refresh: async () => { await catalogue.list().catch(() => { /* Who chooses one is told. */ }) },
    live: id => running.get(id),
    start: (url, log) => {
      at = { url, log }
      wake()
    },
    stop: async () => {
      isStopping = true
      await looking
      await interruptAll(db, agents)
      await Promise.all([...running.values()].map(session => session.stop()))
    },
  }
}

/** At the start of a server: ends what an earlier one left running, and what was open becomes interrupted. */
export async function recover(db: Database, agents: Agents): Promise<void> {
  await endLeftovers(db)
  await interruptAll(db, agents)
}

const interruptAll = (db: Database, agents: Agents): Promise<void> => db.transaction(async tx => {
  for (const { id } of await listOpenSessions(tx)) await end(tx, agents, id, interrupted, true)
})

/** The agent for a card: the card's, its column's or its project's, else the one that fits the credential, else the first installed. */
async function choose(catalogue: Catalogue, db: Reader, card: CardRow): Promise<{ agent: string } | { missing: string }> {
  const [column, project, credential] = [await readColumn(db, card.columnId), await readProject(db, card.projectId), await credentialFor(db, card)]
  const wish = { card: card.agent, column: column?.agent, project: project?.agent, credential: credential?.provider }
  const { provider, missing } = await catalogue.choose(wish).catch((error): Chosen => {
    if (error instanceof ConfigBroken) return { missing: error.message }
    throw error
  })
  return provider ? { agent: provider.id } : { missing }
}

/** What starting an agent by hand needs. @throws Problem AGENT_UNAVAILABLE, saying what is missing */
export async function requireAgent({ choose }: Agents, db: Reader, card: CardRow): Promise<void> {
  const choice = card.kind === 'terminal' ? undefined : await choose(db, card)
  if (choice && 'missing' in choice) throw new Problem('AGENT_UNAVAILABLE', choice.missing)
}
