import { defaultSessionCards } from '../../contract/agents/agentSlots.ts'
import { defaultGateRounds } from '../../contract/boards/gates.ts'
import type { LandMode } from '../../contract/forges/landings.ts'
import { defaultAfterMerge, type AfterMerge } from '../../contract/forges/afterMerge.ts'
import type { AgentChoice } from '../../contract/agents/agentChoice.ts'
import { defaultApprovalPolicy, type ApprovalPolicy } from '../../contract/agents/approvalPolicy.ts'
import { defaultForge, type ForgeSettings } from '../../contract/forges/forge.ts'
import { defaultSandbox, type SandboxSettings } from '../../contract/agents/sandbox.ts'
import type { Repository } from '../../contract/forges/repositories.ts'
import type { OnSilence } from '../../contract/agents/silence.ts'
import { defaultUsageLimits, type UsageLimits } from '../../contract/agents/usageLimits.ts'
import { defaultWorktree, type WorktreeSettings } from '../../contract/projects/worktree.ts'
import { agentChoiceFields } from '../agents/agentChoiceFields.ts'
import type { Reader, Transaction } from '../engine/database.ts'
import {
  defineRecord,
  entriesOf,
  flag,
  id,
  json,
  number,
  text,
  type Change,
  type NewRow,
  type Row,
} from '../engine/record.ts'
import { noteRightsChanged } from '../accounts/rights.ts'

export const projectFields = {
  id: id(),
  name: text(),
  path: text(),
  /** The project's repositories other than its home, which `path` names. */
  repositories: json<Repository[]>().initially('[]'),
  /** Records of the project's folders, created when a user chose them. */
  folderRecords: json<Readonly<Record<string, unknown>>>().initially('{}'),
  /** The machine that has the project's folder. Null if there is only one machine. */
  host: text().orNull(),
  organizationId: id().orNull(),
  ownerId: id(),
  credentialId: id().orNull(),
  ...agentChoiceFields,
  approvalPolicy: json<ApprovalPolicy>().initially(JSON.stringify(defaultApprovalPolicy)),
  usageLimits: json<UsageLimits>().initially(JSON.stringify(defaultUsageLimits)),
  onSilence: text<OnSilence>().initially('wait'),
  agentSlots: number().orNull(),
  sessionCards: number().initially(defaultSessionCards),
  gateRounds: number().initially(defaultGateRounds),
  land: text<LandMode>().initially('manual'),
  landingPaused: flag().initially(false),
  /** Differences from the default. */
  afterMerge: json<Partial<AfterMerge>>().initially('{}'),
  /** Differences from the default. */
  sandbox: json<Partial<SandboxSettings>>().initially('{}'),
  /** Differences from the default. */
  worktree: json<Partial<WorktreeSettings>>().initially('{}'),
  /** Differences from the default. */
  forge: json<Partial<ForgeSettings>>().initially('{}'),
  forgeCredentialId: id().orNull(),
  /** Patterns of the ignored files that are copied into each new worktree. */
  copiedFiles: json<string[]>().initially('[]'),
  createdAt: text().initiallyNow(),
  updatedAt: text().initiallyNow(),
}
/** A project is hidden while it is imported. */
const hiddenFields = {
  hidden: flag().initially(false),
  /** The daemon that imports the project. */
  importer: text().orNull(),
}
export type ProjectRow = Row<typeof projectFields>
export type NewProject = Omit<NewRow<typeof projectFields & typeof hiddenFields>, 'host'>
/** A project as one account sees it. */
export interface VisibleProject extends ProjectRow {
  projectRole: Grant['projectRole']
  organizationRole: Grant['organizationRole']
  lastOpenedAt: string | null
  /** When this account created, accepted or first opened the project. Null if only others have added the account. */
  acceptedAt: string | null
  unreadCount: number
}
/** An account's grants in a project. They might not suffice for access. */
export interface Grant {
  ownerId: number
  projectOrganizationId: number | null
  projectRole: 'admin' | 'member' | 'viewer' | null
  organizationRole: 'admin' | 'member' | null
}

/** A project's sandbox settings. */
export const sandboxOf = ({ sandbox }: Pick<ProjectRow, 'sandbox'>): SandboxSettings => ({
  ...defaultSandbox,
  ...(JSON.parse(sandbox) as Partial<SandboxSettings>),
})

/** A project's settings for cards that were merged. */
export const afterMergeOf = ({ afterMerge }: Pick<ProjectRow, 'afterMerge'>): AfterMerge => ({
  ...defaultAfterMerge,
  ...(JSON.parse(afterMerge) as Partial<AfterMerge>),
})

/** The forge on which a project's work is reviewed and merged. */
export const forgeOf = ({
  forge,
  forgeCredentialId,
}: Pick<ProjectRow, 'forge' | 'forgeCredentialId'>): ForgeSettings => ({
  ...defaultForge,
  ...(JSON.parse(forge) as Partial<ForgeSettings>),
  credentialId: forgeCredentialId === null ? null : String(forgeCredentialId),
})

