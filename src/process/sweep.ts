import { coalesce } from '../async/coalesce.ts'
import { setTimeout as delay } from 'node:timers/promises'
import { listProcesses, readRunId, unreadable, type ProcessEntry } from './table.ts'

/**
 * A started process tree, and its processes as last seen: pid -> start. `leader` leads its session while that is certain, `since`
 * is the start of the first process if known.
 */
export interface Tree {
  runId: string
  leader: number | undefined
  since: string | undefined
  seen: Map<number, string>
  /** Whether the last reading found a possible member whose marker could not be read yet. */
  hasUnreadable?: boolean
  /** Whether its leader and the leader's first child keep a process namespace, which ends with either of them. */
  hasNamespace?: boolean
}

/** Whether a process only keeps the namespace of a tree. */
export const isKeeper = ({ hasNamespace, leader }: Tree, { pid, parentPid }: ProcessEntry): boolean =>
  hasNamespace === true && leader !== undefined && (pid === leader || parentPid === leader)

const maxConcurrentReads = 32
const maxUnknownMs = 5000
const unknownPauseMs = 50

/** Serializes trees to one line of text, with which another process can find their members. */
export const encodeTrees = (trees: Iterable<Tree>): string =>
  JSON.stringify(Array.from(trees, tree => ({ ...tree, seen: [...tree.seen] })))

export const decodeTrees = (line: string): Tree[] =>
  (JSON.parse(line) as Array<Omit<Tree, 'seen'> & { seen: Array<[number, string]> }>).map(tree => ({
    ...tree,
    seen: new Map(tree.seen),
  }))

/**
 * Finds the live processes of each tree: those with its marker (including in their own sessions; not searched in a namespace,
 * where all descend from the leader), those seen before, those of the leader's session, and all their descendants, regardless of
 * their environment. Never this process or its ancestors.
 */
export type FindMembers = (trees: readonly Tree[]) => Promise<ProcessEntry[][]>

/** Concurrent searches share one reading of the process table, which takes as long for one tree as for many. */
export function createMemberSearch(): FindMembers {
  const wanted: Tree[] = []
  const readMembers = coalesce(() => findByTree(wanted.splice(0)))
  return async trees => {
    wanted.push(...trees)
    const membersOf = await readMembers()
    return trees.map(membersOf)
  }
}

/**
 * How many readings of the table without a process of a tree prove that none is left. A process that forks and exits during a reading can
 * hide its child from that reading. This does not apply to a namespace, because its first process exists until all others have exited.
 */
export const emptyReadsOf = ({ hasNamespace }: Tree): number => (hasNamespace ? 1 : 2)

/** Returns whether no process of a tree is left. Returns false if that stays unknown for 5 s. */
export async function isGone(findMembers: FindMembers, tree: Tree): Promise<boolean> {
  const giveUpAt = performance.now() + maxUnknownMs
  for (let reads = 0; reads < emptyReadsOf(tree);) {
    if ((await findMembers([tree]))[0]!.length > 0 || performance.now() > giveUpAt) return false
    if (tree.hasUnreadable) await delay(unknownPauseMs)
    else reads++
  }
  return true
}

async function findByTree(trees: readonly Tree[]): Promise<(tree: Tree) => ProcessEntry[]> {
  const entries = await listProcesses()
  const own = ancestry(entries)
  const others = entries.filter(({ pid }) => !own.has(pid))
  const runs = await readRuns(others, trees.filter(isFoundByMarker))
  const unreadables = others.filter(({ pid }) => runs.get(pid) === unreadable)
  const adopted = unreadables.filter(entry => isAdopted(entry, unreadables, own))
  return tree => {
    const members = membersOf(tree, others, runs)
    tree.hasUnreadable = isFoundByMarker(tree) && adopted.some(each => !isOlder(each, tree) && !members.includes(each))
    return members
  }
}

/**
 * Whether a process has lost its parents, so that only its marker identifies its run: it was adopted by an ancestor of this
 * process, or by an adopted process that is unreadable itself. All others descend from a process whose run is known.
 */
function isAdopted(
  { parentPid }: ProcessEntry,
  unreadables: readonly ProcessEntry[],
  own: ReadonlySet<number>,
): boolean {
  const parent = unreadables.find(({ pid }) => pid === parentPid)
  if (parent) return isAdopted(parent, unreadables, own)
  return parentPid === 1 || (parentPid !== process.pid && own.has(parentPid))
}

type Runs = ReadonlyMap<number, string | typeof unreadable>

function membersOf(tree: Tree, entries: readonly ProcessEntry[], runs: Runs): ProcessEntry[] {
  if (isReused(tree, entries)) tree.leader = undefined
  const members = new Set(
    entries.filter(
      entry =>
        runs.get(entry.pid) === tree.runId ||
        tree.seen.get(entry.pid) === entry.startedAt ||
        (tree.leader !== undefined && entry.sessionId === tree.leader),
    ),
  )
  const children = groupByParent(entries)
  for (const member of members) for (const child of children.get(member.pid) ?? []) members.add(child)
  tree.seen = new Map([...members].map(({ pid, startedAt }) => [pid, startedAt]))
  // The ID of an empty session can be reused.
  if (![...members].some(({ sessionId }) => sessionId === tree.leader)) tree.leader = undefined
  return [...members]
}

/** Whether processes can have left the tree for other parents. In a namespace, all stay descendants of its leader. */
const isFoundByMarker = ({ hasNamespace, leader }: Tree): boolean => !hasNamespace || leader === undefined

/**
 * Whether a process started before the first one of a tree. On systems other than Linux, `startedAt` is a date and compares as
 * false.
 */
const isOlder = ({ startedAt }: ProcessEntry, { since }: Tree): boolean => Number(startedAt) < Number(since ?? 0)

/** Whether the leader's pid was reused. */
const isReused = ({ leader, since }: Tree, entries: readonly ProcessEntry[]): boolean =>
  since !== undefined && entries.some(({ pid, startedAt }) => pid === leader && startedAt !== since)

function groupByParent(entries: readonly ProcessEntry[]): Map<number, ProcessEntry[]> {
  const children = new Map<number, ProcessEntry[]>()
  for (const entry of entries) {
    const siblings = children.get(entry.parentPid)
    if (siblings) siblings.push(entry)
    else children.set(entry.parentPid, [entry])
  }
  return children
}

/** This process and its ancestors, which are never swept. A server that an agent started can have the agent's marker. */
function ancestry(entries: readonly ProcessEntry[]): Set<number> {
  const parents = new Map(entries.map(({ pid, parentPid }) => [pid, parentPid]))
  const own = new Set<number>()
  for (let pid: number | undefined = process.pid; pid !== undefined && !own.has(pid); pid = parents.get(pid))
    own.add(pid)
  return own
}

/** The markers of the processes that are young enough to belong to one of the trees. */
async function readRuns(entries: readonly ProcessEntry[], trees: readonly Tree[]): Promise<Runs> {
  const young = entries.filter(entry => trees.some(tree => !isOlder(entry, tree)))
  const runs = new Map<number, string | typeof unreadable>()
  for (let from = 0; from < young.length; from += maxConcurrentReads) {
    await Promise.all(
      young.slice(from, from + maxConcurrentReads).map(async ({ pid }) => {
        const run = await readRunId(pid)
        if (run !== undefined) runs.set(pid, run)
      }),
    )
  }
  return runs
}
