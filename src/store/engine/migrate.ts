import LibsqlDatabase from 'libsql'
import { Problem } from '../../contract/errors.ts'
import type { Database, Reader } from './database.ts'
import initial from '../migrations/0001-initial.ts'
import people from '../migrations/0002-people.ts'
import agents from '../migrations/0003-agents.ts'
import background from '../migrations/0004-background.ts'
import search from '../migrations/0005-search.ts'
import imports from '../migrations/0006-imports.ts'
import daemons from '../migrations/0007-daemons.ts'
import importers from '../migrations/0008-importers.ts'
import spans from '../migrations/0009-spans.ts'
import titles from '../migrations/0010-titles.ts'
import tickets from '../migrations/0011-tickets.ts'
import consent from '../migrations/0012-consent.ts'
import audit from '../migrations/0013-audit.ts'
import monitorMakers from '../migrations/0014-monitor-makers.ts'
import webhookMakers from '../migrations/0015-webhook-makers.ts'
import agentChoices from '../migrations/0016-agent-choices.ts'
import usageLimits from '../migrations/0017-usage-limits.ts'
import messageAttachments from '../migrations/0018-message-attachments.ts'
import reviews from '../migrations/0019-reviews.ts'
import cardCreators from '../migrations/0020-card-creators.ts'
import sandbox from '../migrations/0021-sandbox.ts'
import worktreeSettings from '../migrations/0022-worktree-settings.ts'
import dayStatuses from '../migrations/0023-day-statuses.ts'
import silence from '../migrations/0024-silence.ts'
import dependencies from '../migrations/0025-dependencies.ts'
import comments from '../migrations/0026-comments.ts'
import cardPlan from '../migrations/0027-card-plan.ts'
import cardBase from '../migrations/0028-card-base.ts'
import activity from '../migrations/0029-activity.ts'
import columnLimits from '../migrations/0030-column-limits.ts'
import schedules from '../migrations/0031-schedules.ts'
import budgets from '../migrations/0032-budgets.ts'
import cardTimes from '../migrations/0033-card-times.ts'
import agentSlots from '../migrations/0034-agent-slots.ts'
import forge from '../migrations/0035-forge.ts'
import forgeLoop from '../migrations/0036-forge-loop.ts'
import repositories from '../migrations/0037-repositories.ts'
import issues from '../migrations/0038-issues.ts'
import connectedApps from '../migrations/0039-connected-apps.ts'
import sessionStarts from '../migrations/0040-session-starts.ts'
import agentDays from '../migrations/0041-agent-days.ts'
import monitorPermissions from '../migrations/0042-monitor-permissions.ts'
import lapsedAgreements from '../migrations/0043-lapsed-agreements.ts'
import sessionCards from '../migrations/0044-session-cards.ts'
import folderRecords from '../migrations/0045-folder-records.ts'
import merges from '../migrations/0046-merges.ts'
import cardSources from '../migrations/0047-card-sources.ts'
import remarks from '../migrations/0048-remarks.ts'
import blockedSessions from '../migrations/0049-blocked-sessions.ts'
import sandboxNames from '../migrations/0050-sandbox-names.ts'
import pullRequestPhases from '../migrations/0051-pull-request-phases.ts'

/** Every migration in order. A migration that has been released is never changed. */
const migrations = [
  initial,
  people,
  agents,
  background,
  search,
  imports,
  daemons,
  importers,
  spans,
  titles,
  tickets,
  consent,
  audit,
  monitorMakers,
  webhookMakers,
  agentChoices,
  usageLimits,
  messageAttachments,
  reviews,
  cardCreators,
  sandbox,
  worktreeSettings,
  dayStatuses,
  silence,
  dependencies,
  comments,
  cardPlan,
  cardBase,
  activity,
  columnLimits,
  schedules,
  budgets,
  cardTimes,
  agentSlots,
  forge,
  forgeLoop,
  repositories,
  issues,
  connectedApps,
  sessionStarts,
  agentDays,
  monitorPermissions,
  lapsedAgreements,
  sessionCards,
  folderRecords,
  merges,
  cardSources,
  remarks,
  blockedSessions,
  sandboxNames,
  pullRequestPhases,
]

/** The version that this program's migrations lead to. */
export const schemaVersion = migrations.length

/**
 * Migrates the schema to this program's version, each migration in its own transaction.
 * @param before called once with the current version, before a schema is changed
 * @throws Problem CONFLICT if a newer program created the database
 */
export async function migrate(database: Database, before?: (present: number) => Promise<void>): Promise<void> {
  const present = await presentVersion(database)
  if (present > schemaVersion)
    throw new Problem(
      'CONFLICT',
      `This database has schema version ${present}, from a newer board. This program supports versions up to ${schemaVersion}. Run that board version or a newer one.`,
    )
  if (present > 0 && present < schemaVersion) await before?.(present)
  for (let version = present; version < schemaVersion; version++) {
    await database.transaction(async tx => {
      // Another daemon on the same server might have migrated the database in the meantime.
      if ((await presentVersion(tx)) > version) return
      for (const statement of statementsOf(migrations[version]!)) await tx.run(statement)
      await tx.run(`PRAGMA user_version = ${version + 1}`)
    })
  }
}

/** The names of a database's tables, indexes and triggers, and the triggers' SQL. */
export const objectsSql = `SELECT type, name, CASE type WHEN 'trigger' THEN sql ELSE '' END AS body FROM sqlite_master WHERE name NOT LIKE 'sqlite\\_%' ESCAPE '\\' ORDER BY type, name`

const objectsByVersion = new Map<number, unknown[]>()

/** The result of `objectsSql` in a database of this version. Cached, because it requires all migrations. */
export function objectsOf(version: number): unknown[] {
  const objects = objectsByVersion.get(version) ?? readObjects(version)
  objectsByVersion.set(version, objects)
  return objects
}

function readObjects(version: number): unknown[] {
  const database = new LibsqlDatabase(':memory:')
  try {
    for (const statement of schemaOf(version)) database.exec(statement)
    return database.prepare(objectsSql).all([])
  } finally {
    database.close()
  }
}

/** The statements that create the schema of a version. */
export const schemaOf = (version: number): string[] => migrations.slice(0, version).flatMap(statementsOf)

/** The version of a database's schema. 0 if there is no schema yet. */
export const presentVersion = async (database: Reader) =>
  (await database.get<{ user_version: number }>('PRAGMA user_version'))?.user_version ?? 0

/** A statement ends with a semicolon at a line's end, unless the next line continues a trigger's body. */
const statementsOf = (sql: string): string[] =>
  sql
    .replace(/^--.*\n/gm, '')
    .split(/;[ \t]*\n(?! {2}|END)/)
    .map(statement => statement.trim())
    .filter(statement => statement !== '')
