import { setTimeout as delay } from 'node:timers/promises'
import type { Child } from './spawn.ts'
import { findMembers, type Tree } from './sweep.ts'
import { send, type ProcessEntry } from './table.ts'

export interface StopOptions {
  /** How long the first process may take to end by itself after its stdin has ended. The caller has asked it before by its protocol. */
  graceMs?: number
  /** How long the tree may take after TERM. */
  termMs?: number
}

const maxKillMs = 2000
const firstLookMs = 10
const maxLookMs = 80
/** A process that forks and ends while the list is read hides its child from one look. */
const wantedEmptyLooks = 2

const stopping = new WeakMap<Child, Promise<boolean>>()

/**
 * Ends a process tree: ends its stdin, waits, sends TERM, waits, then KILL until no process of it is left, in whatever group
 * or session. Stopping what is stopped or being stopped already is the same stop. Takes at most graceMs + termMs + 2 s.
 * Resolves to whether all are gone; what the kernel holds on to stays on record for the next start.
 */
export function stopTree(child: Child, options: StopOptions = {}): Promise<boolean> {
  const stop = stopping.get(child) ?? stopOnce(child, options)
  stopping.set(child, stop)
  return stop
}

async function stopOnce(child: Child, { graceMs = 1500, termMs = 1500 }: StopOptions): Promise<boolean> {
  let isGone = false
  try {
    if (child.stdin) {
      // What has neither the marker nor its parents is known only by having been seen before.
      await findMembers([child.tree])
      child.stdin.end()
      const given = new AbortController()
      await Promise.race([child.exited, delay(graceMs, undefined, { signal: given.signal }).catch(() => {})])
      given.abort()
    }
    isGone = (await endTrees([child.tree], termMs)) === 0
    if (isGone) await child.forget()
    return isGone
  } finally {
    if (!isGone) stopping.delete(child)
  }
}

/** Sends TERM to all processes of the trees, after `termMs` KILL to those that are left, again and again, and tells how many withstood that. */
export async function endTrees(trees: readonly Tree[], termMs: number): Promise<number> {
  let hasTerm = false
  const term = (members: ProcessEntry[]) => {
    if (!hasTerm) signalAll('SIGTERM', members)
    hasTerm = true
  }
  if ((await lookUntilNone(trees, termMs, term)) === 0) return 0
  return lookUntilNone(trees, maxKillMs, members => signalAll('SIGKILL', members))
}

async function lookUntilNone(
  trees: readonly Tree[],
  timeoutMs: number,
  each: (members: ProcessEntry[]) => void,
): Promise<number> {
  const giveUpAt = performance.now() + timeoutMs
  let hasSent = false
  for (let pauseMs = firstLookMs, emptyLooks = 0; ; pauseMs = Math.min(pauseMs * 2, maxLookMs)) {
    const members = (await findMembers(trees)).flat()
    emptyLooks = members.length === 0 ? emptyLooks + 1 : 0
    // On a busy machine a look may take longer than that: nobody is given up who was sent no signal.
    if (emptyLooks === wantedEmptyLooks || (hasSent && members.length > 0 && performance.now() > giveUpAt))
      return members.length
    if (members.length === 0) continue
    each(members)
    hasSent = true
    await delay(pauseMs)
  }
}

/** A group gets its signal at once, so that none of it forks away in between; then each process gets it that is not in a group led from within. */
function signalAll(signal: NodeJS.Signals, members: readonly ProcessEntry[]): void {
  const leaders = new Set(members.filter(({ pid, groupId }) => pid === groupId).map(({ pid }) => pid))
  for (const member of members) if (leaders.has(member.pid)) send(signal, member, true)
  for (const member of members) if (!leaders.has(member.groupId)) send(signal, member)
}
