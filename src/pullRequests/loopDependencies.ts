import type { Supervisor } from '../agents/sessions/agentSupervisor.ts'
import type { RunCleanup } from '../cardWork/cleanup.ts'
import type { RemoteReach } from '../git/remoteGit.ts'
import { projectOfCard, readCard, type CardRow } from '../store/cards/cards.ts'
import type { Reader } from '../store/engine/database.ts'
import { readProject, type ProjectRow } from '../store/projects/projects.ts'
import { readPullRequestById, type PullRequestRow } from '../store/forges/pullRequests.ts'
import type { Webhooks } from '../webhooks/webhooks.ts'
import type { RefreshDependencies } from './refreshPullRequest.ts'
import type { Worktrees } from '../worktrees/worktrees.ts'

/** The dependencies of the loop that keeps an agent working on its pull request until it is merged. */
export interface LoopDependencies extends RefreshDependencies {
  agents: Supervisor
  webhooks: Pick<Webhooks, 'queueUserDelivery'>
  worktrees: Worktrees
  dataDir: string
  polling: { minMs: number; maxMs: number }
  /** Returns the means by which Git reaches the remote of a project. */
  reachOf(project: Pick<ProjectRow, 'forgeCredentialId'>): Promise<RemoteReach>
  runCleanup: RunCleanup
  /** Whether processes of an agent or of a preview might be running in a card's worktree. */
  isAtWork(cardId: number): boolean
}

/** A pull request with its card and project. */
export interface PullRequestContext {
  row: PullRequestRow
  card: CardRow
  project: ProjectRow
}

/** The current state of a pull request. Undefined if it or its card was deleted. */
export async function readContext(db: Reader, id: number): Promise<PullRequestContext | undefined> {
  const row = await readPullRequestById(db, id)
  const projectId = row && (await projectOfCard(db, row.cardId))
  const project = projectId === undefined ? undefined : await readProject(db, projectId)
  const card = project && row && (await readCard(db, project.id, row.cardId))
  return card ? { row, card, project } : undefined
}

/** The keys of the feedback that an agent has received, newest last. */
export const reportedKeys = ({ reported }: Pick<PullRequestRow, 'reported'>): string[] =>
  JSON.parse(reported) as string[]
