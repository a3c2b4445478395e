import * as v from 'valibot'
import { Count, integer, text } from './fields.ts'
import { isNetworkHost, parseNetworkHost } from './networkHosts.ts'

/** Folders of the home folder that hold keys, sign-ins or settings of programs that act for the person. */
const notCaches =
  /^~\/(\.(ssh|gnupg|aws|azure|kube|docker|config|password-store|netrc|git[\w-]*|local|mozilla|bash\w*|zsh\w*|profile)|snap)(\/|$)/

/** A folder below the home folder that agents may write: no `..`, and none of those that hold keys. */
const isCachePath = (path: string): boolean =>
  /^~\/[^/]/.test(path) && !path.split('/').includes('..') && !notCaches.test(path)

/**
 * What the agents of a project are kept apart by:
 * - server: as the server is set (`board serve --sandbox`).
 * - require: an agent that cannot be kept apart does not start.
 * - off: nothing, but where the server requires it.
 */
const Walls = v.picklist(['server', 'require', 'off'], 'must be server, require or off')
/**
 * - full: the network of the server's machine.
 * - listed: the model's host, the board, and the hosts that are named.
 * - none: the board alone.
 */
const Network = v.picklist(['full', 'listed', 'none'], 'must be full, listed or none')
export type NetworkAccess = v.InferOutput<typeof Network>

/**
 * Whether a monitor that an agent in the sandbox creates can run outside of it.
 * - ask: once a person who can run scripts allows it.
 * - allow: at once.
 */
const Monitors = v.picklist(['ask', 'allow'], 'must be ask or allow')

const bound = (min: number, max: number) => v.nullable(integer(min, max))
/**
 * Bounds of one session. Null: none, except that a control group enforces its defaults for memory and processes. The memory, processes and time are of all its processes together, `fileMb` is of each file.
 * Where control groups keep them (`bounds` of the sandbox's status), a thread counts as a process, and memory is also what lies in `/tmp`.
 */
const limits = {
  memoryMb: bound(64, 1_048_576),
  processes: bound(8, 100_000),
  fileMb: bound(1, 1_048_576),
  minutes: bound(1, 10_080),
}
export interface SandboxLimits {
  memoryMb: number | null
  processes: number | null
  fileMb: number | null
  minutes: number | null
}

const Host = v.pipe(
  text(1, 260),
  v.check(isNetworkHost, 'must be a host such as example.org, *.example.org or example.org:8443'),
  v.transform(host => parseNetworkHost(host)!.text),
)
const Cache = v.pipe(
  text(1, 500),
  v.check(isCachePath, 'must be a folder in the home folder, such as ~/.npm, that holds no keys'),
)

export const SandboxSettings = v.object({
  walls: Walls,
  network: Network,
  hosts: v.array(v.string()),
  caches: v.array(v.string()),
  monitors: Monitors,
  ...limits,
})
export type SandboxSettings = v.InferOutput<typeof SandboxSettings>
export const defaultSandbox: SandboxSettings = {
  walls: 'server',
  network: 'full',
  hosts: [],
  caches: [],
  monitors: 'ask',
  memoryMb: null,
  processes: null,
  fileMb: null,
  minutes: null,
}
export const maxHosts = 200
const Hosts = v.pipe(
  v.array(Host),
  v.maxLength(maxHosts, `must have at most ${maxHosts} entries`),
  v.transform(hosts => [...new Set(hosts)]),
)
/** What is left out stays as it is. `addHosts` go to those that there are, which nobody needs to have read. */
export const ChangedSandbox = v.strictObject({
  walls: v.optional(Walls),
  network: v.optional(Network),
  hosts: v.optional(Hosts),
  addHosts: v.optional(Hosts),
  caches: v.optional(v.pipe(v.array(Cache), v.maxLength(20, 'must have at most 20 entries'))),
  monitors: v.optional(Monitors),
  memoryMb: v.optional(limits.memoryMb),
  processes: v.optional(limits.processes),
  fileMb: v.optional(limits.fileMb),
  minutes: v.optional(limits.minutes),
})

/** What kept a session apart, and how much of the network it had. `none`: nothing. */
export const SessionSandbox = v.object({
  kind: v.picklist(['bubblewrap', 'seatbelt', 'command', 'none']),
  network: Network,
  /** The hosts that it asked for where its network is listed, how often, and whether it reached them. */
  asked: v.array(v.object({ host: v.string(), port: Count, allowed: v.boolean(), count: Count })),
})
export type SessionSandbox = v.InferOutput<typeof SessionSandbox>

/**
 * What keeps a session within its project's memory and number of processes. `cgroup`: a control group of the kernel's, at once. `watched`:
 * the server counts every second; `reason` says why there is no control group, `advice` what to do about it. `defaults`: the limits of a session
 * whose project sets none, which only a control group enforces.
 */
const Bounds = v.object({
  kind: v.picklist(['cgroup', 'watched']),
  reason: v.nullable(v.string()),
  advice: v.nullable(v.string()),
  defaults: v.object({ memoryMb: Count, processes: Count }),
})
export type BoundsStatus = v.InferOutput<typeof Bounds>

/** Which walls this server can build. `reason` says why there are none, `advice` what to do about it. */
export const SandboxStatus = v.object({
  mode: v.picklist(['auto', 'require', 'off']),
  kind: v.picklist(['bubblewrap', 'seatbelt', 'command', 'none']),
  reason: v.nullable(v.string()),
  advice: v.nullable(v.string()),
  bounds: Bounds,
})
export type SandboxStatus = v.InferOutput<typeof SandboxStatus>
