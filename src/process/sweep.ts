import { coalesce } from '../async/coalesce.ts'
import { listProcesses, runOf, type ProcessEntry } from './table.ts'

/**
 * A process tree that was started here, and which processes of it were seen last: pid -> start. `leader` leads its session
 * while that is certain, `since` is the start of the first process where it is known.
 */
export interface Tree {
  runId: string
  leader: number | undefined
  since: string | undefined
  seen: Map<number, string>
}

const maxConcurrentReads = 32

/** Whether nothing lives of a tree. A process that forks and ends while the list is read hides its child from one look, so it takes two. */
export const isGone = async (tree: Tree): Promise<boolean> =>
  (await findMembers([tree]))[0]!.length === 0 && (await findMembers([tree]))[0]!.length === 0

/**
 * Finds what lives of each tree: processes that carry its marker (also in sessions of their own), those seen before, those
 * in the leader's session, and all their descendants, whatever became of their environment. Never this process or one
 * that it descends from.
 */
export async function findMembers(trees: readonly Tree[]): Promise<ProcessEntry[][]> {
  wanted.push(...trees)
  const membersOf = await readMembers()
  return trees.map(membersOf)
}

/** Reading the process table costs the same for one tree and for many, so concurrent searches share it: it is the machine's, whichever board asks. */
const readMembers = coalesce(() => findByTree(wanted.splice(0)))
const wanted: Tree[] = []

async function findByTree(trees: readonly Tree[]): Promise<(tree: Tree) => ProcessEntry[]> {
  const entries = await listProcesses()
  const own = ancestry(entries)
  const others = entries.filter(({ pid }) => !own.has(pid))
  const runs = await readRuns(others, trees)
  return tree => membersOf(tree, others, runs)
}

function membersOf(tree: Tree, entries: readonly ProcessEntry[], runs: ReadonlyMap<number, string>): ProcessEntry[] {
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
  // A session that is empty may come to be another one's.
  if (![...members].some(({ sessionId }) => sessionId === tree.leader)) tree.leader = undefined
  return [...members]
}

function groupByParent(entries: readonly ProcessEntry[]): Map<number, ProcessEntry[]> {
  const children = new Map<number, ProcessEntry[]>()
  for (const entry of entries) {
    const siblings = children.get(entry.parentPid)
    if (siblings) siblings.push(entry)
    else children.set(entry.parentPid, [entry])
  }
  return children
}

/** This process and those that it descends from. A server that an agent started may carry the agent's marker. */
function ancestry(entries: readonly ProcessEntry[]): Set<number> {
  const parents = new Map(entries.map(({ pid, parentPid }) => [pid, parentPid]))
  const own = new Set<number>()
  for (let pid: number | undefined = process.pid; pid !== undefined && !own.has(pid); pid = parents.get(pid))
    own.add(pid)
  return own
}

/** The runs of the processes that are young enough to belong to one of the trees. */
async function readRuns(entries: readonly ProcessEntry[], trees: readonly Tree[]): Promise<Map<number, string>> {
  const oldest = Math.min(...trees.map(({ since }) => Number(since ?? 0)))
  const young = entries.filter(({ startedAt }) => !(Number(startedAt) < oldest))
  const runs = new Map<number, string>()
  for (let from = 0; from < young.length; from += maxConcurrentReads) {
    await Promise.all(
      young.slice(from, from + maxConcurrentReads).map(async ({ pid }) => {
        const run = await runOf(pid)
        if (run !== undefined) runs.set(pid, run)
      }),
    )
  }
  return runs
}
