import type { StatusReason } from '../contract/agents.ts'
import type { CardStatus } from '../contract/fields.ts'

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
 *                          └──▶ cancelled  the talk was cancelled between two turns
 *
 * - completed: a turn ended and no message was waiting, the session handed off, or a person completed the card.
 * - failed: `statusReason` says what the agent, or the server, could not do.
 * - cancelled: by a person, or by the agent itself.
 * - interrupted: the server stopped.
 *
 * waiting: for a person's answer, or, with the reason silent, because the agent shows no sign of life, or, with the reason budget, until
 * a budget allows it to go on. A session that waits for a budget has no run; also a queued one may come to wait so, instead of running.
 * With the reason question its turn has ended with a question to people. It has no run either, and a message or an answer queues it again.
 *
 * queued again: the agent has reached a usage limit, and the project says that its cards wait for the limit to end; or a budget allows
 * the session to go on.
 *
 * A relaunch begins a new session. A handoff (relay) completes a session and begins a new one with its summary.
 *
 * A session that is running, or waiting with a reason other than budget and question, has one run: the process of the agent and what the
 * server does with it.
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

/** A retried write may find its own status: running and waiting may be entered again. */
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

/** Whether a session waits for the answer to a question with which its turn has ended. It has no run. */
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
