import type { InferOutput } from 'valibot'
import type { EventData } from '../contract/server/events.ts'
import type { ExternalStats } from '../contract/server/external.ts'
import type { Project, Stats } from '../contract/projects/projects.ts'
import type { ProjectRole } from '../contract/route.ts'
import type { Counts } from '../store/cards/cardCounts.ts'
import {
  afterMergeOf,
  forgeOf,
  repositoriesOf,
  sandboxOf,
  worktreeOf,
  type ProjectRow,
  type VisibleProject,
} from '../store/projects/projects.ts'
import { localOperator } from '../store/accounts/users.ts'

const idOrNull = (id: number | null) => (id === null ? null : String(id))

/** A project as its events show it: without the fields that differ between callers. */
export const projectEvent = (row: ProjectRow): EventData<'project.created'> => ({
  id: String(row.id),
  name: row.name,
  path: row.path,
  organizationId: idOrNull(row.organizationId),
  ownerId: row.ownerId === localOperator ? null : String(row.ownerId),
  createdAt: row.createdAt,
  updatedAt: row.updatedAt,
})

/** A project as one caller sees it. */
export const project = (row: VisibleProject, role: ProjectRole): InferOutput<typeof Project> => ({
  ...projectEvent(row),
  repositories: repositoriesOf(row),
  credentialId: idOrNull(row.credentialId),
  agent: row.agent,
  profile: row.profile,
  model: row.model,
  mode: row.mode,
  effort: row.effort,
  approvalPolicy: JSON.parse(row.approvalPolicy),
  usageLimits: JSON.parse(row.usageLimits),
  onSilence: row.onSilence,
  agentSlots: row.agentSlots,
  sessionCards: row.sessionCards,
  gateRounds: row.gateRounds,
  land: row.land,
  afterMerge: afterMergeOf(row),
  sandbox: sandboxOf(row),
  worktree: worktreeOf(row),
  forge: forgeOf(row),
  role,
  unreadCount: row.unreadCount,
  lastOpenedAt: row.lastOpenedAt,
  accepted: row.acceptedAt !== null,
})

/** Totals of listed cards by status and by column, and of the tokens that agents have used. */
export function externalStats(
  counts: readonly Counts[],
  tokens: { total: number; sessions: number },
): InferOutput<typeof ExternalStats> {
  const byStatus: Record<string, number> = {}
  const byColumn = new Map<
    number,
    { columnId: number; name: string; columnType: Counts['columnType']; count: number }
  >()
  let all = 0
  for (const { columnId, name, columnType, status, total } of counts) {
    const entry = byColumn.get(columnId) ?? { columnId, name, columnType, count: 0 }
    byColumn.set(columnId, entry)
    if (status === null || total === null) continue
    entry.count += total
    byStatus[status] = (byStatus[status] ?? 0) + total
    all += total
  }
  return { total: all, byStatus, byColumn: [...byColumn.values()], tokens }
}

export const stats = (
  counts: readonly Counts[],
  tokens: { total: number; sessions: number },
  monitorQuestions: number,
): InferOutput<typeof Stats> => {
  const external = externalStats(counts, tokens)
  const byColumn = external.byColumn.map(each => ({ ...each, columnId: String(each.columnId) }))
  return { ...external, byColumn, monitorQuestions }
}
