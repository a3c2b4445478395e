import { toSummary } from '../agents/transcript/lastMessage.ts'
import { readLastMessage } from '../agents/transcript/resumePrompt.ts'
import { Problem } from '../contract/errors.ts'
import { recordActivity } from '../domain/cards/activity.ts'
import * as branches from '../cardWork/branches.ts'
import * as pulls from '../domain/forges/pullRequests.ts'
import { workIn } from '../cardWork/repositoryWork.ts'
import type { Forge } from '../forge/forge.ts'
import type { CommentAnswer } from '../store/forges/pullRequests.ts'
import { readLatestSession } from '../store/agents/sessions.ts'
import { readContext, reportedKeys, type LoopDependencies, type PullRequestContext } from './loopDependencies.ts'
import { handToUsers } from './stopLoop.ts'

const maxAnswerLength = 10_000
const pushTimeoutMs = 5 * 60_000

/**
 * Sends the results of a resumed agent to the forge: its work, then its answers. Each step checks the current state first, so
 * that it can be repeated at any point.
 */
export async function bringToForge(
  dependencies: LoopDependencies,
  forge: Forge,
  request: PullRequestContext,
): Promise<void> {
  const { row } = request
  const { card, project } = await workIn(dependencies.db, request.card, request.project, row.repository)
  const reach = { ...(await dependencies.reachOf(project)), timeoutMs: pushTimeoutMs }
  const pushed = await branches
    .push(dependencies.worktrees, card, project, { force: true, expected: row.headCommit ?? undefined }, reach)
    .catch((error: unknown) => {
      if (error instanceof Problem && error.code === 'PUSH_REJECTED') return undefined
      throw error
    })
  if (pushed) await answerAll(dependencies, forge, request)
  await dependencies.db.transaction(async tx => {
    const present = await readContext(tx, row.id)
    if (!present) return
    if (!pushed)
      return void (await handToUsers(
        tx,
        dependencies,
        present,
        `The branch ${row.branch} was deleted or replaced on the forge since the board last read it. Nothing was overwritten.`,
      ))
    const { commit, branch, remote } = pushed
    if (pushed.pushed)
      recordActivity(tx, card.id, 'branch.pushed', [{ field: 'branch', from: null, to: `${remote}/${branch}` }])
    const after = await pulls.change(tx, present.row, {
      ...(present.row.phase === 'pushing' && { phase: 'watching', answers: '[]' }),
      pushedCommit: commit,
    })
    const isAsBefore = commit === row.headCommit && reportedKeys(row).some(key => key.endsWith(`@${commit}`))
    if (isAsBefore)
      await handToUsers(
        tx,
        dependencies,
        { ...present, row: after },
        'The agent has changed nothing, and the reported problems remain.',
      )
  })
}

/** Posts the agent's answers to comments. If some are missing, posts the agent's last message as one comment. */
async function answerAll({ db }: LoopDependencies, forge: Forge, { row, card }: PullRequestContext): Promise<void> {
  const answers = JSON.parse(row.answers) as CommentAnswer[]
  if (answers.length === 0 || row.number === null) return
  const account = await forge.account()
  const posted = (await forge.listPullComments(row.number)).filter(({ author }) => author === account)
  const post = async (text: string, to?: string) => {
    const body = asAnswer(text)
    if (posted.some(each => each.body.trim() === body && (to === undefined || each.inReplyTo !== null))) return
    await forge.commentOnPull(row.number!, body, to)
  }
  for (const { commentId, answer } of answers) if (answer !== null) await post(answer, commentId)
  if (answers.every(({ answer }) => answer !== null)) return
  const session = await readLatestSession(db, card.id)
  const summary = session ? toSummary(await readLastMessage(db, session)) : ''
  if (summary !== '') await post(summary)
}

/**
 * Some forges interpret a line that begins with a slash as a command, which the author of the log or the comment could have
 * injected.
 */
const asAnswer = (text: string): string =>
  text
    .trim()
    .slice(0, maxAnswerLength)
    .toWellFormed()
    .replace(/^(\s*)\//gm, '$1\\/')
