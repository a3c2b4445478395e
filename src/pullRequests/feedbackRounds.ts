import { retry, send } from '../agents/sessions/sessionCommands.ts'
import { Problem } from '../contract/errors.ts'
import { projectRole } from '../domain/accounts/access.ts'
import type { Caller } from '../domain/accounts/caller.ts'
import * as pulls from '../domain/forges/pullRequests.ts'
import { findOpen } from '../domain/agents/sessions.ts'
import { isHeld } from '../domain/forges/pullRequestPhases.ts'
import { mayStart } from '../domain/cards/startPermission.ts'
import { presentMaker } from '../identity/makers.ts'
import { bySystem, insertAuditRow } from '../store/server/audit.ts'
import type { Transaction } from '../store/engine/database.ts'
import { forgeOf } from '../store/projects/projects.ts'
import { readPullRequestById, type PullRequestRow } from '../store/forges/pullRequests.ts'
import { listOpenOfCard } from '../store/forges/pullRequestReads.ts'
import { readLatestSession } from '../store/agents/sessions.ts'
import { hasActiveAgent } from '../views/cards.ts'
import { canResume, decideTurnEnd } from './decidePullRequest.ts'
import { readContext, reportedKeys, type LoopDependencies, type PullRequestContext } from './loopDependencies.ts'
import { handToUsers } from './stopLoop.ts'

const maxReported = 500

/** The input of an agent's round: its keys, its message, and the comments to answer. */
export interface Round {
  keys: readonly string[]
  commentIds: readonly string[]
  message(round: { at: number; of: number }): string
}

/** Codes of temporary problems, after which the round starts later. */
const passing: readonly string[] = ['BUDGET_EXHAUSTED', 'CARD_BLOCKED', 'AGENT_ALREADY_RUNNING', 'SHUTTING_DOWN']

/**
 * Resumes a card's agent on its pull request, with the permissions of the user who opened it, and records the sent feedback in the same
 * transaction. If that is impossible, the round is left to users or postponed, with the reason.
 */
export async function beginRound(dependencies: LoopDependencies, id: number, round: Round): Promise<void> {
  const { db, agents } = dependencies
  await agents.refresh()
  try {
    await db.transaction(tx => startRound(tx, dependencies, id, round))
  } catch (error) {
    if (!(error instanceof Problem) || error.status >= 500) throw error
    await db.transaction(async tx => {
      const request = await readContext(tx, id)
      if (!request) return
      if (passing.includes(error.code)) await pulls.change(tx, request.row, { problem: error.message })
      else await handToUsers(tx, dependencies, request, `The agent could not continue with it: ${error.message}`)
    })
  }
}

async function startRound(tx: Transaction, dependencies: LoopDependencies, id: number, round: Round): Promise<void> {
  const request = await readContext(tx, id)
  if (
    !request ||
    !canResume(request.row, hasActiveAgent(request.card)) ||
    round.keys.every(key => reportedKeys(request.row).includes(key))
  )
    return
  const { row, card, project } = request
  const { maxRounds } = forgeOf(project)
  if (row.rounds >= maxRounds)
    return void (await handToUsers(
      tx,
      dependencies,
      request,
      `The agent has worked on it ${maxRounds === 1 ? 'once' : `${maxRounds} times`} without success.`,
    ))
  const maker = await findMaker(tx, request)
  if (typeof maker === 'string') return void (await handToUsers(tx, dependencies, request, maker))
  const at = { at: row.rounds + 1, of: maxRounds }
  const ref = { projectId: card.projectId, cardId: card.id, caller: maker }
  await send(tx, dependencies.agents, ref, { content: round.message(at), attachmentIds: [] })
  await pulls.change(tx, row, {
    phase: 'working',
    rounds: at.at,
    reported: JSON.stringify([...reportedKeys(row), ...round.keys].slice(-maxReported)),
    answers: JSON.stringify(round.commentIds.map(commentId => ({ commentId, answer: null }))),
    problem: null,
  })
  const reason = `pull request #${row.number}`
  insertAuditRow(tx, bySystem('agents.continue', { kind: 'card', id: card.id }, reason))
}

/** Applies the end of the resumed agent's turn: pushes its work, resumes the agent, or leaves a decision to users. */
export async function endTurn(dependencies: LoopDependencies, id: number): Promise<PullRequestRow | undefined> {
  await dependencies.agents.refresh()
  return dependencies.db.transaction(async tx => {
    const request = await readContext(tx, id)
    if (!request) return undefined
    const { row, card } = request
    if (row.phase !== 'working' || (await findOpen(tx, card.id))) return row
    const end = decideTurnEnd(await readLatestSession(tx, card.id))
    if (end.next === 'push') {
      await pushOtherRepositories(tx, row)
      return pulls.change(tx, row, { phase: 'pushing' })
    }
    const maker = end.next === 'retry' ? await findMaker(tx, request) : end.reason
    if (typeof maker === 'string') return handToUsers(tx, dependencies, request, maker)
    await retry(tx, dependencies.agents, { projectId: card.projectId, cardId: card.id, caller: maker })
    return row
  })
}

/** An agent can fix feedback about one repository in another repository that is also under review. */
async function pushOtherRepositories(tx: Transaction, { id, cardId }: PullRequestRow): Promise<void> {
  for (const other of await listOpenOfCard(tx, cardId)) {
    const row = other.id === id ? undefined : await readPullRequestById(tx, other.id)
    if (row?.state === 'open' && row.phase === 'watching')
      await pulls.change(tx, row, { phase: 'pushing', nextReadAt: isHeld(row, tx.now) ? row.nextReadAt : tx.now })
  }
}

/** The user who opened a pull request as a caller, or why its agent cannot continue with their permissions. */
export async function findMaker(
  tx: Transaction,
  { row: { makerUserId, makerKeyId }, card }: Pick<PullRequestContext, 'row' | 'card'>,
): Promise<Caller | string> {
  if (makerUserId === null) return 'No user opened the pull request, so its agent has no rights to continue.'
  const maker = { makerUserId, makerKeyId }
  const { caller, name, gone } = await presentMaker(tx, maker, card.projectId, tx.now, 'opened it')
  if (!caller) return gone!
  const role = await projectRole(tx, caller, card.projectId)
  if (role === undefined || role === 'viewer') return `${name} can no longer work in this project.`
  return mayStart(caller, card.kind) ? caller : `${name} cannot run agents.`
}
