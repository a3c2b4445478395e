import { execFile } from 'node:child_process'
import { tmpdir } from 'node:os'
import { promisify } from 'node:util'
import type { SandboxLimits, SandboxStatus } from '../contract/agents/sandbox.ts'
import { bubblewrapCommand } from './bubblewrap.ts'
import { divideOwnCgroup, readDefaultLimits, type OwnCgroup, type SessionCgroup } from './cgroup.ts'
import { templateCommand } from './commandTemplate.ts'
import { configurationParts } from './configurationParts.ts'
import { openMounts } from './openMounts.ts'
import type { SandboxPolicy } from './policy.ts'
import { withLimits } from './resourceLimits.ts'
import { seatbeltCommand } from './seatbelt.ts'
import { systemParts } from './systemMounts.ts'

/** The server's setting: `auto` uses the sandbox if it works, `require` starts no agent without it. */
export type SandboxMode = SandboxStatus['mode']
type Kind = SandboxStatus['kind']

/** Creates the sandboxes of agents. */
export interface Sandbox {
  /** The kind of sandbox that this server has. The sandbox is tested once, and the server's control group is divided once. */
  status(): Promise<SandboxStatus>
  /** A control group for a session. Null if this server has no group to divide. */
  openCgroup(limits: SandboxLimits): Promise<SessionCgroup | null>
  /**
   * Opens the folders and files of a policy for all commands of a session.
   * @throws LaunchFailed if one that must not be a link is a link
   */
  open(policy: SandboxPolicy): Promise<OpenSandbox>
  /** Returns the command that runs another one in the sandbox. @throws Error if there is no sandbox: see `status` */
  command(policy: SandboxPolicy, cwd: string, argv: readonly string[]): Promise<string[]>
}

/** The sandbox of a session. */
interface OpenSandbox {
  /**
   * Returns the command that runs another one in the sandbox, and the descriptors that it must inherit.
   * @throws LaunchFailed if a mounted folder or file was moved or replaced by a link
   */
  command(cwd: string, argv: readonly string[]): Promise<{ command: string[]; descriptors: number[] }>
  close(): Promise<void>
}

const probeTimeoutMs = 10_000
const noBounds = { memoryMiB: null, processes: null, fileMiB: null, minutes: null }

/** @param template the command of a custom sandbox, instead of the system's (`board serve --sandbox-command`) */
export function createSandbox({ mode, template }: { mode: SandboxMode; template?: string }): Sandbox {
  let tried: Promise<{ status: SandboxStatus; openSession: OwnCgroup['openSession'] }> | undefined
  let mountsDescriptors: Promise<boolean> | undefined
  const build = async (kind: Kind, policy: SandboxPolicy, cwd: string, argv: readonly string[]): Promise<string[]> => {
    const bounded = withLimits(policy.limits, argv)
    if (kind === 'bwrap') return bubblewrapCommand(policy, await readSystem(), cwd, bounded)
    if (kind === 'seatbelt') return seatbeltCommand(policy, bounded)
    if (kind === 'command') return templateCommand(template!, policy, cwd, bounded)
    throw new Error('There is no sandbox on this server.')
  }
  const tryAll = async () => {
    const probed = await probeSandbox(mode, template, (kind, argv) => build(kind, emptyPolicy, '/', argv))
    const { status: bounds, openSession } = probed.kind === 'bwrap' ? await divideOwnCgroup() : notDivided()
    return { status: { ...probed, bounds }, openSession }
  }
  const tryOnce = () =>
    (tried ??= tryAll().catch(error => {
      tried = undefined
      throw error
    }))
  return {
    status: async () => (await tryOnce()).status,
    openCgroup: async limits => (await tryOnce()).openSession?.(limits) ?? null,
    open: async policy => {
      const { kind } = (await tryOnce()).status
      const opened = kind === 'bwrap' ? await openMounts(policy.mounts) : undefined
      // An older bubblewrap would pass the descriptors on to the agent.
      const hasDescriptors = opened !== undefined && (await (mountsDescriptors ??= hasOption('--bind-fd')))
      return {
        command: async (cwd, argv) => {
          const current = (await opened?.current()) ?? policy.mounts
          const mounts = hasDescriptors ? current : current.map(({ descriptor: _, ...mount }) => mount)
          return {
            command: await build(kind, { ...policy, mounts }, cwd, argv),
            descriptors: mounts.flatMap(mount => ('descriptor' in mount ? (mount.descriptor ?? []) : [])),
          }
        },
        close: async () => opened?.close(),
      }
    },
    command: async (policy, cwd, argv) => build((await tryOnce()).status.kind, policy, cwd, argv),
  }
}

