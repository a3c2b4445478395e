import { execFileSync } from 'node:child_process'
import { cpSync, mkdirSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { compareWork, merge } from '../../src/cardWork/changes.ts'
import { noDiff, type WorkDiff } from '../../src/worktrees/comparison.ts'
import { afterAll, beforeAll } from 'vitest'
import { takeWorktreeRoots } from '../../src/worktrees/worktreeRoot.ts'
import { removeDeleted } from '../../src/cardWork/removeWorktree.ts'
import { ensureWorktree, requireNothingLost, type Workplace } from '../../src/cardWork/worktrees.ts'
import type { ProjectFolder } from '../../src/git/folderRecord.ts'
import { createLocalRemote } from '../../src/worktrees/localRemote.ts'
import { createProcessTrees } from '../../src/process/spawn.ts'
import { createSandbox } from '../../src/sandbox/sandbox.ts'
import { insertBoard } from '../../src/store/boards/boards.ts'
import { insertCard, readCard, updateCard, type CardChange, type CardRow } from '../../src/store/cards/cards.ts'
import { insertColumn } from '../../src/store/boards/columns.ts'
import type { Database } from '../../src/store/engine/database.ts'
import { insertProject, readProject } from '../../src/store/projects/projects.ts'
import { createWorktrees, type Worktrees } from '../../src/worktrees/worktrees.ts'
import { openStore } from '../support/processes/trees.ts'

export const environment = {
  PATH: process.env.PATH,
  HOME: '/nonexistent',
  GIT_CONFIG_NOSYSTEM: '1',
  GIT_AUTHOR_NAME: 'T',
  GIT_AUTHOR_EMAIL: 't@example.org',
  GIT_COMMITTER_NAME: 'T',
  GIT_COMMITTER_EMAIL: 't@example.org',
}
/** Git as a user or an agent runs it: with hooks and filters. */
export const git = (cwd: string, ...args: string[]): string =>
  execFileSync('git', args, { cwd, env: environment, stdio: ['ignore', 'pipe', 'pipe'] })
    .toString()
    .trim()

/** A project's folder without a record. */
export const unrecorded = (path: string): ProjectFolder => ({ path, folderRecords: '{}' })

export function write(folder: string, path: string, content: string | Buffer): void {
  mkdirSync(dirname(join(folder, path)), { recursive: true })
  writeFileSync(join(folder, path), content)
}

export function commit(cwd: string, path: string, content: string | Buffer, message = `Change ${path}`): string {
  write(cwd, path, content)
  git(cwd, 'add', '--', path)
  git(cwd, 'commit', '-q', '-m', message)
  return git(cwd, 'rev-parse', 'HEAD')
}

/** A project with its own repository, and cards that work in it. */
export interface TestProject {
  path: string
  /** The board's data folder, which also contains the worktrees. */
  dataDir: string
  card(change?: CardChange): Promise<TestCard>
  set(change: { path?: string; copiedFiles?: string[] }): Promise<void>
}
export interface TestCard {
  id: number
  row(): Promise<CardRow>
  set(change: CardChange): Promise<void>
  start(server?: { worktreeRoot?: string; fetchTimeoutMs?: number; dataDir?: string }): Promise<Workplace>
  diff(): Promise<WorkDiff>
  merge(options?: { into?: string; squash?: boolean }): ReturnType<typeof merge>
  remove(force?: boolean): Promise<void>
}

type Projects = Awaited<ReturnType<typeof openProjects>>

/** Opens projects for the tests of a file before they start, and closes them afterwards. */
export function useProjects(): Projects {
  const projects = {} as Projects
  beforeAll(async () => void Object.assign(projects, await openProjects()))
  afterAll(() => projects.close())
  return projects
}

/** Opens a store with the account's home in its folder, so that this machine's Git configuration has no effect. */
export async function openProjects(): Promise<{
  db: Database
  worktrees: Worktrees
  folder: string
  home: string
  /** @param name by default a unique one */
  project(name?: string, init?: string[]): Promise<TestProject>
  close(): Promise<void>
}> {
  const store = await openStore()
  const { db, folder } = store
  const home = join(folder, 'home')
  mkdirSync(home)
  const { HOME, XDG_CONFIG_HOME } = process.env
  setEnvironment({ HOME: home, XDG_CONFIG_HOME: home })
  const dataDir = join(folder, 'data')
  const processTrees = createProcessTrees(db)
  const worktrees = createWorktrees(createSandbox({ mode: 'auto' }))

  const repositories = new Map<string, string>()
  /** A repository with one commit, as a template, because creating one takes five processes. */
  const repository = (init: string[]) => {
    const made = repositories.get(init.join())
    if (made) return made
    const path = join(folder, `repository-${repositories.size}`)
    repositories.set(init.join(), path)
    mkdirSync(path)
    git(path, 'init', '-q', '--template=', ...init)
    commit(path, 'README', 'Read me.\n')
    return path
  }
  let count = 0
  const project = async (name = `project-${++count}`, init: string[] = ['-b', 'main']): Promise<TestProject> => {
    const path = join(folder, name)
    cpSync(repository(init), path, { recursive: true })
    const { id, columnId, boardId } = await db.transaction(async tx => {
      const id = await insertProject(tx, { name, path, organizationId: null, ownerId: 0 })
      const boardId = await insertBoard(tx, { projectId: id, name: 'Board' })
      return {
        id,
        boardId,
        columnId: await insertColumn(tx, {
          boardId,
          projectId: id,
          name: 'In Progress',
          columnType: 'active',
          prompt: '',
        }),
      }
    })
    const row = async () => (await readProject(db, id))!
    const set = (change: { path?: string; copiedFiles?: string[] }) =>
      db.transaction(async tx => {
        await tx.run(
          'UPDATE projects SET path = coalesce(?, path), copied_files = coalesce(?, copied_files) WHERE id = ?',
          [change.path, change.copiedFiles && JSON.stringify(change.copiedFiles), id],
        )
      })
    const card = async (change: CardChange = {}): Promise<TestCard> => {
      const cardId = await db.transaction(async tx => {
        const made = await insertCard(tx, {
          projectId: id,
          boardId,
          columnId,
          title: 'Fix the door',
          prompt: '',
          labels: '[]',
          pipeline: '[]',
          groupId: null,
          archivedAt: null,
          lastAgentAction: null,
          deferred: false,
          autoMode: false,
          useWorktree: true,
          unread: false,
        })
        if (Object.keys(change).length > 0) await updateCard(tx, made, change)
        return made
      })
      const cardRow = async () => (await readCard(db, id, cardId))!
      return {
        id: cardId,
        row: cardRow,
        set: more => db.transaction(tx => updateCard(tx, cardId, more)),
        start: async ({ worktreeRoot, fetchTimeoutMs = 60_000, dataDir: hidden = dataDir } = {}) =>
          ensureWorktree(
            worktrees,
            db,
            await cardRow(),
            await row(),
            { dataDir: hidden, ...takeWorktreeRoots({ dataDir: hidden, worktreeRoot }) },
            { processTrees, timeoutMs: fetchTimeoutMs, local: createLocalRemote(worktrees) },
          ),
        diff: async () => (await compareWork(worktrees, await cardRow(), await row()))?.work ?? noDiff,
        merge: async options => merge(worktrees, await cardRow(), await row(), { squash: false, ...options }),
        remove: async (force = false) => {
          await requireNothingLost(worktrees, unrecorded(path), await cardRow(), force, dataDir)
          await db.transaction(tx => updateCard(tx, cardId, { deletedAt: '2026-01-01' }))
          await removeDeleted(worktrees, db, '2026-02-01', dataDir, async () => {})
          await db.transaction(tx => updateCard(tx, cardId, { deletedAt: null }))
        },
      }
    }
    return { path, dataDir, card, set }
  }
  const close = async () => {
    setEnvironment({ HOME, XDG_CONFIG_HOME })
    await worktrees.close()
    await store.close()
  }
  return { db, worktrees, folder, home, project, close }
}

function setEnvironment(variables: Record<string, string | undefined>): void {
  for (const [name, value] of Object.entries(variables)) {
    if (value === undefined) delete process.env[name]
    else process.env[name] = value
  }
}
