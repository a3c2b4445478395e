import { isWithin } from '../../../config/folders.ts'
import type { SandboxSettings, SessionSandbox } from '../../../contract/agents/sandbox.ts'
import type { GitView } from '../../../worktrees/gitView.ts'
import type { BranchSync } from '../../../worktrees/syncBranch.ts'
import { accountFolders } from '../../../process/environment.ts'
import { findProgram } from '../../../process/findProgram.ts'
import { LaunchFailed, type SpawnOptions } from '../../../process/spawn.ts'
import {
  openSandboxNetwork,
  type SandboxNetwork,
  type SandboxNetworkOptions,
} from '../../../sandbox/network/sandboxNetwork.ts'
import type { SessionCgroup } from '../../../sandbox/cgroup.ts'
import type { Sandbox } from '../../../sandbox/sandbox.ts'
import { prepareSessionPolicy, type SandboxPlace } from './sessionPolicy.ts'
import { takeAll } from './repositoryMounts.ts'
import { asLaunchFailure } from '../../link/exitFailures.ts'
import { AgentFailure, type AgentCommand, type AgentLaunch } from '../../link/agentLink.ts'
import { settingsFolder } from '../../providers/telemetryOff.ts'
import type { SandboxOverride } from '../../providers/agentProvider.ts'

/** The dependencies of a session's restricted network on the server. */
export type NetworkDependencies = Pick<
  SandboxNetworkOptions,
  'connect' | 'acceptForBoard' | 'boardUrl' | 'howToAllow' | 'onAsked' | 'served'
>

/** The sandbox around one session, or `noSandbox`. */
export interface RunSandbox extends Pick<SessionSandbox, 'kind' | 'network'> {
  /** Returns a launch with the paths inside the sandbox. */
  inside(launch: AgentLaunch): AgentLaunch
  /** Connects to a served port inside. Undefined with the machine's own network, where any program can connect directly. */
  connectInside: SandboxNetwork['connectInside'] | undefined
  asked(): SessionSandbox['asked']
  /** Notes for people before the agent starts. */
  remarks: string[]
  /** Takes over the agent's commits on its own branch. */
  takeCommits(): Promise<BranchSync>
  /** Enforces the project's limits on all processes inside. Null if the limits are watched instead. */
  cgroup: SessionCgroup | null
  /**
   * The process that runs a command inside, for `ProcessTrees.spawn`.
   * @throws LaunchFailed if its program is missing, or a mounted folder was moved or replaced
   */
  wrap(
    command: AgentCommand,
  ): Promise<Pick<SpawnOptions, 'command' | 'cwd' | 'env' | 'descriptors' | 'hasNamespace' | 'withChannel'>>
  /** Closes the control group and the mounted folders, once all processes inside have ended. */
  close(): Promise<void>
}

/** No sandbox: processes have the permissions of the server's account. */
export const noSandbox: RunSandbox = {
  kind: 'none',
  network: 'full',
  inside: launch => launch,
  connectInside: undefined,
  asked: () => [],
  remarks: [],
  takeCommits: async () => ({ state: 'none' }),
  cgroup: null,
  wrap: async ({ argv, cwd, env }) => ({ command: argv, cwd, env }),
  close: async () => {},
}

/**
 * Variables of a launch in the sandbox that replace the account's own: a temporary folder, and no path to the sockets of other
 * programs.
 */
const insideFolders = { TMPDIR: '/tmp', TMP: '/tmp', TEMP: '/tmp' }

/**
 * Opens the sandbox for a session. Returns `noSandbox` if the session has none.
 * @throws AgentFailure launch_failed if a sandbox is required, or if the folders conflict with it
 */
