import { setTimeout as delay } from 'node:timers/promises'
import { logFailure } from '../../config/log.ts'
import { Problem } from '../../contract/errors.ts'
import { append } from '../../events/outbox.ts'
import { diffOf } from '../../domain/changes.ts'
import { change, end, type Ending } from '../../domain/sessions.ts'
import { readContextRelay } from '../../domain/settings.ts'
import { readCard } from '../../store/cards.ts'
import { addUsage } from '../../store/credentials.ts'
import type { Transaction } from '../../store/database.ts'
import { readProject } from '../../store/projects.ts'
import {
  addSessionTokens,
  readSession,
  updateSession,
  type OpenSession,
  type SessionRow,
} from '../../store/sessions.ts'
import { listWaitingMessages, takeWaitingMessage } from '../../store/waitingMessages.ts'
import { agentSession } from '../../views/agents.ts'
import { shown } from '../link/failureReasons.ts'
import { condense } from '../transcript/lastMessage.ts'
import { openAgent } from './openAgent.ts'
import { goOn } from './advancePipeline.ts'
import type { SessionParts } from './dependencies.ts'
import { prepare } from './prepareSession.ts'
import { refinedPrompt } from './refinedPrompt.ts'
import { withRecap } from '../transcript/resumePrompt.ts'
import { handoffRequest, handOver } from './handoff.ts'
import {
  createRun,
  endProcesses,
  insist,
  listener,
  ownRow,
  spawner,
  Stopped,
  tellQuestions,
  wantRelay,
  type Run,
} from './sessionContext.ts'
import { openTranscript } from '../transcript/agentTranscript.ts'
import { addMessage, type TranscriptSession } from '../transcript/transcriptWriter.ts'
import { AgentFailure, type PermissionRequest, type TurnUsage } from '../link/agentLink.ts'

const turnEndMs = 1500
const stopGraceMs = 500
const countFilesMs = 3000
const goOnPrompt = 'Go on with your task where you left off.'

/** A session whose agent runs here. */
export interface LiveSession {
  readonly id: number
  readonly cardId: number
  readonly purpose: SessionRow['purpose']
  /** Resolves when no process of it is left. Never rejects. */
  readonly over: Promise<void>
  /** Ends its processes: the agent is asked first. The session's rows are the caller's, which has ended them. Takes at most 6 s. */
  stop(): Promise<void>
  /** The question that an answer is meant for; without an id, the only one that is open. @throws Problem NOTHING_TO_APPROVE, CONFLICT */
  question(id: string | undefined): PermissionRequest
  /** Answers a question of the agent. False when it is not open any more. */
  answer(id: string, approved: boolean): Promise<boolean>
  /** Asks something beside the task once the present turn has ended, and resolves to the agent's words. */
  ask(text: string): Promise<string>
  /** Hands over to a fresh session: the present turn is cancelled. */
  relay(): void
}

/** Runs a queued session to its end. Whatever happens, its rows say so and its processes are gone when `over` resolves. */
export function startSession(parts: SessionParts, { id, cardId, purpose }: OpenSession): LiveSession {
  const run = createRun(parts, id)
  const over = live(run)
  let stopped: Promise<void> | undefined
  return {
    id,
    cardId,
    purpose,
    over,
    stop: () => (stopped ??= stop(run, over)),
    question: run.questions.find,
    answer: async (questionId, approved) => {
      if (!run.link || !run.questions.answer(run.link, questionId, approved)) return false
      tellQuestions(run)
      await run.inOrder(async () => {})
      return true
    },
    ask: text =>
      new Promise((resolve, reject) => {
        run.errands.push({ text, resolve, reject })
      }),
    relay: () => wantRelay(run),
  }
}

async function live(run: Run): Promise<void> {
  try {
    for (let text: string | undefined = await open(run); text !== undefined; text = await next(run))
      await turn(run, text)
  } catch (error) {
    await fail(run, error).catch(cause =>
      run.parts.log('error', 'The end of a session could not be kept.', { sessionId: run.id, cause: String(cause) }),
    )
  } finally {
    run.link?.close()
    for (const { reject } of run.errands.splice(0)) reject(new Stopped())
    await endProcesses(run).catch(cause =>
      run.parts.log('error', 'Processes of a session could not be ended.', { sessionId: run.id, cause: String(cause) }),
    )
    await run.transcript?.settle().catch(() => {
      /* Its rows are gone, or the server stops. */
    })
    await keepAftermath(run).catch(() => {
      /* The same. */
    })
  }
}

