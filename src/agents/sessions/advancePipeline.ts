import { Problem } from '../../contract/errors.ts'
import * as cardMoves from '../../domain/cards/cardMoves.ts'
import * as cards from '../../domain/cards/cards.ts'
import { awaitLanding } from '../../domain/cards/landings.ts'
import { hasRoom } from '../../domain/boards/columnLimits.ts'
import { changeCard } from '../../domain/cards/cardChanges.ts'
import { readNext } from '../../domain/cards/pipeline.ts'
import { requestChecks } from '../../domain/cards/checks.ts'
import {
  failuresOf,
  hasPassed,
  isOpen,
  judge,
  landsBefore,
  listGatesOfStep,
  needsProof,
} from '../../domain/cards/proofs.ts'
import { begin, end, findOpen, notStarted, start, type Agents } from '../../domain/agents/sessions.ts'
import { isAsking } from '../../domain/agents/sessionStates.ts'
import { requireMayStart, type Starter } from '../../domain/cards/startPermission.ts'
import { firstPrompt, stepOf } from '../../domain/cards/pipelineSteps.ts'
import { bySystem, insertAuditRow } from '../../store/server/audit.ts'
import type { GateRow } from '../../store/boards/gates.ts'
import { readCard, type CardRow } from '../../store/cards/cards.ts'
import type { Transaction } from '../../store/engine/database.ts'
import { readLatestSession } from '../../store/agents/sessions.ts'
import { hasActiveAgent } from '../../views/cards.ts'
import { withResumePrompt } from '../transcript/resumePrompt.ts'

/**
 * Advances a card after a completed step. A card in auto mode moves to the next step, or waits there for its gates or for capacity, unless
 * the step needs an approval.
 * @param trees the trees of the card's files. If they are unknown, the gates run first.
 */
export async function advancePipeline(
  tx: Transaction,
  agents: Agents,
  projectId: number,
  cardId: number,
  trees?: string,
): Promise<void> {
  const card = await readCard(tx, projectId, cardId)
  if (card && advancesByItself(card)) await advanceCard(tx, agents, card, trees)
}

/** Whether a card moves to its next step after a completed one. */
export const advancesByItself = (card: CardRow): boolean =>
  card.kind === 'kanban' &&
  card.autoMode === 1 &&
  card.archivedAt === null &&
  card.columnType === 'active' &&
  stepOf(card)?.approval === 'auto'

/** Moves a completed card automatically, as `moveToNextStep` does. */
export async function advanceCard(tx: Transaction, agents: Agents, card: CardRow, trees?: string): Promise<void> {
  const { projectId, id: cardId } = card
  if (!(await moveToNextStep(tx, agents, { card, trees }, 'board'))) return
  const moved = await readCard(tx, projectId, cardId)
  if (moved?.status === 'queued')
    insertAuditRow(tx, bySystem('agents.continue', { kind: 'card', id: cardId }, 'auto mode'))
}

/**
 * Moves a completed card forward by one step, or makes it wait for capacity there. A card that waits for an answer after its
 * agent's turn is completed first.
 * @throws Problem CARD_NOT_FOUND, INSUFFICIENT_PERMISSIONS, NOTHING_TO_APPROVE, GATE_NOT_PASSED, COLUMN_NOT_FOUND if the board has no
 * done column
 */
export async function approveStep(tx: Transaction, agents: Agents, ref: cards.StartRef): Promise<CardRow> {
  const found = await cards.find(tx, ref)
  const asking = await findOpen(tx, found.id)
  if (asking && isAsking(asking)) {
    requireMayStart(ref.caller, found.kind)
    await end(tx, agents, asking.id, { status: 'completed' })
  }
  const card = await cards.find(tx, ref)
  const isOpen = card.archivedAt === null && card.columnType === 'active' && card.nextColumnId === null
  if (card.status !== 'completed' || !isOpen || hasActiveAgent(card)) throw new Problem('NOTHING_TO_APPROVE')
  requireMayStart(ref.caller, card.kind)
  if (!(await moveToNextStep(tx, agents, { card, trees: ref.trees }, ref.caller)))
    throw new Problem('COLUMN_NOT_FOUND', 'The board has no done column.')
  return cards.find(tx, ref)
}

/**
 * Moves a card to its next step's column and starts the agent there. After the last step, moves the card to the first done
 * column. If the column is full, or if the board itself moves the card and gates or the landing queue are on the way, the card waits.
 * @throws Problem GATE_NOT_PASSED for a caller
 */
async function moveToNextStep(
  tx: Transaction,
  agents: Agents,
  { card, trees }: { card: CardRow; trees: string | null | undefined },
  by: Starter,
): Promise<boolean> {
  const column = await readNext(tx, card)
  if (column === undefined) return false
  if (by === 'board') {
    const gates = await listGatesOfStep(tx, card, column)
    if (!(await hasPassed(tx, card, gates, trees ?? null))) {
      await runGates(tx, card, gates, trees ?? null)
      return true
    }
    if (await landsBefore(tx, card, column)) {
      await awaitLanding(tx, card)
      return true
    }
  }
  if (card.kind === 'kanban' && !(await hasRoom(tx, column))) {
    await cardMoves.awaitColumn(tx, card, column)
    return true
  }
  const before = await readLatestSession(tx, card.id)
  const ref = { projectId: card.projectId, cardId: card.id, trees, ...(by !== 'board' && { caller: by }) }
  const moved = await cardMoves.move(tx, agents, ref, { columnId: column.id }, true)
  if (moved.columnType !== 'active') return true
  if (moved.kind === 'terminal') return (await start(tx, agents, moved, by)) !== undefined
  const prompt = await firstPrompt(tx, moved)
  await begin(tx, agents, moved, by, before ? await withResumePrompt(tx, prompt, before) : prompt)
  return true
}

/** Runs the gates of a card's next step. When all have passed, the board advances the card; otherwise, the card waits for people. */
async function runGates(
  tx: Transaction,
  card: CardRow,
  gates: readonly GateRow[],
  trees: string | null,
): Promise<void> {
  const judged = await judge(tx, card, gates, trees)
  const [failed] = failuresOf(judged, trees)
  // The check of an approval only reads the files.
  const runnable = trees === null ? gates : gates.filter(needsProof)
  if (failed === undefined && (await requestChecks(tx, card, runnable, trees, undefined)).some(isOpen)) return
  const missing = failed ?? judged.find(({ reason }) => reason !== null)
  if (missing === undefined) return
  const message = `The gate ${missing.gate.name} has not passed. ${missing.reason}`
  const missingGate = missing.gate.name
  await changeCard(tx, card, { statusReason: 'gate', missingGate, lastAgentAction: notStarted(tx, { message }) })
}
