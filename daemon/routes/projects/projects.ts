import { rmdir } from 'node:fs/promises'
import type { Contract } from '../../../src/contract/index.ts'
import type { App } from '../../../src/app.ts'
import { requireRole } from '../../../src/domain/accounts/access.ts'
import * as cards from '../../../src/domain/cards/cards.ts'
import { requireTakenInProject } from '../../../src/domain/accounts/credentials.ts'
import { makeFolder, requireFolder } from '../../../src/files/projectFolders.ts'
import { requireApart, requireRepositories } from '../../../src/files/projectRepositories.ts'
import * as projects from '../../../src/domain/projects/projects.ts'
import { projectIn } from '../../../src/cardWork/repositoryWork.ts'
import {
  agreeToBoardFile,
  findWorktreeSettings,
  requireVersion,
  withdrawAgreement,
} from '../../../src/cardWork/worktreeSettings.ts'
import { Problem } from '../../../src/contract/errors.ts'
import type { Repository } from '../../../src/contract/forges/repositories.ts'
import { recordFolders, type FolderRecords } from '../../../src/git/folderRecord.ts'
import { trackedFiles } from '../../../src/git/trackedFiles.ts'
import { countCards } from '../../../src/store/cards/cardCounts.ts'
import { countAskedMonitors } from '../../../src/store/automation/monitors.ts'
import { noteProjectOpened, repositoriesOf, type VisibleProject } from '../../../src/store/projects/projects.ts'
import { readProjectTokens } from '../../../src/store/agents/sessions.ts'
import { purgeTranscripts } from '../../../src/store/agents/transcripts.ts'
import { project as projectView, stats } from '../../../src/views/projects.ts'
import type { Call, Handlers } from '../../http/handlers.ts'

export const projectsRoutes = (
  app: Pick<App, 'config' | 'db' | 'reads' | 'supervisor' | 'worktrees'>,
): Handlers<Contract['projects']> => ({
  create: async (input, call) => {
    const isNew = input.createFolder && (await makeFolder(app.config, call.caller, input.path))
    const path = await requireFolder(app.config, call.caller, input.path)
    try {
      const repositories = await requireRepositories(app.config, call.caller, path, input.repositories)
      const folders = await recordNamed(path, repositories)
      return await call.write(
        tx => projects.create(tx, call.caller, { ...input, path, repositories, folders }),
        row => projectView(row, 'admin'),
      )
    } catch (error) {
      if (isNew) await rmdir(path).catch(() => undefined)
      throw error
    }
  },
  list: async ({ organizationId }, call) =>
    withRoles(app, call, await projects.list(app.db, call.caller, organizationId)),
  reorder: async ({ ids }, call) =>
    withRoles(app, call, await app.db.transaction(tx => projects.reorder(tx, call.caller, ids))),
  get: async ({ id }, call) => projectView(await projects.findVisible(app.reads, call.caller, id), call.role),
  update: async ({ id, ...change }, call) => {
    const folders = await changedFolders(app, call, id, change)
    return call.write(
      async tx => {
        const project = await projects.update(tx, app.supervisor, call.caller, id, { ...change, ...folders })
        if (change.agent || change.profile)
          await requireTakenInProject(tx, app.supervisor, id, change.agent ? 'agent' : 'profile')
        if (change.agentSlots !== undefined) app.supervisor.reconcile(tx)
        return project
      },
      row => projectView(row, call.role),
    )
  },
  delete: async ({ id }, call) => {
    await purgeTranscripts(app.db, { projectId: id })
    return call.write(tx => projects.remove(tx, app.supervisor, id))
  },
  opened: ({ id }, call) => call.write(tx => noteProjectOpened(tx, call.caller.userId, id)),
  markAllRead: async ({ id }) => {
    while (await app.db.transaction(tx => cards.viewSome(tx, id))) {
      /* Marks the next batch. */
    }
  },
  stats: async ({ id }) =>
    stats(await countCards(app.db, id), await readProjectTokens(app.db, id), await countAskedMonitors(app.db, id)),
  history: ({ id, since }) => projects.history(app.db, id, app.config.clock(), since),
  usage: ({ id, since }) => projects.usageByDay(app.db, id, app.config.clock(), since),
  getWorktree: async ({ id }) => findWorktreeSettings(app.worktrees, app.db, await projects.find(app.db, id)),
  agreeToBoardFile: async ({ id, version }, call) => {
    await requireVersion(app.worktrees, await projects.find(app.db, id), version)
    await call.write(async tx => agreeToBoardFile(tx, call.caller, await projects.find(tx, id), version))
    return findWorktreeSettings(app.worktrees, app.db, await projects.find(app.db, id))
  },
  withdrawAgreement: ({ id }, call) => call.write(async tx => withdrawAgreement(tx, await projects.find(tx, id))),
  files: async ({ projectId, repository }) =>
    trackedFiles(projectIn(await projects.find(app.db, projectId), repository)),
})

/** Records the folders that a project or a change of it names. */
const recordNamed = (path: string | undefined, repositories: readonly Repository[] = []): Promise<FolderRecords> =>
  recordFolders([...(path === undefined ? [] : [path]), ...repositories.map(each => each.path)])

/** Checks and records the folders that a change of a project names. */
async function changedFolders(app: Pick<App, 'config' | 'db'>, call: Call, id: number, change: projects.ProjectChange) {
  const { config } = app
  const path = change.path === undefined ? undefined : await requireFolder(config, call.caller, change.path)
  if (path === undefined && change.repositories === undefined) return {}
  const project = await projects.find(app.db, id)
  const home = path ?? project.path
  const repositories =
    change.repositories && (await requireRepositories(config, call.caller, home, change.repositories))
  if (!repositories) await requireApart(config, home, repositoriesOf(project))
  const known = new Set(repositoriesOf(project).map(each => each.path))
  const added = repositories?.filter(each => !known.has(each.path))
  return { path, repositories, folders: await recordNamed(path, added) }
}

const withRoles = (app: Pick<App, 'db'>, call: Call, rows: VisibleProject[]) =>
  Promise.all(
    rows.map(async row =>
      projectView(
        row,
        await requireRole(app.db, call.caller, row.id, 'viewer', () => new Problem('PROJECT_NOT_FOUND')),
      ),
    ),
  )