/** Starts the agent and opens its session. Returns what to tell it first. */
async function open(run: Run): Promise<string> {
  const {
    parts: { db },
    id,
  } = run
  const { session, isFirst } = await insist(run, async tx => {
    const before = run.isStopping ? undefined : await readSession(tx, id)
    return {
      session: before && (await change(tx, id, { status: 'running' }, 'running')),
      isFirst: before?.startedAt === null,
    }
  })
  if (!session) throw new Stopped()
  run.countedUsd = session.costUsd ?? 0
  const { launch, remark } = await prepare(run, session)
  if (run.isStopping) throw new Stopped()
  run.transcript = openTranscript(db, transcriptOf(session), launch.secrets)
  run.link = await openAgent(launch, listener(run), spawner(run, session.purpose === 'terminal' ? 'terminal' : 'agent'))
  const { sessionId, resumed, model } = await run.link.start(session.resumable === 1 ? session.agentSessionId : null)
  const isResumable = run.link.capabilities.resume && sessionId !== null
  return insist(run, async tx => {
    if (!(await ownRow(run, tx))) throw new Stopped()
    await updateSession(tx, id, { agentSessionId: sessionId, resumable: isResumable, ...(model !== null && { model }) })
    if (remark && isFirst) await addMessage(tx, transcriptOf(session), 'system', remark)
    return firstText(tx, session, resumed, isFirst)
  })
}

/** A fresh session gets its prompt and the messages that wait; one that goes on, the message that made it do so. */
async function firstText(tx: Transaction, session: SessionRow, resumed: boolean, isFirst: boolean): Promise<string> {
  const messages: string[] = []
  for (let each = await takeWaitingMessage(tx, session.id); each; each = await takeWaitingMessage(tx, session.id))
    messages.push(each.content)
  if (session.purpose === 'terminal') return session.prompt
  if (resumed) return messages.join('\n\n') || goOnPrompt
  if (isFirst) await addMessage(tx, transcriptOf(session), 'user', session.prompt)
  const prompt = isFirst ? session.prompt : await withRecap(tx, session.prompt, session)
  return [prompt, ...messages].join('\n\n')
}

async function turn(run: Run, text: string, isLast = false): Promise<void> {
  run.relaySettings = await readContextRelay(run.parts.db)
  if (run.isStopping) throw new Stopped()
  run.words.begin()
  const ended = run.link!.prompt(text)
  run.turn = ended.catch(() => {})
  // The hand-over was asked for before the agent was ready.
  if (run.wantsRelay && !isLast) void run.link!.cancel()
  try {
    const { stopReason, usage } = await ended
    await run.transcript!.settle()
    await run.inOrder(() => keepUsage(run, usage))
    if (run.isStopping) throw new Stopped()
    if (stopReason === 'cancelled' && !run.wantsRelay && (await listWaitingMessages(run.parts.db, run.id)).length === 0)
      throw new Cancelled()
  } finally {
    run.turn = undefined
    if (!run.link!.exited) await endProcesses(run)
  }
}

/** The agent itself ended its turn as cancelled, though nobody here asked for it. */
class Cancelled extends Error {}

async function keepUsage(run: Run, usage: TurnUsage | null): Promise<void> {
  const { id } = run
  if (!usage) return
  await insist(run, async tx => {
    const before = await readSession(tx, id)
    if (!before) return
    const costUsd = Math.max(0, (before.costUsd ?? 0) - run.countedUsd)
    tx.afterCommit(() => {
      run.countedUsd += costUsd
    })
    await addSessionTokens(tx, id, usage)
    if (before.credentialId !== null)
      await addUsage(tx, before.credentialId, {
        day: tx.now.slice(0, 10),
        sessions: before.inputTokens + before.outputTokens === 0 ? 1 : 0,
        ...usage,
        costUsd,
      })
    await append(tx, 'agent.usage', before.projectId, agentSession((await readSession(tx, id))!))
  })
}

/** What the agent is told after a turn; undefined when its work is done, or handed over. */
async function next(run: Run): Promise<string | undefined> {
  for (;;) {
    const errand = run.errands.shift()
    if (!errand) break
    await turn(run, errand.text).then(
      () => errand.resolve(run.words.text()),
      error => {
        errand.reject(error)
        throw error
      },
    )
  }
  if (run.wantsRelay) return relay(run)
  const said = run.words.text()
  const filesChanged = await countFiles(run)
  return run.inOrder(() =>
    insist(run, async tx => {
      const row = await ownRow(run, tx)
      if (!row) throw new Stopped()
      return (await takeWaitingMessage(tx, run.id))?.content ?? finish(run, tx, row, said, filesChanged)
    }),
  )
}

