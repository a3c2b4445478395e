import type { InferOutput } from 'valibot'
import { insertOrphans } from '../../store/projects/orphanedWorktrees.ts'
import type { AfterMerge } from '../../contract/forges/afterMerge.ts'
import type { LandMode } from '../../contract/forges/landings.ts'
import type { AgentChoice } from '../../contract/agents/agentChoice.ts'
import type { ApprovalPolicy } from '../../contract/agents/approvalPolicy.ts'
import type { OnSilence } from '../../contract/agents/silence.ts'
import type { ChangedForge } from '../../contract/forges/forge.ts'
import type { ChangedWorktree } from '../../contract/projects/worktree.ts'
import { invalid, Problem, refuse } from '../../contract/errors.ts'
import type { Repository } from '../../contract/forges/repositories.ts'
import type { ProjectRole } from '../../contract/route.ts'
import { maxHosts, type ChangedSandbox, type SandboxSettings } from '../../contract/agents/sandbox.ts'
import type { ChangedUsageLimits, UsageLimits } from '../../contract/agents/usageLimits.ts'
import { appendEvent } from '../../events/outbox.ts'
import { changedChoice, projectLevels, requireAgent, requireProfile, type KnownAgents } from '../agents/agentChoice.ts'
import { isInScope, roleBy, highestRole } from '../accounts/access.ts'
import { isAdmin, type Caller } from '../accounts/caller.ts'
import { readCredentialOfProject } from '../../store/accounts/credentials.ts'
import type { Reader, Transaction } from '../../store/engine/database.ts'
import { deleteMember } from '../../store/projects/members.ts'
import { readOrganization } from '../../store/accounts/organizations.ts'
import {
  afterMergeOf,
  deleteProject,
  acceptProject,
  forgetOtherAcceptances,
  addFolderRecords,
  insertProject,
  listOwnedProjects,
  listProjects,
  readProject,
  readVisibleProject,
  sandboxOf,
  setProjectOwner,
  setProjectPosition,
  updateProject,
  worktreeOf,
  type ProjectRow,
  type VisibleProject,
} from '../../store/projects/projects.ts'
import { listProjectDays, readPresentDay, type ProjectDay } from '../../store/projects/projectDays.ts'
import { noteRightsChanged } from '../../store/accounts/rights.ts'
import { listAgentUsage, type AgentUsageOfDay } from '../../store/agents/sessions.ts'
import { ownerFor } from '../../store/accounts/users.ts'
import { projectEvent } from '../../views/projects.ts'
import * as boards from '../boards/boards.ts'
import { changedForge } from '../forges/forges.ts'
import { requireWholeOrder } from '../cards/order.ts'
import { findOwnCredential } from '../accounts/ownCredential.ts'
import type { Agents } from '../agents/sessions.ts'

export interface ProjectChange extends Partial<AgentChoice> {
  name?: string
  path?: string
  repositories?: readonly Repository[]
  organizationId?: number | null
  approvalPolicy?: ApprovalPolicy
  usageLimits?: InferOutput<typeof ChangedUsageLimits>
  onSilence?: OnSilence
  agentSlots?: number | null
  sessionCards?: number
  gateRounds?: number
  land?: LandMode
  afterMerge?: Partial<AfterMerge>
  sandbox?: InferOutput<typeof ChangedSandbox>
  worktree?: InferOutput<typeof ChangedWorktree>
  forge?: ChangedForge
  /** Records of the folders that the change names (src/git/folderRecord.ts). */
  folders?: Readonly<Record<string, unknown>>
}

interface NewProject {
  name: string
  path: string
  folders: Readonly<Record<string, unknown>>
  repositories?: readonly Repository[]
  organizationId: number | null
}

/** @throws Problem PROJECT_NOT_FOUND */
export async function find(db: Reader, id: number): Promise<ProjectRow> {
  return (await readProject(db, id)) ?? refuse('PROJECT_NOT_FOUND')
}

/** @throws Problem PROJECT_NOT_FOUND */
export async function findVisible(db: Reader, caller: Caller, id: number): Promise<VisibleProject> {
  return (await readVisibleProject(db, caller.userId, id)) ?? refuse('PROJECT_NOT_FOUND')
}

