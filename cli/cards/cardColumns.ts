import type { Card } from './cardApi.ts'
import type { Column } from '../output/output.ts'

/** The fields of a card in lists. */
export const cardColumns: Column<Card>[] = [
  { name: 'id', style: 'id', align: 'right', value: card => card.id },
  { name: 'title', style: 'title', value: card => card.title },
  { name: 'columnName', header: 'COLUMN', value: card => card.columnName },
  { name: 'status', style: 'status', value: card => card.status },
  { name: 'labels', style: 'text', value: card => card.labels },
  { name: 'updatedAt', header: 'UPDATED', style: 'time', value: card => card.updatedAt },
]

/** The fields of a card on its own. */
export const cardFields: Column<Card>[] = [
  { name: 'id', style: 'id', value: card => card.id },
  { name: 'title', style: 'title', value: card => card.title },
  { name: 'columnName', header: 'Column', value: card => card.columnName },
  { name: 'position', value: card => card.position },
  { name: 'status', style: 'status', value: card => card.status },
  { name: 'statusReason', value: card => card.statusReason },
  { name: 'labels', value: card => card.labels },
  {
    name: 'lastAction',
    header: 'Last action',
    value: card =>
      card.lastAgentAction &&
      `${card.lastAgentAction.type}${card.lastAgentAction.detail ? `: ${card.lastAgentAction.detail}` : ''}`,
  },
  { name: 'groupId', header: 'Group', value: card => card.groupId },
  { name: 'unread', value: card => card.unread },
  { name: 'deferred', value: card => card.deferred },
  { name: 'autoMode', value: card => card.autoMode },
  { name: 'useWorktree', value: card => card.useWorktree },
  { name: 'agent', value: card => card.agent },
  { name: 'command', value: card => card.command },
  { name: 'gitBranch', value: card => card.gitBranch },
  { name: 'worktreePath', header: 'Worktree', value: card => card.worktreePath },
  {
    name: 'lastAgentAction',
    header: 'Last action',
    value: card => card.lastAgentAction && (card.lastAgentAction.detail ?? card.lastAgentAction.type),
  },
  { name: 'createdAt', header: 'Created', style: 'time', value: card => card.createdAt },
  { name: 'updatedAt', header: 'Updated', style: 'time', value: card => card.updatedAt },
  { name: 'archivedAt', header: 'Archived', style: 'time', value: card => card.archivedAt },
]

/** The few fields of a card that a command prints after it made or changed it. */
export const cardBrief: Column<Card>[] = cardFields.filter(({ name }) =>
  ['id', 'title', 'columnName', 'status'].includes(name),
)
