import { realpath, stat } from 'node:fs/promises'
import { homedir } from 'node:os'
import { isAbsolute, join } from 'node:path'
import { isWithin } from '../../../config/folders.ts'
import type { SandboxSettings } from '../../../contract/agents/sandbox.ts'
import { authorities } from '../../../process/environment.ts'
import { programMounts } from '../../../sandbox/programMounts.ts'
import type { Mount } from '../../../sandbox/mount.ts'
import type { SandboxPolicy } from '../../../sandbox/policy.ts'
import type { GitView } from '../../../worktrees/gitView.ts'
import { AgentFailure, type AgentLaunch } from '../../link/agentLink.ts'
import { settingsFolder } from '../../providers/telemetryOff.ts'
import type { SandboxOverride } from '../../providers/agentProvider.ts'
import { asPlain, openRepository, withoutWriting, type SandboxRepository } from './repositoryMounts.ts'

/** The access of a program in addition to its folders. */
export interface AgentAccess {
  /** Prepares the folders and files of the account's home that the agent can change: its sign-in and its state. */
  openState?: () => Promise<readonly Mount[]>
  /** How the agent works without its own sandbox. */
  sandboxOverride?: SandboxOverride
  /** Whether the agent has read-only access to its working folder. */
  isReadOnly: boolean
  /** The hosts of the agent's model, and the addresses of models that the operator chose. */
  models?: { hosts: readonly string[]; endpoints: readonly string[] }
}
/** The folders of a session, and the server's files that it can access. */
export interface SandboxPlace extends AgentAccess {
  dataDir: string
  /** Folders that contain worktrees outside of the project. */
  worktreeRoots: readonly string[]
  /** The project's folder; null for an agent on trial. */
  projectPath: string | null
  /** The worktree that the session can change. Null if it works in the project's own folder. */
  worktreePath: string | null
  /**
   * Prepares the session's view of Git, which is mounted over everything else. Null if the session does not work in a repository.
   */
  openGit: (() => Promise<GitView>) | null
  /** The project's other repositories. */
  otherRepositories?: readonly SandboxRepository[]
}

/** Returns the session's mounts, and adds its views of Git to `views`. */
export async function prepareSessionPolicy(
  { network, caches, ...limits }: SandboxSettings,
  launch: AgentLaunch,
  place: SandboxPlace,
  views: GitView[],
): Promise<SandboxPolicy> {
  const { projectPath, worktreePath } = place
  const [account, dataDir, project] = await Promise.all([
    realPath(homedir()),
    realPath(place.dataDir),
    projectPath === null ? null : realPath(projectPath),
  ])
  const [git, state, roots, programs, cached] = await Promise.all([
    place.openGit && trackView(place.openGit, views),
    place.openState?.() ?? [],
    existingFolders(place.worktreeRoots),
    programMounts(launch.argv, launch.env, account),
    Promise.all(caches.map(path => cacheMount(join(account, path.slice(2))))),
  ])
  const changesNothing = isReading(launch, place)
  const repositories = await Promise.all(
    (place.otherRepositories ?? []).map(each => openRepository(each, changesNothing, open => trackView(open, views))),
  )
  const readableRepositories = repositories.map(each => each.readable)
  requireHomeOutside(account, [
    ...(project === null ? [] : [project]),
    ...readableRepositories.map(each => each.target),
  ])
  const hidden = [dataDir, ...roots]
  const [readable, { realWork, work }] = await Promise.all([
    Promise.all(Object.entries(launch.env).map(namedFile([place.dataDir, ...hidden]))),
    workMounts(launch, place, git?.mounts ?? [], changesNothing),
    requirePlain(views.flatMap(view => view.mounts)),
  ])
  const [around, others] = [true, false].map(wanted => hidden.filter(each => isWithin(each, realWork) === wanted))
  const home = launch.env.HOME ?? account
  const mounts: Mount[] = [
    ...programs,
    ...readable.flat().map((target): Mount => ({ kind: 'ro', target })),
    ...state,
    ...cached,
    ...(project === null
      ? []
      : [{ kind: worktreePath === null && !changesNothing ? 'rw' : 'ro', target: project, isPlain: true } as Mount]),
    ...readableRepositories,
    ...around!.map(cover),
    // Mounted before the covers below, because the project's folder can contain hidden folders.
    ...(worktreePath === null ? work : []),
    ...others!.map(cover),
    { kind: 'ro', target: settingsFolder(place.dataDir) },
    ...(isWithin(account, home) && home === account ? [] : [{ kind: 'rw', target: home } as Mount]),
    ...(launch.filesFolder === undefined ? [] : [{ kind: 'ro', target: launch.filesFolder } as Mount]),
    ...(worktreePath === null ? [] : work),
    ...repositories.flatMap(each => each.work),
  ]
  return { home: account, network, limits, mounts }
}

