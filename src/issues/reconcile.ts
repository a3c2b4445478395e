import type { PullRequestSummary } from '../contract/forges/pullRequestRecords.ts'
import { changeCard } from '../domain/cards/cardChanges.ts'
import { move } from '../domain/cards/cardMoves.ts'
import { complete } from '../domain/cards/completion.ts'
import { find, update } from '../domain/cards/cards.ts'
import { ForgeFailed, type ForgeIssue } from '../forge/forge.ts'
import {
  readCardIssueById,
  updateCardIssue,
  type CardIssueChange,
  type CardIssueRow,
} from '../store/cards/cardIssues.ts'
import { readCard, type CardRow } from '../store/cards/cards.ts'
import { listColumns } from '../store/boards/columns.ts'
import type { Transaction } from '../store/engine/database.ts'
import { exchangeComments, isOwn, newToken, type Listed } from './comments.ts'
import { decideIssuePhase, type Decision } from './decideIssuePhase.ts'
import { performActions, type Action } from './performActions.ts'
import { showIssue } from './showIssue.ts'
import { cardTexts, closingBody, digestOf, isLabel, tokenIn } from './texts.ts'
import type { IssueDependencies, IssueSync } from './issueDependencies.ts'

/** If one side changes while the other is updated, they are compared again, up to this number of times in a row. */
const maxRounds = 3
/**
 * How often an open issue is checked without a trigger, because its comments might have changed, or it might have been deleted.
 */
const recheckMs = 6 * 3_600_000
/** Forges report times in whole seconds, so a later check detects two changes within one second. */
const [sameTimeMs, secondLookMs] = [3000, 5000]

/**
 * Compares an issue with its card, and applies the changes of each to the other. All decisions follow from the current states and
 * the states at the last comparison, in one transaction that records the updates for the forge. Then the updates are sent. A
 * server that is killed at any point repeats this, and detects its own changes.
 * @param given the issue as just read
 * @throws ForgeFailed
 */
export async function reconcile(
  dependencies: IssueDependencies,
  sync: IssueSync,
  id: number,
  given?: ForgeIssue,
): Promise<void> {
  for (let round = 0; round < maxRounds; round++) {
    const before = await readCardIssueById(dependencies.db, id)
    if (!before?.cardId) return
    const issue = round === 0 && given ? given : await read(dependencies, sync, before)
    if (issue === undefined) return
    const listed = await listComments(sync, before)
    const compared = await dependencies.db.transaction(
      tx => compareIssue(tx, dependencies, sync, { id, issue, listed }),
      sync.actor,
    )
    if (compared.actions.length === 0) return
    await performActions(dependencies, sync, compared.issue, compared.actions)
    if (await markSynced(dependencies, sync, compared.issue)) return
  }
}

/** The current issue. Undefined if it was deleted. */
async function read(
  dependencies: IssueDependencies,
  sync: IssueSync,
  before: CardIssueRow,
): Promise<ForgeIssue | undefined> {
  try {
    return await sync.forge.readIssue(before.number)
  } catch (error) {
    if (!(error instanceof ForgeFailed) || error.reason !== 'missing') throw error
    // "missing" can also mean that the token has lost access to the repository. Then this call throws.
    await sync.forge.repository()
    await dependencies.db.transaction(tx => markMissing(tx, sync, before.id), sync.actor)
    return undefined
  }
}

/** Marks an issue as missing. Its card stays. */
async function markMissing(tx: Transaction, sync: IssueSync, id: number): Promise<void> {
  const issue = await readCardIssueById(tx, id)
  if (!issue) return
  updateCardIssue(tx, id, { phase: 'missing', dueAt: null, failures: 0, problem: null })
  const card = issue.cardId === null ? undefined : await readCard(tx, issue.projectId, issue.cardId)
  if (card && (await showIssue(tx, card, { ...issue, state: 'missing' }))) sync.tally.updated++
}

async function listComments(
  { forge, settings }: IssueSync,
  { number, phase }: CardIssueRow,
): Promise<Listed | undefined> {
  if (!settings.issueComments && phase !== 'closing') return undefined
  const comments = await forge.listIssueComments(number)
  const isMarked = comments.some(({ body }) => tokenIn(body) !== undefined)
  return { comments, account: isMarked ? await forge.account() : undefined }
}

interface Compared {
  issue: CardIssueRow
  actions: Action[]
}