/** The projects that the caller can see, in the caller's own order. */
export const list = async (db: Reader, caller: Caller, organizationId?: number): Promise<VisibleProject[]> =>
  (await listProjects(db, caller.userId, isAdmin(caller), organizationId)).filter(project =>
    isInScope(caller, project.id, project.organizationId),
  )

/** The highest role that the caller has in any project. Undefined if the caller can see none. */
export const strongestRole = async (db: Reader, caller: Caller): Promise<ProjectRole | undefined> =>
  highestRole((await list(db, caller)).map(project => roleBy(caller, project)))

/**
 * Creates a project with its default board. The caller has checked the path and the repositories.
 * @throws Problem ORGANIZATION_NOT_FOUND
 */
export async function create(
  tx: Transaction,
  caller: Caller,
  { repositories = [], folders, ...project }: NewProject,
): Promise<VisibleProject> {
  await requireOrganization(tx, caller, project.organizationId)
  const ownerId = await ownerFor(tx, caller.userId)
  const id = await insertProject(tx, {
    ...project,
    repositories: JSON.stringify(repositories),
    folderRecords: JSON.stringify(folders),
    ownerId,
  })
  await acceptProject(tx, ownerId, id)
  await appendEvent(tx, 'project.created', id, projectEvent(await find(tx, id)))
  await boards.create(tx, caller, id, { name: 'Board' })
  return findVisible(tx, caller, id)
}

/** @throws Problem VALIDATION_FAILED if there would be too many hosts */
function changedSandbox(before: SandboxSettings, change: InferOutput<typeof ChangedSandbox>): SandboxSettings {
  const { addHosts, ...rest } = change
  const changed = { ...before, ...rest }
  if (!addHosts) return changed
  const hosts = [...new Set([...changed.hosts, ...addHosts])]
  if (hosts.length > maxHosts) throw invalid('sandbox.addHosts', `would exceed the maximum of ${maxHosts} hosts`)
  return { ...changed, hosts }
}

/**
 * Changes a project. The caller has checked a new path and new repositories.
 * @throws Problem PROJECT_NOT_FOUND, ORGANIZATION_NOT_FOUND, VALIDATION_FAILED
 */
export async function update(
  tx: Transaction,
  agents: KnownAgents,
  caller: Caller,
  id: number,
  change: ProjectChange,
): Promise<VisibleProject> {
  const project = await find(tx, id)
  if (change.organizationId !== undefined) await requireOrganization(tx, caller, change.organizationId)
  if (Object.values(change).some(value => value !== undefined)) {
    await updateProject(tx, id, {
      name: change.name ?? project.name,
      path: change.path ?? project.path,
      ...(change.repositories && { repositories: JSON.stringify(change.repositories) }),
      organizationId: change.organizationId === undefined ? project.organizationId : change.organizationId,
      ...(await changedChoice(
        tx,
        agents,
        change,
        () => projectLevels(tx, id),
        credentialId => readCredentialOfProject(tx, id, credentialId),
      )),
      ...(change.approvalPolicy && { approvalPolicy: JSON.stringify(change.approvalPolicy) }),
      ...(change.onSilence && { onSilence: change.onSilence }),
      ...(change.agentSlots !== undefined && { agentSlots: change.agentSlots }),
      ...(change.sessionCards !== undefined && { sessionCards: change.sessionCards }),
      ...(change.gateRounds !== undefined && { gateRounds: change.gateRounds }),
      ...(change.land !== undefined && { land: change.land }),
      ...(change.afterMerge && { afterMerge: JSON.stringify({ ...afterMergeOf(project), ...change.afterMerge }) }),
      ...(change.forge && (await changedForge(tx, caller, project, change.forge))),
      ...(change.worktree && storedWorktree(project, change.worktree)),
      ...(change.sandbox && { sandbox: JSON.stringify(changedSandbox(sandboxOf(project), change.sandbox)) }),
      ...(change.usageLimits && {
        usageLimits: await storedUsageLimits(tx, agents, caller, project, change.usageLimits),
      }),
    })
    if (change.folders) await addFolderRecords(tx, id, change.folders)
    if (change.organizationId !== undefined) await noteRightsChanged(tx)
    // Members accepted the project with its former folder.
    if (change.path !== undefined && change.path !== project.path)
      await forgetOtherAcceptances(tx, await ownerFor(tx, caller.userId), id)
    await appendEvent(tx, 'project.updated', id, projectEvent(await find(tx, id)))
  }
  return findVisible(tx, caller, id)
}