const hasOption = (option: string): Promise<boolean> =>
  promisify(execFile)('bwrap', ['--help'], { timeout: probeTimeoutMs }).then(
    ({ stdout }) => stdout.includes(option),
    () => false,
  )

/** The parts of the system that every session sees, read again for each process. */
const readSystem = async () => [...(await systemParts()), ...configurationParts()]

/** Without a sandbox, an agent could leave its control group. */
const notDivided = (): OwnCgroup => ({
  status: {
    kind: 'watched',
    reason: 'Agents do not run in bubblewrap.',
    advice: null,
    defaults: readDefaultLimits(),
  },
  openSession: null,
})

const emptyPolicy: SandboxPolicy = { home: tmpdir(), mounts: [], network: 'none', limits: noBounds }

async function probeSandbox(
  mode: SandboxMode,
  template: string | undefined,
  build: (kind: Kind, argv: readonly string[]) => Promise<string[]>,
): Promise<Omit<SandboxStatus, 'bounds'>> {
  if (mode === 'off')
    return {
      mode,
      kind: 'none',
      reason: 'The server was started with --sandbox off.',
      advice: 'Start it with --sandbox auto.',
    }
  if (template !== undefined) return { mode, kind: 'command', reason: null, advice: null }
  const kind = process.platform === 'linux' ? 'bwrap' : process.platform === 'darwin' ? 'seatbelt' : undefined
  if (!kind)
    return {
      mode,
      kind: 'none',
      reason: `There is no sandbox for ${process.platform}.`,
      advice: 'Specify a custom sandbox with --sandbox-command, for example a container.',
    }
  const [program, ...args] = await build(kind, ['true'])
  const problem = await promisify(execFile)(program!, args, { timeout: probeTimeoutMs }).then(
    () => undefined,
    (error: NodeJS.ErrnoException & { stderr?: string }) => problemOf(error.code, error.stderr ?? error.message),
  )
  return { mode, kind: problem ? 'none' : kind, reason: null, advice: null, ...problem }
}

type Problem = Pick<SandboxStatus, 'reason' | 'advice'>

/** Why bubblewrap does not work here, by its error message, and how to fix it. */
function problemOf(code: unknown, stderr: string): Problem {
  if (code === 'ENOENT')
    return {
      reason: 'bubblewrap is not installed.',
      advice:
        'Install it: apt install bubblewrap, dnf install bubblewrap or apk add bubblewrap. Then start the server again.',
    }
  const output = stderr.trim().split('\n')[0]!.slice(0, 200)
  if (/unknown option/i.test(output))
    return { reason: `bubblewrap is too old (${output}).`, advice: 'Install bubblewrap 0.8 or newer.' }
  if (/proc/i.test(output))
    return {
      reason: `The sandbox cannot hide other processes (${output}).`,
      advice: 'In a container, start it with its own /proc unmasked (--security-opt systempaths=unconfined).',
    }
  if (/namespace|uid map|operation not permitted|permission denied/i.test(output))
    return {
      reason: `User namespaces are disabled (${output}).`,
      advice:
        'Allow them: sysctl kernel.unprivileged_userns_clone=1 on Debian, an AppArmor profile for bwrap (or sysctl kernel.apparmor_restrict_unprivileged_userns=0) on Ubuntu; in a container, --security-opt seccomp=unconfined.',
    }
  return {
    reason: `bubblewrap does not work here (${output}).`,
    advice: 'Try it: bwrap --unshare-user --ro-bind / / true',
  }
}
