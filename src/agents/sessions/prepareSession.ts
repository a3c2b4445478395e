import { Problem } from '../../contract/errors.ts'
import { credentialFor } from '../../domain/credentials.ts'
import { ensureWorktree } from '../../domain/worktrees.ts'
import { mintAgentToken, mostTokenSecs } from '../../identity/agentTokens.ts'
import { readCard, type CardRow } from '../../store/cards.ts'
import { retryWhileBusy } from '../../store/retry.ts'
import { readProject, type ProjectRow } from '../../store/projects.ts'
import { updateSession, type SessionRow } from '../../store/sessions.ts'
import type { AgentCredential } from '../providers/credentialEnvironment.ts'
import { prepareLaunch } from '../providers/prepareLaunch.ts'
import type { SessionParts } from './dependencies.ts'
import type { AgentProvider } from '../providers/builtInProviders.ts'
import { ownRow, Stopped, type Run } from './sessionContext.ts'
import { AgentFailure, type AgentLaunch } from '../link/agentLink.ts'

/** What is made ready for a session. `remark` is what a person should know of its place. */
export interface Prepared {
  launch: AgentLaunch
  remark: string | null
}

const withoutWorktree =
  "The project is in no Git repository, so the agent works in the project's folder itself, without a worktree."

/**
 * Makes ready what a session needs: its place to work, its credential and its token.
 * @throws AgentFailure launch_failed, Problem of the store, Stopped when the session has been ended meanwhile
 */
export async function prepare(run: Pick<Run, 'parts' | 'id' | 'isStopping'>, session: SessionRow): Promise<Prepared> {
  const { parts } = run
  const { db, config, url } = parts
  const [card, project] = await Promise.all([
    readCard(db, session.projectId, session.cardId),
    readProject(db, session.projectId),
  ])
  if (!card || !project) throw new AgentFailure('launch_failed', 'The card is not there any more.')
  const provider = session.purpose === 'terminal' ? null : await providerOf(parts, session.agent)
  const [{ cwd, remark }, credential] = [
    await retryWhileBusy(() => placeOf(parts, session, card, project)),
    await credentialOf(parts, card, provider),
  ]
  const { token } = await retryWhileBusy(() =>
    db.transaction(async tx => {
      if (!(await ownRow(run, tx))) throw new Stopped()
      await updateSession(tx, session.id, { credentialId: credential?.id ?? null })
      return mintAgentToken(tx, { cardId: card.id, sessionId: session.id, ttlSecs: mostTokenSecs })
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

async function providerOf({ catalogue }: SessionParts, id: string): Promise<AgentProvider> {
  const entries = await catalogue.list().catch((error: Error) => {
    throw new AgentFailure('launch_failed', error.message)
  })
  const entry = entries.find(({ provider }) => provider.id === id)
  if (!entry) throw new AgentFailure('launch_failed', `There is no agent ${id} any more.`)
  return entry.provider
}

async function placeOf(
  { db, config }: SessionParts,
  session: SessionRow,
  card: CardRow,
  project: ProjectRow,
): Promise<{ cwd: string; remark: string | null }> {
  const { cwd, worktreePath, branch, baseCommit } = await ensureWorktree(db, card, project, config.dataDir).catch(
    error => {
      throw explained(error)
    },
  )
  await db.transaction(tx => updateSession(tx, session.id, { cwd, branch, baseCommit }))
  const lacksWorktree = session.purpose === 'work' && card.useWorktree === 1 && worktreePath === null
  return { cwd, remark: lacksWorktree ? withoutWorktree : null }
}

/** Only a credential that the agent takes is opened. */
async function credentialOf(
  { db, deviceGrants }: SessionParts,
  card: CardRow,
  provider: AgentProvider | null,
): Promise<AgentCredential | null> {
  const row = provider ? await credentialFor(db, card) : undefined
  if (!row || !provider?.credentials[row.provider]) return null
  const { kind, token } = await deviceGrants.secretOf(row).catch(error => {
    throw explained(error)
  })
  return { id: row.id, provider: row.provider, kind, token, baseUrl: row.baseUrl }
}

/** What a person can mend is told as it is. */
const explained = (error: unknown): unknown =>
  error instanceof Problem && error.status < 500 ? new AgentFailure('launch_failed', error.message, error) : error
