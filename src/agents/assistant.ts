import type { MessageInput } from '../contract/agents/agentMessages.ts'
import { Problem } from '../contract/errors.ts'
import { hasBegun } from '../domain/agents/budgetPauses.ts'
import { requireBudget } from '../domain/agents/budgetState.ts'
import type { Caller } from '../domain/accounts/caller.ts'
import { begin, findOpen, reopen, type Agents } from '../domain/agents/sessions.ts'
import { requireStartable } from '../domain/cards/startOrHold.ts'
import { readDefaultBoard } from '../store/boards/boards.ts'
import { insertCard, readAssistantCard, readCard, type CardRow } from '../store/cards/cards.ts'
import { readFirstColumn } from '../store/boards/columns.ts'
import type { Transaction } from '../store/engine/database.ts'
import { forgetCreatedCards } from '../store/agents/sessionCards.ts'
import { readLatestSession, type SessionRow } from '../store/agents/sessions.ts'
import type { MessageView } from '../views/agents.ts'
import { findGiven } from './sessions/prompts/promptFiles.ts'
import { queueMessage } from './sessions/queue/queuedMessages.ts'
import { withResumePrompt } from './transcript/resumePrompt.ts'

const introduction =
  'You are the assistant of a software project and its board. You answer questions about the project and its cards, and create cards on request. ' +
  "Use the board's tools to read and change the board. Do not change files of the project unless you are asked to."

/**
 * The project's assistant card, which is not in any list. Created on first use.
 * @throws Problem COLUMN_NOT_FOUND if the project has no column
 */
async function findAssistant(tx: Transaction, projectId: number): Promise<CardRow> {
  const found = await readAssistantCard(tx, projectId)
  if (found) return found
  const board = await readDefaultBoard(tx, projectId)
  const column = board && (await readFirstColumn(tx, board.id))
  if (!column) throw new Problem('COLUMN_NOT_FOUND', 'The first board of the project has no columns.')
  const id = await insertCard(tx, {
    projectId,
    boardId: column.boardId,
    columnId: column.id,
    title: 'Assistant',
    prompt: '',
    labels: '[]',
    pipeline: '[]',
    groupId: null,
    archivedAt: null,
    lastAgentAction: null,
    deferred: false,
    autoMode: false,
    useWorktree: false,
    unread: false,
    kind: 'assistant',
  })
  return (await readCard(tx, projectId, id))!
}

/**
 * Sends a message to a project's assistant, and starts the assistant if it is not running.
 * @throws Problem COLUMN_NOT_FOUND, ATTACHMENT_NOT_FOUND, INSUFFICIENT_PERMISSIONS, AGENT_UNAVAILABLE, BUDGET_EXHAUSTED
 */
export async function send(
  tx: Transaction,
  agents: Agents,
  projectId: number,
  caller: Caller,
  { content, attachmentIds }: MessageInput,
): Promise<MessageView> {
  const card = await findAssistant(tx, projectId)
  const given = await findGiven(tx, attachmentIds, { projectId })
  const open = await findOpen(tx, card.id)
  if (open) await requireBudget(tx, open, hasBegun(open))
  const session = open ?? (await resumeOrBegin(tx, agents, card, caller))
  return queueMessage(tx, session, content, given)
}

async function resumeOrBegin(tx: Transaction, agents: Agents, card: CardRow, caller: Caller): Promise<SessionRow> {
  const latest = await readLatestSession(tx, card.id)
  if (latest?.resumable === 1 && latest.agentSessionId !== null) {
    // The whole conversation is one session, and each message comes from a user.
    forgetCreatedCards(tx, latest.id)
    return reopen(tx, agents, latest, caller)
  }
  await requireStartable(tx, agents, card, caller)
  const begun = await begin(
    tx,
    agents,
    card,
    caller,
    latest ? await withResumePrompt(tx, introduction, latest) : introduction,
    'assistant',
  )
  if (!begun) throw new Problem('AGENT_UNAVAILABLE')
  return begun
}
