import type { Database } from '../store/engine/database.ts'
import { deleteProcessRun, listProcessRuns, type ProcessRunRow } from '../store/agents/processRuns.ts'
import { endTrees, orphanTermMs } from './stop.ts'
import { createMemberSearch, type Tree } from './sweep.ts'
import { bootId, listProcesses, type ProcessEntry } from './table.ts'

/**
 * Ends the processes that an earlier server on this data folder left running, and clears its records. Call it when a server starts, after
 * it has the folder's lock and before it starts a process. Takes at most 3 s. Returns the number of recorded runs, of their live processes,
 * and of those that could not be ended.
 */
export async function endLeftovers(db: Database): Promise<{ runs: number; processes: number; remaining: number }> {
  const rows = await listProcessRuns(db)
  const present = rows.filter(row => row.bootId === bootId)
  if (rows.length === 0) return { runs: 0, processes: 0, remaining: 0 }
  const findMembers = createMemberSearch()
  const entries = await listProcesses()
  const trees = present.map(row => treeOf(row, entries))
  const processes = (await findMembers(trees)).flat().length
  const isOver = processes === 0 && !trees.some(({ hasUnreadable }) => hasUnreadable)
  const remaining = isOver ? 0 : await endTrees(findMembers, trees, orphanTermMs)
  const held = new Set(
    trees.filter(({ seen, hasUnreadable }) => seen.size > 0 || hasUnreadable).map(({ runId }) => runId),
  )
  await db.transaction(async tx => {
    for (const { runId } of rows) if (!held.has(runId)) await deleteProcessRun(tx, runId)
  })
  return { runs: rows.length, processes, remaining }
}

/** A run of the dead server. Its first process counts only if its pid was not reused. */
function treeOf({ runId, pid, pidStartedAt }: ProcessRunRow, entries: readonly ProcessEntry[]): Tree {
  const isSame = pidStartedAt !== null && entries.some(entry => entry.pid === pid && entry.startedAt === pidStartedAt)
  return {
    runId,
    leader: isSame ? pid : undefined,
    since: pidStartedAt ?? undefined,
    seen: isSame ? new Map([[pid, pidStartedAt]]) : new Map(),
  }
}
