import * as v from 'valibot'
import { Force, Forced } from './cardOrder.ts'
import { CallersCard, Pipeline } from './cardRecords.ts'
import { Name, Position, Prompt, refTo } from '../fields.ts'
import { ofCard } from '../notFound.ts'
import { get, member, patch, post, put, viewer } from '../route.ts'
import { changedCard } from '../agents/tool.ts'

/** With `mustStart`, a move that cannot start the card's agent moves nothing. */
const MoveCard = v.strictObject({
  columnId: refTo('COLUMN_NOT_FOUND'),
  position: v.optional(Position),
  mustStart: v.optional(v.boolean(), false),
  force: Force,
})
const SetPipeline = v.strictObject({
  steps: v.pipe(
    v.array(
      v.strictObject({
        columnId: refTo('COLUMN_NOT_FOUND'),
        columnName: v.optional(Name),
        prompt: v.optional(Prompt),
        approval: v.optional(v.picklist(['auto', 'manual'], 'must be auto or manual'), 'auto'),
      }),
    ),
    v.maxLength(100),
  ),
})

/** The routes that move a card through its columns and its pipeline. */
export const cardFlow = {
  move: patch('/api/projects/{projectId}/cards/{cardId}/move', {
    fails: [
      'COLUMN_NOT_FOUND',
      'COLUMN_IN_OTHER_PROJECT',
      'COLUMN_FULL',
      'GATE_NOT_PASSED',
      'CARD_BLOCKED',
      'BUDGET_EXHAUSTED',
    ],
    notFound: ofCard,
    audited: { target: 'card', only: 'starts', detail: ['columnId'] },
    at: 'machine or here',
    who: member('cards.move'),
    ifMatch: true,
    tool: {
      name: 'move_card',
      title: 'Move a card',
      group: 'change',
      does: 'changes',
      openWorld: true,
      brief: changedCard,
    },
    summary: 'Move a card',
    details:
      "In an active column, the card's agent starts, which requires the permission agents.run or scripts.run from an API key.",
    input: MoveCard,
    output: CallersCard,
    emits: ['card.moved', 'card.updated', 'agent.status'],
  }),
  archive: post('/api/projects/{projectId}/cards/{cardId}/archive', {
    notFound: ofCard,
    who: member('agents.archive'),
    tool: { name: 'archive_card', title: 'Archive a card', group: 'change', does: 'changes', brief: changedCard },
    summary: 'Archive a card',
    output: CallersCard,
    emits: ['card.archived'],
  }),
  unarchive: post('/api/projects/{projectId}/cards/{cardId}/unarchive', {
    fails: ['COLUMN_FULL'],
    notFound: ofCard,
    at: 'machine or here',
    who: member('agents.archive'),
    tool: {
      name: 'unarchive_card',
      title: 'Unarchive a card',
      group: 'change',
      does: 'changes',
      brief: changedCard,
    },
    summary: 'Unarchive a card',
    input: Forced,
    output: CallersCard,
    emits: ['card.unarchived'],
  }),
  complete: post('/api/projects/{projectId}/cards/{cardId}/complete', {
    fails: ['COLUMN_FULL', 'GATE_NOT_PASSED'],
    notFound: ofCard,
    at: 'machine or here',
    who: member('cards.move'),
    tool: {
      name: 'complete_card',
      title: 'Complete a card',
      group: 'change',
      does: 'changes',
      note: 'This does not merge its branch.',
    },
    summary: 'Complete a card by moving it to the first done column',
    input: Forced,
    emits: ['card.completed', 'card.moved'],
  }),
  activate: post('/api/projects/{projectId}/cards/{cardId}/activate', {
    fails: ['CARD_NOT_DEFERRED', 'CARD_BLOCKED', 'BUDGET_EXHAUSTED'],
    notFound: ofCard,
    audited: { target: 'card', only: 'starts' },
    at: 'machine',
    who: member('agents.run'),
    tool: {
      name: 'start_card',
      title: 'Start a card',
      group: 'run',
      does: 'changes',
      openWorld: true,
      starts: true,
      note: 'In a column that is not active, this only ends the deferral and does not start an agent. To start one, use move_card with an active column.',
    },
    summary: 'Activate a deferred card, or start a ready one that is idle in an active column',
    input: Forced,
    emits: ['card.updated'],
  }),
  setAutoMode: patch('/api/projects/{projectId}/cards/{cardId}/auto-mode', {
    notFound: ofCard,
    who: member('agents.run'),
    tool: {
      name: 'set_auto_mode',
      title: 'Set auto mode',
      group: 'run',
      does: 'changes',
      openWorld: true,
      brief: changedCard,
    },
    summary: "Enable or disable a card's auto mode",
    input: v.strictObject({ enabled: v.boolean() }),
    output: CallersCard,
    emits: ['card.updated'],
  }),
  getPipeline: get('/api/projects/{projectId}/cards/{cardId}/pipeline', {
    notFound: ofCard,
    who: viewer('cards.read'),
    summary: "Get a card's pipeline",
    output: Pipeline,
  }),
  setPipeline: put('/api/projects/{projectId}/cards/{cardId}/pipeline', {
    fails: ['INVALID_PIPELINE'],
    notFound: ofCard,
    who: member('cards.update'),
    summary: "Set a card's pipeline",
    input: SetPipeline,
    output: Pipeline,
    emits: ['card.updated'],
  }),
}
