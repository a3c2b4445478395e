import { Problem } from '../../contract/errors.ts'
import { credentialFor } from '../../domain/credentials.ts'
import { ensureWorktree } from '../../domain/worktrees.ts'
import { mintAgentToken, maxTokenSecs } from '../../identity/agentTokens.ts'
import { readCard, type CardRow } from '../../store/cards.ts'
import { readProject, type ProjectRow } from '../../store/projects.ts'
import { retryWhileBusy } from '../../store/retry.ts'
import { updateSession, type SessionRow } from '../../store/sessions.ts'
import { AgentFailure, type AgentLaunch } from '../link/agentLink.ts'
import type { AgentProvider } from '../providers/builtInProviders.ts'
import type { AgentCredential } from '../providers/credentialEnvironment.ts'
import { prepareLaunch } from '../providers/prepareLaunch.ts'
import type { RunDependencies } from './runDependencies.ts'
import type { SessionRecord } from './sessionRecord.ts'

/** `remark` is a message for the transcript about the folder that the agent works in. */
export interface PreparedSession {
  launch: AgentLaunch
  remark: string | null
}

const withoutWorktree =
  "The project is in no Git repository, so the agent works in the project's folder itself, without a worktree."

/**
 * Prepares a session's launch: its worktree, its credential and its token.
 * @throws AgentFailure launch_failed, Problem of the store, RunStopped when the session was ended meanwhile
 */
export async function prepareSession(
  dependencies: RunDependencies,
  record: SessionRecord,
  session: SessionRow,
): Promise<PreparedSession> {
  const { db, config, url } = dependencies
  const [card, project] = await Promise.all([
    readCard(db, session.projectId, session.cardId),
    readProject(db, session.projectId),
  ])
  if (!card || !project) throw new AgentFailure('launch_failed', 'The card is not there any more.')
  const provider = session.purpose === 'terminal' ? null : await findProvider(dependencies, session.agent)
  const [{ cwd, remark }, credential] = [
    await retryWhileBusy(() => prepareFolder(dependencies, session, card, project)),
    await readCredential(dependencies, card, provider),
  ]
  const { token } = await retryWhileBusy(() =>
    db.transaction(async tx => {
      await record.requireOwnRow(tx)
      await updateSession(tx, session.id, { credentialId: credential?.id ?? null })
      return mintAgentToken(tx, { cardId: card.id, sessionId: session.id, ttlSecs: maxTokenSecs })
    }),
  )
  const launch = await prepareLaunch({
    provider,
    credential,
    cwd,
    dataDir: config.dataDir,
    board: { url, token, projectId: project.id, cardId: card.id },
    author: null,
    mode: session.purpose === 'pre' ? 'plan' : 'work',
  })
  return { launch, remark }
}

async function findProvider({ catalogue }: RunDependencies, id: string): Promise<AgentProvider> {
  const entries = await catalogue.list().catch((error: Error) => {
    throw new AgentFailure('launch_failed', error.message)
  })
  const entry = entries.find(({ provider }) => provider.id === id)
  if (!entry) throw new AgentFailure('launch_failed', `There is no agent ${id} any more.`)
  return entry.provider
}

async function prepareFolder(
  { db, config }: RunDependencies,
  session: SessionRow,
  card: CardRow,
  project: ProjectRow,
): Promise<{ cwd: string; remark: string | null }> {
  const { cwd, worktreePath, branch, baseCommit } = await ensureWorktree(db, card, project, config.dataDir).catch(
    error => {
      throw refusalAsLaunchFailure(error)
    },
  )
  await db.transaction(tx => updateSession(tx, session.id, { cwd, branch, baseCommit }))
  const lacksWorktree = session.purpose === 'work' && card.useWorktree === 1 && worktreePath === null
  return { cwd, remark: lacksWorktree ? withoutWorktree : null }
}

/** Only a credential that the agent takes is decrypted. */
async function readCredential(
  { db, deviceGrants }: RunDependencies,
  card: CardRow,
  provider: AgentProvider | null,
): Promise<AgentCredential | null> {
  const row = provider ? await credentialFor(db, card) : undefined
  if (!row || !provider?.credentials[row.provider]) return null
  const { kind, token } = await deviceGrants.secretOf(row).catch(error => {
    throw refusalAsLaunchFailure(error)
  })
  return { id: row.id, provider: row.provider, kind, token, baseUrl: row.baseUrl }
}

/** A refusal that a person can mend fails the launch with its own message. */
const refusalAsLaunchFailure = (error: unknown): unknown =>
  error instanceof Problem && error.status < 500 ? new AgentFailure('launch_failed', error.message, error) : error
