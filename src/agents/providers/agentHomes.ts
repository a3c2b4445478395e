import { chmod, lstat, mkdir, mkdtemp, readdir, rename, rmdir, writeFile } from 'node:fs/promises'
import { dirname, isAbsolute, join, resolve } from 'node:path'
import { agentsFolder } from '../../config/folders.ts'
import { removeFolder } from '../../git/removeFolder.ts'
import { listProfiles } from '../../store/agents/agentProfiles.ts'
import { listPresentCredentials } from '../../store/accounts/credentials.ts'
import type { Reader } from '../../store/engine/database.ts'
import { listPresentProjects } from '../../store/projects/projects.ts'
import type { Mount } from '../../sandbox/mount.ts'
import { removeFiles } from '../../worktrees/removeFiles.ts'
import type { Worktrees } from '../../worktrees/worktrees.ts'
import { AgentFailure, type AgentLaunch } from '../link/agentLink.ts'
import type { AgentProvider } from './agentProvider.ts'
import { builtIn } from './builtInProviders.ts'
import type { AgentCredential } from './credentialEnvironment.ts'

/** The folder with the home of a credential or profile in one project. The owner `account` has conversations only. */
export const agentFolder = (dataDir: string, owner: string, projectId: number): string =>
  join(agentsFolder(dataDir), owner, String(projectId))

const trialsFolder = (dataDir: string): string => join(agentsFolder(dataDir), 'checks')

/** Creates the folder that an agent on trial works in. `trialFolder` also contains the agent's home, and is removed after the trial. */
export async function makeTrialFolder(dataDir: string): Promise<string> {
  const trials = trialsFolder(dataDir)
  await mkdir(trials, { recursive: true, mode: 0o700 })
  const cwd = join(await mkdtemp(join(trials, 'check-')), 'work')
  await mkdir(cwd, { mode: 0o700 })
  return cwd
}

/**
 * The files and folders that an agent without a credential can change: its state in the account's home, and the paths in
 * variables. Its conversations are replaced by those of the project.
 * @throws AgentFailure launch_failed
 */
export async function openState(
  provider: AgentProvider,
  credential: AgentCredential | null,
  { env, hasOwnHome, ownFolder }: AgentLaunch,
): Promise<Mount[]> {
  if (credential) return []
  // An agent could have put a link anywhere in its own home.
  const own = hasOwnHome ? [] : provider.state.map(path => resolve(env.HOME!, path))
  const named = provider.account
    .filter(name => /_(HOME|DIR)$/.test(name))
    .flatMap(name => env[name] ?? [])
    .filter(isAbsolute)
  for (const folder of own)
    if (!folder.endsWith('.json'))
      await mkdir(folder, { recursive: true, mode: 0o700 }).catch(() => {
        /* The folder does not exist. */
      })
  const conversations = await Promise.all([
    ...(hasOwnHome ? [] : [openConversations(ownFolder!, env.HOME!, provider.conversations)]),
    ...named.map(folder => openConversations(ownFolder!, folder, provider.conversations.map(withoutFirst))),
  ])
  return [...[...own, ...named].map((target): Mount => ({ kind: 'rw', target })), ...conversations.flat()]
}

/** Removes the first folder of a path. A variable such as CLAUDE_CONFIG_DIR replaces that folder. */
const withoutFirst = (path: string): string => path.slice(path.indexOf('/') + 1)

/**
 * Creates folders that replace a program's conversations in the account's home, so that agents of one project do not see the
 * conversations of others. `names` are their paths in `at`.
 * @throws AgentFailure launch_failed if a link or file is at the path of such a folder
 */
async function openConversations(folder: string, at: string, names: readonly string[]): Promise<Mount[]> {
  return Promise.all(
    names.map(async name => {
      const [source, target] = [join(folder, 'conversations', name), join(at, name)]
      if ((await lstat(target).catch(() => undefined))?.isDirectory() === false)
        throw new AgentFailure(
          'launch_failed',
          `${target} is not a folder but a link or file, so the agent cannot be isolated from conversations of other projects. Replace it with a folder, or use a credential.`,
        )
      await mkdir(source, { recursive: true, mode: 0o700 })
      return { kind: 'rw', source, target } as const
    }),
  )
}

/** The folder with all files of an agent on trial that works in `cwd`. */
export const trialFolder = (cwd: string): string => dirname(cwd)

