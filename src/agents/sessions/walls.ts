import { realpath, stat } from 'node:fs/promises'
import { homedir } from 'node:os'
import { isAbsolute, join } from 'node:path'
import { isWithin } from '../../config/folders.ts'
import type { SandboxSettings, SessionSandbox } from '../../contract/sandbox.ts'
import type { GitView } from '../../worktrees/gitView.ts'
import type { BranchSync } from '../../worktrees/syncBranch.ts'
import { accountFolders, authorities } from '../../process/environment.ts'
import { findProgram } from '../../process/findProgram.ts'
import { LaunchFailed } from '../../process/spawn.ts'
import {
  openSandboxNetwork,
  type SandboxNetwork,
  type SandboxNetworkOptions,
} from '../../sandbox/network/sandboxNetwork.ts'
import { programMounts } from '../../sandbox/programMounts.ts'
import type { SessionCgroup } from '../../sandbox/cgroup.ts'
import type { Mount } from '../../sandbox/mount.ts'
import type { SandboxPolicy } from '../../sandbox/policy.ts'
import type { Sandbox } from '../../sandbox/sandbox.ts'
import { asPlain, openRepository, takeAll, withoutWriting, type WalledRepository } from './wallsBeside.ts'
import { asLaunchFailure } from '../link/exitFailures.ts'
import { AgentFailure, type AgentLaunch } from '../link/agentLink.ts'
import { settingsFolder } from '../providers/telemetryOff.ts'
import type { WalledAgent } from '../providers/walledAgent.ts'

/** Where a session works and what of the server's files it is given. */
export interface WalledPlace {
  dataDir: string
  /** Folders with worktrees outside of it. */
  worktreeRoots: readonly string[]
  /** The project's folder; null for an agent on trial. */
  projectPath: string | null
  /** The worktree that the session may change; null where it is the project's folder itself. */
  worktreePath: string | null
  /** Prepares what the session sees of Git, over everything else; null where it works in no repository. */
  openGit: (() => Promise<GitView>) | null
  /** The project's other repositories. */
  beside?: readonly WalledRepository[]
  /** Prepares the folders and files of the account's home that the agent can change: its sign-in and its state. */
  openState: () => Promise<readonly Mount[]>
  /** How the agent does without a sandbox of its own. */
  walled: WalledAgent | undefined
  /** Whether the agent changes nothing where it works. */
  isReadOnly: boolean
  /** Where its model is, and those addresses of models that the operator has chosen. */
  models: { hosts: readonly string[]; endpoints: readonly string[] }
}

/** What a restricted network of a session needs of the server. */
export type NetworkParts = Pick<
  SandboxNetworkOptions,
  'connect' | 'acceptForBoard' | 'boardUrl' | 'howToAllow' | 'onAsked' | 'served'
>

/** The walls around one session. */
export interface Walls extends Pick<SessionSandbox, 'kind' | 'network'> {
  /** A launch as it is inside. */
  inside(launch: AgentLaunch): AgentLaunch
  /** Takes over what listens inside for the server. Undefined with the machine's own network. */
  attach: SandboxNetwork['attach'] | undefined
  /** Connects to a port inside that is served. Undefined with the machine's own network, where whoever likes does. */
  connectInside: SandboxNetwork['connectInside'] | undefined
  asked(): SessionSandbox['asked']
  /** Takes over what the agent has committed on its own branch. */
  takeCommits(): Promise<BranchSync>
  /** Whether what is started keeps a process namespace of its own. */
  hasNamespace: boolean
  /** Holds all that is started inside to the project's bounds. Null where they are watched. */
  cgroup: SessionCgroup | null
  /**
   * The command that runs another one inside, and the descriptors that it inherits.
   * @throws LaunchFailed if its program is missing, or a mounted folder was moved or replaced
   */
  wrap(command: {
    argv: readonly string[]
    cwd: string
    env: Readonly<Record<string, string>>
  }): Promise<{ command: readonly string[]; descriptors: readonly number[] }>
  /** Closes the control group and the mounted folders, once all processes inside have ended. */
  close(): Promise<void>
}

/** What a launch in walls gets instead of the account's own: a temporary folder, and no way to sockets of other programs. */
const insideFolders = { TMPDIR: '/tmp', TMP: '/tmp', TEMP: '/tmp' }

/**
 * The walls for a session; null where it has none. `launch.env` is changed to what holds inside.
 * @throws AgentFailure launch_failed where walls are required, or the folders leave no room for them
 */