/** @throws AgentFailure if a folder that the session reads contains the account's home folder */
function requireHomeOutside(account: string, folders: readonly string[]): void {
  if (folders.some(folder => isWithin(folder, account)))
    throw new AgentFailure(
      'launch_failed',
      `The project's folder contains the home folder of the server's account, so its agents cannot be sandboxed. Move the project, or turn off its sandbox.`,
    )
}

async function trackView(open: () => Promise<GitView>, views: GitView[]): Promise<GitView> {
  const view = await open()
  views.push(view)
  return view
}

const cover = (target: string): Mount => ({ kind: 'tmpfs', target })

const isReading = ({ choice }: AgentLaunch, { isReadOnly, sandboxOverride }: SandboxPlace): boolean =>
  isReadOnly || (sandboxOverride !== undefined && choice?.mode === sandboxOverride.readOnlyMode)

/** The mounts of the session's working folder, including its view of Git. */
async function workMounts(
  { cwd }: AgentLaunch,
  { worktreePath }: SandboxPlace,
  gitMounts: readonly Mount[],
  changesNothing: boolean,
): Promise<{ realWork: string; work: Mount[] }> {
  const target = worktreePath ?? cwd
  const [realWork, work] = [await realPath(target), [{ kind: 'rw', target } as Mount, ...asPlain(gitMounts)]]
  return { realWork, work: changesNothing ? withoutWriting(work, realWork) : work }
}

/** A certificate or a settings file that a variable points to. Hidden files are excluded. */
const namedFile =
  (hidden: readonly string[]) =>
  async ([name, path]: [string, string]): Promise<string[]> => {
    const isNamed = authorities.includes(name) || /_(PATH|EXECUTABLE|CONFIG|CREDENTIALS)$/.test(name)
    if (!isNamed || !isAbsolute(path) || hidden.some(folder => isWithin(folder, path))) return []
    return (await stat(path).catch(() => undefined))?.isFile() ? [path] : []
  }

/** Returns the folders that exist. In a system folder, a mount point for a missing folder cannot be created. */
async function existingFolders(folders: readonly string[]): Promise<string[]> {
  const found = await Promise.all(folders.map(folder => realpath(folder).catch(() => [])))
  return found.flat()
}

/** A cache that is a link could lead anywhere: an agent that can write to the parent folder could have put it there. */
async function cacheMount(target: string): Promise<Mount> {
  if ((await realPath(target)) !== target)
    throw new AgentFailure(
      'launch_failed',
      `The cache ${target} is a symbolic link, or is inside one. Specify the folder itself.`,
    )
  return { kind: 'rw', target, isPlain: true }
}

/**
 * A part of a repository's Git folder must not be a link: an agent whose project contains that repository could have put it
 * there.
 */
async function requirePlain(mounts: readonly Mount[]): Promise<void> {
  const paths = mounts.filter(({ kind }) => kind !== 'tmpfs').map(({ source, target }) => source ?? target)
  const found = await Promise.all(paths.map(realPath))
  const link = paths.find((path, at) => found[at] !== path)
  if (link !== undefined)
    throw new AgentFailure('launch_failed', `A part of the repository's Git folder is a link: ${link}`)
}

const realPath = (path: string): Promise<string> => realpath(path).catch(() => path)
