import { whyNotStarted } from '../../src/client/agentStarts.ts'
import type { ApiFailure } from '../../src/client/failures.ts'
import { startsLater } from '../../src/boardModel/plan.ts'
import type { Card } from './cardApi.ts'
import type { Context } from '../context/context.ts'
import { shortSentence } from '../failures/report.ts'

/** The projects that use Git, or whose warning was already printed. */
const known = new WeakMap<Context, Set<string>>()

/** Warns after a move that no agent started, with the reason. */
export async function warnOfStart(context: Context, card: Card): Promise<void> {
  const { id, columnType, status } = card
  if (columnType !== 'active') return
  const reason = whyNotStarted(card)
  if (reason !== undefined)
    return context.out.warn(
      `card ${id} was moved, and no agent started: ${shortSentence(reason ?? 'the reason is unknown')} (see: ${whereToSee(card, reason)})`,
    )
  if (status === 'queued' || status === 'running') await warnOfFolder(context, card)
}

const whereToSee = ({ id, blocked, startAt }: Card, reason: string | null): string => {
  if (blocked) return `board cards block ${id}`
  if (startAt !== undefined && startsLater({ startAt }, Date.now())) return `board cards run ${id} --force`
  return reason?.startsWith('The budget of') ? 'board budgets list' : 'board agents providers'
}

/** Warns once per project without Git that agents work in the project folder although their cards request worktrees. */
export async function warnOfFolder(context: Context, card: Card): Promise<void> {
  const { id, projectId, gitBranch, kind, useWorktree } = card
  const seen = known.get(context) ?? known.set(context, new Set()).get(context)!
  if (gitBranch !== null || kind === 'terminal' || !useWorktree || seen.has(projectId)) return
  seen.add(projectId)
  const isOutsideGit = await context.client.agents.diff({ projectId, cardId: id }).then(
    () => false,
    (error: unknown) => (error as ApiFailure).code === 'NOT_A_GIT_REPOSITORY',
  )
  if (isOutsideGit)
    context.out.warn(
      `the project is not in a Git repository, so its agents work in the project folder, without worktrees (to change this: run git init, create a commit, and run board projects edit --path FOLDER)`,
    )
}