export async function raiseWalls(
  sandbox: Sandbox,
  settings: SandboxSettings,
  launch: AgentLaunch,
  place: WalledPlace,
  parts?: NetworkParts,
): Promise<Walls | null> {
  const { mode, kind, reason, advice } = await sandbox.status()
  if (settings.walls === 'off' && mode !== 'require') return null
  if (kind === 'none') {
    if (mode !== 'require' && settings.walls !== 'require') return null
    throw new AgentFailure('launch_failed', `The agent must run in a sandbox, and there is none. ${reason} ${advice}`)
  }
  if (place.walled && !isWrapped(launch, place.walled, place.dataDir)) {
    if (mode !== 'require' && settings.walls !== 'require') return null
    throw new AgentFailure(
      'launch_failed',
      `The agent must run in the sandbox, in which its own does not work, and ${place.walled.wrapper} keeps the board from switching that off. Start the server without it, or do not require the sandbox for this project.`,
    )
  }
  const hasNamespace = kind === 'bubblewrap'
  if (settings.network !== 'full' && !hasNamespace)
    throw new AgentFailure(
      'launch_failed',
      `The project restricts the network of its agents, which only bubblewrap can do; the server has ${kind}.`,
    )
  const cgroup = await sandbox.openCgroup(settings)
  const held = cgroup ? { ...settings, memoryMb: null, processes: null } : settings
  const { policy, views } = await prepareInside(held, launch, place)
  const network =
    settings.network === 'full' || !parts ? undefined : openNetwork(settings.network, settings, place, parts)
  const opened = await sandbox.open(policy).catch(error => {
    throw asLaunchFailure(error)
  })
  return {
    kind,
    network: settings.network,
    hasNamespace,
    cgroup,
    wrap: async ({ argv, cwd, env }) => {
      if ((await findProgram(argv[0] ?? '', env.PATH ?? '')) === null)
        throw new LaunchFailed('missing', `${argv[0]} was not found.`)
      const inside = await opened.command(cwd, network ? network.wrap(argv) : argv)
      return { ...inside, command: cgroup ? await cgroup.enter(inside.command) : inside.command }
    },
    inside: each => launchInside(each, each.protocol === 'acp' ? place.walled : undefined, network),
    attach: network?.attach,
    connectInside: network?.connectInside,
    close: async () => {
      await cgroup?.close()
      await opened.close()
    },
    takeCommits: () => takeAll(views),
    asked: () => (network?.asked() ?? []).map(({ isAllowed, ...asked }) => ({ ...asked, allowed: isAllowed })),
  }
}

const openNetwork = (
  network: 'listed' | 'none',
  { hosts }: SandboxSettings,
  { models }: WalledPlace,
  parts: NetworkParts,
): SandboxNetwork =>
  openSandboxNetwork({ ...parts, network, allowed: [...models.hosts, ...hosts], trusted: models.endpoints })

const isWrapped = ({ env }: AgentLaunch, { wrapper }: WalledAgent, dataDir: string): boolean =>
  env[wrapper] !== undefined && isWithin(settingsFolder(dataDir), env[wrapper])

/** The launch as it is inside. */
const launchInside = (
  launch: AgentLaunch,
  walled: WalledAgent | undefined,
  network: SandboxNetwork | undefined,
): AgentLaunch => ({
  ...launch,
  ...(walled && { choice: choiceInside(launch, walled) }),
  tools: launch.tools && network ? { ...launch.tools, url: `${network.boardUrl}/api/mcp` } : launch.tools,
  env: {
    ...Object.fromEntries(
      Object.entries(launch.env).filter(([name]) => !(accountFolders as readonly string[]).includes(name)),
    ),
    ...walled?.env,
    ...insideFolders,
    ...network?.env,
    ...(network && launch.env.BOARD_URL !== undefined && { BOARD_URL: network.boardUrl }),
  },
})

/** A mode with a sandbox of the agent's own becomes the one without. */
function choiceInside({ choice, modes = [] }: AgentLaunch, { mode, replaced }: WalledAgent): AgentLaunch['choice'] {
  const chosen = choice?.mode ?? modes[0] ?? null
  return {
    model: null,
    effort: null,
    ...choice,
    mode: chosen === null || replaced.includes(chosen) ? mode : chosen,
  }
}