async function finish(
  { parts: { agents } }: Run,
  tx: Transaction,
  row: SessionRow,
  said: string,
  filesChanged: number,
): Promise<undefined> {
  const summary = row.purpose === 'pre' ? refinedPrompt(said) : condense(said)
  await end(tx, agents, row.id, { status: 'completed', summary: summary || row.summary, filesChanged }, true)
  if (row.purpose === 'work') await goOn(tx, agents, row.projectId, row.cardId)
  return undefined
}

async function relay(run: Run): Promise<undefined> {
  const {
    parts: { db, agents },
  } = run
  const settings = await readContextRelay(db)
  await turn(run, handoffRequest(settings), true)
  const handoff = run.words.text()
  await run.inOrder(() =>
    insist(run, async tx => {
      const row = await ownRow(run, tx)
      if (!row || !(await handOver(tx, agents, row, handoff, settings))) throw new Stopped()
    }),
  )
  return undefined
}

/** How many files the card has changed; what cannot be told quickly counts as it did before. */
async function countFiles({ parts: { db }, id }: Run): Promise<number> {
  const session = await readSession(db, id)
  if (!session || session.branch === null) return 0
  const [card, project] = await Promise.all([
    readCard(db, session.projectId, session.cardId),
    readProject(db, session.projectId),
  ])
  if (!card || !project) return 0
  const counted = diffOf(card, project, { numbersOnly: true }).then(
    ({ stats }) => stats.filesChanged,
    () => session.filesChanged,
  )
  return Promise.race([counted, delay(countFilesMs, session.filesChanged, { ref: false })])
}

/** What a session that did not end well has left: its agent's last words, and its files. */
async function keepAftermath(run: Run): Promise<void> {
  const {
    parts: { db },
    id,
  } = run
  const before = await readSession(db, id)
  if (!before || before.purpose === 'pre' || (before.status !== 'cancelled' && before.status !== 'failed')) return
  const filesChanged = await countFiles(run)
  await db.transaction(async tx => {
    const row = await readSession(tx, id)
    if (row && row.endedAt !== null)
      await updateSession(tx, id, { filesChanged, summary: row.summary ?? (condense(run.words.text()) || null) })
  })
}

async function fail(run: Run, error: unknown): Promise<void> {
  if (run.isStopping || error instanceof Stopped) return
  const ending = endingOf(error)
  if (error instanceof AgentFailure || error instanceof Cancelled)
    run.parts.log('info', 'An agent did not do its work.', { sessionId: run.id, reason: ending.statusReason })
  else logFailure(run.parts.log, 'A session failed.', error, { sessionId: run.id })
  await run.transcript?.settle().catch(() => {
    /* The end is told all the same. */
  })
  await run.inOrder(() =>
    insist(run, async tx => {
      const row = await ownRow(run, tx)
      if (!row) return
      if (ending.detail) await addMessage(tx, transcriptOf(row), 'system', ending.detail)
      await end(tx, run.parts.agents, run.id, ending, ending.status !== 'cancelled')
    }),
  )
}

function endingOf(error: unknown): Ending {
  if (error instanceof Cancelled)
    return { status: 'cancelled', statusReason: 'cancelled', detail: 'The agent ended its turn as cancelled.' }
  if (error instanceof AgentFailure)
    return { status: 'failed', statusReason: error.reason, detail: shown(error.message) }
  if (error instanceof Problem) return { status: 'failed', statusReason: 'launch_failed', detail: error.message }
  return {
    status: 'failed',
    statusReason: 'crashed',
    detail: 'The server failed to run the agent; its log tells more.',
  }
}

async function stop(run: Run, over: Promise<void>): Promise<void> {
  run.isStopping = true
  await run.link?.cancel().catch(() => {
    /* It is ended all the same. */
  })
  if (run.turn) await Promise.race([run.turn, delay(turnEndMs, undefined, { ref: false })])
  run.link?.close()
  await endProcesses(run, stopGraceMs).catch(() => {
    /* The end of the run tries again. */
  })
  await over
}

const transcriptOf = ({ id, projectId, cardId, agent, purpose }: SessionRow): TranscriptSession => ({
  id,
  projectId,
  cardId,
  agent,
  isPre: purpose === 'pre',
})
