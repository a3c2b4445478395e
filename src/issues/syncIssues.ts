import { backoffMs } from '../async/backoff.ts'
import { Problem } from '../contract/errors.ts'
import { ForgeFailed, type ForgeIssue } from '../forge/forge.ts'
import {
  listDueIssues,
  readCardIssue,
  readCardIssueById,
  readSyncState,
  startComments,
  updateCardIssue,
  writeSyncState,
  type CardIssueRow,
  type SyncRow,
} from '../store/cards/cardIssues.ts'
import { forgeOf, readProject } from '../store/projects/projects.ts'
import { isForAll } from './performActions.ts'
import { reconcile } from './reconcile.ts'
import { takeIssue } from './takeIssue.ts'
import { forgeNames } from './texts.ts'
import { newTally, type IssueDependencies, type Tally, type IssueSync } from './issueDependencies.ts'

/** The interval of queries for changes. It grows while they find none, for example because webhooks report changes immediately. */
const pauses = { firstMs: 60_000, maxMs: 300_000 }
/** The pauses after a failure of the forge, or of one issue. */
const failurePauses = { firstMs: 30_000, maxMs: 3_600_000, jitter: 0.2 }
/** A sync that a user requests also covers issues that are due within this time. */
const askedAheadMs = 60_000
const pageSize = 100

/** The result of a synchronization, and why it stopped. */
export interface SyncResult {
  tally: Tally
  failure?: unknown
}

/**
 * Reads the changes on a project's forge and synchronizes issues and cards. Failed parts are kept and retried.
 * @param asked whether a user waits for the result
 * @returns undefined if the project has no issue sync
 */
export async function syncIssues(
  dependencies: IssueDependencies,
  projectId: number,
  asked = false,
): Promise<SyncResult | undefined> {
  const project = await readProject(dependencies.db, projectId)
  const settings = project && forgeOf(project)
  if (!project || !settings || settings.issueLabel === null) return undefined
  const tally = newTally()
  try {
    const { forge, address } = await dependencies.openForge(project)
    const name = forgeNames[address?.kind ?? 'command']
    const key = address ? `${address.webUrl}/${address.repository}`.toLowerCase() : 'command'
    const actor = { kind: 'system', id: null, name } as const
    const { issueLabel } = settings
    await syncForge(
      dependencies,
      { projectId, forge, key, name, settings: { ...settings, issueLabel }, actor, tally },
      asked,
    )
    return { tally }
  } catch (error) {
    if (error instanceof Problem && error.code === 'SHUTTING_DOWN') throw error
    await recordFailure(dependencies, projectId, error)
    return { tally, failure: error }
  }
}

async function syncForge(dependencies: IssueDependencies, sync: IssueSync, asked: boolean): Promise<void> {
  const { db, config } = dependencies
  const source = `${sync.key} ${sync.settings.issueLabel}`
  const known = await recordSource(dependencies, sync, source)
  const isListDue = asked || known.nextAt === null || known.nextAt <= config.clock().toISOString() || known.failures > 0
  const issues = isListDue
    ? await sync.forge.listIssues({ label: sync.settings.issueLabel, since: known.since ?? undefined })
    : []
  for (const issue of issues) await importOrReconcile(dependencies, sync, issue)
  await reconcileDue(dependencies, sync, asked)
  const newCount = issues.filter(({ updatedAt }) => updatedAt !== known.since).length
  const quiet = newCount === 0 ? known.quiet + 1 : 0
  const since = issues.reduce((newest, { updatedAt }) => (updatedAt > newest ? updatedAt : newest), known.since ?? '')
  await db.transaction(async tx => {
    const nextAt = new Date(Date.parse(tx.now) + backoffMs(quiet + 1, pauses)).toISOString()
    const listed = isListDue && { nextAt, quiet, since: since || null, syncedAt: tx.now }
    await writeSyncState(tx, sync.projectId, { failures: 0, problem: null, ...listed })
  })
}

/** Records the issues and whether comments are synchronized from now on. */
const recordSource = (
  { db }: IssueDependencies,
  { projectId, settings }: IssueSync,
  source: string,
): Promise<SyncRow> =>
  db.transaction(async tx => {
    const known = await readSyncState(tx, projectId)
    const comments = settings.issueComments
    if (known?.source !== source) await writeSyncState(tx, projectId, { source, since: null, nextAt: null, quiet: 0 })
    if (Boolean(known?.comments) !== comments) {
      await writeSyncState(tx, projectId, { comments })
      if (comments) startComments(tx, projectId)
    }
    return (await readSyncState(tx, projectId))!
  })

/** Imports a listed issue that is new, or compares one that has changed. */
async function importOrReconcile(dependencies: IssueDependencies, sync: IssueSync, issue: ForgeIssue): Promise<void> {
  const known = await readCardIssue(dependencies.db, sync.projectId, sync.key, issue.number)
  if (!known) await dependencies.db.transaction(tx => takeIssue(tx, dependencies, sync, issue), sync.actor)
  else if (known.changedAt !== issue.updatedAt) await reconcileIssue(dependencies, sync, known, issue)
}

/** Compares the due issues, each once. An issue that changes in the meantime is due again at the next synchronization. */
async function reconcileDue(dependencies: IssueDependencies, sync: IssueSync, asked: boolean): Promise<void> {
  const { db, config } = dependencies
  const { projectId, key: forge } = sync
  const now = new Date(config.clock().getTime() + (asked ? askedAheadMs : 0)).toISOString()
  const visited = new Set<number>()
  for (let due: CardIssueRow[] | undefined; due === undefined || due.length > 0;) {
    due = (await listDueIssues(db, { projectId, forge, now, limit: pageSize + visited.size })).filter(
      ({ id }) => !visited.has(id),
    )
    for (const issue of due) {
      visited.add(issue.id)
      await reconcileIssue(dependencies, sync, issue)
    }
  }
}

/** Compares an issue with its card. An error of only this issue postpones only this issue. */
async function reconcileIssue(
  dependencies: IssueDependencies,
  sync: IssueSync,
  { id }: CardIssueRow,
  given?: ForgeIssue,
): Promise<void> {
  try {
    await reconcile(dependencies, sync, id, given)
  } catch (error) {
    if (!(error instanceof ForgeFailed) || isForAll(error)) throw error
    sync.tally.failed++
    await dependencies.db.transaction(async tx => {
      const failures = ((await readCardIssueById(tx, id))?.failures ?? 0) + 1
      const dueAt = new Date(Date.parse(tx.now) + backoffMs(failures, failurePauses)).toISOString()
      updateCardIssue(tx, id, { failures, dueAt, problem: error.message })
    })
  }
}

/** A failing forge is not queried until its time, or the pause, has passed. */
const recordFailure = ({ db }: IssueDependencies, projectId: number, failure: unknown): Promise<void> =>
  db.transaction(async tx => {
    const failures = ((await readSyncState(tx, projectId))?.failures ?? 0) + 1
    const pauseAt = Date.parse(tx.now) + backoffMs(failures, failurePauses)
    const at = failure instanceof ForgeFailed ? (failure.retryAt ?? pauseAt) : pauseAt
    const nextAt = new Date(Math.min(Math.max(at, Date.parse(tx.now)), Date.parse(tx.now) + 86_400_000)).toISOString()
    await writeSyncState(tx, projectId, { failures, nextAt, problem: reasonOf(failure) })
  })

const reasonOf = (failure: unknown): string =>
  failure instanceof ForgeFailed || failure instanceof Problem ? failure.message : 'The server failed; see its log.'