/** Removes all files of an agent on trial that worked in `cwd`. */
export const removeTrial = (worktrees: Worktrees, cwd: string): Promise<void> =>
  removeFiles(worktrees, trialFolder(cwd))

/** Creates those of an agent's folders that are missing. `home` is null if the agent uses the account's home. */
export async function makeAgentFolders(
  folder: string,
  hasHome: boolean,
): Promise<{ home: string | null; tmp: string }> {
  const tmp = join(folder, 'tmp')
  await mkdir(tmp, { recursive: true, mode: 0o700 })
  for (const each of [folder, tmp]) await chmod(each, 0o700)
  if (!hasHome) return { home: null, tmp }
  const home = join(folder, 'home')
  if (!(await lstat(home).catch(() => undefined))) await makeHome(home)
  return { home, tmp }
}

/**
 * Creates a home with the initial files of all agents. The home gets its name when it is complete, and the server never writes in
 * it again: an agent could have replaced any file or folder with a link.
 */
async function makeHome(home: string): Promise<void> {
  const unfinished = await mkdtemp(`${home}-`)
  for (const [path, content] of builtIn.flatMap(({ homeFiles }) => Object.entries(homeFiles))) {
    const file = join(unfinished, path)
    await mkdir(dirname(file), { recursive: true, mode: 0o700 })
    await writeFile(file, content, { mode: 0o600 })
  }
  await rename(unfinished, home).catch(async (error: NodeJS.ErrnoException) => {
    await removeFolder(unfinished)
    // Another session of the project has created the home.
    if (!['EEXIST', 'ENOTEMPTY'].includes(error.code ?? '')) throw error
  })
}

/** The folder with the home of a credential or profile in a project. */
interface AgentFolder {
  path: string
  owner: string
  project: string
}

const isOwner = (name: string): boolean => /^(\d+|profile-.*|account)$/.test(name)

/** The folders with homes. */
export async function listAgentFolders(dataDir: string): Promise<AgentFolder[]> {
  const agents = agentsFolder(dataDir)
  const owners = (await readdir(agents).catch(() => [])).filter(isOwner)
  const found = await Promise.all(
    owners.map(async owner =>
      (await readdir(join(agents, owner)).catch(() => [])).map(project => ({
        path: join(agents, owner, project),
        owner,
        project,
      })),
    ),
  )
  return found.flat()
}

/**
 * Removes the homes whose project, credential or profile is deleted.
 * A home that an agent uses stays for the next time. Agents could put links into homes, so a process in the sandbox removes the content.
 * @throws AggregateError with the failures
 */
export async function removeUnusedHomes(
  worktrees: Worktrees,
  db: Reader,
  dataDir: string,
  isUsed: (folder: string) => boolean,
): Promise<void> {
  const folders = await listAgentFolders(dataDir)
  if (folders.length === 0) return
  const { owners, projects } = await findPresent(db, folders)
  const failures: unknown[] = []
  for (const { path, owner, project } of folders) {
    if ((owners.has(owner.toLowerCase()) && projects.has(project)) || isUsed(path)) continue
    await removeFiles(worktrees, path).catch((error: unknown) => failures.push(error))
    await rmdir(dirname(path)).catch(() => {
      /* The folder contains homes of other projects. */
    })
  }
  if (failures.length > 0)
    throw new AggregateError(failures, `The homes of ${failures.length} agents could not be removed.`)
}

/** Removes the folders of trials that an earlier server did not finish, and the unused homes. Call it only while no agent runs. */
export async function removeLeftHomes(worktrees: Worktrees, db: Reader, dataDir: string): Promise<void> {
  await removeFiles(worktrees, trialsFolder(dataDir))
  await removeUnusedHomes(worktrees, db, dataDir, () => false)
}

/** The names of the owners and projects that still exist. */
async function findPresent(
  db: Reader,
  folders: readonly AgentFolder[],
): Promise<Record<'owners' | 'projects', ReadonlySet<string>>> {
  const [credentials, profiles, projects] = await Promise.all([
    listPresentCredentials(db, idsIn(folders.map(({ owner }) => owner))),
    listProfiles(db),
    listPresentProjects(db, idsIn(folders.map(({ project }) => project))),
  ])
  return {
    owners: new Set([
      'account',
      ...credentials.map(String),
      ...profiles.map(({ name }) => `profile-${name}`.toLowerCase()),
    ]),
    projects: new Set(projects.map(String)),
  }
}

const idsIn = (names: readonly string[]): number[] => [...new Set(names)].map(Number).filter(Number.isSafeInteger)