/** How a project's own settings prepare its worktrees. */
export const worktreeOf = ({
  worktree,
  copiedFiles,
}: Pick<ProjectRow, 'worktree' | 'copiedFiles'>): WorktreeSettings => ({
  ...defaultWorktree,
  ...(JSON.parse(worktree) as Partial<WorktreeSettings>),
  copiedFiles: JSON.parse(copiedFiles) as string[],
})

/** The repositories of a project other than its home. */
export const repositoriesOf = ({ repositories }: Pick<ProjectRow, 'repositories'>): Repository[] =>
  repositories === '[]' ? [] : (JSON.parse(repositories) as Repository[])

const record = defineRecord('projects', 'p', { ...projectFields, ...hiddenFields })
const fields = record.columnsOf(entriesOf({ entries: projectFields }))
const memberships = `LEFT JOIN project_members m ON m.project_id = p.id AND m.user_id = ?1
  LEFT JOIN organization_members o ON o.organization_id = p.organization_id AND o.user_id = ?1`
const visibleFields = `${fields}, m.role AS projectRole, o.role AS organizationRole, w.last_opened_at AS lastOpenedAt, w.accepted_at AS acceptedAt,
  (SELECT coalesce(sum(unread), 0) FROM card_counts WHERE project_id = p.id) AS unreadCount`

const grantFields =
  'p.owner_id AS ownerId, p.organization_id AS projectOrganizationId, m.role AS projectRole, o.role AS organizationRole'
const grant = `SELECT ${grantFields} FROM projects p ${memberships} WHERE p.id = ?2 AND p.hidden = 0`

/** Undefined for a project that does not exist or whose import is unfinished. */
export const readGrant = (db: Reader, userId: number, projectId: number): Promise<Grant | undefined> =>
  db.get(grant, [userId, projectId])

/**
 * SQL for a query that finds an account by a token: the account's grants in the project `?2`, in the same statement. `ownerId` is
 * null if there are none.
 */
export const joinedGrant = (userId: string): { fields: string; joins: string } => ({
  fields: grantFields,
  joins: `LEFT JOIN projects p ON p.id = ?2 AND p.hidden = 0 LEFT JOIN project_members m ON m.project_id = p.id AND m.user_id = ${userId}
   LEFT JOIN organization_members o ON o.organization_id = p.organization_id AND o.user_id = ${userId}`,
})
/** The fields of `joinedGrant`. */
export type JoinedGrant = { [Field in keyof Grant]: Grant[Field] | null }

/** Adds records of folders to those of a project. */
export async function addFolderRecords(tx: Transaction, id: number, folders: object): Promise<void> {
  const row = await tx.get<{ records: string }>('SELECT folder_records AS records FROM projects WHERE id = ?', [id])
  const records = { ...(JSON.parse(row?.records ?? '{}') as object), ...folders }
  await tx.run('UPDATE projects SET folder_records = ? WHERE id = ?', [JSON.stringify(records), id])
}

/** Removes all records of folders: those of another machine are not comparable. */
export async function clearFolderRecords(tx: Transaction): Promise<void> {
  await tx.run("UPDATE projects SET folder_records = '{}'")
}

export const readProject = (db: Reader, id: number): Promise<ProjectRow | undefined> =>
  db.get(`SELECT ${fields} FROM projects p WHERE p.id = ?`, [id])
/** Returns those of the IDs that exist. */
export const listPresentProjects = async (db: Reader, ids: readonly number[]): Promise<number[]> =>
  (
    await db.all<{ id: number }>('SELECT p.id FROM json_each(?) j JOIN projects p ON p.id = j.value', [
      JSON.stringify(ids),
    ])
  ).map(({ id }) => id)

/** The setting of a session's project for an agent that shows no sign of life. */
export const readOnSilence = async (db: Reader, sessionId: number): Promise<OnSilence> =>
  (
    await db.get<{ onSilence: OnSilence }>(
      'SELECT p.on_silence AS onSilence FROM agent_sessions s JOIN projects p ON p.id = s.project_id WHERE s.id = ?',
      [sessionId],
    )
  )?.onSilence ?? 'wait'

export const readVisibleProject = (db: Reader, userId: number, id: number): Promise<VisibleProject | undefined> =>
  db.get(
    `SELECT ${visibleFields} FROM projects p ${memberships} LEFT JOIN project_visits w ON w.project_id = p.id AND w.user_id = ?1 WHERE p.id = ?2 AND p.hidden = 0`,
    [userId, id],
  )

/** The projects of an account in its own order, or all of them, optionally of one organization. */
export const listProjects = (
  db: Reader,
  userId: number,
  seesAll: boolean,
  organizationId?: number,
): Promise<VisibleProject[]> =>
  db.all(
    `SELECT ${visibleFields} FROM projects p ${memberships} LEFT JOIN project_visits w ON w.project_id = p.id AND w.user_id = ?1
   WHERE p.hidden = 0 AND (?2 OR p.owner_id = ?1 OR m.role IS NOT NULL OR o.role IS NOT NULL) AND (?3 IS NULL OR p.organization_id = ?3)
   ORDER BY w.position IS NULL, w.position, p.id`,
    [userId, seesAll, organizationId],
  )

