import type { StatusReason } from '../../contract/agents/agents.ts'
import type { CardStatus } from '../../contract/fields.ts'

/**
 * The life of an agent's session.
 *
 *   begin                                                        reopen: message, retry
 *     │   ┌───────────────────────────────────────────────────────────────┐
 *     ▼   ▼                                                               │
 *   ┌────────┐  slot free   ┌─────────┐  asks, silent ┌─────────┐         │
 *   │ queued │─────────────▶│ running │──────────────▶│ waiting │         │
 *   └────────┘◀─────────────└─────────┘◀──────────────└─────────┘         │
 *       │       usage limit      │       answered, alive   │              │
 *       └──────────────────┬─────┴─────────────────────────┘              │
 *                          ▼                                              │
 *     ┌───────────┬────────┬───────────┬─────────────┐                    │
 *     │ completed │ failed │ cancelled │ interrupted │────────────────────┘
 *     └───────────┴────────┴───────────┴─────────────┘
 *                          │ pre-sessions only
 *                          ├──▶ idle       the refined prompt was accepted
 *                          └──▶ cancelled  the pre-session was cancelled between two turns
 *
 * - completed: a turn ended and no message was waiting, the session handed off, or a user completed the card.
 * - failed: `statusReason` states what the agent or the server failed to do.
 * - cancelled: by a user, or by the agent itself.
 * - interrupted: the server stopped.
 *
 * waiting: for a user's answer. With the reason silent, the agent shows no sign of life. With the reason budget, the session waits
 * until a budget allows it to continue, and has no run. A queued session can also start to wait for a budget instead of running.
 * With the reason question, its turn has ended with a question to users. The session has no run, and a message or an answer queues
 * it again.
 *
 * queued again: the agent has reached a usage limit, and the project's cards wait for the end of the limit; or a budget allows the
 * session to continue.
 *
 * A relaunch starts a new session. A handoff (relay) completes a session and starts a new one with its summary.
 *
 * A session that is running, or waiting with a reason other than budget and question, has one run: the agent's process and the
 * server's work with it.
 *
 *   ┌───────────┐   ┌─────────┐   ┌───────┐  prompt   ┌──────┐
 *   │ preparing │──▶│ opening │──▶│ ready │──────────▶│ turn │
 *   └───────────┘   └─────────┘   └───────┘◀──────────└──────┘
 *         │              │            │     turn ended
 *         └──────────────┴─────┬──────┘
 *                              ▼ completed, failed, handed off, or stopped from outside
 *                         ┌─────────┐
 *                         │ closing │
 *                         └─────────┘
 *
 * - preparing: worktree, credential and token.
 * - opening: the agent's process starts and opens its session.
 * - ready: between turns; side questions and a requested handoff come before the next message.
 * - closing: processes are ended and the rest of the transcript is written.
 */
interface SessionState {
  status: CardStatus
  statusReason: StatusReason | null
}
export type EndedStatus = 'completed' | 'failed' | 'cancelled' | 'interrupted'
export type RunPhase = 'preparing' | 'opening' | 'ready' | 'turn' | 'closing'

const ended: readonly EndedStatus[] = ['completed', 'failed', 'cancelled', 'interrupted']

/** A retried write can find its own status, so running and waiting can be entered again. */
const statusTransitions: Readonly<Record<CardStatus, readonly CardStatus[]>> = {
  queued: ['running', 'waiting', ...ended],
  running: ['running', 'waiting', 'queued', ...ended],
  waiting: ['waiting', 'running', 'queued', ...ended],
  completed: ['queued', 'idle', 'cancelled'],
  failed: ['queued', 'idle', 'cancelled'],
  cancelled: ['queued'],
  interrupted: ['queued', 'idle', 'cancelled'],
  idle: [],
}
const phaseTransitions: Readonly<Record<RunPhase, readonly RunPhase[]>> = {
  preparing: ['opening', 'closing'],
  opening: ['opening', 'ready', 'closing'],
  ready: ['turn', 'closing'],
  turn: ['ready'],
  closing: [],
}

/** Whether a session waits for the answer to a question that ended its turn. It has no run. */
export const isAsking = ({ status, statusReason }: SessionState): boolean =>
  status === 'waiting' && statusReason === 'question'

/** Whether a session waits for a budget. It has no run. */
export const isPaused = ({ status, statusReason }: SessionState): boolean =>
  status === 'waiting' && statusReason === 'budget'

/** Whether an open session has no run because it waits. */
export const waitsWithoutRun = (session: SessionState): boolean => isPaused(session) || isAsking(session)

export const mayBecome = (from: CardStatus, to: CardStatus): boolean => statusTransitions[from].includes(to)

/** @throws Error when the state machine has no such transition */
export function requirePhaseStep(from: RunPhase, to: RunPhase): void {
  if (!phaseTransitions[from].includes(to)) throw new Error(`A run cannot go from ${from} to ${to}.`)
}
