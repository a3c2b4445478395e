import { setTimeout as delay } from 'node:timers/promises'
import { Live, type LiveMessage } from '../../src/client/socket.ts'
import type { Contract } from '../../src/contract/index.ts'
import type { Output } from '../../src/contract/route.ts'
import type { Context } from '../context/context.ts'
import { Failure } from '../failures/failure.ts'
import { watchOutage } from '../requests/outage.ts'
import { createRefresher } from '../requests/refresher.ts'

export type PreSession = Output<Contract['preSessions']['get']>

/** The interval for reading the session without an event. */
const pollMs = 2000

/**
 * Waits until a pre-session's planning agent has answered, or can no longer answer. The server's events trigger the
 * checks.
 * @throws Failure (timed out) after `--timeout`, Failure (unreachable) after too long an outage
 */
export async function untilAnswered(
  context: Context,
  projectId: string,
  sessionId: string,
  reconnectSecs: number,
): Promise<PreSession> {
  const outage = watchOutage(context.out, reconnectSecs)
  let onAnswer: (session: PreSession) => void = () => {
    /* The promise below replaces this function. */
  }
  const answered = new Promise<PreSession>(resolve => {
    onAnswer = resolve
  })
  const refreshed = createRefresher(async () => {
    const session = await context.client.preSessions.get({ projectId, sessionId })
    if (session.status !== 'running') onAnswer(session)
  }, outage)
  const isOurs = ({ type, data }: LiveMessage) =>
    type === 'resync' || (type === 'agent.status' && (data as { sessionId: string }).sessionId === sessionId)
  const live = new Live(context.connection, {
    onSubscribed: refreshed.again,
    onEvent: message => {
      if (isOurs(message)) refreshed.again()
    },
    onState: ({ name }) => {
      if (name === 'waiting') outage.begin()
    },
  })
  live.done.catch(() => {
    /* The session is also polled. */
  })
  live.subscribe(projectId)
  const timer = setInterval(refreshed.again, pollMs)
  const over = new AbortController()
  try {
    return await Promise.race([answered, refreshed.failed, outage.exceeded, timedOut(context, over.signal)])
  } finally {
    over.abort()
    outage.stop()
    clearInterval(timer)
    live.close()
  }
}

async function timedOut({ globals: { timeout } }: Context, signal: AbortSignal): Promise<never> {
  if (!timeout)
    return new Promise<never>(() => {
      /* Never settles. */
    })
  await delay(timeout * 1000, undefined, { signal }).catch(() => {})
  throw new Failure('timedOut', `timed out after ${timeout} s; the planning agent is still working`, {
    hint: 'the agent continues; to read its answer: board presession messages',
  })
}
