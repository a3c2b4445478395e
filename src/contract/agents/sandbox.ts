import * as v from 'valibot'
import { Count, integer, text } from '../fields.ts'
import { isNetworkHost, parseNetworkHost } from '../networkHosts.ts'

/** Folders in the home folder that contain keys, sign-ins or settings of programs that act for the user. */
const notCaches =
  /^~\/(\.(ssh|gnupg|aws|azure|kube|docker|config|password-store|netrc|git[\w-]*|local|mozilla|bash\w*|zsh\w*|profile)|snap)(\/|$)/

/** A folder below the home folder that agents can write to: without `..`, and not one of the folders that contain keys. */
const isCachePath = (path: string): boolean =>
  /^~\/[^/]/.test(path) && !path.split('/').includes('..') && !notCaches.test(path)

/**
 * The sandbox of a project's agents:
 * - inherit: according to the server's setting (`board serve --sandbox`).
 * - require: an agent that cannot run in a sandbox does not start.
 * - off: no sandbox, unless the server requires it.
 */
const Mode = v.picklist(['inherit', 'require', 'off'], 'must be inherit, require or off')
/**
 * - full: the network of the server's machine.
 * - listed: the model's host, the board, and the listed hosts.
 * - none: only the board.
 */
const Network = v.picklist(['full', 'listed', 'none'], 'must be full, listed or none')
export type NetworkAccess = v.InferOutput<typeof Network>

/**
 * Whether a monitor that an agent in the sandbox creates can run outside of it.
 * - ask: once a user who can run scripts allows it.
 * - allow: at once.
 */
const Monitors = v.picklist(['ask', 'allow'], 'must be ask or allow')

const nullableInteger = (min: number, max: number) => v.nullable(integer(min, max))
/**
 * Limits of one session. Null: none, except that a control group enforces its defaults for memory and processes. The memory,
 * processes and time are totals of all its processes, `fileMiB` is per file. If control groups enforce them (`bounds` of the
 * sandbox's status), a thread counts as a process, and files in `/tmp` count as memory.
 */
const limits = {
  memoryMiB: nullableInteger(64, 1_048_576),
  processes: nullableInteger(8, 100_000),
  fileMiB: nullableInteger(1, 1_048_576),
  minutes: nullableInteger(1, 10_080),
}
export interface SandboxLimits {
  memoryMiB: number | null
  processes: number | null
  fileMiB: number | null
  minutes: number | null
}

const Host = v.pipe(
  text(1, 260),
  v.check(isNetworkHost, 'must be a host such as example.org, *.example.org or example.org:8443'),
  v.transform(host => parseNetworkHost(host)!.text),
)
const Cache = v.pipe(
  text(1, 500),
  v.check(isCachePath, 'must be a folder in the home folder, such as ~/.npm, without keys'),
)

export const SandboxSettings = v.object({
  mode: Mode,
  network: Network,
  hosts: v.array(v.string()),
  caches: v.array(v.string()),
  monitors: Monitors,
  ...limits,
})
export type SandboxSettings = v.InferOutput<typeof SandboxSettings>
export const defaultSandbox: SandboxSettings = {
  mode: 'inherit',
  network: 'full',
  hosts: [],
  caches: [],
  monitors: 'ask',
  memoryMiB: null,
  processes: null,
  fileMiB: null,
  minutes: null,
}
export const maxHosts = 200
const Hosts = v.pipe(
  v.array(Host),
  v.maxLength(maxHosts, `must have at most ${maxHosts} entries`),
  v.transform(hosts => [...new Set(hosts)]),
)
/** Omitted fields are unchanged. `addHosts` are added to the existing hosts, so that the caller does not need to read them. */
export const ChangedSandbox = v.strictObject({
  mode: v.optional(Mode),
  network: v.optional(Network),
  hosts: v.optional(Hosts),
  addHosts: v.optional(Hosts),
  caches: v.optional(v.pipe(v.array(Cache), v.maxLength(20, 'must have at most 20 entries'))),
  monitors: v.optional(Monitors),
  memoryMiB: v.optional(limits.memoryMiB),
  processes: v.optional(limits.processes),
  fileMiB: v.optional(limits.fileMiB),
  minutes: v.optional(limits.minutes),
})

/** The sandbox of a session, and its network access. `none`: no sandbox. */
export const SessionSandbox = v.object({
  kind: v.picklist(['bwrap', 'seatbelt', 'command', 'none']),
  network: Network,
  /** The hosts that the session requested with a listed network, how often, and whether it reached them. */
  asked: v.array(v.object({ host: v.string(), port: Count, allowed: v.boolean(), count: Count })),
})
export type SessionSandbox = v.InferOutput<typeof SessionSandbox>

/**
 * The enforcement of a project's memory and process limits on a session. `cgroup`: a control group of the kernel, immediately.
 * `watched`: the server counts every second; `reason` explains why there is no control group, `advice` how to fix it. `defaults`:
 * the limits of a session whose project sets none, which only a control group enforces.
 */
const Bounds = v.object({
  kind: v.picklist(['cgroup', 'watched']),
  reason: v.nullable(v.string()),
  advice: v.nullable(v.string()),
  defaults: v.object({ memoryMiB: Count, processes: Count }),
})
export type BoundsStatus = v.InferOutput<typeof Bounds>

/** The sandbox that this server can create. `reason` explains why there is none, `advice` how to fix it. */
export const SandboxStatus = v.object({
  mode: v.picklist(['auto', 'require', 'off']),
  kind: v.picklist(['bwrap', 'seatbelt', 'command', 'none']),
  reason: v.nullable(v.string()),
  advice: v.nullable(v.string()),
  bounds: Bounds,
})
export type SandboxStatus = v.InferOutput<typeof SandboxStatus>
