import { Problem } from '../../contract/errors.ts'
import * as cardMoves from '../../domain/cardMoves.ts'
import * as cards from '../../domain/cards.ts'
import { begin, start, type Agents } from '../../domain/sessions.ts'
import { requireMayStart, type Starter } from '../../domain/starting.ts'
import { firstPrompt } from '../../domain/steps.ts'
import { bySystem, insertAuditRow } from '../../store/audit.ts'
import type { StoredStep } from '../../store/cardFields.ts'
import { readCard, type CardRow } from '../../store/cards.ts'
import { listColumns, readFirstColumn } from '../../store/columns.ts'
import type { Transaction } from '../../store/database.ts'
import { readLatestSession } from '../../store/sessions.ts'
import { hasActiveAgent } from '../../views/cards.ts'
import { withResumePrompt } from '../transcript/resumePrompt.ts'

/** After a completed step: a card in auto mode moves on to the next step, unless the step needs an approval. */
export async function advancePipeline(
  tx: Transaction,
  agents: Agents,
  projectId: number,
  cardId: number,
): Promise<void> {
  const card = await readCard(tx, projectId, cardId)
  if (!card || card.kind !== 'kanban' || card.autoMode === 0 || card.archivedAt !== null) return
  const { current } = await readSteps(tx, card)
  if (!current || current.approval === 'manual' || !(await moveToNextStep(tx, agents, card, 'board'))) return
  const moved = await readCard(tx, projectId, cardId)
  if (moved?.status === 'queued')
    insertAuditRow(tx, bySystem('agents.continue', { kind: 'card', id: cardId }, 'auto mode'))
}

/**
 * Moves a completed card on by one step.
 * @throws Problem CARD_NOT_FOUND, INSUFFICIENT_PERMISSIONS, NOTHING_TO_APPROVE, COLUMN_NOT_FOUND when the board has no done column
 */
export async function approveStep(tx: Transaction, agents: Agents, ref: cards.StartRef): Promise<CardRow> {
  const card = await cards.find(tx, ref)
  if (card.status !== 'completed' || card.columnType !== 'active' || card.archivedAt !== null || hasActiveAgent(card))
    throw new Problem('NOTHING_TO_APPROVE')
  requireMayStart(ref.caller, card.kind)
  if (!(await moveToNextStep(tx, agents, card, ref.caller)))
    throw new Problem('COLUMN_NOT_FOUND', 'The board has no done column.')
  return cards.find(tx, ref)
}

/** Moves a card to its next step's column and starts the agent there; after the last step to the first done column. */
async function moveToNextStep(tx: Transaction, agents: Agents, card: CardRow, by: Starter): Promise<boolean> {
  const { next } = await readSteps(tx, card)
  const columnId = next?.columnId ?? (await readFirstColumn(tx, card.boardId, 'done'))?.id
  if (columnId === undefined) return false
  const before = await readLatestSession(tx, card.id)
  const moved = await cardMoves.move(tx, agents, { projectId: card.projectId, cardId: card.id }, { columnId }, true)
  if (moved.columnType !== 'active') return true
  if (moved.kind === 'terminal') return (await start(tx, agents, moved, by)) !== undefined
  const prompt = await firstPrompt(tx, moved)
  await begin(tx, agents, moved, by, before ? await withResumePrompt(tx, prompt, before) : prompt)
  return true
}

/** The steps whose columns are still active ones of the card's board. */
async function readSteps(tx: Transaction, card: CardRow): Promise<{ current?: StoredStep; next?: StoredStep }> {
  const active = new Set(
    (await listColumns(tx, card.boardId)).filter(({ columnType }) => columnType === 'active').map(({ id }) => id),
  )
  const steps = (JSON.parse(card.pipeline) as StoredStep[]).filter(({ columnId }) => active.has(columnId))
  const at = steps.findIndex(({ columnId }) => columnId === card.columnId)
  return at < 0 ? {} : { current: steps[at], next: steps[at + 1] }
}