/** A new project belongs to the machine of the daemon that creates it. */
export const insertProject = (tx: Transaction, project: NewProject): Promise<number> =>
  record.insert(tx, { ...project, host: tx.host })

export const updateProject = async (
  tx: Transaction,
  id: number,
  change: Pick<
    Change<typeof projectFields>,
    | 'name'
    | 'path'
    | 'repositories'
    | 'organizationId'
    | 'copiedFiles'
    | 'approvalPolicy'
    | 'usageLimits'
    | 'onSilence'
    | 'agentSlots'
    | 'sessionCards'
    | 'gateRounds'
    | 'land'
    | 'landingPaused'
    | 'afterMerge'
    | 'sandbox'
    | 'worktree'
    | keyof AgentChoice
  >,
): Promise<void> => record.update(tx, id, change)

export const listOwnedProjects = async (db: Reader, ownerId: number): Promise<number[]> =>
  (await db.all<{ id: number }>('SELECT id FROM projects WHERE owner_id = ? ORDER BY id', [ownerId])).map(
    ({ id }) => id,
  )
export const countOwnedProjects = async (db: Reader, ownerId: number): Promise<number> =>
  (await db.get<{ total: number }>('SELECT count(*) AS total FROM projects WHERE owner_id = ?', [ownerId]))!.total
export const setProjectOwner = async (tx: Transaction, id: number, ownerId: number): Promise<void> => {
  await tx.run('UPDATE projects SET owner_id = ?, updated_at = ? WHERE id = ?', [ownerId, tx.now, id])
  await noteRightsChanged(tx)
}

/** Changes which credential a project's agents use. */
export const setProjectCredential = async (tx: Transaction, id: number, credentialId: number | null): Promise<void> => {
  await tx.run('UPDATE projects SET credential_id = ?, updated_at = ? WHERE id = ?', [credentialId, tx.now, id])
}

/** Deletes a project with its boards, columns, cards and their records. */
export const deleteProject = async (tx: Transaction, id: number): Promise<void> => {
  await tx.run('DELETE FROM card_counts WHERE project_id = ?', [id])
  await tx.run('DELETE FROM projects WHERE id = ?', [id])
}

export const setProjectPosition = async (
  tx: Transaction,
  userId: number,
  projectId: number,
  position: number,
): Promise<void> => {
  tx.enqueue(
    'INSERT INTO project_visits (user_id, project_id, position) VALUES (?, ?, ?) ON CONFLICT DO UPDATE SET position = excluded.position',
    [userId, projectId, position],
  )
}

/** Records that an account opened a project, which accepts it. */
export const noteProjectOpened = async (tx: Transaction, userId: number, projectId: number): Promise<void> => {
  await tx.run(
    `INSERT INTO project_visits (user_id, project_id, last_opened_at, accepted_at) VALUES (?1, ?2, ?3, ?3)
     ON CONFLICT DO UPDATE SET last_opened_at = excluded.last_opened_at, accepted_at = coalesce(accepted_at, excluded.accepted_at)`,
    [userId, projectId, tx.now],
  )
}

/** Records that an account accepts a project. From then on, the account's clients can select the project by its folder. */
export const acceptProject = async (tx: Transaction, userId: number, projectId: number): Promise<void> => {
  await tx.run(
    `INSERT INTO project_visits (user_id, project_id, accepted_at) VALUES (?, ?, ?)
     ON CONFLICT DO UPDATE SET accepted_at = coalesce(accepted_at, excluded.accepted_at)`,
    [userId, projectId, tx.now],
  )
}

/** Deletes an account's acceptance of a project. */
export const forgetAcceptance = async (tx: Transaction, userId: number, projectId: number): Promise<void> => {
  await tx.run('UPDATE project_visits SET accepted_at = NULL WHERE user_id = ? AND project_id = ?', [userId, projectId])
}

/** Deletes an account's acceptances of an organization's projects. */
export const forgetAcceptanceIn = async (tx: Transaction, userId: number, organizationId: number): Promise<void> => {
  await tx.run(
    'UPDATE project_visits SET accepted_at = NULL WHERE user_id = ? AND project_id IN (SELECT id FROM projects WHERE organization_id = ?)',
    [userId, organizationId],
  )
}

/** Deletes all acceptances of a project except that of one account. */
export const forgetOtherAcceptances = async (tx: Transaction, userId: number, projectId: number): Promise<void> => {
  await tx.run('UPDATE project_visits SET accepted_at = NULL WHERE project_id = ? AND user_id <> ?', [
    projectId,
    userId,
  ])
}

export const hasAnyProject = async (db: Reader): Promise<boolean> =>
  (await db.get('SELECT 1 AS there FROM projects LIMIT 1')) !== undefined