/** What the session sees, and how Git's part of that comes out. */
async function prepareInside(
  { network, caches, ...limits }: SandboxSettings,
  launch: AgentLaunch,
  place: WalledPlace,
): Promise<{ policy: SandboxPolicy; views: Array<GitView | undefined> }> {
  const { projectPath, worktreePath } = place
  const [account, dataDir, project] = await Promise.all([
    real(homedir()),
    real(place.dataDir),
    projectPath === null ? null : real(projectPath),
  ])
  const [git, state, roots, programs, cached] = await Promise.all([
    place.openGit?.(),
    place.openState(),
    present(place.worktreeRoots),
    programMounts(launch.argv, launch.env, account),
    Promise.all(caches.map(path => cacheMount(join(account, path.slice(2))))),
  ])
  const changesNothing = isReading(launch, place)
  const beside = await Promise.all((place.beside ?? []).map(each => openRepository(each, changesNothing)))
  const readableBeside = beside.map(each => each.readable)
  if (
    [...(project === null ? [] : [project]), ...readableBeside.map(each => each.target)].some(each =>
      isWithin(each, account),
    )
  )
    throw new AgentFailure(
      'launch_failed',
      `The project's folder holds the home folder of the server's account, so its agents cannot be kept apart. Move the project, or switch its sandbox off.`,
    )
  const hidden = [dataDir, ...roots]
  const [readable, { realWork, work }] = await Promise.all([
    Promise.all(Object.entries(launch.env).map(namedFile([place.dataDir, ...hidden]))),
    workMounts(launch, place, git?.mounts ?? [], changesNothing),
    requirePlain([git, ...beside.map(each => each.git)].flatMap(view => view?.mounts ?? [])),
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
    ...readableBeside,
    ...around!.map(cover),
    // The project's folder may hold what is hidden.
    ...(worktreePath === null ? work : []),
    ...others!.map(cover),
    { kind: 'ro', target: settingsFolder(place.dataDir) },
    ...(isWithin(account, home) && home === account ? [] : [{ kind: 'rw', target: home } as Mount]),
    ...(launch.filesFolder === undefined ? [] : [{ kind: 'ro', target: launch.filesFolder } as Mount]),
    ...(worktreePath === null ? [] : work),
    ...beside.flatMap(each => each.work),
  ]
  return { views: [git, ...beside.map(each => each.git)], policy: { home: account, network, limits, mounts } }
}

const cover = (target: string): Mount => ({ kind: 'tmpfs', target })

const isReading = ({ choice }: AgentLaunch, { isReadOnly, walled }: WalledPlace): boolean =>
  isReadOnly || (walled !== undefined && choice?.mode === walled.readOnlyMode)

/** The folder that a session works in, with what it sees of Git. */
async function workMounts(
  { cwd }: AgentLaunch,
  { worktreePath }: WalledPlace,
  gitMounts: readonly Mount[],
  changesNothing: boolean,
): Promise<{ realWork: string; work: Mount[] }> {
  const target = worktreePath ?? cwd
  const [realWork, work] = [await real(target), [{ kind: 'rw', target } as Mount, ...asPlain(gitMounts)]]
  return { realWork, work: changesNothing ? withoutWriting(work, realWork) : work }
}

/** A certificate or a settings file that a variable leads to; nothing of what is hidden. */
const namedFile =
  (hidden: readonly string[]) =>
  async ([name, path]: [string, string]): Promise<string[]> => {
    const isNamed = authorities.includes(name) || /_(PATH|EXECUTABLE|CONFIG|CREDENTIALS)$/.test(name)
    if (!isNamed || !isAbsolute(path) || hidden.some(folder => isWithin(folder, path))) return []
    return (await stat(path).catch(() => undefined))?.isFile() ? [path] : []
  }

/** Folders that are there: in a part of the system, a place to cover what is not there cannot be made. */
async function present(folders: readonly string[]): Promise<string[]> {
  const found = await Promise.all(folders.map(folder => realpath(folder).catch(() => [])))
  return found.flat()
}

/** A cache that is a link could lead anywhere: an agent that writes the folder above it could have put it there. */
async function cacheMount(target: string): Promise<Mount> {
  if ((await real(target)) !== target)
    throw new AgentFailure(
      'launch_failed',
      `The cache ${target} is a link, or lies behind one. Name the folder itself.`,
    )
  return { kind: 'rw', target, isPlain: true }
}

/** A part of a repository's Git folder must not lead elsewhere: an agent whose project holds that repository could have put a link there. */
async function requirePlain(mounts: readonly Mount[]): Promise<void> {
  const paths = mounts.filter(({ kind }) => kind !== 'tmpfs').map(({ source, target }) => source ?? target)
  const found = await Promise.all(paths.map(real))
  const link = paths.find((path, at) => found[at] !== path)
  if (link !== undefined)
    throw new AgentFailure('launch_failed', `A part of the repository's Git folder is a link: ${link}`)
}

const real = (path: string): Promise<string> => realpath(path).catch(() => path)
