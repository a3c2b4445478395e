import type { InferOutput } from 'valibot'
import type { ContextRelay } from '../../contract/settings.ts'
import { append } from '../../events/outbox.ts'
import { spawnTree, type Child } from '../../process/spawn.ts'
import { stopTree } from '../../process/stop.ts'
import type { Transaction } from '../../store/database.ts'
import { writeWithRetry } from '../../store/retry.ts'
import { readSession, type SessionRow } from '../../store/sessions.ts'
import { change } from '../../domain/sessions.ts'
import { permission } from '../../views/agents.ts'
import { createLastWords, type LastWords } from '../transcript/lastMessage.ts'
import type { SessionParts } from './dependencies.ts'
import { createQuestions, type Questions } from './openQuestions.ts'
import { createContextWatch, type ContextWatch } from './handoff.ts'
import type { Transcript } from '../transcript/agentTranscript.ts'
import type { AgentLink, AgentListener, SpawnAgent } from '../link/agentLink.ts'

/** Something that is asked of an agent beside its task, when its turn has ended. */
export interface Errand {
  text: string
  resolve(words: string): void
  reject(error: unknown): void
}

/** What is known of a session while its agent runs. */
export interface Run {
  readonly parts: SessionParts
  readonly id: number
  readonly words: LastWords
  readonly questions: Questions
  /** The questions of which an event has told. */
  readonly told: Set<string>
  readonly context: ContextWatch
  children: Child[]
  errands: Errand[]
  link?: AgentLink
  transcript?: Transcript
  /** The turn that is going on. */
  turn?: Promise<unknown>
  /** The session's rows belong to somebody else from now on: it has been ended. */
  isStopping: boolean
  wantsRelay: boolean
  /** When it hands over by itself. */
  relaySettings?: InferOutput<typeof ContextRelay>
  /** What of the session's cost is on its credential's account already, in US dollars. */
  countedUsd: number
  /** Does one thing after the other, and after what was asked for before. */
  inOrder<T>(work: () => Promise<T>): Promise<T>
}

/** The session was ended by somebody while it ran: what is left is to clear away. */
export class Stopped extends Error {}

export function createRun(parts: SessionParts, id: number): Run {
  let last: Promise<unknown> = Promise.resolve()
  return {
    parts,
    id,
    words: createLastWords(),
    questions: createQuestions(),
    told: new Set(),
    context: createContextWatch(),
    children: [],
    errands: [],
    isStopping: false,
    wantsRelay: false,
    countedUsd: 0,
    inOrder: work => {
      const done = last.then(work)
      last = done.catch(() => {})
      return done
    },
  }
}

/** The session's row if this run may still write it: one that was ended, and perhaps asked for anew, is not its own any more. */
export async function ownRow(
  { id, isStopping }: Pick<Run, 'id' | 'isStopping'>,
  tx: Transaction,
): Promise<SessionRow | undefined> {
  const row = isStopping ? undefined : await readSession(tx, id)
  return row && row.endedAt === null && row.status !== 'queued' ? row : undefined
}

/** Writes until it succeeds: a busy database or a full disk is waited for. @throws Problem SHUTTING_DOWN */
export const insist = <T>({ parts: { db, log } }: Run, work: (tx: Transaction) => Promise<T>): Promise<T> =>
  writeWithRetry(db, work, code => log('warn', 'What became of a session could not be kept yet.', { code }))

/** Starts the agent's processes, each on record until it is gone. */
export const spawner =
  (run: Run, kind: string): SpawnAgent =>
  async ({ argv, cwd, env }) => {
    if (run.isStopping) throw new Stopped()
    const child = await spawnTree({ command: argv, cwd, env, stdin: 'pipe', kind }, run.parts.db)
    run.children.push(child)
    return child
  }

export const listener = (run: Run): AgentListener => ({
  update: update => {
    run.words.hear(update)
    run.context.hear(update)
    if (run.relaySettings && run.context.isFull(run.relaySettings)) wantRelay(run)
    return run.transcript!.take(update)
  },
  permission: request => {
    run.questions.add(request)
    tellQuestions(run)
  },
  permissionWithdrawn: id => {
    run.questions.remove(id)
    tellQuestions(run)
  },
})

/** Has the session hand over: its present turn is cancelled. */
export function wantRelay(run: Run): void {
  if (run.wantsRelay) return
  run.wantsRelay = true
  void run.link?.cancel()
}

/** Keeps on the session and the card what the agent waits for a person to decide, or that it goes on. */
export function tellQuestions(run: Run): void {
  const { log } = run.parts
  void run
    .inOrder(async () => {
      // Who is told of a question finds the tool call that it is about in the transcript.
      await run.transcript?.settle().catch(() => {})
      if (!run.isStopping) await insist(run, tx => writeQuestion(run, tx))
    })
    .catch(error => log('error', 'What an agent waits for could not be kept.', { cause: String(error) }))
}

async function writeQuestion(run: Run, tx: Transaction): Promise<void> {
  const row = await ownRow(run, tx)
  if (!row) return
  const open = run.questions.open()
  const [oldest] = open
  const waitingFor = oldest ? JSON.stringify(open.map(({ id, title, kind }) => ({ requestId: id, title, kind }))) : null
  if (!oldest) {
    if (row.waitingFor !== null) await change(tx, run.id, { status: 'running', waitingFor }, 'running')
    return
  }
  if (row.waitingFor !== waitingFor)
    await change(tx, run.id, { status: 'waiting', waitingFor }, 'waiting', oldest.title)
  for (const request of open.filter(({ id }) => !run.told.has(id))) {
    await append(tx, 'agent.permission', row.projectId, permission(row, request))
    tx.afterCommit(() => run.told.add(request.id))
  }
}

/** Ends every process that the run has started. */
export async function endProcesses(run: Run, graceMs?: number): Promise<void> {
  const gone = await Promise.all(run.children.map(child => stopTree(child, { graceMs })))
  if (gone.includes(false)) run.parts.log('error', 'A process of an agent could not be ended.', { sessionId: run.id })
}