async function compareIssue(
  tx: Transaction,
  dependencies: IssueDependencies,
  sync: IssueSync,
  { id, issue, listed }: { id: number; issue: ForgeIssue; listed: Listed | undefined },
): Promise<Compared> {
  const seen = (await readCardIssueById(tx, id))!
  const card = seen.cardId === null ? undefined : await readCard(tx, seen.projectId, seen.cardId)
  // Without its label, an issue is not synchronized: neither side follows the other until it has the label again.
  if (!card || !issue.labels.some(each => isLabel(each, sync.settings.issueLabel))) {
    updateCardIssue(tx, id, syncedFields(tx, { ...seen, phase: 'closedElsewhere' }))
    return { issue: seen, actions: [] }
  }
  const decision = decideIssuePhase({ ...seen, done: seen.done === 1 }, { state: issue.state, ...stateOf(card) })
  const texts = await followTexts(tx, dependencies, sync, { card, seen, issue })
  const isMoved = await moveCard(tx, dependencies, card, decision)
  const shown = { number: seen.number, url: issue.url, state: issue.state }
  const isShown = await showIssue(tx, await find(tx, { projectId: card.projectId, cardId: card.id }), shown)
  if (texts.changed || isMoved || isShown) sync.tally.updated++
  const comments =
    sync.settings.issueComments && listed ? await exchangeComments(tx, sync, { issue: seen, card, listed }) : []
  const after = await find(tx, { projectId: card.projectId, cardId: card.id })
  const token = decision.phase === 'closing' && seen.phase !== 'closing' ? newToken() : seen.token
  updateCardIssue(tx, id, {
    title: texts.title,
    promptDigest: texts.promptDigest,
    url: issue.url,
    changedAt: issue.updatedAt,
    seenAt: issue.updatedAt === seen.changedAt ? seen.seenAt : tx.now,
    phase: decision.phase,
    ...(({ done, merged }) => ({ done, merged }))(stateOf(after)),
    token,
    passesComments: seen.passesComments === 1 && !listed,
  })
  const actions = [...comments, ...stateActions(decision, { card: after, token, seen, listed })]
  const row = (await readCardIssueById(tx, id))!
  if (actions.length === 0) updateCardIssue(tx, id, syncedFields(tx, row))
  return { issue: row, actions }
}

const pullRequestOf = ({ pullRequest }: CardRow): PullRequestSummary | null =>
  pullRequest === null ? null : (JSON.parse(pullRequest) as PullRequestSummary)

function stateOf(card: CardRow): { done: boolean; merged: number | null; begun: boolean } {
  const pull = pullRequestOf(card)
  return {
    done: card.doneAt !== null,
    merged: pull?.state === 'merged' ? pull.number : null,
    begun: card.startedAt !== null || card.status !== 'idle',
  }
}

/**
 * Updates a card's texts from its issue, unless a user has changed them here or taken up the card, so that an agent starts with
 * the text that the user read.
 */
async function followTexts(
  tx: Transaction,
  { agents }: IssueDependencies,
  sync: IssueSync,
  { card, seen, issue }: { card: CardRow; seen: CardIssueRow; issue: ForgeIssue },
): Promise<{ title: string; promptDigest: string; changed: boolean }> {
  const { title, prompt } = cardTexts(issue, { label: sync.settings.issueLabel, forgeName: sync.name })
  const promptDigest = digestOf(prompt)
  const isTakenUp =
    stateOf(card).begun || card.deferred === 0 || card.pullable === 1 || card.autoMode === 1 || card.startAt !== null
  const change = {
    ...(title !== seen.title && card.title === seen.title && { title }),
    ...(promptDigest !== seen.promptDigest && digestOf(card.prompt) === seen.promptDigest && { prompt }),
  }
  const changed = !isTakenUp && Object.keys(change).length > 0
  if (changed) await update(tx, agents, { projectId: card.projectId, cardId: card.id }, change)
  return { title, promptDigest, changed }
}

/**
 * Moves a card to done, or from there to the backlog, where nothing starts it, because a stranger might have reopened the issue.
 */
async function moveCard(
  tx: Transaction,
  { agents }: IssueDependencies,
  card: CardRow,
  { card: how }: Decision,
): Promise<boolean> {
  if (how === null) return false
  const type = how === 'finish' ? 'done' : 'backlog'
  const column = (await listColumns(tx, card.boardId)).find(({ columnType }) => columnType === type)
  if (!column) return false
  const ref = { projectId: card.projectId, cardId: card.id }
  if (how === 'finish') await complete(tx, agents, ref, true)
  else {
    const moved = await move(tx, agents, ref, { columnId: column.id, force: true }, true)
    await changeCard(tx, moved, { deferred: true, pullable: false })
  }
  return true
}

function stateActions(
  { phase }: Decision,
  {
    card,
    token,
    seen,
    listed,
  }: { card: CardRow; token: string | null; seen: CardIssueRow; listed: Listed | undefined },
): Action[] {
  if (phase === 'reopening') return [{ kind: 'reopen' }]
  if (phase !== 'closing') return []
  const isSaid = seen.phase === 'closing' && listed?.comments.some(each => isOwn(each, token, listed.account))
  const body = closingBody({ pullRequest: pullRequestOf(card), gitBranch: card.gitBranch }, token!)
  return [...(isSaid ? [] : [{ kind: 'explain', body } as const]), { kind: 'close' }]
}

/** The recorded fields of an issue that matches its card. */
function syncedFields(tx: Transaction, { phase, seenAt }: CardIssueRow): CardIssueChange {
  const isRecent = Math.abs(Date.parse(tx.now) - Date.parse(seenAt)) < sameTimeMs
  const recheckAfterMs = isRecent ? secondLookMs : phase === 'open' ? recheckMs : null
  const dueAt = recheckAfterMs === null ? null : new Date(Date.parse(tx.now) + recheckAfterMs).toISOString()
  return { dueAt, failures: 0, problem: null }
}

/** Ends the work on an issue unless its card has changed in the meantime. */
const markSynced = ({ db }: IssueDependencies, sync: IssueSync, { id, changes }: CardIssueRow): Promise<boolean> =>
  db.transaction(async tx => {
    const row = await readCardIssueById(tx, id)
    if (row?.changes !== changes) return row === undefined
    // The forge's time of the update is unknown.
    updateCardIssue(tx, id, syncedFields(tx, { ...row, seenAt: tx.now }))
    return true
  }, sync.actor)
