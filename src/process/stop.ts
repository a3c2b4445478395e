import type { Writable } from 'node:stream'
import { setTimeout as delay } from 'node:timers/promises'
import { emptyReadsOf, isKeeper, type FindMembers, type Tree } from './sweep.ts'
import { sendSignal, type ProcessEntry } from './table.ts'

export interface StopOptions {
  /**
   * The time for the first process to exit after its stdin was closed. The caller has already requested the exit through its
   * protocol.
   */
  graceMs?: number
  /** The time for the tree to exit after TERM. */
  termMs?: number
}

/** The time for orphaned processes to exit after TERM, which the next server waits for. Their stdin is already closed. */
export const orphanTermMs = 500

const maxKillMs = 2000
const minPauseMs = 10
const maxPauseMs = 80

/** The parts of a running process tree that `stop` requires. */
interface RunningTree {
  tree: Tree
  stdin: Writable | null
  exited: Promise<unknown>
  forget(): Promise<void>
}

/** The `stop` of a child. Later calls share a stop that is in progress or has ended everything. */
export function createStop(findMembers: FindMembers, child: RunningTree): (options?: StopOptions) => Promise<boolean> {
  let stopping: Promise<boolean> | undefined
  const stopOrForget = async (options: StopOptions) => {
    let isGone = false
    try {
      return (isGone = await stopOnce(findMembers, child, options))
    } finally {
      if (!isGone) stopping = undefined
    }
  }
  return (options = {}) => (stopping ??= stopOrForget(options))
}

async function stopOnce(
  findMembers: FindMembers,
  child: RunningTree,
  { graceMs = 1500, termMs = 1500 }: StopOptions,
): Promise<boolean> {
  if (child.stdin) {
    // A process with neither the marker nor its parents is only known if it was seen before.
    if (!child.tree.hasNamespace) await findMembers([child.tree])
    child.stdin.end()
    const given = new AbortController()
    await Promise.race([child.exited, delay(graceMs, undefined, { signal: given.signal }).catch(() => {})])
    given.abort()
  }
  const isGone = (await endTrees(findMembers, [child.tree], termMs)) === 0
  if (isGone) await child.forget()
  return isGone
}

/**
 * Sends TERM to all processes of the trees, and after `termMs` KILL to the remaining ones, repeatedly.
 * Returns the number of processes that survived, plus one per tree with a process whose marker stayed unreadable.
 */
export async function endTrees(findMembers: FindMembers, trees: readonly Tree[], termMs: number): Promise<number> {
  let hasTerm = false
  const term = (members: ProcessEntry[]) => {
    if (!hasTerm)
      signalAll(
        'SIGTERM',
        members.filter(member => !trees.some(tree => isKeeper(tree, member))),
      )
    hasTerm = true
  }
  if ((await signalUntilNone(findMembers, trees, termMs, term)) === 0) return 0
  return signalUntilNone(findMembers, trees, maxKillMs, members => signalAll('SIGKILL', members))
}

async function signalUntilNone(
  findMembers: FindMembers,
  trees: readonly Tree[],
  timeoutMs: number,
  each: (members: ProcessEntry[]) => void,
): Promise<number> {
  const giveUpAt = performance.now() + timeoutMs
  let hasSent = false
  const wantedEmptyReads = Math.max(1, ...trees.map(emptyReadsOf))
  for (let pauseMs = minPauseMs, emptyReads = 0; ; pauseMs = Math.min(pauseMs * 2, maxPauseMs)) {
    const members = (await findMembers(trees)).flat()
    const unreadable = trees.filter(({ hasUnreadable }) => hasUnreadable).length
    const left = members.length + unreadable
    emptyReads = left === 0 ? emptyReads + 1 : 0
    // On a busy machine, one reading can take longer, so a process gets a signal before the wait for it ends.
    const isOver = (hasSent || members.length === 0) && performance.now() > giveUpAt
    if (emptyReads === wantedEmptyReads || (left > 0 && isOver)) return left
    if (left === 0) continue
    if (members.length > 0) {
      each(members)
      hasSent = true
    }
    await delay(pauseMs)
  }
}

/** Signals each process group at once, so that no member forks in between, and then the processes outside of these groups. */
function signalAll(signal: NodeJS.Signals, members: readonly ProcessEntry[]): void {
  const leaders = new Set(members.filter(({ pid, groupId }) => pid === groupId).map(({ pid }) => pid))
  for (const member of members) if (leaders.has(member.pid)) sendSignal(signal, member, true)
  for (const member of members) if (!leaders.has(member.groupId)) sendSignal(signal, member)
}