/**
 * Deletes a project with everything in it and ends its agents. Its folder stays, and worktrees are removed later.
 * @throws Problem PROJECT_NOT_FOUND
 */
export async function remove(tx: Transaction, agents: Agents, id: number): Promise<void> {
  await find(tx, id)
  await insertOrphans(tx, { projectId: id })
  agents.reconcile(tx)
  await deleteProject(tx, id)
  await appendEvent(tx, 'project.deleted', id, { id: String(id) })
}

/**
 * A project's counts on each day from `since` on (by default 90 days ago), and now, oldest first. Days without a
 * running server are missing.
 */
export async function history(db: Reader, id: number, now: Date, since = firstDay(now)): Promise<ProjectDay[]> {
  const today = dayOf(now)
  return [...(await listProjectDays(db, id, since, today)), await readPresentDay(db, id, today)]
}

/** The usage of a project's agents in sessions that started from `since` on (by default 90 days ago), oldest first. */
export const usageByDay = (db: Reader, id: number, now: Date, since = firstDay(now)): Promise<AgentUsageOfDay[]> =>
  listAgentUsage(db, id, since)

const firstDay = (now: Date): string => dayOf(new Date(now.getTime() - 90 * 86_400_000))

/** The day of a time, UTC: 2026-01-31. */
const dayOf = (time: Date): string => time.toISOString().slice(0, 10)

function storedWorktree(project: ProjectRow, change: InferOutput<typeof ChangedWorktree>) {
  const { copiedFiles, ...worktree } = { ...worktreeOf(project), ...change }
  return { worktree: JSON.stringify(worktree), copiedFiles: JSON.stringify(copiedFiles) }
}

/** Only the caller's own credentials can be named. @throws Problem CREDENTIAL_NOT_FOUND, VALIDATION_FAILED */
async function storedUsageLimits(
  tx: Transaction,
  agents: KnownAgents,
  caller: Caller,
  { usageLimits }: ProjectRow,
  { onLimit, next }: InferOutput<typeof ChangedUsageLimits>,
): Promise<string> {
  const before = (JSON.parse(usageLimits) as UsageLimits).next.map(({ agent }) => agent)
  for (const { agent, credentialId, profile } of next) {
    if (agent !== null && !before.includes(agent)) await requireAgent(tx, agents, agent, 'usageLimits')
    if (credentialId !== null) await findOwnCredential(tx, caller, credentialId)
    if (profile !== null) await requireProfile(tx, profile, 'usageLimits')
  }
  const stored: UsageLimits = {
    onLimit,
    next: next.map(each => ({ ...each, credentialId: each.credentialId === null ? null : String(each.credentialId) })),
  }
  return JSON.stringify(stored)
}

/** Reassigns every project of one account to another, and deletes its memberships there. */
export async function reassign(tx: Transaction, from: number, to: number): Promise<void> {
  for (const id of await listOwnedProjects(tx, from)) {
    await setProjectOwner(tx, id, to)
    await deleteMember(tx, id, to)
    await appendEvent(tx, 'project.updated', id, projectEvent(await find(tx, id)))
  }
}

/** Reorders the projects that the caller can see. @throws Problem INVALID_ORDER */
export async function reorder(tx: Transaction, caller: Caller, ids: readonly number[]): Promise<VisibleProject[]> {
  requireWholeOrder(ids, await list(tx, caller))
  for (const [position, id] of ids.entries()) await setProjectPosition(tx, caller.userId, id, position)
  return list(tx, caller)
}

/** Requires that a caller can have projects in an organization. @throws Problem ORGANIZATION_NOT_FOUND */
export async function requireOrganization(tx: Reader, caller: Caller, organizationId: number | null): Promise<void> {
  if (organizationId === null) return
  const organization = await readOrganization(tx, caller.userId, organizationId)
  if (!organization || (organization.role === null && !isAdmin(caller))) throw new Problem('ORGANIZATION_NOT_FOUND')
}