export async function openRunSandbox(
  sandbox: Sandbox,
  settings: SandboxSettings,
  launch: AgentLaunch,
  place: SandboxPlace,
  dependencies?: NetworkDependencies,
): Promise<RunSandbox> {
  const { mode, kind, reason, advice } = await sandbox.status()
  if (settings.mode === 'off' && mode !== 'require') return noSandbox
  const isRequired = mode === 'require' || settings.mode === 'require'
  if (kind === 'none') {
    if (!isRequired) return noSandbox
    throw new AgentFailure('launch_failed', `The agent needs a sandbox, but none is available. ${reason} ${advice}`)
  }
  if (place.sandboxOverride && !isWrapped(launch, place.sandboxOverride, place.dataDir)) {
    if (!isRequired) return noSandbox
    throw new AgentFailure(
      'launch_failed',
      `The sandbox of this agent does not work inside the sandbox of the board, and ${place.sandboxOverride.wrapper} prevents the board from disabling it. Start the server without this variable, or do not require the sandbox for this project.`,
    )
  }
  const hasNamespace = kind === 'bwrap'
  if (!hasNamespace) requireFullNetwork(settings, kind)
  const cgroup = await sandbox.openCgroup(settings)
  const held = cgroup ? { ...settings, memoryMiB: null, processes: null } : settings
  const views: GitView[] = []
  const closeViews = () => Promise.all(views.map(view => view.close()))
  const network =
    settings.network === 'full' || !dependencies
      ? undefined
      : openNetwork(settings.network, settings, place, dependencies)
  const opened = await prepareSessionPolicy(held, launch, place, views)
    .then(policy => sandbox.open(policy))
    .catch(async error => {
      await closeViews()
      throw asLaunchFailure(error)
    })
  return {
    kind,
    network: settings.network,
    cgroup,
    wrap: async ({ argv, cwd, env }) => {
      if ((await findProgram(argv[0] ?? '', env.PATH ?? '')) === null)
        throw new LaunchFailed('missing', `${argv[0]} was not found.`)
      const inside = await opened.command(cwd, network ? network.wrap(argv) : argv)
      const command = cgroup ? await cgroup.enter(inside.command) : inside.command
      return { command, cwd, env, descriptors: inside.descriptors, hasNamespace, withChannel: network?.attach }
    },
    inside: each => launchInside(each, each.protocol === 'acp' ? place.sandboxOverride : undefined, views, network),
    connectInside: network?.connectInside,
    close: async () => {
      await cgroup?.close()
      await opened.close()
      await closeViews()
    },
    takeCommits: () => takeAll(views),
    remarks: [...new Set(views.flatMap(({ remark }) => remark ?? []))],
    asked: () => (network?.asked() ?? []).map(({ isAllowed, ...asked }) => ({ ...asked, allowed: isAllowed })),
  }
}

/** @throws AgentFailure launch_failed */
function requireFullNetwork({ network }: SandboxSettings, kind: string): void {
  if (network !== 'full')
    throw new AgentFailure(
      'launch_failed',
      `The project restricts the network of its agents, which requires bubblewrap. The server has ${kind}.`,
    )
}

const openNetwork = (
  network: 'listed' | 'none',
  { hosts }: SandboxSettings,
  { models = { hosts: [], endpoints: [] } }: SandboxPlace,
  dependencies: NetworkDependencies,
): SandboxNetwork =>
  openSandboxNetwork({ ...dependencies, network, allowed: [...models.hosts, ...hosts], trusted: models.endpoints })

const isWrapped = ({ env }: AgentLaunch, { wrapper }: SandboxOverride, dataDir: string): boolean =>
  env[wrapper] !== undefined && isWithin(settingsFolder(dataDir), env[wrapper])

/** Returns the launch with the paths inside the sandbox. */
const launchInside = (
  launch: AgentLaunch,
  sandboxOverride: SandboxOverride | undefined,
  views: readonly GitView[],
  network: SandboxNetwork | undefined,
): AgentLaunch => ({
  ...launch,
  ...(sandboxOverride && { choice: choiceInside(launch, sandboxOverride) }),
  tools: launch.tools && network ? { ...launch.tools, url: `${network.boardUrl}/api/mcp` } : launch.tools,
  env: {
    ...Object.fromEntries(
      Object.entries(launch.env).filter(([name]) => !(accountFolders as readonly string[]).includes(name)),
    ),
    ...sandboxOverride?.env,
    ...insideFolders,
    ...views[0]?.variables,
    ...network?.env,
    ...(network && launch.env.BOARD_URL !== undefined && { BOARD_URL: network.boardUrl }),
  },
})

/** Replaces a mode that uses the agent's own sandbox with the mode without one. */
function choiceInside({ choice, modes = [] }: AgentLaunch, { mode, replaced }: SandboxOverride): AgentLaunch['choice'] {
  const chosen = choice?.mode ?? modes[0] ?? null
  return {
    model: null,
    effort: null,
    ...choice,
    mode: chosen === null || replaced.includes(chosen) ? mode : chosen,
  }
}
